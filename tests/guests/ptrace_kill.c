/* Tracees killed wherever they are held, tracers killed while they hold, and exec of a tracee that has threads.
 * flags: -pthread */
#include "ptrace.h"
#include <pthread.h>

static void life(void)
{
	__asm__ volatile("nop");
	raise(SIGUSR1);
	syscall(SYS_getppid);
	_exit(3);
}

/* How it gets to the place at which it is killed. */
static void at_entry(pid_t p)
{
	CK(ptrace(PTRACE_SYSCALL, p, NULL, NULL));
	await("entry", p);
}

static void at_exit(pid_t p)
{
	at_entry(p);
	CK(ptrace(PTRACE_SYSCALL, p, NULL, NULL));
	await("exit", p);
}

static void at_step(pid_t p)
{
	CK(ptrace(PTRACE_SINGLESTEP, p, NULL, NULL));
	await("step", p);
}

static void at_signal(pid_t p)
{
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("signal", p);
}

static void at_end(pid_t p)
{
	CK(ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)PTRACE_O_TRACEEXIT));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("signal", p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("end", p);
}

static void (*const places[])(pid_t) = { at_entry, at_exit, at_step, at_signal, at_end };

static void killed(void (*to)(pid_t), bool request)
{
	pid_t p = traced_fork();

	if (!p)
		life();
	to(p);
	if (request)
		CK(ptrace(PTRACE_KILL, p, NULL, NULL));
	else
		CK(kill(p, SIGKILL));
	await("killed", p);
	show("gone", ptrace(PTRACE_CONT, p, NULL, NULL));
}

/* Its tracer is killed while it is held there: it goes on. */
static void deserted(void (*to)(pid_t))
{
	pid_t tracer;
	int fd[2], st;
	char c;

	CK(pipe2(fd, 0));
	tracer = xfork();
	if (tracer == 0) {
		pid_t p = traced_fork();

		if (!p) {
			struct sigaction sa = { .sa_handler = SIG_IGN };

			sigaction(SIGUSR1, &sa, NULL);
			life();
		}
		to(p);
		CHECK(write(fd[1], "x", 1) == 1);
		pause();
	}
	close(fd[1]);
	CHECK(read(fd[0], &c, 1) == 1);
	CK(kill(tracer, SIGKILL));
	CHECK(waitpid(tracer, &st, 0) == tracer);
	say("tracer: %s\n", wait_str(st));
	say("its tracee has ended: %d\n", read(fd[0], &c, 1) == 0); /* the last holder of the pipe */
	close(fd[0]);
}

static void *other(void *p)
{
	char *self = p;

	execl(self, self, "again", (char *)NULL);
	_exit(1);
}

static void exec_by_thread(char *self)
{
	unsigned long former = 0;
	pthread_t t;
	pid_t p = traced_fork(), tid = 0;
	int st;

	if (!p) {
		CHECK(pthread_create(&t, NULL, other, self) == 0);
		for (;;)
			pause();
	}
	CK(ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	st = await("leader", p);
	CHECK((unsigned)st >> 16 == PTRACE_EVENT_CLONE);
	CK(ptrace(PTRACE_GETEVENTMSG, p, NULL, &former));
	tid = (pid_t)former;
	await("thread", tid);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	CK(ptrace(PTRACE_CONT, tid, NULL, NULL));
	await("leader", p);
	former = 0;
	CK(ptrace(PTRACE_GETEVENTMSG, p, NULL, &former));
	say("by the thread: %d\n", (pid_t)former == tid);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("leader", p);
	show("no more", waitpid(-1, &st, __WALL));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		say("tracee: again\n");
		return 5;
	}
	for (size_t i = 0; i + 1 < N_ELEMENTS(places); i++) { /* not at_end: it is beyond being killed */
		killed(places[i], false);
		killed(places[i], true);
	}
	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		deserted(places[i]);
	exec_by_thread(argv[0]);
	done();
	return 0;
}
