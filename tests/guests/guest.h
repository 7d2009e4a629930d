/*
 * guest.h - helpers for the guest programs of the end-to-end tests.
 *
 * Each guest shows one kind of behaviour, prints what it observed with one write(2) per line, prints "ok" as its
 * last line and exits 0. A guest that meets something wrong says so on stderr and exits 1; one that cannot run on
 * this machine prints "skip: REASON" and exits 77. Guests use no time outs of their own; only those that
 * include async.h spin or compute for long without a system call.
 *
 * Only for guests built on glibc; static inline throughout so that unused helpers cost nothing.
 */
#ifndef GUEST_H
#define GUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static inline void write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			_exit(99);
		p += w;
		n -= (size_t)w;
	}
}

/* One line (or part of one) by one write; keeps errno; fit for signal handlers as far as the formats used here go. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *fmt, ...)
{
	char buf[4096];
	int e = errno;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(buf))
		n = sizeof(buf) - 1;
	write_all(1, buf, (size_t)n);
	errno = e;
}

static inline const char *err_name(int e)
{
	const char *s = strerrorname_np(e);

	return s ? s : "?";
}

static inline const char *sig_name(int s)
{
	static const char rt[][8] = { "RTMIN+0", "RTMIN+1", "RTMIN+2", "RTMIN+3", "RTMIN+4", "RTMIN+5" };
	const char *n = sigabbrev_np(s);

	if (n)
		return n;
	return s >= SIGRTMIN && s < SIGRTMIN + 6 ? rt[s - SIGRTMIN] : "?";
}

__attribute__((noreturn)) static inline void die(const char *file, int line, const char *what)
{
	dprintf(2, "%s:%d: %s: errno %s\n", file, line, what, err_name(errno));
	_exit(1);
}

/* CHECK(condition) ends the guest when it is false; CK(call) also returns the value of a call that must not be -1. */
#define CHECK(c)                                                                                                       \
	do {                                                                                                           \
		if (!(c))                                                                                              \
			die(__FILE__, __LINE__, #c);                                                                   \
	} while (0)
#define CK(call)                                                                                                       \
	__extension__({                                                                                                \
		__typeof__(call) ck_r_ = (call);                                                                       \
		if ((long)ck_r_ == -1L)                                                                                \
			die(__FILE__, __LINE__, #call);                                                                \
		ck_r_;                                                                                                 \
	})

/* "LABEL = VALUE", or "LABEL = -1 ENAME" when the value is -1. */
static inline void show(const char *label, long r)
{
	if (r == -1)
		say("%s = -1 %s\n", label, err_name(errno));
	else
		say("%s = %ld\n", label, r);
}

__attribute__((noreturn)) static inline void skip(const char *why)
{
	say("skip: %s\n", why);
	_exit(77);
}

static inline void done(void)
{
	say("ok\n");
}

static inline const char *wait_str(int st)
{
	static char buf[64];

	if (WIFEXITED(st))
		snprintf(buf, sizeof(buf), "exit %d", WEXITSTATUS(st));
	else if (WIFSIGNALED(st))
		snprintf(buf, sizeof(buf), "signal %s", sig_name(WTERMSIG(st)));
	else if (WIFSTOPPED(st))
		snprintf(buf, sizeof(buf), "stopped %s", sig_name(WSTOPSIG(st)));
	else if (WIFCONTINUED(st))
		snprintf(buf, sizeof(buf), "continued");
	else
		snprintf(buf, sizeof(buf), "status %#x", (unsigned)st);
	return buf;
}

static inline int reap(pid_t pid)
{
	int st = 0;

	while (waitpid(pid, &st, __WALL) < 0)
		if (errno != EINTR)
			die(__FILE__, __LINE__, "waitpid");
	return st;
}

static inline pid_t xfork(void)
{
	return CK(fork());
}

static inline void msleep(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		continue;
}

/* An address where nothing is, and a number the compiler does not know. */
static void *volatile bad_address UNUSED = (void *)8;
static volatile int opaque_zero UNUSED;

/* A gate holds whoever waits until another thread or process opens it (once per wait). */
struct gate {
	int fd[2];
};

static inline void gate_init(struct gate *g)
{
	CK(pipe2(g->fd, O_CLOEXEC));
}

static inline void gate_open(struct gate *g)
{
	CHECK(write(g->fd[1], "!", 1) == 1);
}

static inline void gate_wait(struct gate *g)
{
	char c;
	ssize_t r;

	while ((r = read(g->fd[0], &c, 1)) < 0 && errno == EINTR)
		continue;
	CHECK(r == 1);
}

/* A fresh directory that is the working directory from now on and is removed when its maker exits. */
static char scratch_path[300];
static pid_t scratch_owner;

static inline int scratch_rm_(const char *p, const struct stat *st UNUSED, int f UNUSED, struct FTW *w UNUSED)
{
	return remove(p);
}

static inline void scratch_done_(void)
{
	if (getpid() == scratch_owner) {
		CK(chdir("/"));
		nftw(scratch_path, scratch_rm_, 16, FTW_DEPTH | FTW_PHYS);
	}
}

static inline void scratch(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch_path, sizeof(scratch_path), "%s/hermit-guest-XXXXXX", base ? base : "/tmp");
	CHECK(mkdtemp(scratch_path) != NULL);
	CK(chdir(scratch_path));
	scratch_owner = getpid();
	CHECK(atexit(scratch_done_) == 0);
}

static inline void put_file(const char *name, const char *text, mode_t mode)
{
	int fd = CK(open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode));

	write_all(fd, text, strlen(text));
	CK(fchmod(fd, mode));
	close(fd);
}

/* Wait (by sleeping) until the state letter of /proc/PID[/task/TID]/stat is c: how a parent knows that a child is blocked. */
static inline void wait_state(pid_t pid, char c)
{
	char path[64], buf[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (;;) {
		int fd = CK(open(path, O_RDONLY | O_CLOEXEC));
		ssize_t n = read(fd, buf, sizeof(buf) - 1);
		char *p;

		close(fd);
		CHECK(n > 0);
		buf[n] = '\0';
		p = strrchr(buf, ')');
		if (p && p[2] == c)
			return;
		msleep(2);
	}
}

/* FNV-1a, to print large contents as one number. */
static inline uint64_t hash(const void *buf, size_t n)
{
	const unsigned char *p = buf;
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

#endif
