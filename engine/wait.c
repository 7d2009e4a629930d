/* All waiting for tracees. Nothing else in hermit calls waitpid() on a traced process.
 *
 * Tracer and guests share one CPU (a ptrace stop costs 4-5 us then, 80 us across CPUs); eng_wait_brief() relies on it: when the tracer
 * yields, the guest runs until it stops or sleeps. */
#include "engine/engine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/ptrace_priv.h"

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

static enum eng_stop_kind event_kind(int event, int sig)
{
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return ENG_STOP_BIRTH;
	case PTRACE_EVENT_EXEC:
		return ENG_STOP_EXEC;
	case PTRACE_EVENT_EXIT:
		return ENG_STOP_EXITING;
	case PTRACE_EVENT_SECCOMP:
		return ENG_STOP_SECCOMP;
	case PTRACE_EVENT_STOP:
		return sig == SIGTRAP ? ENG_STOP_TRAP : ENG_STOP_GROUP;
	default:
		return ENG_STOP_NONE;
	}
}

void eng_stop_classify(int status, struct eng_stop *ret)
{
	*ret = (struct eng_stop){ .status = status };
	if (!WIFSTOPPED(status)) {
		ret->kind = ENG_STOP_GONE;
		return;
	}
	ret->signo = WSTOPSIG(status);
	if (status >> 16)
		ret->kind = event_kind(status >> 16, ret->signo);
	else if (ret->signo == (SIGTRAP | 0x80))
		ret->kind = ENG_STOP_SYSCALL;
	else
		ret->kind = ENG_STOP_SIGNAL;
}

const char *eng_stop_name(enum eng_stop_kind kind)
{
	static const char *const names[ENG_STOP_MAX_] = {
		[ENG_STOP_NONE] = "nothing",
		[ENG_STOP_SECCOMP] = "system call entry",
		[ENG_STOP_SYSCALL] = "system call exit",
		[ENG_STOP_SIGNAL] = "signal",
		[ENG_STOP_GROUP] = "group stop",
		[ENG_STOP_TRAP] = "trap",
		[ENG_STOP_BIRTH] = "birth",
		[ENG_STOP_EXEC] = "exec",
		[ENG_STOP_EXITING] = "exiting",
		[ENG_STOP_GONE] = "gone",
	};

	return kind < ENG_STOP_MAX_ ? names[kind] : "?";
}

static void note_stop(struct eng_task *t, const struct eng_stop *st)
{
	t->stop = *st;
	t->running = t->remoted = false;
	t->regs_valid = t->regs_dirty = false;
	if (st->kind == ENG_STOP_GONE)
		t->gone = true;
}

static int wait_task(struct eng_task *t, int options, struct eng_stop *ret)
{
	int status;
	pid_t r = waitpid(t->tid, &status, __WALL | options);

	if (r < 0)
		return errno == EINTR ? ERR_INTERRUPTED : errno == ECHILD ? ERR_GUEST_GONE : -errno;
	if (r == 0)
		return 0;
	eng_stop_classify(status, ret);
	note_stop(t, ret);
	return 1;
}

int eng_wait_task(struct eng_task *t, struct eng_stop *ret)
{
	int r = wait_task(t, 0, ret);

	return r < 0 ? r : 0;
}

int eng_wait_any(bool block, pid_t *ret_tid, struct eng_stop *ret)
{
	int status;
	pid_t r = waitpid(-1, &status, __WALL | (block ? 0 : WNOHANG));

	if (r < 0)
		return errno == EINTR ? ERR_INTERRUPTED : -errno;
	if (r == 0)
		return 0;
	eng_stop_classify(status, ret);
	*ret_tid = r;
	return 1;
}

const char *eng_stat(pid_t tid, char *text, size_t cap)
{
	char path[32], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = read(fd, text, cap - 1);
	close(fd);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the command name may hold anything */
	return p && p[1] && p[2] ? p + 2 : NULL;
}

char eng_state(pid_t tid)
{
	char text[512];
	const char *p = eng_stat(tid, text, sizeof(text));

	return p ? *p : 0;
}

int eng_wait_brief(struct eng_task *t, struct eng_stop *ret)
{
	/* A yield hands the CPU to the woken task; a handful covers the scheduler choosing another one first. After some rounds without an answer others
	 * keep the CPU busy, or the call computes: then sleep between the looks. */
	enum { YIELDS = 4, BUSY_ROUNDS = 3, DISK_ROUNDS = 200 };
	const struct timespec nap = { .tv_nsec = 100000 };

	for (int round = 0;; round++) {
		char state;

		for (int i = 0; i < YIELDS; i++) {
			int r = wait_task(t, WNOHANG, ret);

			if (r)
				return r;
			sched_yield();
		}
		state = eng_state(t->tid);
		if (state == 'S' || state == 'T' || (state == 'D' && round > DISK_ROUNDS))
			return wait_task(t, WNOHANG, ret);
		if (round >= BUSY_ROUNDS)
			nanosleep(&nap, NULL);
	}
}
