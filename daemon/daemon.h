/* hermitd without its surfaces: children (recorders, debug servers, inspectors), jobs, housekeeping.
 *
 * State belongs to the loop's thread. Functions marked "any thread" go there by loop_call() or lock by themselves: the HTTP server calls
 * them from its threads. hermitd never ptraces: each recording and each debug session is a child that executes the session binary (hermit) anew. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <jansson.h>
#include <sys/resource.h>
#include "base/loop.h"
#include "daemon/config.h"
#include "daemon/feed.h"
#include "store/catalog.h"

struct daemon;

/* cfg is borrowed and must outlive it. Finds everything again that an earlier daemon left: recordings that still run (their recorders are not our children then,
 * they are watched through the store), truncated ones. */
int daemon_new(struct loop *l, const struct daemon_config *cfg, struct daemon **ret, struct errinfo *ei) MUST_CHECK;
void daemon_free(struct daemon *d);
/* Any thread. Borrowed; live as long as d. */
const struct daemon_config *daemon_config(struct daemon *d);
struct catalog *daemon_catalog(struct daemon *d);
struct feed *daemon_feed(struct daemon *d);
/* Begins to stop by policy: recordings are ended cleanly (or left running), sessions ended; calls done(ctx) in the loop's thread when nothing is left. */
void daemon_drain(struct daemon *d, loop_fn done, void *ctx);

/* --- recordings (any thread) --- */

struct daemon_record {
	char *const *argv;      /* NULL-terminated */
	char *const *envp;      /* whole environment, NULL = the daemon's */
	const char *cwd;        /* NULL: cwd_fd */
	int cwd_fd;             /* -1 = none */
	int fds[3];             /* the guest's 0, 1, 2; -1 = /dev/null. Borrowed: duplicated */
	mode_t umask;           /* (mode_t)-1 = the daemon's */
	const struct rlimit *limits; /* RLIM_NLIMITS of them, NULL = the daemon's */
	json_t *options;        /* object: label, chaos, timeslice_ms, checksum, keep, cpu_profile ...; borrowed, NULL = none */
	const char *source;     /* "daemon" (control socket), "http" */
};
/* Starts it and waits until it has an id or has failed (ei: what the recorder said). Not in the loop's thread, which it waits for. ERR_LIMIT: too many; -ENOSPC: below the floor of free space. */
int daemon_record_start(struct daemon *d, const struct daemon_record *rec, struct store_id *ret, struct errinfo *ei) MUST_CHECK;
enum daemon_stop { DAEMON_STOP_TERM, DAEMON_STOP_KILL, DAEMON_STOP_CUT }; /* SIGTERM, SIGKILL to the program; end the recording alone */
int daemon_record_stop(struct daemon *d, const struct store_id *id, enum daemon_stop how, const char *reason, struct errinfo *ei) MUST_CHECK;
/* Sends a signal to the recorded program's first process. Works for recordings of other recorders of the same user too. */
int daemon_record_signal(struct daemon *d, const struct store_id *id, int signo, struct errinfo *ei) MUST_CHECK;

/* --- debug sessions (any thread) --- */

struct daemon_session_spec {
	struct store_id recording;
	pid_t pid;          /* process to look at, 0 = as hermit replay chooses */
	const char *go;     /* as hermit replay --goto, NULL */
};
/* Sessions as JSON (docs/HTTP.md): new references. */
int daemon_session_new(struct daemon *d, const struct daemon_session_spec *spec, json_t **ret, struct errinfo *ei) MUST_CHECK;
int daemon_session_list(struct daemon *d, json_t **ret) MUST_CHECK;
int daemon_session_get(struct daemon *d, const char *sid, json_t **ret) MUST_CHECK; /* ERR_NOT_FOUND */
int daemon_session_end(struct daemon *d, const char *sid) MUST_CHECK;

/* --- jobs (any thread): seal, verify, replay-check, scan, gc run in children at idle priority, one at a time --- */

/* kind: docs/HTTP.md. What is queued or running already is not begun again. ERR_NOT_FOUND, ERR_BUSY (still recorded), -EINVAL, ERR_LIMIT. List: newest first.
 * Cancel: ERR_NOT_FOUND, -EALREADY (it is over). */
int daemon_job_new(struct daemon *d, const char *kind, const struct store_id *recording, json_t **ret, struct errinfo *ei) MUST_CHECK;
int daemon_job_list(struct daemon *d, json_t **ret) MUST_CHECK;
int daemon_job_get(struct daemon *d, const char *jid, json_t **ret) MUST_CHECK;
int daemon_job_cancel(struct daemon *d, const char *jid) MUST_CHECK;
/* Somebody waits until housekeeping lets go of the recording: if that takes long it is begun anew, at the usual priority. */
void daemon_job_hurry(struct daemon *d, const struct store_id *recording);

/* --- the inspector (any thread) --- */

/* Asks the warm inspector of that recording (started when there is none; the one unused for longest ends when there are too many). request:
 * inspector/inspector.h, borrowed. *ret: the "result" of the reply, new reference. Blocks up to timeout_ms, then ERR_TIMEOUT: the request
 * is cancelled, but the child stays as far as it has come (one that does not react is killed). ERR_BUSY: all are at work. ERR_GUEST_GONE (or the like): it died, ei says how. What the inspector itself refused comes back as its own error. */
int daemon_inspect(struct daemon *d, const struct store_id *id, const json_t *request, int timeout_ms, json_t **ret, struct errinfo *ei) MUST_CHECK;

/* --- the rest (any thread) --- */

/* Looks at the store at once, for those who have just changed something in it themselves: the catalog shows it then, and the feed tells. */
void daemon_refresh(struct daemon *d);

int daemon_storage(struct daemon *d, json_t **ret) MUST_CHECK;
/* Appends metrics in Prometheus text form. */
void daemon_metrics(struct daemon *d, struct buf *out);
/* A one-time login token, 60 s; and its use (true once). */
int daemon_login_new(struct daemon *d, char ret[65]) MUST_CHECK;
bool daemon_login_use(struct daemon *d, const char *token);

#endif
