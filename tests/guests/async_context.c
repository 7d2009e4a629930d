/*
 * Handlers change what they interrupt: they move rip out of an endless loop and set registers, flags and xmm0 there,
 * or make a loop call a function first, as preemption by injected calls does. Output: counts, which differ.
 */
#include "async.h"

enum { ROUNDS = 12 };

extern const char endless_start[], endless_end[], endless_out[], calling_start[], calling_end[], injected_call[];
extern volatile int injected_count;
volatile int injected_count;
static int left;

/* Keeps all registers, and leaves the red zone below the interrupted rsp alone. */
__asm__(".text\n"
	"injected_call:\n\t"
	"pushfq\n\t"
	"incl injected_count(%rip)\n\t"
	"popfq\n\t"
	"ret $128\n");

static bool within(uintptr_t ip, const char *start, const char *end)
{
	return ip >= (uintptr_t)start && ip < (uintptr_t)end;
}

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *arg)
{
	ucontext_t *uc = arg;
	greg_t *r = uc->uc_mcontext.gregs;
	uintptr_t ip = (uintptr_t)r[REG_RIP];

	if (within(ip, calling_start, calling_end)) {
		r[REG_RSP] -= 128 + 8;
		*(uint64_t *)r[REG_RSP] = ip;
		r[REG_RIP] = (greg_t)(uintptr_t)injected_call;
	} else if (within(ip, endless_start, endless_end)) {
		r[REG_RIP] = (greg_t)(uintptr_t)endless_out;
		r[REG_RBX] = 0x1122334455667788;
		r[REG_EFL] |= 1; /* carry */
		uc->uc_mcontext.fpregs->_xmm[0].element[0] = 0x51525354;
		left++;
	}
}

/* Counts in rax until a handler takes it out; rbx, carry and xmm0 are what the handler made them. */
__attribute__((noinline)) static uint64_t endless(void)
{
	uint64_t n = 0, b = 0;
	unsigned x = 0;
	unsigned char carry = 0;

	__asm__ volatile("xor %%eax, %%eax\n\t"
			 "xor %%ebx, %%ebx\n\t"
			 "pxor %%xmm0, %%xmm0\n"
			 "endless_start:\n\t"
			 "add $1, %%rax\n\t"
			 "xor %%rax, %%rbx\n\t"
			 "jmp endless_start\n"
			 "endless_end:\n\t"
			 "nop\n"
			 "endless_out:\n\t"
			 "setc %2\n\t"
			 "movd %%xmm0, %3"
			 : "=&a"(n), "=&b"(b), "=&r"(carry), "=&r"(x)
			 :
			 : "xmm0", "cc", "memory");
	CHECK(b == 0x1122334455667788 && carry == 1 && x == 0x51525354);
	return n;
}

/* Counts in rax and in the red zone until enough calls were injected. */
__attribute__((noinline)) static uint64_t calling(int calls)
{
	uint64_t n = 0, kept = 0;

	__asm__ volatile("xor %%eax, %%eax\n\t"
			 "mov %%rax, -120(%%rsp)\n"
			 "calling_start:\n\t"
			 "add $1, %%rax\n\t"
			 "incq -120(%%rsp)\n\t"
			 "cmp %2, injected_count(%%rip)\n\t"
			 "jl calling_start\n"
			 "calling_end:\n\t"
			 "mov -120(%%rsp), %1"
			 : "=&a"(n), "=&r"(kept)
			 : "r"(calls)
			 : "cc", "memory");
	CHECK(n == kept && injected_count >= calls);
	return n;
}

int main(void)
{
	on_signal(SIGALRM, handler, 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t n;

		set_timer(ITIMER_REAL, 2000);
		n = endless();
		set_timer(ITIMER_REAL, 0);
		say("left after %lu\n", (unsigned long)n);
	}
	CHECK(left == ROUNDS);
	set_timer(ITIMER_REAL, 2000);
	for (int i = 0; i < 3; i++)
		say("called within %lu rounds\n", (unsigned long)calling(ROUNDS * (i + 1)));
	set_timer(ITIMER_REAL, 0);
	done();
	return 0;
}
