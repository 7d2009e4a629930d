/*
 * Queued real-time signals to a thread that computes: each comes once with its value, in order for each number.
 * Output: where, which differs.
 */
#include "async.h"

enum { KINDS = 3, EACH = 40 };

static volatile int next[KINDS], total;
static volatile unsigned long position;
static uint64_t where;

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	int kind = sig - SIGRTMIN;

	CHECK(si->si_code == SI_QUEUE && si->si_value.sival_int == next[kind] * KINDS + kind);
	where ^= mix(kind + 1, position);
	next[kind] = next[kind] + 1;
	__atomic_fetch_add(&total, 1, __ATOMIC_RELAXED); /* another kind may come in the middle */
}

static void *sender(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
	for (int i = 0; i < EACH; i++) {
		for (int k = 0; k < KINDS; k++) {
			union sigval v = { .sival_int = i * KINDS + k };

			CHECK(pthread_sigqueue(to, SIGRTMIN + k, v) == 0);
		}
		if (i % 4 == 0)
			burn(1, 2000000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t, self = pthread_self();

	for (int k = 0; k < KINDS; k++)
		on_signal(SIGRTMIN + k, handler, SA_RESTART);
	CHECK(pthread_create(&t, NULL, sender, &self) == 0);
	while (total < KINDS * EACH) {
		burn(1, 2);
		position = position + 1;
	}
	CHECK(pthread_join(t, NULL) == 0);
	say("%lx at %lu\n", (unsigned long)where, position);
	done();
	return 0;
}
