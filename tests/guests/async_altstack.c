/*
 * Threads compute, with the stack pointer somewhere odd, and get signals on alternate stacks of their own; the area
 * below the interrupted stack pointer (the red zone and beyond) must stay as it is. Output: places, which differ.
 */
#include "async.h"

enum { N = 3, SIGNALS = 5 };

static _Thread_local volatile int count;
static _Thread_local volatile unsigned long position;
static _Thread_local uint64_t where;
static _Thread_local char *stack;
static atomic_int running = N, ready;
static pthread_t threads[N];
static uint64_t result[N];

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	char here;

	CHECK(&here >= stack && &here < stack + 65536);
	where = mix(where, position);
	burn(1, 2000);
	count = count + 1;
}

/* Writes far below the stack pointer, which only an alternate stack leaves alone, and reads it back over and over. */
static void odd_stack(char *area)
{
	unsigned long bad = 0;

	for (int i = 0; i < 200; i++) {
		/* clang-format off */
		__asm__ volatile("mov %%rsp, %%r12\n\t"
				 "mov %1, %%rsp\n\t"
				 "movq $0x1234567, -8(%%rsp)\n\t"
				 "movq $0x89abcde, -1000(%%rsp)\n\t"
				 "mov $2000, %%ecx\n"
				 "1:\n\t"
				 "incq -8(%%rsp)\n\t"
				 "decq -1000(%%rsp)\n\t"
				 "dec %%ecx\n\t"
				 "jnz 1b\n\t"
				 "subq $0x1234567 + 2000, -8(%%rsp)\n\t"
				 "subq $0x89abcde - 2000, -1000(%%rsp)\n\t"
				 "mov -8(%%rsp), %0\n\t"
				 "or -1000(%%rsp), %0\n\t"
				 "mov %%r12, %%rsp"
				 : "=&r"(bad) : "r"(area + 4000) : "rcx", "r12", "memory", "cc");
		/* clang-format on */
		CHECK(bad == 0);
		position = position + 1;
	}
}

static void *body(void *arg)
{
	stack_t ss = { .ss_sp = stack = malloc(65536), .ss_size = 65536 };
	char *area = malloc(4096);

	CHECK(stack && area);
	CK(sigaltstack(&ss, NULL));
	ready++;
	while (count < SIGNALS)
		odd_stack(area);
	result[(intptr_t)arg] = where;
	running--;
	while (running)
		burn(1, 1000);
	return NULL;
}

int main(void)
{
	sigset_t one;

	on_signal(SIGUSR1, handler, SA_ONSTACK);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	for (int i = 0; i < N; i++)
		CHECK(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) == 0);
	while (ready < N)
		msleep(1);
	CHECK(pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
	for (int i = 0; running; i++) {
		pthread_kill(threads[i % N], SIGUSR1);
		msleep(1);
	}
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < N; i++)
		say("%d: %lx\n", i, (unsigned long)result[i]);
	done();
	return 0;
}
