/* flags: -pthread
 * PTRACE_O_TRACE*: births, exec and ends of a tracee, each with its message. */
#include "ptrace.h"
#include <pthread.h>

static void *thread(void *p)
{
	return p;
}

static void tracee(char *self)
{
	pthread_t t;
	pid_t p;

	p = fork();
	if (p == 0)
		_exit(11);
	reap(p);
	p = vfork();
	if (p == 0)
		_exit(12);
	reap(p);
	CHECK(pthread_create(&t, NULL, thread, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	execl(self, self, "again", (char *)NULL);
	_exit(1);
}

#define ALL (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXIT)

static void report(pid_t main_task, pid_t child, int st)
{
	unsigned long msg = 0;
	unsigned ev = (unsigned)st >> 16;

	if (!ev) {
		say("%s\n", stop_str(st));
		return;
	}
	CK(ptrace(PTRACE_GETEVENTMSG, main_task, NULL, &msg));
	if (ev == PTRACE_EVENT_EXIT)
		say("%s, message %#lx\n", stop_str(st), msg);
	else if (ev == PTRACE_EVENT_EXEC)
		say("%s, message %s\n", stop_str(st), msg == (unsigned long)main_task ? "itself" : "?");
	else
		say("%s, message %s\n", stop_str(st), msg == (unsigned long)child ? "the child" : msg ? "a child" : "0");
}

/* The two tasks are watched apart, so that the order of what is said is the same each time. */
static void child_life(pid_t c)
{
	int st = reap(c);

	say("child: %s\n", stop_str(st));
	CK(ptrace(PTRACE_CONT, c, NULL, NULL));
	for (;;) {
		unsigned long msg;

		st = reap(c);
		say("child: %s\n", stop_str(st));
		if (!WIFSTOPPED(st))
			return;
		if ((unsigned)st >> 16 == PTRACE_EVENT_EXIT) {
			CK(ptrace(PTRACE_GETEVENTMSG, c, NULL, &msg));
			say("child: exit message %#lx\n", msg);
		}
		CK(ptrace(PTRACE_CONT, c, NULL, NULL));
	}
}

static void watch(pid_t p)
{
	pid_t c = 0;

	for (;;) {
		unsigned long msg = 0;
		int st = reap(p), signo;
		unsigned ev = (unsigned)st >> 16;

		if (!WIFSTOPPED(st)) {
			say("end: %s\n", stop_str(st));
			return;
		}
		signo = ev || WSTOPSIG(st) == SIGTRAP ? 0 : WSTOPSIG(st); /* exec's own trap would kill */
		if (ev == PTRACE_EVENT_FORK || ev == PTRACE_EVENT_VFORK || ev == PTRACE_EVENT_CLONE) {
			CK(ptrace(PTRACE_GETEVENTMSG, p, NULL, &msg));
			c = (pid_t)msg;
		}
		if (signo != SIGCHLD)
			report(p, c, st);
		CK(ptrace(PTRACE_CONT, p, NULL, (void *)(long)signo));
		if (msg)
			child_life(c);
	}
}

int main(int argc, char **argv)
{
	struct gate go;
	pid_t p;

	if (argc > 1) {
		say("tracee: again\n");
		return 5;
	}
	p = traced_fork();
	if (!p)
		tracee(argv[0]);
	CK(ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)ALL));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	watch(p);

	say("seized:\n");
	gate_init(&go);
	p = xfork();
	if (p == 0) {
		gate_wait(&go);
		tracee(argv[0]);
	}
	CK(ptrace(PTRACE_SEIZE, p, NULL, (void *)ALL));
	gate_open(&go);
	watch(p);

	say("without options:\n");
	p = traced_fork();
	if (!p)
		tracee(argv[0]);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	watch(p);
	done();
	return 0;
}
