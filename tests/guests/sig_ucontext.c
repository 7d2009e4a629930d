/* A handler that changes the interrupted registers: result, program counter, stack contents. Deterministic. */
#include "guest.h"
#include <ucontext.h>

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *ucv)
{
	ucontext_t *uc = ucv;

	uc->uc_mcontext.gregs[REG_RIP] += 2; /* over ud2 */
	uc->uc_mcontext.gregs[REG_RAX] = uc->uc_mcontext.gregs[REG_RBX] * 3;
	uc->uc_mcontext.gregs[REG_R12] = 0x1122334455667788;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	unsigned long rax, r12;

	CK(sigaction(SIGILL, &sa, NULL));
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("mov %2, %%rbx\n\t"
				 "xor %%r12d, %%r12d\n\t"
				 "ud2\n\t"
				 "mov %%rax, %0\n\t"
				 "mov %%r12, %1"
				 : "=&r"(rax), "=&r"(r12)
				 : "r"(100ul + (unsigned long)i)
				 : "rax", "rbx", "r12", "memory");
		say("rax %lu r12 %lx\n", rax, r12);
	}
	done();
	return 0;
}
