/*
 * One thread does what the others wait for in loops: it changes a word that the program names, and makes a call, some hundred times. Whoever
 * likes to stop threads at such words shall let this one get on all the same: CPU time that is used meanwhile has a limit, not the
 * time that passes. Output: deterministic.
 */
#include "async.h"

enum { SPINNERS = 3, ROUNDS = 400, CPU_MS_MAX = 2000 };

static atomic_ulong work;

/* Looks seldom: that is no place to be stopped at. */
static void *body(void *arg)
{
	uint64_t x = (uintptr_t)arg;

	do
		x = burn(x, 1000000);
	while (atomic_load(&work) < ROUNDS);
	return NULL;
}

static long cpu_ms(void)
{
	struct timespec ts;

	CK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts));
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int main(void)
{
	pthread_t t[SPINNERS];
	long ms;

	for (intptr_t i = 0; i < SPINNERS; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	while (atomic_fetch_add(&work, 1) < ROUNDS)
		syscall(SYS_getppid);
	ms = cpu_ms();
	for (int i = 0; i < SPINNERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	if (ms > CPU_MS_MAX)
		dprintf(2, "%ld ms of CPU time\n", ms);
	CHECK(ms <= CPU_MS_MAX);
	done();
	return 0;
}
