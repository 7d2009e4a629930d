/* Aligning two sequences of hashes. Equal ends are taken off; then the greedy algorithm of Myers ("An O(ND) difference algorithm", 1986) as long as there are few
 * differences; else elements that occur once in each side divide the problem (as in "patience" diff). What neither can do is left unaligned: memory and time are
 * bounded whatever the recordings hold. */
#include "analysis/diff_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

#define EDITS_MAX 800u  /* of Myers' algorithm: memory is its square, times 4 bytes */
#define DEPTH_MAX 32u

struct job {
	const uint64_t *a, *b;
	uint32_t *mate;
	int32_t *trace; /* EDITS_MAX rows, each as long as its number of diagonals */
};

/* Row d of the trace holds diagonals -d..d. */
static int32_t *row_of(const struct job *j, int d)
{
	return j->trace + (size_t)d * (size_t)d + d;
}

/* Where diagonal k is reached from in row d: the better of the neighbours in row d - 1 from which a step stays inside. Its diagonal, or d (none). */
static int reached_from(const int32_t *old, int d, int k, uint32_t n, uint32_t m)
{
	int64_t down = k + 1 <= d - 1 && old[k + 1] >= 0 && old[k + 1] - (k + 1) < (int64_t)m ? old[k + 1] : -1;
	int64_t right = k - 1 >= -(d - 1) && old[k - 1] >= 0 && old[k - 1] < (int64_t)n ? old[k - 1] + 1 : -1;

	if (down < 0 && right < 0)
		return d;
	return down >= right ? k + 1 : k - 1;
}

static void walk_back(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, int d)
{
	int x = (int)n, y = (int)m;

	for (; d >= 0; d--) {
		const int32_t *old = d ? row_of(j, d - 1) : NULL;
		int k = x - y, from = d ? reached_from(old, d, k, n, m) : 0;
		int begin = !d ? 0 : from == k + 1 ? old[from] : old[from] + 1;

		for (; x > begin; x--, y--)
			j->mate[a0 + (uint32_t)x - 1] = b0 + (uint32_t)y - 1;
		if (!d)
			return;
		x = old[from];
		y = x - from;
	}
}

/* True when they were aligned. Diagonal k holds the furthest x with y = x - k, -1 = not reached. */
static bool myers(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m)
{
	const int most = (int)MIN((uint64_t)n + m, (uint64_t)EDITS_MAX - 1);

	for (int d = 0; d <= most; d++) {
		int32_t *v = row_of(j, d), *old = d ? row_of(j, d - 1) : NULL;

		for (int k = -d; k <= d; k++) {
			int from = d && (k + d) % 2 == 0 ? reached_from(old, d, k, n, m) : d;
			int64_t x = !d ? 0 : from == d ? -1 : from == k + 1 ? old[from] : old[from] + 1, y = x - k;

			v[k] = -1;
			if (x < 0)
				continue;
			while (x < n && y < m && j->a[a0 + x] == j->b[b0 + y]) {
				x++;
				y++;
			}
			v[k] = (int32_t)x;
			if (x == n && y == m) {
				walk_back(j, a0, n, b0, m, d);
				return true;
			}
		}
	}
	return false;
}

/* --- anchors --- */

struct element {
	uint64_t hash;
	uint32_t at; /* index; DIFF_NONE behind the hash's first of several */
	bool right, single;
};

static int by_hash(const void *pa, const void *pb)
{
	const struct element *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->right != b->right)
		return a->right ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

struct anchor {
	uint32_t a, b, prev;
};

static int by_left(const void *pa, const void *pb)
{
	const struct anchor *a = pa, *b = pb;

	return (a->a > b->a) - (a->a < b->a);
}

