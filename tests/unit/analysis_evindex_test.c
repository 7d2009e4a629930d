/* analysis/evindex, search, row, timeline: the index of events of finished, live and sealed recordings, its file, what is found with it. */
#include "analysis/evindex.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analysis/row.h"
#include "analysis/search.h"
#include "analysis/timeline.h"
#include "base/json.h"
#include "tests/unit/analysis_help.h"

#define MANY (2 * EVINDEX_SMALL + 100)

/* n reads of thread 1, each 1000th one fails; every 10th is in two halves with a getpid() of thread 2 between. */
static void write_many(struct store_writer *w, uint64_t n)
{
	static const struct a_event birth[] = { { A_EXEC(1, "/bin/x", 7) }, { A_BIRTH(1, SYS_fork, 2, 8, 8, 0) }, { A_EXIT(1, SYS_fork, 8) } };
	static const struct a_event halves[] = { { A_ENTER(1, SYS_read, 3) }, { A_CALL(2, SYS_getpid, 8) }, { A_EXIT(1, SYS_read, 1) } };

	if (!store_writer_count(w))
		a_write(w, birth, ARRAY_SIZE(birth));
	for (uint64_t i = store_writer_count(w); i < n; i = store_writer_count(w)) {
		struct a_event one = { A_CALL(1, SYS_read, i % 1000 == 999 ? -EBADF : 1, 3) };

		if (i % 10 == 3 && i + 3 <= n)
			a_write(w, halves, ARRAY_SIZE(halves));
		else
			a_write(w, &one, 1);
	}
}

static struct store_id make_many(struct store *s, uint64_t n)
{
	struct store_writer *w = a_begin(s, NULL);

	write_many(w, n - 1);
	a_write(w, &(struct a_event){ { .kind = EVENT_END } }, 1);
	return a_commit(w, NULL, RECORDING_COMPLETE);
}

/* Every record says what its event does. */
static void check_records(struct store *s, const struct store_id *id, struct evindex *index, uint64_t want)
{
	struct store_reader *r;
	struct evindex_view v;
	const struct event *ev;

	OK(store_reader_open(s, id, &r, NULL));
	evindex_trim(index); /* loses nothing, wherever it is kept */
	evindex_view(index, &v);
	ck_assert_uint_eq(v.n, want);
	for (uint64_t n = 1; n <= v.n; n++) {
		const struct evindex_record *rec = evindex_at(&v, n), *other;

		ck_assert_int_eq(store_reader_next(r, &ev, NULL), 1);
		ck_assert(rec->kind == ev->kind && rec->thread == ev->thread && rec->time_ns == ev->time_ns && rec->flags == ev->flags);
		ck_assert(ev->kind == EVENT_BIRTH || rec->result == ev->result);
		ck_assert_int_eq(!!(rec->bits & EVINDEX_FAILED), ev->result < 0);
		other = evindex_at(&v, rec->partner);
		if (ev->kind == EVENT_SYSCALL_EXIT)
			ck_assert(other && other->partner == n && other->thread == rec->thread);
		if (ev->kind == EVENT_SYSCALL)
			ck_assert(!other);
	}
	ck_assert(!evindex_at(&v, 0) && !evindex_at(&v, v.n + 1));
	evindex_release(&v);
	store_reader_free(r);
}

static struct evindex *open_whole(const char *dir, const struct store_id *id)
{
	struct evindex *index;

	OK(evindex_open(dir, id, &index, NULL));
	ck_assert_int_eq(evindex_extend(index, UINT64_MAX, NULL), 1);
	return index;
}

static char *cache_path(const struct help_store *h, const struct store_id *id)
{
	return os_asprintf("%s/cache/%s.events", h->dir, id->hex);
}

START_TEST(file)
{
	struct help_store h = help_open();
	struct store_id id = make_many(h.s, MANY);
	struct evindex *index = open_whole(h.dir, &id);
	char *path CLEANUP(freep) = cache_path(&h, &id);
	struct evindex_view v;
	struct stat st, again;

	check_records(h.s, &id, index, MANY);
	evindex_unref(index);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	/* at once from the file */
	OK(evindex_open(h.dir, &id, &index, NULL));
	evindex_view(index, &v);
	ck_assert(v.finished && v.n == MANY && v.n_threads == 2 && evindex_thread(&v, 2)->pid == 8);
	ck_assert_str_eq(evindex_name(&v, evindex_thread(&v, 1)->name), "/bin/x");
	evindex_release(&v);
	check_records(h.s, &id, index, MANY);
	evindex_unref(index);
	/* a sealed recording has the same events */
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	index = open_whole(h.dir, &id);
	check_records(h.s, &id, index, MANY);
	evindex_unref(index);
	ck_assert(stat(path, &again) == 0 && again.st_ino == st.st_ino);
	OK(store_remove(h.s, &id, NULL));
	ck_assert_int_eq(access(path, F_OK), -1);
	help_close(&h);
}
END_TEST

