/*
 * x87 and MMX computation in threads, the state being in the register stack, the control and the tag word. Output:
 * long doubles of which all bits count, deterministic.
 */
#include "async.h"

enum { N = 4, ROUNDS = 300000 };

static long double result[N];
static uint64_t mmx[N];

static long double walk(long double x, int rounds, unsigned short control)
{
	unsigned short old;

	__asm__ volatile("fnstcw %0\n\tfldcw %1" : "=m"(old) : "m"(control));
	for (int i = 0; i < rounds; i++) {
		/* x = sqrt(|sin(x) * x + 1|), all of it on the stack */
		__asm__ volatile("fld %%st(0)\n\tfsin\n\tfmulp\n\tfld1\n\tfaddp\n\tfabs\n\tfsqrt" : "+t"(x));
	}
	__asm__ volatile("fldcw %0" : : "m"(old));
	return x;
}

static uint64_t walk_mmx(uint64_t x, int rounds)
{
	__asm__ volatile("movq %0, %%mm0\n\t"
			 "movq %%mm0, %%mm1\n"
			 "1:\n\t"
			 "psllq $13, %%mm1\n\t"
			 "pxor %%mm1, %%mm0\n\t"
			 "movq %%mm0, %%mm1\n\t"
			 "psrlq $7, %%mm1\n\t"
			 "pxor %%mm1, %%mm0\n\t"
			 "movq %%mm0, %%mm1\n\t"
			 "dec %1\n\t"
			 "jnz 1b\n\t"
			 "movq %%mm0, %0\n\t"
			 "emms"
			 : "+r"(x), "+r"(rounds)
			 :
			 : "mm0", "mm1", "cc");
	return x;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	/* double and extended precision, rounding to nearest and up */
	result[me] = walk(1.5L + (long double)(me / 2), ROUNDS, me / 2 ? 0x0a7f : 0x037f);
	mmx[me] = walk_mmx(77 + (uint64_t)(me / 2), ROUNDS * 10);
	return NULL;
}

int main(void)
{
	in_threads(N, body);
	for (int i = 0; i < N; i += 2) {
		CHECK(memcmp(&result[i], &result[i + 1], 10) == 0 && mmx[i] == mmx[i + 1]);
		say("%La %lx\n", result[i], (unsigned long)mmx[i]);
	}
	done();
	return 0;
}
