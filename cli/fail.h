/* Exit codes, and the one way a command reports that it failed.
 *
 * On stderr: a line that scripts can match (of this class not on a terminal), what failed, then the causes and what to do:
 *
 *     HERMIT_INTERNAL_FAILURE class=cli-error
 *     Error: cannot read recording 6ba7
 *          > no such recording
 *          > 'hermit record list' shows what there is
 *
 * Nothing here exits: each function gives back the exit code, for `return fail(...)`. */
#ifndef CLI_FAIL_H
#define CLI_FAIL_H

#include "base/err.h"

enum exit_code {
	EXIT_DIVERGED = 1,         /* a verification was completed and found a difference */
	EXIT_USAGE = 2,
	EXIT_DEADLINE = 124,       /* --record-timeout */
	EXIT_INTERNAL = 125,       /* hermit itself failed, or a bad configuration */
	EXIT_NOT_EXECUTABLE = 126, /* the guest program */
	EXIT_NOT_FOUND = 127,      /* the guest program */
	EXIT_SIGNALED = 128,       /* + signal number */
};

/* Prints the class line of code (cli-error only where stderr is no terminal: people need not read it) and "Error: <text>". Returns code. */
int fail(enum exit_code code, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for a replay that diverged: EXIT_INTERNAL with a class line of its own. */
int fail_diverged(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* One more cause, or what to do. */
void fail_cause(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* fail(EXIT_INTERNAL) for a result: the causes are ei's text (or the text of r) and what can be done about r. ei may be NULL. */
int fail_r(int r, const struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Only the cause lines of fail_r(). */
void fail_causes(int r, const struct errinfo *ei);
/* The last of them: what can be done about r. */
void fail_advice(int r);
/* fail() for want of memory. */
int fail_memory(void);
/* A remark on stderr that ends nothing: "hermit: warning: <text>". */
void warn_user(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
