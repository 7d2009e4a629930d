/* A child of the daemon: lines that it tells, and why it ended. Loop's thread. */
#ifndef DAEMON_CHILD_PRIV_H
#define DAEMON_CHILD_PRIV_H

#include "base/loop.h"
#include "base/proc.h"

struct child;

struct child_options {
	const char *name;         /* for logs: "job 3f0a..." */
	const char *const *argv;  /* argv[0] is a path */
	const char *const *envp;  /* NULL = ours */
	int lines_fd;             /* the child's descriptor for lines: 1, or above 2 */
	struct proc_fd fd;        /* one more descriptor, .child 0 = none. Borrowed */
	void (*line)(void *ctx, const char *line);
	/* error: NULL when it ended with exit status 0, else why: what it said on stderr, or how it died. The child is freed afterwards. */
	void (*ended)(void *ctx, const char *error);
	void *ctx;
};

/* The program runs in a process group of its own, with /dev/null as its input, and dies with the loop's thread. */
int child_start(struct loop *l, const struct child_options *opt, struct child **ret) MUST_CHECK;
void child_signal(struct child *c, int signo); /* to its process group */
pid_t child_pid(const struct child *c);
/* Kills it if it still runs; ended() is not called. NULL is fine. */
void child_free(struct child *c);

#endif
