/*
 * Timers of all kinds ("real", "virtual", "prof", "posix", "cpu") interrupt a loop without system calls; the handler
 * notes where the loop is. Output: where, which differs. usage: async_timer KIND [MICROSECONDS [SIGNALS]]
 */
#include "async.h"

static volatile unsigned long position;
static volatile int count;
static uint64_t where;
static unsigned long first[4];

static void handler(int sig UNUSED, siginfo_t *si, void *uc)
{
	if (count < 4)
		first[count] = position;
	where = mix(where, position);
	where = mix(where, (uint64_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP]);
	where = mix(where, si->si_code == SI_TIMER ? (uint64_t)si->si_overrun : 77);
	count = count + 1;
}

static timer_t start_posix(clockid_t clock, long us)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec its = { { us / 1000000, us % 1000000 * 1000 }, { us / 1000000, us % 1000000 * 1000 } };
	timer_t t;

	CK(timer_create(clock, &ev, &t));
	CK(timer_settime(t, 0, &its, NULL));
	return t;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int sig, itimer;
		clockid_t clock;
	} kinds[] = {
		{ "real", SIGALRM, ITIMER_REAL, 0 },
		{ "virtual", SIGVTALRM, ITIMER_VIRTUAL, 0 },
		{ "prof", SIGPROF, ITIMER_PROF, 0 },
		{ "posix", 0, 0, CLOCK_MONOTONIC },
		{ "cpu", 0, 0, CLOCK_PROCESS_CPUTIME_ID },
	};
	long us = argc > 2 ? atol(argv[2]) : 5000;
	int signals = argc > 3 ? atoi(argv[3]) : 12;
	unsigned k = 0;
	uint64_t x = 1;
	timer_t t = NULL;

	CHECK(argc > 1);
	while (k < N_ELEMENTS(kinds) && strcmp(kinds[k].name, argv[1]))
		k++;
	CHECK(k < N_ELEMENTS(kinds));
	on_signal(kinds[k].sig ? kinds[k].sig : SIGRTMIN, handler, SA_RESTART);
	if (kinds[k].sig)
		set_timer(kinds[k].itimer, us);
	else
		t = start_posix(kinds[k].clock, us);
	while (count < signals) {
		x = burn(x, 1);
		position = position + 1;
	}
	if (kinds[k].sig)
		set_timer(kinds[k].itimer, 0);
	else
		CK(timer_delete(t));
	say("first at %lu %lu %lu %lu\n", first[0], first[1], first[2], first[3]);
	say("%d signals, end at %lu: %lx %lx\n", count, position, (unsigned long)where, (unsigned long)x);
	done();
	return 0;
}
