/* setitimer: real, virtual and profiling timers; a program that makes calls until enough ticks came. Output: counts differ. */
#include "guest.h"
#include <sys/time.h>

static volatile sig_atomic_t ticks[3];

static void handler(int sig)
{
	ticks[sig == SIGALRM ? 0 : sig == SIGVTALRM ? 1 : 2]++;
}

int main(void)
{
	static const int which[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval it = { { 0, 5000 }, { 0, 5000 } }, old;
	volatile unsigned long work = 0;

	CK(sigaction(SIGALRM, &sa, NULL));
	CK(sigaction(SIGVTALRM, &sa, NULL));
	CK(sigaction(SIGPROF, &sa, NULL));
	for (int i = 0; i < 3; i++)
		CK(setitimer(which[i], &it, NULL));
	/* Some user time between system calls, or the virtual timer would not move. */
	while (ticks[0] < 5 || ticks[1] < 3 || ticks[2] < 3) {
		for (int i = 0; i < 20000; i++)
			work++;
		syscall(SYS_getppid);
	}
	memset(&it, 0, sizeof(it));
	for (int i = 0; i < 3; i++) {
		CK(getitimer(which[i], &old));
		say("timer %d: left %ld us of %ld\n", i, (long)old.it_value.tv_usec, (long)old.it_interval.tv_usec);
		CK(setitimer(which[i], &it, &old));
	}
	say("ticks %d %d %d, work %lu\n", (int)ticks[0], (int)ticks[1], (int)ticks[2], work);
	show("bad timer", setitimer(9, &it, NULL));
	done();
	return 0;
}
