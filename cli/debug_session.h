/* The server's side of 'hermit replay': a recording opened for a debugger, and clients served with it. */
#ifndef CLI_DEBUG_SESSION_H
#define CLI_DEBUG_SESSION_H

#include <sys/types.h>
#include "store/reader.h"

struct debug_job {
	struct store *store;
	struct store_id id;
	const struct manifest_process *process; /* NULL: not known */
	pid_t pid;                  /* of it, 0 = the first */
	const char *go;             /* NULL: its first instruction; "end", "crash", or a position (dbg_pos_parse()) */
	uint64_t checkpoint_memory; /* bytes, 0 = default */
};

/* Opens the recording and goes where job says; then serves clients of the listening socket one after the other until one of them ends the
 * session, or, when listen_fd is -1, the one on stdin and stdout. When it stands, a byte is written to ready_fd (-1 = none). Failures are
 * printed. Exit code. The calling process must be good for nothing else: it ignores SIGPIPE and is pinned to a CPU. */
int debug_serve(const struct debug_job *job, int listen_fd, int ready_fd);

#endif
