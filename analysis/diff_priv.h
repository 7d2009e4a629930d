/* The parts of a diff: steps of a recording (diff_steps.c), aligning two sequences (diff_align.c). */
#ifndef ANALYSIS_DIFF_PRIV_H
#define ANALYSIS_DIFF_PRIV_H

#include "analysis/diff.h"

#define DIFF_NONE UINT32_MAX

/* What one thread did. */
struct diff_thread {
	uint64_t place;  /* in the tree of births: equal for threads that are matched */
	uint32_t children;
	uint32_t *step;  /* indices; owned */
	uint32_t n, cap;
};

struct diff_threads {
	struct diff_thread *v; /* by recorded thread number; owned */
	uint32_t n;
};

void diff_threads_done(struct diff_threads *t);
/* Reads a recording. base, span: of the progress, permille. */
int diff_read(struct store_reader *r, struct diff_side *side, struct diff_threads *threads, diff_progress_fn fn, void *ctx, unsigned base, unsigned span,
	      struct errinfo *ei) MUST_CHECK;

/* Finds equal elements of a[0..n) and b[0..m) in the same order: mate[i] = index in b, or DIFF_NONE. A longest such sequence where that costs little, else a long
 * one. -ENOMEM. */
int diff_align(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m, uint32_t *mate) MUST_CHECK;

#endif
