/* analysis/diff: aligning sequences; recordings that are alike but for ids, addresses and times, and where they are not; strangers' recordings. */
#include "analysis/diff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/diff_priv.h"
#include "tests/unit/store_help.h"

/* --- aligning --- */

static uint32_t longest(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m)
{
	static uint32_t t[64][64];

	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t j = 0; j <= m; j++)
			t[i][j] = !i || !j ? 0 : a[i - 1] == b[j - 1] ? t[i - 1][j - 1] + 1 : MAX(t[i - 1][j], t[i][j - 1]);
	return t[n][m];
}

/* Mates are equal and ascend: how many. */
static uint32_t check_mates(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m, const uint32_t *mate)
{
	uint32_t found = 0;
	int64_t last = -1;

	for (uint32_t i = 0; i < n; i++) {
		if (mate[i] == DIFF_NONE)
			continue;
		ck_assert_uint_lt(mate[i], m);
		ck_assert_int_gt(mate[i], last);
		ck_assert_uint_eq(a[i], b[mate[i]]);
		last = mate[i];
		found++;
	}
	return found;
}

START_TEST(small)
{
	struct rng r = { (uint64_t)_i + 1 };

	for (int round = 0; round < 2000; round++) {
		uint64_t a[60], b[60], kinds = rng_below(&r, 8) + 1;
		uint32_t n = (uint32_t)rng_below(&r, 60), m = (uint32_t)rng_below(&r, 60), mate[60];

		for (uint32_t i = 0; i < n; i++)
			a[i] = rng_below(&r, kinds);
		for (uint32_t i = 0; i < m; i++)
			b[i] = rng_below(&r, 3) && i < n ? a[i] : rng_below(&r, kinds);
		OK(diff_align(a, n, b, m, mate));
		ck_assert_uint_eq(check_mates(a, n, b, m, mate), longest(a, n, b, m));
	}
}
END_TEST

#define BIG 300000u

/* One in `every` elements is another, or missing, or new. */
START_TEST(large)
{
	static const unsigned every[] = { 100000, 1000, 20, 3 };
	uint64_t *a = calloc(BIG, sizeof(*a)), *b = calloc(2 * BIG, sizeof(*b));
	uint32_t *mate = calloc(BIG, sizeof(*mate)), m = 0, kept = 0, found;
	struct rng r = { 7 };

	for (uint32_t i = 0; i < BIG; i++) {
		uint64_t change = rng_below(&r, every[_i]);

		a[i] = rng_below(&r, 4) ? rng_below(&r, 50) : rng_next(&r); /* what programs do: mostly the same again */
		if (change == 0 && rng_below(&r, 2))
			continue;
		b[m++] = change == 0 ? rng_next(&r) : a[i];
		kept += change != 0;
	}
	OK(diff_align(a, BIG, b, m, mate));
	found = check_mates(a, BIG, b, m, mate);
	ck_assert_msg(found >= (uint64_t)kept * 99 / 100, "%u of %u", found, kept);
	free(a);
	free(b);
	free(mate);
}
END_TEST

/* --- recordings --- */

struct variant {
	uint64_t base;    /* address of everything */
	int32_t pid;      /* of the first process; the others follow */
	bool other_result, extra, missing_child, cut, split;
};

struct pen {
	struct store_writer *w;
	uint64_t time;
};

static void put(struct pen *p, struct event ev, struct effect *e, uint32_t n)
{
	ev.time_ns = p->time += 1000 + p->time % 77;
	ev.text = ev.text ? ev.text : "";
	ev.effects = e;
	ev.n_effects = n;
	OK(store_writer_event(p->w, &ev));
}

static void call(struct pen *p, uint32_t thread, uint32_t nr, int64_t result, uint64_t a0, uint64_t a1, uint64_t a2, bool split, struct effect e)
{
	struct event ev = { .kind = EVENT_SYSCALL, .thread = thread, .sysno = nr, .args = { a0, a1, a2 }, .result = result, .rip = a1 };

	e.name = "";
	if (!split) {
		put(p, ev, &e, e.kind ? 1 : 0);
		return;
	}
	ev.kind = EVENT_SYSCALL_ENTER;
	put(p, ev, &e, e.kind == EFFECT_INPUT);
	put(p, (struct event){ .kind = EVENT_SYSCALL_EXIT, .thread = thread, .sysno = nr, .result = result }, &e, e.kind == EFFECT_MEM || e.kind == EFFECT_OUTPUT);
}

static struct store_id record(struct store *s, const struct variant *v)
{
	struct pen p = { 0 };
	struct manifest m;
	struct store_id id;
	char path[40];
	int n = snprintf(path, sizeof(path), "/proc/%d/stat", v->pid) + 1;
	const struct effect none = { 0 };