/* A file that is not whole, or another recording's, is made anew. */
START_TEST(damaged)
{
	static const struct {
		off_t at; /* from the end when negative; 0 = cut off */
	} places[] = { { 3 }, { 9 }, { 30 }, { 70 }, { -1 }, { -20 }, { 0 } };
	struct help_store h = help_open();
	struct store_id id = make_many(h.s, MANY);
	struct evindex *index = open_whole(h.dir, &id);
	char *path CLEANUP(freep) = cache_path(&h, &id);

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct stat st, again;
		uint8_t byte;
		int fd;

		evindex_unref(index);
		fd = open(path, O_RDWR | O_CLOEXEC);
		ck_assert(fd >= 0 && fstat(fd, &st) == 0);
		if (places[i].at) {
			off_t at = places[i].at < 0 ? st.st_size + places[i].at : places[i].at;

			ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
			byte ^= 0x10;
			ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		} else {
			ck_assert_int_eq(ftruncate(fd, st.st_size - 1), 0);
		}
		index = open_whole(h.dir, &id);
		check_records(h.s, &id, index, MANY);
		ck_assert(stat(path, &again) == 0 && again.st_ino != st.st_ino);
		close(fd);
	}
	evindex_unref(index);
	help_close(&h);
}
END_TEST

/* Where nothing can be written it is kept in memory. */
START_TEST(no_cache)
{
	struct help_store h = help_open();
	struct store_id id = make_many(h.s, MANY);
	char *path CLEANUP(freep) = os_asprintf("%s/cache", h.dir);
	struct evindex *index;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* no directory */

	ck_assert_int_ge(fd, 0);
	close(fd);
	index = open_whole(h.dir, &id);
	check_records(h.s, &id, index, MANY);
	ck_assert_uint_gt(evindex_memory(index), MANY * sizeof(struct evindex_record));
	evindex_unref(index);
	help_close(&h);
}
END_TEST

START_TEST(live)
{
	struct help_store h = help_open();
	struct store_writer *w = a_begin(h.s, NULL);
	struct store_id id = *store_writer_id(w);
	struct evindex_view v;
	struct evindex *index;

	write_many(w, 100);
	OK(store_writer_flush(w));
	index = open_whole(h.dir, &id);
	check_records(h.s, &id, index, 100);
	for (uint64_t n = 5000; n < 3 * EVINDEX_SMALL; n += 20000) {
		write_many(w, n);
		OK(store_writer_flush(w));
		ck_assert_int_eq(evindex_extend(index, UINT64_MAX, NULL), 1);
		check_records(h.s, &id, index, store_writer_count(w));
	}
	evindex_view(index, &v);
	ck_assert(!v.finished);
	evindex_release(&v);
	a_write(w, &(struct a_event){ { .kind = EVENT_END } }, 1);
	id = a_commit(w, NULL, RECORDING_COMPLETE);
	ck_assert_int_eq(evindex_extend(index, UINT64_MAX, NULL), 1);
	evindex_view(index, &v);
	ck_assert(v.finished && v.record[v.n - 1].kind == EVENT_END);
	evindex_release(&v);
	evindex_unref(index);
	help_close(&h);
}
END_TEST

START_TEST(sweep)
{
	static const char *const names[] = { "0123456789abcdef0123456789abcdef.events", "0123456789abcdef0123456789abcdef-7.events-new" };
	struct help_store h = help_open();
	struct store_id id = make_many(h.s, MANY);
	char *keep CLEANUP(freep) = cache_path(&h, &id);

	evindex_unref(open_whole(h.dir, &id));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP(freep) = os_asprintf("%s/cache/%s", h.dir, names[i]);

		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	evindex_sweep(h.dir);
	ck_assert_int_eq(access(keep, F_OK), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP(freep) = os_asprintf("%s/cache/%s", h.dir, names[i]);

		ck_assert_int_eq(access(path, F_OK), -1);
	}
	help_close(&h);
}
END_TEST

/* --- searches --- */

