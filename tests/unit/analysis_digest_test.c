/* analysis/digest: processes, summary, files and sockets, console of one small recording, whole and as far as it goes; the pool under threads. */
#include "analysis/digest.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "tests/unit/store_help.h"

#define A 0x1000
#define B 0x2000
#define MS 1000000u

static struct sockaddr_in server;
static uint32_t server_len = sizeof(server);
static char long_output[5000];

struct sample {
	struct event ev;
	struct effect effect[2];
};

#define CALL(t, nr, res, ...) .ev = { .kind = EVENT_SYSCALL, .thread = t, .sysno = nr, .result = res, .args = { __VA_ARGS__ } }
#define IN(at, text) { .kind = EFFECT_INPUT, .addr = at, .len = sizeof(text), .data = text }
#define STDOUT(text) { .kind = EFFECT_OUTPUT, .len = sizeof(text) - 1, .data = text }

static struct sample samples[] = {
	/* 1 */ { .ev = { .kind = EVENT_EXEC, .thread = 1, .pid = 10, .tid = 10, .text = "/usr/bin/dash", .blob = "-sh\0-c\0a b", .blob_len = 11 } },
	/* 2 */ { CALL(1, SYS_openat, 3, (uint64_t)-100, A, 0), .effect = { IN(A, "/etc/passwd") } },
	/* 3 */ { CALL(1, SYS_openat, -2, (uint64_t)-100, A, 0), .effect = { IN(A, "/etc/nothing") } },
	/* 4 */ { CALL(1, SYS_read, 100, 3, B, 4096) },
	/* 5 */ { CALL(1, SYS_read, -5, 3, B, 4096) },
	/* 6 */ { CALL(1, SYS_write, 3, 1, B, 3), .effect = { STDOUT("hi\n") } },
	/* 7: a child */ { .ev = { .kind = EVENT_BIRTH, .thread = 1, .sysno = SYS_vfork, .child = 2, .pid = 11, .tid = 11 } },
	/* 8 */ { .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 2, .sysno = SYS_execve, .args = { A } }, .effect = { IN(A, "/bin/x") } },
	/* 9 */ { .ev = { .kind = EVENT_EXEC, .thread = 2, .pid = 11, .tid = 11, .text = "/bin/x", .blob = "/bin/x", .blob_len = 7 } },
	/* 10 */ { .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 1, .sysno = SYS_vfork, .result = 11 } },
	/* 11: its second thread */ { .ev = { .kind = EVENT_BIRTH, .thread = 2, .sysno = SYS_clone3, .child = 3, .pid = 11, .tid = 12 } },
	/* 12 */ { .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 2, .sysno = SYS_clone3, .result = 12 } },
	/* 13 */ { CALL(3, SYS_prctl, 0, 15, A), .effect = { IN(A, "worker") } },
	/* 14 */ { CALL(3, SYS_socket, 4, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) },
	/* 15 */ { .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 3, .sysno = SYS_connect, .args = { 4, A, sizeof(server) } },
		   .effect = { { .kind = EFFECT_INPUT, .addr = A, .len = sizeof(server), .data = &server } } },
	/* 16: stderr, of a call that slept */ { .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 2, .sysno = SYS_write, .args = { 2, B, 5000 } } },
	/* 17 */ { .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 3, .sysno = SYS_connect } },
	/* 18 */ { .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 2, .sysno = SYS_write, .result = 5000, .flags = EVENT_F_STDERR },
		   .effect = { { .kind = EFFECT_OUTPUT, .len = 3000, .data = long_output }, { .kind = EFFECT_OUTPUT, .len = 2000, .data = long_output + 3000 } } },
	/* 19 */ { CALL(3, SYS_sendto, 20, 4, B, 20, 0) },
	/* 20 */ { CALL(3, SYS_recvfrom, 7, 4, B, 20, 0) },
	/* 21 */ { CALL(3, SYS_recvfrom, -11, 4, B, 20, 0) },
	/* 22 */ { CALL(3, SYS_socketpair, 0, AF_UNIX, SOCK_DGRAM, 0, A),
		   .effect = { { .kind = EFFECT_MEM, .addr = A, .len = 8, .data = (const int[]){ 5, 6 } } } },
	/* 23 */ { CALL(3, SYS_rseq, -38, A) },
	/* 24 */ { .ev = { .kind = EVENT_SIGNAL, .thread = 3, .signo = 11, .flags = EVENT_F_FATAL } },
	/* 25: killed inside of it */ { .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 2, .sysno = SYS_wait4 } },
	/* 26 */ { .ev = { .kind = EVENT_EXIT, .thread = 2, .result = 11, .flags = EVENT_F_GROUP } },
	/* 27 */ { .ev = { .kind = EVENT_EXIT, .thread = 3, .result = 11, .flags = EVENT_F_GROUP } },
	/* 28 */ { CALL(1, SYS_write, 5, 1, B, 9), .effect = { IN(B, "old\n!") } },
	/* 29 */ { .ev = { .kind = EVENT_NOTE, .text = "so so" } },
	/* 30 */ { .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = SYS_exit_group } },
	/* 31 */ { .ev = { .kind = EVENT_EXIT, .thread = 1, .result = 3 << 8, .flags = EVENT_F_GROUP } },
	/* 32 */ { .ev = { .kind = EVENT_END } },
};