	help_manifest(&m);
	OK(store_writer_new(s, &m, &p.w, NULL));
	put(&p, (struct event){ .kind = EVENT_EXEC, .thread = 1, .pid = v->pid, .tid = v->pid, .text = "/bin/x", .blob = "x\0y", .blob_len = 4 }, NULL, 0);
	call(&p, 1, SYS_mmap, (int64_t)v->base, 0, 4096, 3, false, none);
	call(&p, 1, SYS_getpid, v->pid, 0, 0, 0, false, none);
	call(&p, 1, SYS_openat, 3, (uint64_t)-100, v->base, 0, false, (struct effect){ .kind = EFFECT_INPUT, .addr = v->base, .len = (uint64_t)n, .data = path });
	call(&p, 1, SYS_read, v->other_result ? 99 : 100, 3, v->base, 200, v->split, none);
	if (v->extra)
		call(&p, 1, SYS_getuid, 0, 0, 0, 0, false, none);
	put(&p, (struct event){ .kind = EVENT_BIRTH, .thread = 1, .sysno = SYS_fork, .child = 2, .pid = v->pid + 5, .tid = v->pid + 5 }, NULL, 0);
	put(&p, (struct event){ .kind = EVENT_SYSCALL_EXIT, .thread = 1, .sysno = SYS_fork, .result = v->pid + 5 }, NULL, 0);
	if (!v->missing_child) {
		call(&p, 2, SYS_kill, 0, (uint64_t)v->pid, 0, 0, v->split, none);
		put(&p, (struct event){ .kind = EVENT_EXIT, .thread = 2 }, NULL, 0);
	}
	put(&p, (struct event){ .kind = EVENT_ASYNC_POINT, .thread = 1 }, NULL, 0);
	call(&p, 1, SYS_wait4, v->pid + 5, (uint64_t)-1, v->base, 0, v->split, none);
	if (!v->cut) {
		put(&p, (struct event){ .kind = EVENT_EXIT, .thread = 1, .result = 0 }, NULL, 0);
		put(&p, (struct event){ .kind = EVENT_END }, NULL, 0);
	}
	id = *store_writer_id(p.w);
	OK(store_writer_commit(p.w, &m, NULL));
	store_writer_free(p.w);
	manifest_done(&m);
	return id;
}

static const struct {
	struct variant v;
	uint64_t count[4]; /* same, changed, left, right */
	const char *why;
} variants[] = {
	/* another place in memory, other ids, other schedule: nothing */
	{ { .base = 0x7f1200000000, .pid = 4321, .split = true }, { 10, 0, 0, 0 }, NULL },
	{ { .base = 0x7f1200000000, .pid = 4321, .other_result = true }, { 9, 1, 0, 0 }, "the result differs: 100 / 99" },
	{ { .base = 0x7f1200000000, .pid = 4321, .extra = true }, { 10, 0, 0, 1 }, "only the right one does this" },
	{ { .base = 0x7f1200000000, .pid = 4321, .missing_child = true }, { 8, 0, 2, 0 }, "only the left one does this" },
	{ { .base = 0x7f1200000000, .pid = 4321, .cut = true }, { 9, 0, 1, 0 }, "only the left one does this" },
};

START_TEST(recordings)
{
	struct help_store h = help_open();
	struct store_id left = record(h.s, &(struct variant){ .base = 0x7f0000000000, .pid = 1000 }), right = record(h.s, &variants[_i].v);
	struct store_reader *a, *b;
	struct buf la CLEANUP(buf_done) = { 0 }, lb CLEANUP(buf_done) = { 0 }, why CLEANUP(buf_done) = { 0 };
	struct diff *d;

	OK(store_reader_open(h.s, &left, &a, NULL));
	OK(store_reader_open(h.s, &right, &b, NULL));
	OK(diff_new(a, b, NULL, NULL, &d, NULL));
	for (int i = 0; i < 4; i++)
		ck_assert_msg(d->count[i] == variants[_i].count[i], "%d: %llu", i, (unsigned long long)d->count[i]);
	ck_assert_uint_eq(d->n_rows, d->count[0] + d->count[1] + d->count[2] + d->count[3]);
	ck_assert(diff_output_equal(d));
	ck_assert_int_eq(d->first == d->n_rows, variants[_i].why == NULL);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *row = &d->row[i];

		buf_clear(&la);
		buf_clear(&lb);
		buf_clear(&why);
		if (row->left)
			OK(diff_line(a, &d->side[0].step[row->left - 1], &la, NULL));
		if (row->right)
			OK(diff_line(b, &d->side[1].step[row->right - 1], &lb, NULL));
		if (i == d->first) {
			diff_why(d, row, row->left ? buf_cstr(&la) : NULL, row->right ? buf_cstr(&lb) : NULL, &why);
			ck_assert_str_eq(buf_cstr(&why), variants[_i].why);
		}
	}
	diff_free(d);
	store_reader_free(a);
	store_reader_free(b);
	help_close(&h);
}
END_TEST

START_TEST(hostile)
{
	struct help_store h = help_open();
	struct store_id left = help_record(h.s, (uint64_t)_i, 3000), right = help_record(h.s, (uint64_t)_i + 50, 3000);
	struct store_reader *a, *b;
	struct diff *d;

	OK(store_reader_open(h.s, &left, &a, NULL));
	OK(store_reader_open(h.s, &right, &b, NULL));
	OK(diff_new(a, b, NULL, NULL, &d, NULL));
	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct buf line CLEANUP(buf_done) = { 0 };

		if (d->row[i].left)
			OK(diff_line(a, &d->side[0].step[d->row[i].left - 1], &line, NULL));
	}
	diff_free(d);
	OK(diff_new(a, a, NULL, NULL, &d, NULL));
	ck_assert_uint_eq(d->count[DIFF_SAME], d->n_rows);
	diff_free(d);
	store_reader_free(a);
	store_reader_free(b);
	help_close(&h);
}
END_TEST

HELP_MAIN("analysis_diff", { small, 5 }, { large, 4 }, { recordings, ARRAY_SIZE(variants) }, { hostile, 4 })