static void find_all(struct searches *s, const struct store_id *id, const char *text, struct search **ret, struct search_state *state)
{
	struct filter *f CLEANUP(filter_freep) = NULL;

	OK(filter_parse(text, &f, NULL));
	for (int i = 0; i < 1000; i++) {
		OK(searches_find(s, id, f, 10000000, UINT64_MAX, ret, state, NULL));
		if (state->complete)
			return;
		search_unref(*ret);
	}
	ck_abort_msg("%s is never complete", text);
}

/* Descriptors of this process that lead to files of the recording. */
static unsigned count_open(const struct store_id *id)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++) {
		char path[32], to[4096];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, to, sizeof(to) - 1);
		to[MAX(len, (ssize_t)0)] = '\0';
		n += strstr(to, id->hex) != NULL;
	}
	return n;
}

START_TEST(searches)
{
	struct help_store h = help_open();
	struct store_id id = make_many(h.s, MANY);
	struct searches *s;
	struct search *q, *again;
	struct search_state state;
	uint32_t got[4];

	OK(searches_new(h.dir, &s));
	find_all(s, &id, "errno:EBADF", &q, &state);
	ck_assert(state.found >= MANY / 1000 - 3 && state.scanned == MANY && state.last == MANY);
	ck_assert_uint_eq(search_get(q, 0, 4, got), 4);
	ck_assert_uint_eq(search_place(q, 0), 0);
	ck_assert_uint_eq(search_place(q, got[1]), 1);
	ck_assert_uint_eq(search_place(q, got[1] + 1), 2);
	ck_assert_uint_eq(search_place(q, MANY + 1), state.found);
	ck_assert_uint_eq(search_get(q, state.found, 4, got), 0);
	find_all(s, &id, "errno:9", &again, &state);
	ck_assert_uint_eq(search_get(again, 0, 1, got), 1);
	search_unref(again);
	/* what has to be printed finds the same; an end shows what its entry had */
	find_all(s, &id, "\"bad file\"", &again, &state);
	ck_assert_uint_eq(search_get(again, 1, 1, got + 1), 1);
	ck_assert_uint_eq(search_place(q, got[1]), 1);
	search_unref(again);
	find_all(s, &id, "resumed \"read(3\" #..#100", &again, &state);
	ck_assert_uint_ge(state.found, 8);
	search_unref(again);
	/* searches that are over are kept, but no file of the recording with them */
	ck_assert_uint_eq(count_open(&id), 0);
	/* what is in use stays, the next one begins anew */
	searches_forget(s, &id);
	ck_assert_uint_eq(search_get(q, 0, 4, got), 4);
	find_all(s, &id, "errno:EBADF", &again, &state);
	ck_assert(again != q && state.complete);
	search_unref(again);
	search_unref(q);
	searches_free(s);
	help_close(&h);
}
END_TEST

/* The thread in the background finishes what nobody waits for; several threads ask at once. */
static void *ask(void *ctx)
{
	struct { struct searches *s; struct store_id id; } *all = ctx;
	struct search_state state;
	struct search *q;

	for (int i = 0; i < 20; i++) {
		find_all(all->s, &all->id, i % 2 ? "file" : "failed thread:1", &q, &state);
		ck_assert_uint_gt(state.found, 0);
		search_unref(q);
	}
	return NULL;
}

START_TEST(threads)
{
	struct help_store h = help_open();
	struct { struct searches *s; struct store_id id; } all = { .id = make_many(h.s, MANY) };
	struct filter *f CLEANUP(filter_freep) = NULL;
	struct search_state state = { 0 };
	struct search *q;
	pthread_t t[4];

	OK(searches_new(h.dir, &all.s));
	OK(filter_parse("bad", &f, NULL));
	for (int i = 0; i < 2000 && !state.complete; i++) {
		OK(searches_find(all.s, &all.id, f, 0, UINT64_MAX, &q, &state, NULL));
		search_unref(q);
		usleep(5000);
	}
	ck_assert(state.complete);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, ask, &all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	searches_free(all.s);
	help_close(&h);
}
END_TEST

/* --- rows and timelines --- */

