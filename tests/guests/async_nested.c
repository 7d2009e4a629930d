/*
 * Handlers that compute are interrupted by handlers of other signals and, with SA_NODEFER, of their own; masks hold
 * some back. Output: depths and places, which differ.
 */
#include "async.h"

static volatile int depth, deepest, count[3], wrong;
static volatile unsigned long position;
static uint64_t where;

static void compute(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		position = position + 1;
		burn(1, 2);
	}
}

/* Once there were enough of a kind its handler does nothing, lest they starve the program. */
static void enter(int which)
{
	static const int enough[] = { 25, 12, 12 };

	if (count[which] >= enough[which])
		return;
	depth = depth + 1;
	if (depth > deepest)
		deepest = depth;
	count[which] = count[which] + 1;
	where = mix(where, position + (unsigned long)depth);
	compute(which == 0 && count[0] % 3 ? 900000 : 200000);
	depth = depth - 1;
}

static void nodefer(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	if (depth < 6)
		enter(0);
}

static void other(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	enter(1);
}

/* Nothing may interrupt this one. */
static void masked(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	int before = count[0] + count[1];

	enter(2);
	if (count[0] + count[1] != before)
		wrong = 1;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = masked, .sa_flags = SA_SIGINFO };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec its = { { 0, 1700000 }, { 0, 1700000 } };
	timer_t t;

	sigfillset(&sa.sa_mask);
	CK(sigaction(SIGUSR1, &sa, NULL));
	on_signal(SIGALRM, nodefer, SA_NODEFER);
	on_signal(SIGPROF, other, 0);
	CK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CK(timer_settime(t, 0, &its, NULL));
	set_timer(ITIMER_REAL, 1500);
	set_timer(ITIMER_PROF, 4000);
	while (count[0] < 20 || count[1] < 10 || count[2] < 10)
		compute(1000);
	set_timer(ITIMER_REAL, 0);
	set_timer(ITIMER_PROF, 0);
	CK(timer_delete(t));
	CHECK(depth == 0 && !wrong);
	say("%d %d %d signals, at most %d deep, at %lu: %lx\n", count[0], count[1], count[2], deepest, position,
	    (unsigned long)where);
	done();
	return 0;
}
