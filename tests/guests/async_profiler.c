/*
 * A sampling profiler: SIGPROF at 1 kHz of CPU time, the handler takes the interrupted address and counts it for the
 * function it is in. Output: the histogram and a sum over all addresses, which differ.
 */
#include "async.h"

enum { SAMPLES = 100 };

static volatile unsigned taken;
static uintptr_t sample[SAMPLES];

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc)
{
	if (taken < SAMPLES) {
		sample[taken] = (uintptr_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
		taken = taken + 1;
	}
}

#define PART __attribute__((noinline, noclone, aligned(4096)))

PART static uint64_t part_mul(uint64_t x)
{
	for (int i = 0; i < 30000; i++)
		x = x * 0x5851f42d4c957f2du + 1;
	return x;
}

PART static uint64_t part_div(uint64_t x)
{
	for (int i = 0; i < 10000; i++)
		x += 0xfedcba9876543210u / (x | 1);
	return x;
}

PART static double part_float(double x)
{
	for (int i = 0; i < 10000; i++)
		x = x * 0.999 + 1.0 / (x + 1.5);
	return x;
}

PART static void *part_memory(void)
{
	static char a[1 << 16], b[1 << 16];

	for (int i = 0; i < 20; i++)
		memcpy(i & 1 ? a : b, i & 1 ? b : a, sizeof(a));
	return a;
}

PART static void end_of_parts(void)
{
	__asm__ volatile("");
}

int main(void)
{
	static const struct {
		const char *name;
		uintptr_t start;
	} part[] = {
		{ "mul", (uintptr_t)part_mul },	      { "div", (uintptr_t)part_div }, { "float", (uintptr_t)part_float },
		{ "memory", (uintptr_t)part_memory },
	};
	uint64_t x = 1, sum = 0;
	double f = 1;
	void *volatile m;

	end_of_parts();
	on_signal(SIGPROF, handler, SA_RESTART);
	set_timer(ITIMER_PROF, 1000);
	while (taken < SAMPLES) {
		x = part_div(part_mul(x));
		f = part_float(f);
		m = part_memory();
	}
	set_timer(ITIMER_PROF, 0);
	(void)m;
	for (unsigned k = 0; k < N_ELEMENTS(part); k++) {
		int n = 0;

		for (int i = 0; i < SAMPLES; i++)
			n += sample[i] >= part[k].start && sample[i] < part[k].start + 4096;
		say("%-8s %d\n", part[k].name, n);
	}
	for (int i = 0; i < SAMPLES; i++)
		sum = mix(sum, sample[i]);
	say("all %lx, results %lx %a\n", (unsigned long)sum, (unsigned long)x, f);
	done();
	return 0;
}
