/*
 * Threads that jump through computed addresses to instructions four bytes apart, as compilers' jump tables do: each of
 * them is entered by such a jump, and nothing in the code tells so. Output: sums, deterministic.
 */
#include "async.h"

enum { N = 4, ROUNDS = 1500000 };

static uint64_t result[N];

static uint64_t wander(uint64_t state, uint64_t rounds)
{
	uint64_t sum = 0, at, base;

	__asm__ volatile("lea 2f(%%rip), %[base]\n"
			 "1:\n\t"
			 "imul %[factor], %[state]\n\t"
			 "add $12345, %[state]\n\t"
			 "mov %[state], %[at]\n\t"
			 "shr $60, %[at]\n\t"
			 "lea (%[base],%[at],4), %[at]\n\t"
			 "jmp *%[at]\n"
			 "2:\n\t"
			 ".rept 4\n\t"
			 "add $17, %[sum]\n\t"
			 "rol $7, %[sum]\n\t"
			 "xor $101, %[sum]\n\t"
			 "imul $29, %[sum], %[sum]\n\t"
			 ".endr\n\t"
			 "dec %[rounds]\n\t"
			 "jnz 1b"
			 : [state] "+r"(state), [rounds] "+r"(rounds), [sum] "+r"(sum), [at] "=&r"(at), [base] "=&r"(base)
			 : [factor] "r"(0x5851f42d4c957f2dul)
			 : "cc");
	return sum;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	result[me] = wander(77 + (uint64_t)(me / 2), ROUNDS);
	return NULL;
}

int main(void)
{
	in_threads(N, body);
	for (int i = 0; i < N; i += 2) {
		CHECK(result[i] == result[i + 1]);
		say("%lx\n", (unsigned long)result[i]);
	}
	done();
	return 0;
}
