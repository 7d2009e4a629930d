/* Replays a recording: rebuilds the recorded processes and gives them the recorded results, inside a sandbox.
 * Needs nothing of the recorded machine. One replay per process at a time: ptrace belongs to the calling thread. */
#ifndef REPLAYER_REPLAYER_H
#define REPLAYER_REPLAYER_H

#include "store/reader.h"

struct rep_options {
	int stdout_fd, stderr_fd; /* where recorded output is written, -1 = nowhere */
	bool check;               /* compare memory checksums and inputs as well */
	uint64_t stop_at;         /* stop before this event, 0 = run to the end */
	void (*progress)(void *ctx, uint64_t event, uint64_t total);
	void *progress_ctx;
};

struct rep_result {
	int status;        /* recorded wait status of the first process, -1 unknown (truncated) */
	uint64_t events;   /* replayed */
	bool truncated;
};

struct rep_session;

/* Checks that this machine can replay it (format, CPU features, blobs): ERR_UNSUPPORTED_CPU, ERR_MISSING_BLOB, ... with the reason in ei. */
int rep_session_new(struct store_reader *r, const struct rep_options *opt, struct rep_session **ret, struct errinfo *ei) MUST_CHECK;
void rep_session_free(struct rep_session *s); /* kills all replayed processes */
/* Replays the next event. 1: done, 0: end of the recording, negative: error; ERR_DIVERGED explains event, thread, expected and got in ei, and
 * rep_session_report() gives more. */
int rep_session_step(struct rep_session *s, struct errinfo *ei) MUST_CHECK;
/* All of it. */
int rep_session_run(struct rep_session *s, struct rep_result *ret, struct errinfo *ei) MUST_CHECK;
/* After a divergence: last events, registers, stack, as text for the user. Appends. */
void rep_session_report(struct rep_session *s, struct buf *out);

#endif