static struct store_id record(struct store *s)
{
	struct store_writer *w;
	struct manifest m;
	struct store_id id;

	server = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0x7f000001) };
	memset(long_output, 'x', sizeof(long_output));
	long_output[4999] = '\n';
	help_manifest(&m);
	OK(store_writer_new(s, &m, &w, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct event ev = samples[i].ev;

		ev.text = ev.text ? ev.text : "";
		ev.time_ns = (i + 1) * MS;
		ev.effects = samples[i].effect;
		while (ev.n_effects < 2 && ev.effects[ev.n_effects].kind) {
			ev.effects[ev.n_effects].name = "";
			ev.n_effects++;
		}
		if (i + 1 == 6 || i + 1 == 28)
			ev.flags = EVENT_F_STDOUT;
		if (i + 1 == 23)
			ev.flags = EVENT_F_REFUSED;
		OK(store_writer_event(w, &ev));
	}
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

struct setup {
	struct help_store h;
	struct store_id id;
	struct store_reader *r;
	struct digest *d;
};

static struct setup begin(void)
{
	struct setup s = { .h = help_open() };

	s.id = record(s.h.s);
	OK(store_reader_open(s.h.s, &s.id, &s.r, NULL));
	OK(digest_new(store_reader_manifest(s.r), &s.d));
	OK(digest_scan(s.d, s.r, UINT_MAX, NULL));
	ck_assert(s.d->at_end);
	ck_assert_uint_eq(s.d->scanned, ARRAY_SIZE(samples));
	return s;
}

static void end(struct setup *s)
{
	digest_free(s->d);
	store_reader_free(s->r);
	help_close(&s->h);
}

START_TEST(processes)
{
	struct setup s = begin();
	const struct process_info *p;
	const struct thread_info *t;

	ck_assert(processes_complete(s.d->processes));
	ck_assert_uint_eq(processes_count(s.d->processes), 2);
	p = processes_at(s.d->processes, 0);
	ck_assert_uint_eq(p->thread, 1);
	ck_assert_uint_eq(p->parent, 0);
	ck_assert_str_eq(p->exe, "/usr/bin/dash");
	ck_assert_str_eq(p->command, "-sh -c 'a b'");
	ck_assert_int_eq(p->status, 3 << 8);
	ck_assert_uint_eq(p->first_event, 1);
	ck_assert_uint_eq(p->last_event, 31);
	ck_assert(p->ended);
	p = processes_at(s.d->processes, 1);
	ck_assert_uint_eq(p->parent, 1);
	ck_assert_int_eq(p->pid, 11);
	ck_assert_str_eq(p->command, "/bin/x");
	ck_assert_int_eq(p->status, 11);
	ck_assert_uint_eq(p->first_event, 7);
	ck_assert_uint_eq(p->last_event, 27);
	ck_assert_uint_eq(p->end_ns, 27 * MS);
	t = processes_thread_at(s.d->processes, p->first);
	ck_assert_str_eq(t->name, "x");
	ck_assert_uint_eq(t->last_event, 26);
	t = processes_thread_at(s.d->processes, t->next);
	ck_assert_uint_eq(t->number, 3);
	ck_assert_int_eq(t->tid, 12);
	ck_assert_str_eq(t->name, "worker");
	ck_assert_uint_eq(t->next, PROCESSES_NONE);
	ck_assert_str_eq(processes_thread(s.d->processes, 1)->name, "sh");
	ck_assert_int_eq(processes_pid(s.d->processes, 3), 11);
	ck_assert_int_eq(processes_pid(s.d->processes, 99), 0);
	end(&s);
}
END_TEST

START_TEST(summary)
{
	struct setup s = begin();
	const struct summary *m = s.d->summary;
	uint64_t calls = 0, errors = 0;

	for (int i = 0; i <= SYS_TABLE_MAX; i++) {
		const struct call_count *c = &m->call[i];

		calls += c->calls;
		errors += c->errors;
		ck_assert_uint_eq(c->calls, c->executed + c->answered + c->refused + c->open);
	}
	ck_assert_uint_eq(calls, m->calls);
	ck_assert_uint_eq(calls, 20);
	ck_assert_uint_eq(errors, 4);
	ck_assert_uint_eq(m->call[SYS_openat].calls, 2);
	ck_assert_uint_eq(m->call[SYS_openat].errnos.n, 1);
	ck_assert_uint_eq(m->call[SYS_openat].errnos.v[0].error, ENOENT);
	ck_assert_uint_eq(m->call[SYS_connect].blocked_ns, 2 * MS);
	ck_assert_uint_eq(m->call[SYS_connect].first_event, 15);
	ck_assert_uint_eq(m->call[SYS_execve].calls, 1); /* the first program was not called */
	ck_assert_uint_eq(m->call[SYS_execve].executed, 1);
	ck_assert_uint_eq(m->call[SYS_rseq].refused, 1);
	ck_assert_uint_eq(m->call[SYS_wait4].open, 1);
	ck_assert_uint_eq(m->call[SYS_exit_group].open, 1);
	ck_assert_uint_eq(m->children, 1);
	ck_assert_uint_eq(m->signal[11].fatal, 1);
	ck_assert_uint_eq(m->signal[11].first_event, 24);
	ck_assert_uint_eq(m->n_execs, 2);
	ck_assert_str_eq(m->exec[1].path, "/bin/x");
	ck_assert_uint_eq(m->n_notes, 1);
	ck_assert_str_eq(m->note[0].text, "so so");
	ck_assert_uint_eq(m->kinds[EVENT_EXIT], 3);
	ck_assert(!m->incomplete);
	end(&s);
}
END_TEST

static const struct touched_file *file(const struct setup *s, const char *path)
{
	for (uint32_t i = 0; i < touched_files(s->d->touched); i++)
		if (!strcmp(names_get(&s->d->names, touched_file(s->d->touched, i)->name), path))
			return touched_file(s->d->touched, i);
	ck_abort_msg("%s is not there", path);
}

START_TEST(files)
{
	struct setup s = begin();
	const struct touched_file *f = file(&s, "/etc/passwd");

	ck_assert(touched_complete(s.d->touched));
	ck_assert_uint_eq(f->opens, 1);
	ck_assert_uint_eq(f->reads, 2);
	ck_assert_uint_eq(f->bytes_read, 100);
	ck_assert_uint_eq(f->failed, 1);
	ck_assert_uint_eq(f->errors.n, 1);
	ck_assert_uint_eq(f->errors.v[0].error, EIO);
	ck_assert_uint_eq(f->first_event, 2);
	ck_assert_uint_eq(f->last_event, 5);
	f = file(&s, "/etc/nothing");
	ck_assert_uint_eq(f->opens, 0);
	ck_assert_uint_eq(f->failed, 1);
	ck_assert_uint_eq(f->errors.v[0].error, ENOENT);
	end(&s);
}
END_TEST

START_TEST(sockets)
{
	struct setup s = begin();
	const struct touched_socket *k;
	char buf[16];

	ck_assert_uint_eq(touched_sockets(s.d->touched), 3);
	k = touched_socket(s.d->touched, 0);
	ck_assert_str_eq(touched_family(k->family, buf), "AF_INET");
	ck_assert_str_eq(touched_type(k->type, buf), "SOCK_STREAM");
	ck_assert_str_eq(touched_how_name(k->how), "connect");
	ck_assert_str_eq(k->peer, "127.0.0.1:80");
	ck_assert_ptr_null(k->local);
	ck_assert_uint_eq(k->sends, 1);
	ck_assert_uint_eq(k->bytes_sent, 20);
	ck_assert_uint_eq(k->receives, 2);
	ck_assert_uint_eq(k->bytes_received, 7);
	ck_assert_uint_eq(k->errors.v[0].error, EAGAIN);
	ck_assert_uint_eq(k->first_event, 14);
	ck_assert_uint_eq(k->last_event, 21);
	ck_assert_int_eq(k->fd, 4);
	k = touched_socket(s.d->touched, 2);
	ck_assert_str_eq(touched_how_name(k->how), "pair");
	ck_assert_int_eq(k->fd, 6);
	ck_assert_uint_eq(server_len, sizeof(server));
	end(&s);
}
END_TEST

static void chunk(struct setup *s, uint64_t n, uint64_t skip, size_t max, const char *want, size_t len)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct console_chunk c;

	OK(console_read(s->r, n, skip, max, &c, &b, NULL));
	ck_assert_uint_eq(c.event, n);
	ck_assert_uint_eq(b.len, len);
	ck_assert(!len || !memcmp(b.data, want, len));
}

