/*
 * Which vector registers the processor takes for used shows in xgetbv and in what xsave writes. At the start of a handler none are; an
 * interrupt may change that for SSE behind the program's back. Output: what was seen.
 */
#include "guest.h"
#include <cpuid.h>

enum { SIGNALS = 60 };

static volatile int handled;
static uint64_t seen[SIGNALS];

__attribute__((target("general-regs-only"))) static void handler(int sig UNUSED)
{
	uint32_t lo, hi;

	for (volatile int i = 0; i < 100000; i++)
		;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(1));
	seen[handled] = (uint64_t)hi << 32 | lo;
	handled = handled + 1;
}

int main(void)
{
	unsigned a, b, c, d;
	uint64_t all = 0;

	if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & 4))
		skip("this CPU does not tell which registers are in use");
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	for (int i = 0; i < SIGNALS; i++)
		raise(SIGUSR1);
	for (int i = 0; i < SIGNALS; i++)
		all = all * 31 + seen[i];
	say("%lx, last %lx\n", (unsigned long)all, (unsigned long)seen[SIGNALS - 1]);
	done();
	return 0;
}
