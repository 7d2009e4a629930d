/* A handler that interrupts a computation; with an argument it runs on a stack of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int hits;
static volatile double x = 1;

static void on_tick(int signo)
{
	hits += signo > 0;
	if (write(1, "tick\n", 5) < 0)
		abort();
}

static __attribute__((noinline)) double compute(int n)
{
	for (int i = 0; i < n; i++)
		x = x * 1.0000001 + i;
	return x;
}

static __attribute__((noinline)) double outer(int n)
{
	double d = 0;

	while (hits < n)
		d += compute(1000);
	return d + 1;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_tick };
	struct itimerval t = { { 0, 3000 }, { 0, 3000 } };
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	(void)argv;
	if (argc > 1) {
		sigaltstack(&ss, NULL);
		sa.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	printf("%g\n", outer(3));
	return 0;
}