static const struct a_event some[] = {
	{ A_EXEC(1, "/bin/x", 7) },
	{ A_CALL(1, SYS_openat, 3, (uint64_t)-100, A_PATH_AT), "/etc/=pass\"wd" },
	{ A_BIRTH(1, SYS_clone, 2, 7, 8, 0x10f00) },
	{ A_EXIT(1, SYS_clone, 8) },
	{ A_ENTER(2, SYS_read, 3, A_BUF_AT, 10) },
	{ { .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_write, .result = -9, .args = { 9, A_PATH_AT, 4 }, .time_ns = 1000000 }, "x\xff\x01" },
	{ { .kind = EVENT_SYSCALL_EXIT, .thread = 2, .sysno = SYS_read, .result = 2, .time_ns = 2000000 }, .out = "hi", .out_len = 2 },
	{ { .kind = EVENT_SIGNAL, .thread = 1, .signo = 11, .flags = EVENT_F_FATAL, .time_ns = 3000000 } },
	{ { .kind = EVENT_EXIT, .thread = 2, .result = 11, .time_ns = 3000100 } },
	{ { .kind = EVENT_EXIT, .thread = 1, .result = 11, .flags = EVENT_F_GROUP, .time_ns = 3000200 } },
	{ { .kind = EVENT_END, .time_ns = 4000000 } },
};

struct fixture {
	struct help_store h;
	struct store_id id;
	struct store_reader *r;
	struct evindex *index;
	struct evindex_view v;
};

static void fixture_open(struct fixture *x)
{
	x->h = help_open();
	x->id = a_recording(x->h.s, "/", some, ARRAY_SIZE(some));
	OK(store_reader_open(x->h.s, &x->id, &x->r, NULL));
	x->index = open_whole(x->h.dir, &x->id);
	evindex_view(x->index, &x->v);
}

static void fixture_close(struct fixture *x)
{
	evindex_release(&x->v);
	evindex_unref(x->index);
	store_reader_free(x->r);
	help_close(&x->h);
}

static const char *text_of(json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

static json_t *row_json(struct row_maker *m, uint64_t n)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *j = NULL;

	OK(row_make(m, n, NULL));
	row_put_json(m, &b);
	OK(jsonx_parse((const char *)b.data, b.len, &j, NULL));
	return j;
}

START_TEST(rows)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct fixture x;
	struct row_maker m;
	json_t *j;

	fixture_open(&x);
	row_init(&m, x.r, &x.v, 0);
	/* backwards: each is found without the ones before it */
	j = row_json(&m, 7);
	ck_assert_str_eq(text_of(j, "args"), "3, \"hi\", 10");
	ck_assert_str_eq(text_of(j, "result"), "2");
	ck_assert_str_eq(text_of(j, "duration_ns"), "1995000");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "partner")), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "tid")), 8);
	json_decref(j);
	j = row_json(&m, 6);
	ck_assert_str_eq(text_of(j, "errno"), "EBADF");
	ck_assert(json_is_true(json_object_get(j, "failed")));
	json_decref(j);
	j = row_json(&m, 2);
	ck_assert_str_eq(text_of(j, "args"), "AT_FDCWD, \"/etc/=pass\\\"wd\", O_RDONLY");
	json_decref(j);
	row_put_csv(&m, &b);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), ",openat,\"AT_FDCWD, \"\"/etc/=pass\\\"\"wd\"\", O_RDONLY\",3,"));
	buf_clear(&b);
	row_put_json_string(&b, "a\"\\\n\xff\xc3\xa9", 7);
	ck_assert_str_eq(buf_cstr(&b), "\"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa9\"");
	ck_assert_int_eq(row_make(&m, ARRAY_SIZE(some) + 1, NULL), -ERANGE);
	row_done(&m);
	fixture_close(&x);
}
END_TEST

START_TEST(details)
{
	struct fixture x;
	struct row_maker m;
	json_t *j, *arg;
	uint64_t len;
	char bytes[2];

	fixture_open(&x);
	row_init(&m, x.r, &x.v, 0);
	OK(row_make(&m, 7, NULL));
	OK(row_detail(&m, &j, NULL));
	arg = json_array_get(json_object_get(j, "arguments"), 0);
	ck_assert_str_eq(text_of(arg, "name"), "fd");
	ck_assert_str_eq(text_of(json_object_get(arg, "fd"), "path"), "/etc/=pass\"wd");
	arg = json_array_get(json_object_get(j, "arguments"), 1);
	ck_assert_str_eq(text_of(arg, "text"), "\"hi\"");
	ck_assert_int_eq(json_integer_value(json_object_get(arg, "buffer")), 0);
	ck_assert_str_eq(text_of(json_array_get(json_object_get(j, "buffers"), 0), "direction"), "out");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "previous_same_thread")), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "next_same_thread")), 9);
	ck_assert_str_eq(text_of(json_object_get(j, "returned"), "value"), "0x2");
	json_decref(j);
	OK(row_buffer(&m, 0, &len));
	ck_assert_uint_eq(len, 2);
	OK(row_buffer_read(&m, 0, 0, bytes, 2, NULL));
	ck_assert_int_eq(memcmp(bytes, "hi", 2), 0);
	ck_assert_int_eq(row_buffer(&m, 1, &len), -ENOENT);
	for (uint64_t n = 1; n <= ARRAY_SIZE(some); n++) { /* all kinds have their parts */
		OK(row_make(&m, n, NULL));
		OK(row_detail(&m, &j, NULL));
		ck_assert_uint_eq(json_object_size(j), 30);
		if (n == 10)
			ck_assert_str_eq(text_of(json_object_get(j, "status"), "signal"), "SIGSEGV");
		json_decref(j);
	}
	row_done(&m);
	fixture_close(&x);
}
END_TEST

