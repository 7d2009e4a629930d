/* Helpers of the ptrace_*.c guests. */
#ifndef PTRACE_H
#define PTRACE_H

#include "guest.h"
#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static inline const char *stop_str(int st)
{
	static const char *const events[] = { "", "fork", "vfork", "clone", "exec", "vfork-done", "exit", "seccomp" };
	static char buf[80];
	unsigned ev = (unsigned)st >> 16;

	if (!WIFSTOPPED(st))
		return wait_str(st);
	if (ev)
		snprintf(buf, sizeof(buf), "event %s, %s", ev == PTRACE_EVENT_STOP ? "stop" : ev < 8 ? events[ev] : "?", sig_name(WSTOPSIG(st)));
	else if (WSTOPSIG(st) == (SIGTRAP | 0x80))
		snprintf(buf, sizeof(buf), "call");
	else
		snprintf(buf, sizeof(buf), "stopped %s", sig_name(WSTOPSIG(st)));
	return buf;
}

/* Reads may be short. */
static inline void read_whole(int fd, void *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = read(fd, (char *)p + got, n - got);

		CHECK(r > 0);
		got += (size_t)r;
	}
}

/* Waits for p and says what came. */
static inline int await(const char *who, pid_t p)
{
	int st = reap(p);

	say("%s: %s\n", who, stop_str(st));
	return st;
}

static inline int await_quiet(pid_t p)
{
	return reap(p);
}

/* A child that asks to be traced and stops; its first stop is taken. */
static inline pid_t traced_fork(void)
{
	pid_t p = xfork();

	if (p == 0) {
		CK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGSTOP);
		return 0;
	}
	CHECK(await_quiet(p) == (SIGSTOP << 8 | 0x7f));
	return p;
}

static inline struct user_regs_struct regs_of(pid_t p)
{
	struct user_regs_struct r;

	CK(ptrace(PTRACE_GETREGS, p, NULL, &r));
	return r;
}

static inline int tracer_pid(pid_t p)
{
	char path[64], text[4096];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)p);
	fd = CK(open(path, O_RDONLY | O_CLOEXEC));
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	CHECK(n > 0);
	text[n] = '\0';
	at = strstr(text, "TracerPid:");
	CHECK(at);
	return atoi(at + 10);
}

#endif
