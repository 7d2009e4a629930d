/* Calls of a store_progress_fn, not more often than once per MiB. */
#ifndef STORE_PROGRESS_PRIV_H
#define STORE_PROGRESS_PRIV_H

#include "store/maintain.h"

struct progress {
	store_progress_fn fn; /* may be NULL */
	void *ctx;
	uint64_t done, total, told;
};

#define PROGRESS_STEP (1u << 20)

/* n more bytes are done. Gives back fn's verdict. */
static inline int progress_add(struct progress *p, uint64_t n)
{
	p->done += n;
	if (!p->fn || p->done - p->told < PROGRESS_STEP)
		return 0;
	p->told = p->done;
	return p->fn(p->ctx, p->done, p->total);
}

#endif
