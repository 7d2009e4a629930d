/* Asynchronous points: what points.c, own.c and heat.c share. */
#ifndef RECORDER_POINTS_PRIV_H
#define RECORDER_POINTS_PRIV_H

#include "engine/engine.h"

#define POINT_PAGE ENG_PAGE
/* How far below a growing stack's known start an address still counts as part of it. */
#define STACK_REACH (64ull << 20)

/* Adjacent pages. */
struct run {
	uint64_t addr;
	uint32_t pages;
};

/* --- own.c: the process's own memory --- */

/* The mapping that holds addr, which may be a stack that has grown; or NULL. */
const struct mapping *own_mapping(const struct aspace *as, uint64_t addr);
/* May a point look at it? */
bool own_is(const struct mapping *m);

#define OWN_RUNS_MAX 3000u
struct own {
	struct run run[OWN_RUNS_MAX]; /* by address */
	uint32_t n_runs, n_pages;
	bool foreign;  /* pages were passed that the process may have written and that a point may not look at */
	uint64_t next; /* where it stopped for a limit, 0 = came to the end */
};
/* Finds the own pages that exist from address `from` on: not more than max_pages, and looks at not more than
 * max_looks places for them. */
int own_pages(struct eng_task *t, uint64_t from, uint32_t max_pages, uint64_t max_looks, struct own *ret) MUST_CHECK;

/* --- heat.c: pages that change from point to point --- */
struct heat;
struct heat *heat_new(void); /* free() it; NULL without memory */
/* A page as it is at this point; once a point for each page that is looked at. */
void heat_note(struct heat *h, uint64_t addr, const uint8_t *page);
/* The hottest ones, up to max, by address; returns how many. */
uint32_t heat_pages(const struct heat *h, uint64_t *ret, uint32_t max);

#endif
