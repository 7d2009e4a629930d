/* See diff.h: matching threads, rows, lines. */
#include "analysis/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/diff_priv.h"
#include "analysis/evprint.h"
#include "base/os.h"

/* Bytes of strings in lines. */
#define STRING_MAX 64u

void diff_free(struct diff *d)
{
	if (!d)
		return;
	free(d->side[0].step);
	free(d->side[1].step);
	free(d->row);
	free(d);
}

void diff_freep(struct diff **d)
{
	diff_free(*d);
}

/* --- rows --- */

/* A row while it is sorted in: rows of a thread follow each other, those of several are ordered by the left recording's steps. */
struct draft {
	uint32_t key;    /* the left step, or that of the last row of the thread that had one */
	uint32_t thread; /* order of threads, and ... */
	uint32_t order;  /* ... within a thread */
	struct diff_row row;
};

struct drafts {
	struct draft *v; /* owned */
	uint32_t n, cap, thread;
	uint32_t key;
};

static int draft(struct drafts *d, uint32_t left, uint32_t right, enum diff_op op)
{
	if (d->n == d->cap) {
		struct draft *more = reallocarray(d->v, (size_t)d->cap * 2 + 1024, sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->v = more;
		d->cap = d->cap * 2 + 1024;
	}
	d->key = left ? left : d->key;
	d->v[d->n] = (struct draft){ .key = d->key, .thread = d->thread, .order = d->n, .row = { .left = left, .right = right, .op = (uint8_t)op } };
	d->n++;
	return 0;
}

static int by_place(const void *pa, const void *pb)
{
	const struct draft *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* What one side of a pair of threads did, as two rows of numbers. */
struct sequence {
	const uint32_t *step;
	uint64_t *hash, *shape; /* owned */
	uint32_t n;
};

static int sequence_init(struct sequence *s, const struct diff_side *side, const struct diff_thread *t)
{
	s->n = t ? t->n : 0;
	s->step = t ? t->step : NULL;
	s->hash = os_calloc(s->n + 1, sizeof(*s->hash));
	s->shape = os_calloc(s->n + 1, sizeof(*s->shape));
	if (!s->hash || !s->shape)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		s->hash[i] = side->step[s->step[i]].hash;
		s->shape[i] = side->step[s->step[i]].shape;
	}
	return 0;
}

static void sequence_done(struct sequence *s)
{
	free(s->hash);
	free(s->shape);
}

/* Rows for steps that have no equal: those of one shape are pairs that have changed. mate: room. */
static int draft_gap(struct drafts *d, const struct sequence *a, uint32_t i, uint32_t end_i, const struct sequence *b, uint32_t j, uint32_t end_j,
		     uint32_t *mate)
{
	uint32_t first_i = i, first_j = j;
	int r = end_i > i && end_j > j ? diff_align(a->shape + i, end_i - i, b->shape + j, end_j - j, mate) : 1;
	bool paired = r == 0;

	while (r >= 0 && (i < end_i || j < end_j)) {
		uint32_t m = paired && i < end_i && mate[i - first_i] != DIFF_NONE ? first_j + mate[i - first_i] : DIFF_NONE;

		if (i < end_i && m == DIFF_NONE) {
			r = draft(d, a->step[i++] + 1, 0, DIFF_LEFT);
		} else if (i < end_i && j == m) {
			r = draft(d, a->step[i++] + 1, b->step[j++] + 1, DIFF_CHANGED);
		} else {
			r = draft(d, 0, b->step[j++] + 1, DIFF_RIGHT);
		}
	}
	return r < 0 ? r : 0;
}

static int draft_threads(struct drafts *d, const struct sequence *a, const struct sequence *b)
{
	uint32_t *mate CLEANUP(freep) = os_calloc((size_t)a->n + 1, sizeof(*mate));
	uint32_t *room CLEANUP(freep) = os_calloc((size_t)a->n + 1, sizeof(*room));
	uint32_t i = 0, j = 0;
	int r = mate && room ? diff_align(a->hash, a->n, b->hash, b->n, mate) : -ENOMEM;

	d->key = 0;
	for (uint32_t at = 0; r >= 0 && at <= a->n; at++) {
		if (at < a->n && mate[at] == DIFF_NONE)
			continue;
		r = draft_gap(d, a, i, at, b, j, at < a->n ? mate[at] : b->n, room);
		if (r < 0 || at == a->n)
			break;
		r = draft(d, a->step[at] + 1, b->step[mate[at]] + 1, DIFF_SAME);
		i = at + 1;
		j = mate[at] + 1;
	}
	d->thread++;
	return r < 0 ? r : 0;
}

/* --- threads --- */

struct place {
	uint64_t place;
	uint32_t thread;
};

static int by_value(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* The places of all threads that did something, sorted. Owned; NULL without memory. */
static struct place *sort_places(const struct diff_threads *t, size_t *ret_n)
{
	struct place *v = os_calloc((size_t)t->n + 1, sizeof(*v));
	size_t n = 0;

	for (uint32_t i = 0; v && i < t->n; i++)
		if (t->v[i].n)
			v[n++] = (struct place){ t->v[i].place, i };
	if (n)
		qsort(v, n, sizeof(*v), by_value);
	*ret_n = n;
	return v;
}

/* The first thread at that place, DIFF_NONE. */
static uint32_t find_place(const struct place *v, size_t n, uint64_t place)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (v[mid].place < place)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && v[low].place == place ? v[low].thread : DIFF_NONE;
}

static int draft_pair(struct diff *d, struct drafts *drafts, const struct diff_thread *left, const struct diff_thread *right)
{
	struct sequence a CLEANUP(sequence_done) = { 0 }, b CLEANUP(sequence_done) = { 0 };
	int r = sequence_init(&a, &d->side[0], left);

	if (r >= 0)
		r = sequence_init(&b, &d->side[1], right);
	return r < 0 ? r : draft_threads(drafts, &a, &b);
}

/* In the order of the left side's births, then what only the right one has. */
static int draft_all(struct diff *d, struct drafts *drafts, const struct diff_threads *t, diff_progress_fn fn, void *ctx)
{
	bool *taken CLEANUP(freep) = os_calloc((size_t)t[1].n + 1, sizeof(*taken));
	size_t n;
	struct place *places CLEANUP(freep) = sort_places(&t[1], &n);
	int r = taken && places ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t[0].n && r >= 0; i++) {
		uint32_t at = t[0].v[i].n ? find_place(places, n, t[0].v[i].place) : DIFF_NONE;

		if (!t[0].v[i].n)
			continue;
		if (at != DIFF_NONE && taken[at]) /* places are hashes: of a stranger's threads several may look alike */
			at = DIFF_NONE;
		if (at != DIFF_NONE)
			taken[at] = true;
		r = draft_pair(d, drafts, &t[0].v[i], at == DIFF_NONE ? NULL : &t[1].v[at]);
		if (r >= 0 && fn)
			r = fn(ctx, 700 + (unsigned)(250ull * i / t[0].n));
	}
	for (uint32_t i = 0; i < t[1].n && r >= 0; i++)
		if (t[1].v[i].n && !taken[i])
			r = draft_pair(d, drafts, NULL, &t[1].v[i]);
	return r;
}

