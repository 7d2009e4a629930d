/* flags: -pthread
 * Threads of a tracee: each is a tracee of its own; the tracer's waits by thread; ends of threads; exec by one. */
#include "ptrace.h"
#include <pthread.h>

static struct gate gates[3], ready;
static volatile int sum;

static void *work(void *p)
{
	long i = (long)p;

	gate_open(&ready);
	gate_wait(&gates[i]);
	sum += (int)syscall(SYS_getpid) > 0 ? 1 << i : 0;
	return NULL;
}

static void tracee(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++) {
		CHECK(pthread_create(&t[i], NULL, work, (void *)i) == 0);
		gate_wait(&ready);
	}
	raise(SIGUSR1);
	for (int i = 0; i < 3; i++) {
		gate_open(&gates[i]);
		CHECK(pthread_join(t[i], NULL) == 0);
	}
	raise(SIGUSR1);
	_exit(sum);
}

int main(void)
{
	pid_t p, tid[3];
	int n = 0, st;

	gate_init(&ready);
	for (int i = 0; i < 3; i++)
		gate_init(&gates[i]);
	p = traced_fork();
	if (!p)
		tracee();
	CK(ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT)));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	for (;;) {
		unsigned long msg;

		st = reap(p);
		if (WIFSTOPPED(st) && WSTOPSIG(st) == SIGUSR1)
			break;
		CHECK((unsigned)st >> 16 == PTRACE_EVENT_CLONE);
		CK(ptrace(PTRACE_GETEVENTMSG, p, NULL, &msg));
		tid[n] = (pid_t)msg;
		await("thread", tid[n]);
		CK(ptrace(PTRACE_CONT, tid[n], NULL, NULL));
		n++;
		CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	}
	say("threads: %d\n", n);
	for (int i = 0; i < n; i++) {
		wait_state(tid[i], 'S');
		syscall(SYS_tgkill, p, tid[i], SIGUSR2);
		await("thread", tid[i]);
		say("in read: %d\n", regs_of(tid[i]).orig_rax == SYS_read);
		CK(ptrace(PTRACE_CONT, tid[i], NULL, NULL));
	}
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	for (int i = 0; i < n; i++) {
		await("thread", tid[i]); /* exit event */
		CK(ptrace(PTRACE_CONT, tid[i], NULL, NULL));
		await("thread", tid[i]);
	}
	await("leader", p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("leader", p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("leader", p);
	done();
	return 0;
}
