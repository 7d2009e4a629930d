/*
 * Handlers leave endless computation by siglongjmp, out of loops and out of deep calls, also from an alternate
 * stack. Output: how far it was, which differs.
 */
#include "async.h"
#include <setjmp.h>

static sigjmp_buf env;
static volatile unsigned long position;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	siglongjmp(env, 1);
}

__attribute__((noreturn)) static void compute(void)
{
	uint64_t x = 1;
	long double f = 1;

	for (;;) {
		x = burn(x, 3);
		f = f * 1.0001L + (long double)x;
		position = position + 1;
	}
}

/* The stack grows until the signal comes. */
__attribute__((noinline)) static unsigned long deep(unsigned long n)
{
	volatile char pad[64];

	pad[0] = (char)n;
	position = position + 1;
	if (n % 5000 == 4999)
		return n;
	return deep(n + 1) + (unsigned long)pad[0];
}

static void once(int i)
{
	struct itimerval it = { { 0, 0 }, { 0, 7000 } };

	position = 0;
	if (sigsetjmp(env, 1) == 0) {
		CK(setitimer(ITIMER_REAL, &it, NULL));
		if (i % 2)
			compute();
		for (;;)
			deep(0);
	}
	say("%d: left at %lu\n", i, position);
}

int main(void)
{
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	on_signal(SIGALRM, handler, 0);
	for (int i = 0; i < 6; i++)
		once(i);
	CK(sigaltstack(&ss, NULL));
	on_signal(SIGALRM, handler, SA_ONSTACK);
	for (int i = 6; i < 10; i++)
		once(i);
	done();
	return 0;
}
