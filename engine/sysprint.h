/* Prints system calls the way strace does: names, flags, buffers, structures, errno. Works from an event alone (live or recorded):
 * guest memory at the call is read through struct sys_mem, whose owner serves the event's INPUT and MEM effects. */
#ifndef ENGINE_SYSPRINT_H
#define ENGINE_SYSPRINT_H

#include "engine/syscall.h"

/* Where the parts of a printed call lie: offsets in `out`. */
struct sysprint_parts {
	size_t args, args_end; /* between the parentheses, without "<unfinished ...>" */
	size_t result;         /* behind ") = ", up to the end of what was appended; args_end when there is none */
	struct {
		size_t from, to; /* equal: the argument is not shown */
	} arg[6];
};

struct sysprint_options {
	uint32_t string_max; /* bytes shown of a buffer, 0 = 32 */
	uint32_t array_max;  /* elements shown of an array, 0 = 16 */
	struct sysprint_parts *parts; /* filled when not NULL */
};

/* Appends `openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3`. entry: memory before the call (inputs), exit: after it (outputs).
 * has_result false: "read(0, <unfinished ...>". opt NULL = defaults. */
void sysprint_call(struct buf *out, const struct sys_call *c, bool has_result, int64_t result, const struct sys_mem *entry,
		   const struct sys_mem *exit, const struct sysprint_options *opt);
/* "= 3", "= -1 ENOENT (No such file or directory)", "= ? ERESTARTSYS" */
void sysprint_result(struct buf *out, const struct sys_row *row, int64_t result);
/* "SIGSEGV"; "SIGRT_3"; "signal 99" */
const char *sysprint_signal(int signo, char buf[24]);
/* `SIGCHLD {si_code=CLD_EXITED, si_pid=12, ...}` from a 128-byte siginfo */
void sysprint_siginfo(struct buf *out, const void *siginfo);
/* "ENOENT" or NULL (also ERESTARTSYS and friends) */
const char *sysprint_errno(int e);

#endif
