/* Calls of a store_progress_fn, not more often than once per MiB; and whether somebody waits to remove what we work on. */
#ifndef STORE_PROGRESS_PRIV_H
#define STORE_PROGRESS_PRIV_H

#include "store/fs_priv.h"
#include "store/maintain.h"

struct progress {
	store_progress_fn fn; /* may be NULL */
	void *ctx;
	uint64_t done, total, told;
	const char *stop; /* path of DIR/stop, may be NULL */
};

#define PROGRESS_STEP (1u << 20)

/* n more bytes are done. Gives back fn's verdict, or ERR_INTERRUPTED. */
static inline int progress_add(struct progress *p, uint64_t n)
{
	p->done += n;
	if (p->done - p->told < PROGRESS_STEP)
		return 0;
	p->told = p->done;
	if (p->stop && fs_exists(p->stop))
		return ERR_INTERRUPTED;
	return p->fn ? p->fn(p->ctx, p->done, p->total) : 0;
}

#endif
