/* The recording of the session, read beside gdb: an index of its events, its notes. Nothing of it waits for the replay. */
#ifndef DAP_RECORDED_PRIV_H
#define DAP_RECORDED_PRIV_H

#include "analysis/evindex.h"
#include "dap/dap_priv.h"

struct recorded {
	struct store *store;
	struct store_id id;
	struct store_reader *reader;
	struct evindex *evindex;
	bool complete; /* the index has all that can be read */
};

/* Opened when first asked for; belongs to the session. ERR_NOT_FOUND with d->ei: it is not known which recording that is (attached), errors of opening. */
int recorded_get(struct dap *d, struct recorded **ret) MUST_CHECK;
void recorded_free(struct recorded *r);
/* Adds to the index until it has event `upto`, or all, or the time is over. */
int recorded_extend(struct recorded *r, uint64_t upto, uint64_t deadline_ns, struct errinfo *ei) MUST_CHECK;
/* For handlers: the same with progress and cancel, without a limit. */
int recorded_index(struct dap *d, struct recorded *r, uint64_t upto) MUST_CHECK;
/* Is that thread (by number) one of the session's process? */
bool recorded_ours(const struct dap *d, const struct evindex_view *v, uint32_t thread);

#endif
