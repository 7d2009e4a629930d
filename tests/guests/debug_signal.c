/* Handlers of signals that interrupt a computation, and one that comes out of a fault. For tests/debug/sessions. */
#include <setjmp.h>
#include <sys/time.h>
#include "guest.h"

volatile unsigned long work, handled, faults;
static sigjmp_buf again;
static int *volatile nowhere = (int *)8;

void handler(int signo UNUSED)
{
	handled++; /* in the handler */
}

void fault(int signo UNUSED)
{
	faults++;
	siglongjmp(again, 1);
}

__attribute__((noinline)) void compute(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		work = work * 31 + i;
}

int main(void)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval once = {{0, 0}, {0, 2000}};

	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	signal(SIGSEGV, fault);
	compute(1000);
	raise(SIGUSR1);
	compute(1000); /* after the first */
	setitimer(ITIMER_REAL, &once, NULL);
	while (handled < 2)
		compute(100);
	if (sigsetjmp(again, 1) == 0)
		*nowhere = 1; /* the fault */
	say("handled %lu, faults %lu\n", handled, faults); /* all handled */
	return 0;
}
