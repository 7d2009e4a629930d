/* A 32-bit system call (int $0x80) from a 64-bit program. Output: information; a recorder may refuse it. */
#include "guest.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig)
{
	say("%s\n", sig_name(sig));
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	long r = 0;

	CK(sigaction(SIGSEGV, &sa, NULL));
	CK(sigaction(SIGSYS, &sa, NULL));
	if (sigsetjmp(back, 1) == 0) {
		__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory"); /* getpid */
		say("int 0x80 getpid: own pid %d, result %ld\n", r == getpid(), r < 0 ? r : 0);
	}
	done();
	return 0;
}