static int take_rows(struct diff *d, struct drafts *drafts)
{
	if (drafts->n)
		qsort(drafts->v, drafts->n, sizeof(*drafts->v), by_place);
	d->row = os_calloc((size_t)drafts->n + 1, sizeof(*d->row));
	if (!d->row)
		return -ENOMEM;
	d->n_rows = d->first = drafts->n;
	for (uint32_t i = 0; i < drafts->n; i++) {
		d->row[i] = drafts->v[i].row;
		d->count[d->row[i].op]++;
		if (d->row[i].op != DIFF_SAME && d->first == d->n_rows)
			d->first = i;
	}
	return 0;
}

int diff_new(struct store_reader *left, struct store_reader *right, diff_progress_fn fn, void *ctx, struct diff **ret, struct errinfo *ei)
{
	struct diff *d CLEANUP(diff_freep) = os_calloc(1, sizeof(*d));
	struct diff_threads threads[2] = { { 0 }, { 0 } };
	struct drafts drafts = { 0 };
	int r = d ? diff_read(left, &d->side[0], &threads[0], fn, ctx, 0, 350, ei) : -ENOMEM;

	if (r >= 0)
		r = diff_read(right, &d->side[1], &threads[1], fn, ctx, 350, 350, ei);
	if (r >= 0)
		r = draft_all(d, &drafts, threads, fn, ctx);
	if (r >= 0)
		r = take_rows(d, &drafts);
	free(drafts.v);
	diff_threads_done(&threads[0]);
	diff_threads_done(&threads[1]);
	if (r < 0)
		return r;
	*ret = TAKE(d);
	return 0;
}

bool diff_output_equal(const struct diff *d)
{
	return !memcmp(d->side[0].output_hash, d->side[1].output_hash, sizeof(d->side[0].output_hash)) &&
	       !memcmp(d->side[0].output_bytes, d->side[1].output_bytes, sizeof(d->side[0].output_bytes));
}

/* --- lines --- */

int diff_line(struct store_reader *r, const struct diff_step *s, struct buf *out, struct errinfo *ei)
{
	static const char resumed[] = "<... resumed> ";
	struct evprint p CLEANUP(evprint_done);
	struct buf line CLEANUP(buf_done) = { 0 };
	const struct event *ev;
	size_t skip = 0;
	int err = 1;

	evprint_init(&p, r, STRING_MAX);
	for (int i = s->entry != s->number ? 0 : 1; i < 2 && err > 0; i++) {
		err = store_reader_seek(r, i ? s->number : s->entry, ei);
		if (err >= 0)
			err = store_reader_next(r, &ev, ei);
		if (err > 0 && i)
			evprint_text(&p, ev, &line);
		else if (err > 0)
			evprint_skip(&p, ev);
	}
	if (err <= 0)
		return err < 0 ? err : errinfo_set(ei, ERR_CORRUPT, "event %u is missing", s->number);
	if (line.len >= sizeof(resumed) - 1 && !memcmp(line.data, resumed, sizeof(resumed) - 1))
		skip = sizeof(resumed) - 1;
	buf_put(out, line.data + skip, line.len - skip);
	return buf_error(out);
}

static const char *result_of(const char *line)
{
	const char *at = NULL;

	for (const char *p = line; (p = strstr(p, ") = ")); p += 4)
		at = p;
	return at;
}

void diff_why(const struct diff *d, const struct diff_row *row, const char *left, const char *right, struct buf *out)
{
	const char *a = left ? result_of(left) : NULL, *b = right ? result_of(right) : NULL;
	bool asked, answered = a && b && strcmp(a, b) != 0;

	if (row->op != DIFF_CHANGED) {
		buf_printf(out, "only the %s one does this", row->op == DIFF_LEFT ? "left" : "right");
		return;
	}
	asked = d->side[0].step[row->left - 1].asked != d->side[1].step[row->right - 1].asked;
	buf_printf(out, "%s", asked && answered ? "arguments and result differ" : asked ? "the arguments differ" : answered ? "the result differs" : "the data differ");
	if (answered)
		buf_printf(out, ": %.100s / %.100s", a + 4, b + 4);
}
