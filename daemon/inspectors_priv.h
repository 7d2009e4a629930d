/* The pool of inspectors as the other parts of the daemon see it. */
#ifndef DAEMON_INSPECTORS_PRIV_H
#define DAEMON_INSPECTORS_PRIV_H

#include "daemon/daemon_priv.h"

/* The recording has gone, or has ended: what its inspector knows is no longer true. Those who wait get an error. Loop's thread. */
void inspectors_forget(struct inspectors *i, const struct store_id *id);
/* How many there are. Any thread. */
unsigned inspectors_count(struct inspectors *i);
/* Ends what is idle or hangs, as of now. Loop's thread; called by a timer. */
void inspectors_sweep(struct inspectors *i, uint64_t now_ns);

#endif
