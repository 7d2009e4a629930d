/*
 * Code in a page that it writes itself: a counter lies behind it, and the write stands right before the one instruction
 * that a jump can replace. A replay that watches that place meets a write at each pass.
 * Output: deterministic.
 */
#include "async.h"

enum { N = 2, ROUNDS = 30000, SLOT = 4096, COUNTER = 2048 };

/* mov $ROUNDS, %ecx; 1: mfence (five times); add %rsi, (%rdi); imul $MULT, %rax, %rax; dec %ecx; jnz 1b; ret */
static const unsigned char code[] = { 0xb9, 0, 0, 0, 0, 0x0f, 0xae, 0xf0, 0x0f, 0xae, 0xf0, 0x0f, 0xae, 0xf0, 0x0f, 0xae, 0xf0,
				      0x0f, 0xae, 0xf0, 0x48, 0x01, 0x37, 0x48, 0x69, 0xc0, 5, 0, 0, 0, 0xff, 0xc9, 0x75, 0xe3, 0xc3 };

static pthread_barrier_t all_ready;

static void *body(void *arg)
{
	uint64_t me = (uint64_t)(intptr_t)arg, rax = 1, rounds;
	unsigned char *page = mmap(NULL, SLOT, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n = ROUNDS;

	if (page == MAP_FAILED)
		skip("no memory may be writable and executable here");
	memcpy(page, code, sizeof(code));
	memcpy(page + 1, &n, sizeof(n));
	pthread_barrier_wait(&all_ready);
	__asm__ volatile("call *%2" : "+a"(rax) : "S"(me + 1), "r"(page), "D"(page + COUNTER) : "rcx", "memory", "cc");
	memcpy(&rounds, page + COUNTER, sizeof(rounds));
	CHECK(rounds == ROUNDS * (me + 1));
	return (void *)(uintptr_t)rax;
}

int main(void)
{
	CHECK(pthread_barrier_init(&all_ready, NULL, N) == 0);
	in_threads(N, body);
	done();
	return 0;
}
