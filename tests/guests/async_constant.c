/*
 * Threads that run code which reads its constants where they stand in other instructions, as V8 makes it: the 8 bytes of
 * a mov's immediate are loaded by an instruction nearby. Nothing that stands in code for a while may show there.
 * Output: sums, deterministic.
 */
#include "async.h"

enum { N = 3, ROUNDS = 4000000 };

static uint64_t result[N];

#define TERM(constant) \
	"movabs $" #constant ", %%rax\n" \
	"3:\n\t" \
	"xor %%rax, %[sum]\n\t" \
	"add 3b-8(%%rip), %[sum]\n\t" \
	"rol $9, %[sum]\n\t"

static uint64_t constants(uint64_t sum, uint64_t rounds)
{
	__asm__ volatile("1:\n\t"
			 TERM(0x1122334455667788)
			 TERM(0x99aabbccddeeff00)
			 TERM(0x123456789abcdef0)
			 TERM(0x0fedcba987654321)
			 "test $1, %b[rounds]\n\t"
			 "jne 4f\n\t"
			 TERM(0x5a5a5a5a5a5a5a5a)
			 "4:\n\t"
			 "dec %[rounds]\n\t"
			 "jnz 1b"
			 : [sum] "+r"(sum), [rounds] "+r"(rounds)
			 :
			 : "rax", "cc");
	return sum;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	result[me] = constants(77, ROUNDS);
	return NULL;
}

int main(void)
{
	in_threads(N, body);
	for (int i = 1; i < N; i++)
		CHECK(result[i] == result[0]);
	say("%lx\n", (unsigned long)result[0]);
	done();
	return 0;
}
