/* Jobs as the other parts of the daemon see them. Loop's thread. */
#ifndef DAEMON_JOBS_PRIV_H
#define DAEMON_JOBS_PRIV_H

#include "daemon/daemon_priv.h"

enum job_kind { JOB_SEAL, JOB_VERIFY, JOB_REPLAY_CHECK, JOB_GC, JOB_SCAN, JOB_KIND_MAX_ };
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_STATE_MAX_ };

const char *job_kind_name(enum job_kind k);
const char *job_state_name(enum job_state s);
/* Housekeeping: runs at idle priority when nobody waits for anything else, and is begun anew when somebody must wait for it long. The same work that is queued or running already is not added again. recording may be NULL (gc). */
int jobs_add(struct jobs *j, enum job_kind kind, const struct store_id *recording) MUST_CHECK;
/* Is it queued or running? */
bool jobs_has(const struct jobs *j, enum job_kind kind, const struct store_id *recording);
/* How many are in that state. */
unsigned jobs_count(const struct jobs *j, enum job_state s);

/* fn is called when any is over (recording NULL: gc). One listener. */
typedef void (*jobs_over_fn)(void *ctx, enum job_kind kind, const struct store_id *recording, enum job_state state);
void jobs_listen(struct jobs *j, jobs_over_fn fn, void *ctx);

#endif
