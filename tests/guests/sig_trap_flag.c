/* A guest that single-steps itself with the trap flag: each SIGTRAP counted. Deterministic. */
#include "guest.h"
#include <ucontext.h>

static volatile int steps, code;

static void handler(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	steps++;
	code = si->si_code;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	CK(sigaction(SIGTRAP, &sa, NULL));
	__asm__ volatile("sub $128, %%rsp\n\t"
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "nop\n\t"
			 "nop\n\t"
			 "nop\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "nop\n\t"
			 "add $128, %%rsp" ::
				 : "memory", "cc");
	say("steps %d code %d\n", steps, code);
	done();
	return 0;
}
