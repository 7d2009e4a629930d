/* PR_SET_TSC and ARCH_SET_CPUID of the guest itself: rdtsc faults with SIGSEGV when forbidden, and works again. Deterministic. */
#include "guest.h"
#include <asm/prctl.h>
#include <setjmp.h>
#include <x86intrin.h>

static sigjmp_buf back;

static void handler(int sig)
{
	say("%s\n", sig_name(sig));
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	int mode = 0;

	CK(sigaction(SIGSEGV, &sa, NULL));
	show("PR_GET_TSC", prctl(PR_GET_TSC, &mode, 0, 0, 0));
	say("mode %d\n", mode);
	show("PR_SET_TSC", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	show("PR_GET_TSC", prctl(PR_GET_TSC, &mode, 0, 0, 0));
	say("mode %d\n", mode);
	if (sigsetjmp(back, 1) == 0) {
		(void)__rdtsc();
		say("rdtsc worked\n");
	}
	show("PR_SET_TSC", prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
	(void)__rdtsc();
	say("rdtsc works\n");
	show("cpuid faulting now", syscall(SYS_arch_prctl, ARCH_GET_CPUID, 0));
	done();
	return 0;
}