START_TEST(console)
{
	struct setup s = begin();
	struct console_chunk c;
	struct buf b CLEANUP(buf_done) = { 0 };

	ck_assert_uint_eq(console_next(s.d->console, 0, CONSOLE_BOTH), 6);
	ck_assert_uint_eq(console_next(s.d->console, 6, CONSOLE_BOTH), 18);
	ck_assert_uint_eq(console_next(s.d->console, 6, CONSOLE_OUT), 28);
	ck_assert_uint_eq(console_next(s.d->console, 18, CONSOLE_ERR), 0);
	ck_assert_uint_eq(console_next(s.d->console, UINT64_MAX, CONSOLE_BOTH), 0);
	ck_assert_uint_eq(console_next(s.d->console, 1ull << 40, CONSOLE_BOTH), 0);
	ck_assert_uint_eq(console_bytes(s.d->console, CONSOLE_BOTH), 5008);
	ck_assert(console_complete(s.d->console));
	chunk(&s, 6, 0, 100, "hi\n", 3);
	chunk(&s, 18, 0, 10000, long_output, 5000);
	chunk(&s, 18, 2999, 2, long_output, 2);
	chunk(&s, 18, 3001, 10000, long_output + 3001, 1999);
	chunk(&s, 18, 5000, 10, "", 0);
	chunk(&s, 28, 0, 100, "old\n!", 5); /* without an OUTPUT effect: from its input, as many as were written */
	chunk(&s, 28, 4, 100, "!", 1);
	FAILS(ERR_CORRUPT, console_read(s.r, 5, 0, 10, &c, &b, NULL));
	end(&s);
}
END_TEST

