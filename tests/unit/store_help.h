/* What the store's tests share: stores in temporary directories, and recordings whose n-th event is a function of a seed and n,
 * so that a reader of any prefix can be checked against it. */
#ifndef TESTS_UNIT_STORE_HELP_H
#define TESTS_UNIT_STORE_HELP_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"
#include "store/maintain.h"
#include "store/manifest.h"
#include "store/reader.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/unit/test.h"

/* A suite whose cases each run alone with CK_RUN_CASE=name; {case, n}: n times, with _i = 0..n-1. */
struct help_case {
	const TTest *test;
	int loops; /* 0 = 1 */
};

static inline int help_run(const char *name, const struct help_case *cases, size_t n)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < n; i++) {
		TCase *tc = tcase_create(cases[i].test->name);

		tcase_set_timeout(tc, 120);
		tcase_add_loop_test(tc, cases[i].test, 0, cases[i].loops ? cases[i].loops : 1);
		suite_add_tcase(suite, tc);
	}
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define HELP_MAIN(name, ...) \
	int main(void) \
	{ \
		const struct help_case cases[] = { __VA_ARGS__ }; \
\
		return help_run(name, cases, ARRAY_SIZE(cases)); \
	}

#define HELP_BIG 70000u

#define OK(expr) \
	do { \
		int ok_r_ = (int)(expr); \
		ck_assert_msg(ok_r_ >= 0, "%s: %s", #expr, err_str(ok_r_)); \
	} while (0)
#define FAILS(want, expr) \
	do { \
		int fails_r_ = (int)(expr); \
		ck_assert_msg(fails_r_ == (want), "%s: got %d %s, want %s", #expr, fails_r_, err_str(fails_r_), err_str(want)); \
	} while (0)

struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	/* splitmix64 */
	uint64_t z = (r->s += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

/* Numbers of all lengths. */
static inline uint64_t rng_wide(struct rng *r)
{
	return rng_next(r) >> rng_below(r, 64);
}

static inline char *help_tmp_dir(void)
{
	/* memory rather than disk: these tests rewrite files a hundred thousand times */
	const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	const char *top = getenv("TMPDIR");
	char *dir = os_asprintf("%s/hermit-store-XXXXXX", top ? top : shm);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	return dir;
}

/* rm -rf, without running a program. */
static inline void help_remove(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *sub;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		sub = os_asprintf("%s/%s", path, e->d_name);
		if (unlink(sub) < 0)
			help_remove(sub);
		free(sub);
	}
	if (d)
		closedir(d);
	(void)rmdir(path);
}

struct help_store {
	char *dir;
	struct store *s;
};

static inline struct help_store help_open(void)
{
	struct help_store h = { .dir = help_tmp_dir() };

	OK(store_open(h.dir, true, &h.s, NULL));
	return h;
}

static inline void help_close(struct help_store *h)
{
	store_free(h->s);
	help_remove(h->dir);
	free(h->dir);
}

/* One event with all that its pointers need. */
struct help_event {
	struct event ev;
	struct effect effects[6];
	uint8_t data[6][600];
	char names[6][40];
	char text[64], argv[64];
};

static inline const uint8_t *help_big(void)
{
	static uint8_t big[HELP_BIG];

	if (!big[1])
		for (size_t i = 0; i < HELP_BIG; i++)
			big[i] = (uint8_t)(i * 7 + (i >> 9) + 1);
	return big;
}

static inline void help_effect(struct rng *r, struct help_event *h, unsigned i)
{
	static const enum effect_kind kinds[] = { EFFECT_MEM, EFFECT_INPUT, EFFECT_MAP,	   EFFECT_UNMAP, EFFECT_REGS,
						  EFFECT_XSTATE, EFFECT_OUTPUT, EFFECT_RESIZE, EFFECT_ZERO, EFFECT_MEM };
	struct effect *e = &h->effects[i];

	*e = (struct effect){ .kind = kinds[rng_below(r, ARRAY_SIZE(kinds))], .name = "" };
	if (rng_below(r, 4) == 0)
		e->thread = (uint32_t)rng_below(r, 1000) + 1;
	for (size_t k = 0; k < sizeof(h->data[i]); k++)
		h->data[i][k] = (uint8_t)(rng_next(r) & 31);
	if (e->kind != EFFECT_REGS && e->kind != EFFECT_XSTATE && e->kind != EFFECT_OUTPUT && e->kind != EFFECT_RESIZE)
		e->addr = rng_wide(r) >> 8;
	if (e->kind == EFFECT_MAP || e->kind == EFFECT_UNMAP || e->kind == EFFECT_ZERO || e->kind == EFFECT_RESIZE)
		e->len = rng_wide(r) >> 1;
	else
		e->len = rng_below(r, rng_below(r, 3) ? 100 : sizeof(h->data[i]));
	if (e->kind == EFFECT_REGS)
		e->len = 216;
	if (e->kind == EFFECT_MEM || e->kind == EFFECT_INPUT || e->kind == EFFECT_REGS || e->kind == EFFECT_XSTATE ||
	    e->kind == EFFECT_OUTPUT)
		e->data = h->data[i];
	if (e->kind == EFFECT_MEM && rng_below(r, 50) == 0) {
		e->data = help_big();
		e->len = HELP_BIG - rng_below(r, 1000);
	}
	if (e->kind == EFFECT_RESIZE)
		e->object = rng_wide(r);
	if (e->kind == EFFECT_ZERO && e->len & 1) {
		e->kind = EFFECT_HASH;
		e->hash = e->len * 0x9e3779b97f4a7c15ULL;
	}
	if (e->kind == EFFECT_MAP) {
		e->prot = (uint32_t)rng_below(r, 8);
		e->flags = (uint32_t)rng_below(r, MAP_F_ALL_ + 1);
		e->source = (enum map_source)rng_below(r, MAP_SOURCE_MAX_);
		if (e->source == MAP_SOURCE_SHARED)
			e->object = rng_wide(r);
		if (e->source != MAP_SOURCE_ANON)
			e->offset = rng_wide(r);
		if (e->source == MAP_SOURCE_BLOB)
			memset(e->blob.sha256, (int)rng_below(r, 5) + 1, 32);
		(void)snprintf(h->names[i], sizeof(h->names[i]), "/lib/%llx", (unsigned long long)rng_wide(r));
		e->name = h->names[i];
	}
}

/* Event number n of the recording with this seed. kind EVENT_INVALID = any. */
static inline void help_event(uint64_t seed, uint64_t n, enum event_kind kind, struct help_event *h)
{
	struct rng r = { seed * 1000003 + n };
	struct event *ev = &h->ev;
	enum event_kind k = kind ? kind : (enum event_kind)(rng_below(&r, EVENT_MAX_ - 1) + 1);

	if (!kind && k == EVENT_END)
		k = EVENT_SYSCALL;
	*ev = (struct event){ .kind = k, .thread = (uint32_t)rng_below(&r, 50), .time_ns = n * 1000 + rng_below(&r, 1000),
			      .text = "" };
	ev->flags = (uint32_t)rng_below(&r, EVENT_F_ALL_ + 1);
	if (rng_below(&r, 3))
		ev->regs_hash = rng_next(&r) | 1;
	/* fields that a kind has not are zero after reading: set what all or most have, the comparison knows the rest */
	ev->sysno = (uint32_t)rng_below(&r, 500);
	for (int i = 0; i < 6; i++)
		ev->args[i] = rng_wide(&r);
	ev->result = (int64_t)rng_wide(&r) * (rng_below(&r, 2) ? 1 : -1);
	ev->rip = rng_wide(&r);
	ev->child = (uint32_t)rng_below(&r, 100);
	ev->pid = (int32_t)rng_below(&r, 100000) - 10;
	ev->tid = (int32_t)rng_below(&r, 100000) - 10;
	ev->signo = (uint32_t)rng_below(&r, 65);
	for (size_t i = 0; i < rng_below(&r, 128); i++)
		ev->siginfo[i] = (uint8_t)rng_next(&r);
	(void)snprintf(h->text, sizeof(h->text), "text %llx", (unsigned long long)rng_wide(&r));
	ev->text = h->text;
	ev->blob_len = (uint64_t)snprintf(h->argv, sizeof(h->argv), "prog%carg %llx", 0, (unsigned long long)rng_wide(&r)) + 1;
	ev->blob = h->argv;
	ev->n_effects = (uint32_t)(rng_below(&r, 2) ? 0 : rng_below(&r, ARRAY_SIZE(h->effects) + 1));
	ev->effects = h->effects;
	for (unsigned i = 0; i < ev->n_effects; i++)
		help_effect(&r, h, i);
}

/* The manifest that tests record with. */
static inline void help_manifest(struct manifest *m)
{
	manifest_init(m);
	m->start_wall_ns = os_wall_ns();
	/* not through base/os.h: torture makes that fail */
	m->argv = calloc(2, sizeof(char *));
	m->argv[0] = strdup("/bin/test");
	m->cwd = strdup("/");
	m->state = RECORDING_COMPLETE;
}

/* Writes events 1..n of the seed, the last one EVENT_END, and commits. */
static inline struct store_id help_record(struct store *s, uint64_t seed, uint64_t n)
{
	static struct help_event h;
	struct store_writer *w;
	struct errinfo ei = { 0 };
	struct manifest m;
	struct store_id id;
	int r;

	help_manifest(&m);
	OK(store_writer_new(s, &m, &w, NULL));
	for (uint64_t i = 1; i <= n; i++) {
		help_event(seed, i, i == n ? EVENT_END : EVENT_INVALID, &h);
		OK(store_writer_event(w, &h.ev));
		ck_assert_uint_eq(h.ev.number, i);
	}
	id = *store_writer_id(w);
	r = store_writer_commit(w, &m, &ei);
	ck_assert_msg(r == 0, "%s", ei.text);
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

/* A recording whose blobs exist: n bytes each. */
static inline struct store_id help_record_blobs(struct store *s, uint64_t seed, unsigned n_blobs)
{
	struct store_writer *w;
	struct manifest m;
	struct store_id id;
	char text[100];

	help_manifest(&m);
	OK(store_writer_new(s, &m, &w, NULL));
	for (unsigned i = 0; i < n_blobs; i++) {
		struct effect e = { .kind = EFFECT_MAP, .addr = 4096, .len = 4096, .source = MAP_SOURCE_BLOB, .name = "/x" };
		struct event ev = { .kind = EVENT_EXEC, .thread = 1, .text = "/x", .effects = &e, .n_effects = 1 };
		int len = snprintf(text, sizeof(text), "blob %llu %u", (unsigned long long)seed, i);

		OK(store_blob_add(s, text, (size_t)len, &e.blob));
		OK(store_writer_event(w, &ev));
	}
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

static inline void help_same_effect(struct store_reader *rd, const struct effect *got, const struct effect *want)
{
	static uint8_t bytes[HELP_BIG];
	struct errinfo ei = { 0 };
	int r;

	ck_assert_int_eq(got->kind, want->kind);
	ck_assert_uint_eq(got->thread, want->thread);
	ck_assert_uint_eq(got->addr, want->addr);
	ck_assert_uint_eq(got->len, want->len);
	ck_assert_uint_eq(got->prot, want->prot);
	ck_assert_uint_eq(got->flags, want->flags);
	ck_assert_int_eq(got->source, want->source);
	ck_assert_uint_eq(got->object, want->object);
	ck_assert_uint_eq(got->offset, want->offset);
	ck_assert(blob_id_equal(&got->blob, &want->blob));
	ck_assert_str_eq(got->name, want->name);
	if (!want->data)
		return;
	if (rd) {
		r = store_reader_data(rd, got, 0, bytes, want->len, &ei);
		ck_assert_msg(r == 0, "%s", ei.text);
		ck_assert_mem_eq(bytes, want->data, want->len);
	} else if (got->data) {
		ck_assert_mem_eq(got->data, want->data, want->len);
	}
}

/* What reading gives must be what was written; rd NULL: data in the stream are not compared. */
static inline void help_same_event(struct store_reader *rd, const struct event *got, const struct event *want)
{
	enum event_kind k = want->kind;

	ck_assert_int_eq(got->kind, want->kind);
	ck_assert_uint_eq(got->thread, want->thread);
	ck_assert_uint_eq(got->time_ns, want->time_ns);
	ck_assert_uint_eq(got->flags, want->flags);
	ck_assert_uint_eq(got->regs_hash, want->regs_hash);
	ck_assert_uint_eq(got->n_effects, want->n_effects);
	if (k != EVENT_NOTE && k != EVENT_END)
		ck_assert_uint_eq(got->rip, want->rip);
	if (k == EVENT_SYSCALL || k == EVENT_SYSCALL_EXIT || k == EVENT_EXIT || k == EVENT_RESTART)
		ck_assert_int_eq(got->result, want->result);
	if (k == EVENT_SYSCALL || k == EVENT_SYSCALL_ENTER || k == EVENT_BIRTH)
		ck_assert_mem_eq(got->args, want->args, sizeof(got->args));
	if (k == EVENT_CPUID)
		ck_assert_mem_eq(got->args, want->args, 4 * sizeof(got->args[0]));
	if (k == EVENT_SYSCALL || k == EVENT_SYSCALL_ENTER || k == EVENT_SYSCALL_EXIT || k == EVENT_BIRTH || k == EVENT_RESTART)
		ck_assert_uint_eq(got->sysno, want->sysno);
	if (k == EVENT_BIRTH || k == EVENT_EXEC) {
		ck_assert_uint_eq(got->child, want->child);
		ck_assert_int_eq(got->pid, want->pid);
		ck_assert_int_eq(got->tid, want->tid);
	}
	if (k == EVENT_SIGNAL) {
		ck_assert_uint_eq(got->signo, want->signo);
		ck_assert_mem_eq(got->siginfo, want->siginfo, sizeof(got->siginfo));
	}
	if (k == EVENT_EXEC || k == EVENT_NOTE)
		ck_assert_str_eq(got->text, want->text);
	if (k == EVENT_EXEC) {
		ck_assert_uint_eq(got->blob_len, want->blob_len);
		ck_assert_mem_eq(got->blob, want->blob, want->blob_len);
	}
	for (uint32_t i = 0; i < got->n_effects; i++)
		help_same_effect(rd, &got->effects[i], &want->effects[i]);
}

/* Reads a recording to its end: each event must be that of the seed. The number read; *ret the last result (0 or an error). `of` is the
 * number of events that were meant to be written (the last of them is EVENT_END), 0 = no end was written. */
static inline uint64_t help_read(struct store_reader *rd, uint64_t seed, uint64_t of, int *ret)
{
	static struct help_event h;
	const struct event *ev;
	struct errinfo ei = { 0 };
	uint64_t n = 0;
	int r;

	while ((r = store_reader_next(rd, &ev, &ei)) > 0) {
		n++;
		ck_assert_uint_eq(ev->number, n);
		help_event(seed, n, n == of ? EVENT_END : EVENT_INVALID, &h);
		help_same_event(rd, ev, &h.ev);
	}
	*ret = r;
	return n;
}

/* A recording that must be whole. */
static inline void help_check(struct store *s, const struct store_id *id, uint64_t seed, uint64_t n)
{
	struct store_reader *rd;
	struct errinfo ei = { 0 };
	uint64_t count;
	int r = store_reader_open(s, id, &rd, &ei);

	ck_assert_msg(r == 0, "%s", ei.text);
	ck_assert_uint_eq(help_read(rd, seed, n, &r), n);
	ck_assert_int_eq(r, 0);
	ck_assert(!store_reader_truncated(rd));
	OK(store_reader_count(rd, &count, NULL));
	ck_assert_uint_eq(count, n);
	store_reader_free(rd);
}

static inline char *help_path(const struct help_store *h, const struct store_id *id, const char *name)
{
	char *dir, *path;

	OK(store_path(h->s, id, &dir));
	path = os_asprintf("%s/%s", dir, name);
	free(dir);
	return path;
}

static inline char *help_slurp(const char *path, size_t *n)
{
	char *p;

	OK(os_read_file(path, 1 << 30, &p, n));
	return p;
}

static inline void help_spill(const char *path, const void *p, size_t n)
{
	int fd = os_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	OK(fd);
	OK(os_write_full(fd, p, n));
	os_close(fd);
}

static inline size_t help_count_names(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n >= 2 ? n - 2 : 0;
}

#endif
