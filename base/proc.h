/* Starts child programs of our own (gdb, session processes, test guests' helpers; never recorded guests) with exactly
 * the descriptors they shall have, and waits for them through pidfds. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

struct proc_fd {
	int ours;  /* open here */
	int child; /* its number there */
};

struct proc_options {
	const char *const *argv; /* argv[0] is looked up in PATH unless it holds a slash */
	const char *const *envp; /* NULL = ours */
	const char *cwd;         /* NULL = ours */
	const struct proc_fd *fds; /* 0, 1, 2 not named here are ours; everything else is closed in the child */
	size_t n_fds;
	bool new_group;    /* own process group, so that terminal signals do not reach it */
	bool die_with_us;  /* SIGKILL when the calling thread ends */
};

struct proc {
	pid_t pid;  /* 0 = none */
	int pidfd;  /* owned, readable when the child has ended; -1 = none */
};

#define PROC_NONE ((struct proc){ .pid = 0, .pidfd = -1 })

/* Starts the program. A failure of exec itself (-ENOENT, -EACCES, ...) is reported here, not by an exit status. */
int proc_spawn(const struct proc_options *opt, struct proc *ret) MUST_CHECK;
/* Waits for its end and reaps it: *ret_status is a wait status. timeout_ms -1 = for ever; ERR_TIMEOUT when it still runs. */
int proc_wait(struct proc *p, int timeout_ms, int *ret_status) MUST_CHECK;
/* Sends a signal through the pidfd (to the child alone); -ESRCH when it has ended. */
int proc_signal(const struct proc *p, int signo);
/* Kills and reaps a child that still runs, closes the pidfd; for CLEANUP too. */
void proc_done(struct proc *p);

#endif
