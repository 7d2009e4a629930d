/* Differences between recordings, computed by workers and kept for a while. Thread-safe. */
#ifndef WEB_DIFFS_PRIV_H
#define WEB_DIFFS_PRIV_H

#include "analysis/diff.h"

/* Kept, and computed at once. */
#define DIFFS_MAX 4
#define DIFFS_WORKERS_MAX 2

struct web;
struct web_diffs;

struct diffs_state {
	struct diff *d;    /* NULL while the work goes on. Lives until diffs_put() */
	unsigned permille;
	void *entry;       /* for diffs_put() */
};

int diffs_new(struct web *w, struct web_diffs **ret) MUST_CHECK;
/* Ends the workers. */
void diffs_free(struct web_diffs *p);
/* Begins the work if nobody has, and waits for it that long at most. 0: *ret is to be given back by diffs_put(). ERR_LIMIT: too much is being compared, or (with ei)
 * a recording is too long; others as diff_new(). */
int diffs_get(struct web_diffs *p, const struct store_id *left, const struct store_id *right, unsigned wait_ms, struct diffs_state *ret, struct errinfo *ei) MUST_CHECK;
void diffs_put(struct web_diffs *p, const struct diffs_state *s);

#endif
