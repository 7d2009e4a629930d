/*
 * The purest waits: a thread spins on a flag that another sets after computing; on the clock (vdso, rdtsc); on a
 * flag that a signal handler sets. The memory at the end of such a spin is that of its begin. Output: deterministic.
 */
#include "async.h"
#include <x86intrin.h>

static volatile int flag;

static void *setter(void *arg UNUSED)
{
	burn(1, 10000000);
	flag = 1;
	return NULL;
}

static void alarmed(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	flag = 1;
}

static double now(void)
{
	struct timespec ts;

	CK(clock_gettime(CLOCK_MONOTONIC, &ts));
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(void)
{
	double end;
	uint64_t tsc;
	pthread_t t;

	CHECK(pthread_create(&t, NULL, setter, NULL) == 0);
	while (!flag)
		continue;
	CHECK(pthread_join(t, NULL) == 0);
	say("a thread set the flag\n");

	flag = 0;
	on_signal(SIGALRM, alarmed, 0);
	for (int i = 0; i < 3; i++) {
		struct itimerval it = { { 0, 0 }, { 0, 20000 } };

		flag = 0;
		CK(setitimer(ITIMER_REAL, &it, NULL));
		while (!flag)
			continue;
	}
	say("handlers set the flag\n");

	end = now() + 0.01;
	while (now() < end)
		continue;
	tsc = __rdtsc() + 2000000;
	while (__rdtsc() < tsc)
		continue;
	say("the time passed\n");
	done();
	return 0;
}
