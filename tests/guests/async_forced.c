/* flags: -O1 -pthread
 * Threads that block or ignore SIGTRAP and SIGSEGV compute and ask for the time stamp: neither mask nor handlers change by that, in spite of
 * whoever steps them or traps rdtsc.
 *     async_forced            handlers
 *     async_forced ignore     both ignored */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define THREADS 3
#define LOOPS 30000000

static volatile sig_atomic_t got;
static volatile uint64_t sink;

static void on_signal(int signo)
{
	(void)signo;
	got++;
}

static uint64_t mask(void)
{
	uint64_t m = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &m, sizeof(m));
	return m;
}

static uint64_t compute(uint64_t x)
{
	for (int i = 0; i < LOOPS; i++)
		x = x * 6364136223846793005u + (unsigned)i;
	return x;
}

static void *work(void *arg)
{
	sigset_t all;
	uint64_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	before = mask();
	for (int i = 0; i < 3; i++) {
		sink += compute((uintptr_t)arg);
		sink += __rdtsc();
	}
	return (void *)(uintptr_t)(mask() != before);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGTRAP, SIGSEGV };
	struct sigaction sa = { .sa_handler = argc > 1 && !strcmp(argv[1], "ignore") ? SIG_IGN : on_signal, .sa_flags = SA_RESTART }, now;
	pthread_t t[THREADS];
	int bad = 0;

	for (int i = 0; i < 2; i++)
		sigaction(signals[i], &sa, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		void *changed;

		pthread_join(t[i], &changed);
		if (changed)
			bad = printf("mask of thread %d changed\n", i);
	}
	for (int i = 0; i < 2; i++) {
		sigaction(signals[i], NULL, &now);
		if (now.sa_handler != sa.sa_handler || !(now.sa_flags & SA_RESTART))
			bad = printf("handler of %s changed\n", strsignal(signals[i]));
		else
			raise(signals[i]);
	}
	if (!bad)
		printf("ok %d\n", (int)got);
	return bad != 0;
}
