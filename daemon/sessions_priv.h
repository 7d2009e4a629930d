/* Debug sessions as the other parts of the daemon see them. Loop's thread. */
#ifndef DAEMON_SESSIONS_PRIV_H
#define DAEMON_SESSIONS_PRIV_H

#include "daemon/daemon_priv.h"

/* How many are starting or ready. */
unsigned sessions_count(const struct sessions *s);
/* Is a session of that recording open? Any thread. */
bool sessions_use(struct sessions *s, const struct store_id *recording);
/* What has run into a limit of time, as of now; called by a timer. */
void sessions_sweep(struct sessions *s, uint64_t now_ns);

#endif