static json_t *timeline_json(const struct evindex_view *v, uint64_t from, uint64_t to, unsigned buckets)
{
	struct timeline_window w = { from, to, buckets };
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *j = NULL;

	OK(timeline_put(v, &w, true, &b));
	OK(jsonx_parse((const char *)b.data, b.len, &j, NULL));
	return j;
}

static int64_t lane_at(json_t *j, size_t lane, const char *what, size_t bucket)
{
	return json_integer_value(json_array_get(json_object_get(json_array_get(json_object_get(j, "lanes"), lane), what), bucket));
}

/* A call that does not return keeps nobody blocked: exit is over when the thread has ended, execve when the program has begun. */
START_TEST(timeline_no_return)
{
	static const struct a_event ends[] = {
		{ A_EXEC(1, "/bin/x", 7) },
		{ A_BIRTH(1, SYS_clone, 2, 7, 8, 0x10f00) },
		{ A_EXIT(1, SYS_clone, 8) },
		{ { .kind = EVENT_SYSCALL_ENTER, .thread = 2, .sysno = SYS_exit, .time_ns = 1000000 } },
		{ { .kind = EVENT_EXIT, .thread = 2, .time_ns = 1000000 } },
		{ { .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = SYS_execve, .time_ns = 1500000 } },
		{ { .kind = EVENT_EXEC, .thread = 1, .sysno = SYS_execve, .text = "/bin/y", .pid = 7, .tid = 7, .time_ns = 2000000 } },
		{ { .kind = EVENT_EXIT, .thread = 1, .flags = EVENT_F_GROUP, .time_ns = 4000000 } },
		{ { .kind = EVENT_END, .time_ns = 4000000 } },
	};
	struct help_store h = help_open();
	struct store_id id = a_recording(h.s, "/", ends, ARRAY_SIZE(ends));
	struct evindex *index = open_whole(h.dir, &id);
	struct evindex_view v;
	json_t *j;

	evindex_view(index, &v);
	j = timeline_json(&v, 0, UINT64_MAX, 40);
	ck_assert_int_eq(lane_at(j, 0, "blocked", 17), 255);
	ck_assert_int_eq(lane_at(j, 0, "blocked", 25), 0);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 15), 0);
	json_decref(j);
	evindex_release(&v);
	evindex_unref(index);
	help_close(&h);
}
END_TEST

START_TEST(timelines)
{
	struct fixture x;
	json_t *j;

	fixture_open(&x);
	j = timeline_json(&x.v, 0, UINT64_MAX, 40);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "lanes")), 2);
	ck_assert_int_eq(lane_at(j, 0, "counts", 0), 4);
	ck_assert_int_eq(lane_at(j, 0, "errors", 9), 1);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 5), 255);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 25), 0);
	ck_assert_str_eq(text_of(json_array_get(json_object_get(j, "marks"), 0), "kind"), "fatal");
	ck_assert_uint_eq(json_array_size(json_object_get(j, "marks")), 5);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "events")), ARRAY_SIZE(some));
	json_decref(j);
	/* a window in which the second thread has no event: it is blocked all the time */
	j = timeline_json(&x.v, 500000, 1500000, 10);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 0), 255);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 9), 255);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "events")), 1);
	json_decref(j);
	/* and one that begins before the end of its call */
	j = timeline_json(&x.v, 1500000, 2500000, 10);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 4), 255);
	ck_assert_int_eq(lane_at(j, 1, "blocked", 5), 0);
	json_decref(j);
	j = timeline_json(&x.v, UINT64_MAX, 0, 10); /* nonsense is cut to something */
	json_decref(j);
	fixture_close(&x);
}
END_TEST

HELP_MAIN("analysis_evindex", { file }, { damaged }, { no_cache }, { live }, { sweep }, { searches }, { threads }, { rows }, { details }, { timelines },
	  { timeline_no_return })
