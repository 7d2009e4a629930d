/* How two recordings differ: what their threads did, side by side, and where that was no longer the same.
 *
 * Threads are matched by their place in the tree of births. What a thread did is a row of steps: calls as wholes (whatever else ran meanwhile), signals, programs,
 * ends. Steps are compared by what they ask and get; what differs from run to run without meaning - ids of processes, addresses, times, random bytes - is not
 * compared, or by what it stands for. */
#ifndef ANALYSIS_DIFF_H
#define ANALYSIS_DIFF_H

#include <stdbool.h>
#include "engine/syscall.h"
#include "store/reader.h"

/* Steps of one recording that are compared (32 bytes each). */
#define DIFF_STEPS_MAX 4000000u

enum diff_op { DIFF_SAME, DIFF_CHANGED, DIFF_LEFT, DIFF_RIGHT };

struct diff_row {
	uint32_t left, right; /* steps, from 1; 0 = none */
	uint8_t op;           /* enum diff_op */
};

/* One thing that a thread did. */
struct diff_step {
	uint64_t hash;
	uint64_t asked;         /* of a call: hash of its arguments alone */
	uint32_t number, entry; /* events: that ended it, that began it (the same for most) */
	uint32_t shape;         /* kind and call: two of one shape are "changed", others come and go */
	uint32_t thread;        /* recorded thread */
};

struct diff_side {
	struct diff_step *step; /* owned; in the order of their ends */
	uint32_t n, cap;
	uint64_t calls[SYS_TABLE_MAX + 1];
	uint64_t output_hash[2], output_bytes[2]; /* stdout, stderr */
};

/* Plain data. */
struct diff {
	struct diff_side side[2];
	struct diff_row *row; /* owned */
	uint32_t n_rows;
	uint32_t first;       /* row that differs first, n_rows = none */
	uint64_t count[4];    /* rows by enum diff_op */
};

/* Told how far it is, 0..1000; a negative return ends the work. */
typedef int (*diff_progress_fn)(void *ctx, unsigned permille);

/* ERR_LIMIT: one is too long. fn may be NULL. */
int diff_new(struct store_reader *left, struct store_reader *right, diff_progress_fn fn, void *ctx, struct diff **ret, struct errinfo *ei) MUST_CHECK;
void diff_free(struct diff *d);
void diff_freep(struct diff **d);
bool diff_output_equal(const struct diff *d);
/* Appends the line of a step. string_max as in evprint. */
int diff_line(struct store_reader *r, const struct diff_step *s, struct buf *out, struct errinfo *ei) MUST_CHECK;
/* Appends why a row differs, from its lines (NULL where it has none). */
void diff_why(const struct diff *d, const struct diff_row *row, const char *left, const char *right, struct buf *out);

#endif