/* Pairs of elements that occur exactly once in each range. */
static uint32_t find_anchors(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, struct element *e, struct anchor *ret)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		e[i] = (struct element){ .hash = j->a[a0 + i], .at = a0 + i };
	for (uint32_t i = 0; i < m; i++)
		e[n + i] = (struct element){ .hash = j->b[b0 + i], .at = b0 + i, .right = true };
	qsort(e, (size_t)n + m, sizeof(*e), by_hash);
	for (uint32_t i = 0; i < n + m;) {
		uint32_t end = i + 1;

		while (end < n + m && e[end].hash == e[i].hash)
			end++;
		if (end == i + 2 && !e[i].right && e[i + 1].right)
			ret[found++] = (struct anchor){ .a = e[i].at, .b = e[i + 1].at };
		i = end;
	}
	qsort(ret, found, sizeof(*ret), by_left);
	return found;
}

/* The longest sequence of anchors that ascends on both sides, marked in mate: their number. */
static uint32_t choose_anchors(const struct job *j, struct anchor *v, uint32_t n, uint32_t *pile)
{
	uint32_t piles = 0, chosen = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t low = 0, high = piles;

		while (low < high) {
			uint32_t mid = (low + high) / 2;

			if (v[pile[mid]].b < v[i].b)
				low = mid + 1;
			else
				high = mid;
		}
		v[i].prev = low ? pile[low - 1] : DIFF_NONE;
		pile[low] = i;
		piles = MAX(piles, low + 1);
	}
	for (uint32_t i = piles ? pile[piles - 1] : DIFF_NONE; i != DIFF_NONE; i = v[i].prev) {
		j->mate[v[i].a] = v[i].b;
		chosen++;
	}
	return chosen;
}

static int align(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, unsigned depth);

/* Aligns what lies between the anchors that are marked. */
static int between_anchors(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, unsigned depth)
{
	uint32_t from_a = a0, from_b = b0;
	int r = 0;

	for (uint32_t i = a0; i <= a0 + n && r >= 0; i++) {
		bool end = i == a0 + n;
		uint32_t to_b = end ? b0 + m : j->mate[i];

		if (!end && to_b == DIFF_NONE)
			continue;
		r = align(j, from_a, i - from_a, from_b, to_b - from_b, depth + 1);
		/* align() marks what it matched in front of i only: j->mate[i] is still the anchor */
		from_a = i + 1;
		from_b = to_b + 1;
	}
	return r;
}

static int divide(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, unsigned depth)
{
	struct element *e CLEANUP(freep) = os_calloc((size_t)n + m, sizeof(*e));
	struct anchor *anchors CLEANUP(freep) = os_calloc(MIN(n, m), sizeof(*anchors));
	uint32_t *pile CLEANUP(freep) = os_calloc(MIN(n, m), sizeof(*pile));
	uint32_t found;

	if (!e || !anchors || !pile)
		return -ENOMEM;
	found = find_anchors(j, a0, n, b0, m, e, anchors);
	found = choose_anchors(j, anchors, found, pile);
	freep(&e);
	e = NULL;
	return found ? between_anchors(j, a0, n, b0, m, depth) : 0;
}

static int align(const struct job *j, uint32_t a0, uint32_t n, uint32_t b0, uint32_t m, unsigned depth)
{
	while (n && m && j->a[a0] == j->b[b0]) {
		j->mate[a0++] = b0++;
		n--;
		m--;
	}
	while (n && m && j->a[a0 + n - 1] == j->b[b0 + m - 1]) {
		n--;
		m--;
		j->mate[a0 + n] = b0 + m;
	}
	if (!n || !m || myers(j, a0, n, b0, m) || depth == DEPTH_MAX)
		return 0;
	return divide(j, a0, n, b0, m, depth);
}

int diff_align(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m, uint32_t *mate)
{
	struct job j = { .a = a, .b = b, .mate = mate };
	uint64_t rows;
	int r;

	for (uint32_t i = 0; i < n; i++)
		mate[i] = DIFF_NONE;
	if (!n || !m)
		return 0;
	rows = MIN((uint64_t)n + m + 1, (uint64_t)EDITS_MAX);
	j.trace = os_calloc(rows * rows, sizeof(*j.trace));
	if (!j.trace)
		return -ENOMEM;
	r = align(&j, 0, n, 0, m, 0);
	free(j.trace);
	return r;
}