static void *reads(void *arg)
{
	struct digests *pool = ((void **)arg)[0];
	struct setup *s = ((void **)arg)[1];
	struct store_reader *r;
	struct store *store;
	struct digest *d;

	OK(store_open(s->h.dir, false, &store, NULL));
	OK(store_reader_open(store, &s->id, &r, NULL));
	for (int i = 0; i < 200; i++) {
		OK(digests_get(pool, r, 100, &d, NULL));
		ck_assert_uint_eq(d->scanned, ARRAY_SIZE(samples));
		ck_assert_uint_eq(d->summary->calls, 20);
		digests_put(pool, d);
	}
	store_reader_free(r);
	store_free(store);
	return NULL;
}

START_TEST(shared)
{
	struct setup s = begin();
	struct digests *pool;
	void *arg[2];
	pthread_t thread[4];

	OK(digests_new(&pool));
	arg[0] = pool;
	arg[1] = &s;
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, reads, arg), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	/* more recordings than it keeps */
	for (int i = 0; i < 40; i++) {
		struct store_id id = help_record(s.h.s, (uint64_t)i, 50);
		struct store_reader *r;
		struct digest *d;

		OK(store_reader_open(s.h.s, &id, &r, NULL));
		OK(digests_get(pool, r, 1000, &d, NULL));
		ck_assert_uint_eq(d->scanned, 50);
		digests_put(pool, d);
		store_reader_free(r);
	}
	digests_free(pool);
	end(&s);
}
END_TEST

/* Anything that decodes may be in a stranger's recording. */
START_TEST(hostile)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, (uint64_t)_i + 1000, 3000);
	struct store_reader *r;
	struct digest *d;

	OK(store_reader_open(h.s, &id, &r, NULL));
	OK(digest_new(store_reader_manifest(r), &d));
	OK(digest_scan(d, r, UINT_MAX, NULL));
	ck_assert_uint_eq(d->scanned, 3000);
	for (uint64_t n = 0; (n = console_next(d->console, n, CONSOLE_BOTH));) {
		struct buf b CLEANUP(buf_done) = { 0 };
		struct console_chunk c;

		OK(console_read(r, n, 0, 1000, &c, &b, NULL));
		ck_assert_uint_le(b.len, 1000);
	}
	digest_free(d);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

HELP_MAIN("analysis_digest", { processes, 1 }, { summary, 1 }, { files, 1 }, { sockets, 1 }, { console, 1 }, { shared, 1 }, { hostile, 10 })
