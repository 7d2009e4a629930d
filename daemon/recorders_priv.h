/* Starting recordings from within the loop. */
#ifndef DAEMON_RECORDERS_PRIV_H
#define DAEMON_RECORDERS_PRIV_H

#include "daemon/daemon_priv.h"

struct recorder_order {
	int spec_fd;        /* daemon/spec.h; all descriptors are borrowed */
	int fds[3], cwd_fd; /* as in struct daemon_record */
	const char *source;
};

/* What became of a start. id: r >= 0. text: why not, exit: the exit code of hermit record start then. */
struct recorder_started {
	int r, exit;
	const struct store_id *id;
	const char *text;
};
typedef void (*recorder_fn)(void *ctx, const struct recorder_started *what);

/* Loop's thread. Starts a child; done is called once, later, unless it failed at once (as daemon_record_start() does) or was forgotten. */
int recorders_start(struct recorders *r, const struct recorder_order *o, recorder_fn done, void *ctx, struct errinfo *ei) MUST_CHECK;
/* Those who wait with that ctx are not told any more. */
void recorders_forget(struct recorders *r, const void *ctx);
/* Asks for the end of a recording as truncated; one of ours that does not end is killed after a while. Errors of store_ask(). */
int recorders_cut(struct recorders *r, const struct store_id *id, const char *reason) MUST_CHECK;
/* How many are at work. */
size_t recorders_count(const struct recorders *r);

#endif
