/* siglongjmp out of handlers, with and without the saved mask, again and again. Deterministic. */
#include "guest.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	volatile int jumps = 0;
	sigset_t m;

	CK(sigaction(SIGUSR1, &sa, NULL));
	CK(sigaction(SIGSEGV, &sa, NULL));
	for (int save = 0; save < 2; save++) {
		int r = sigsetjmp(back, save);

		CK(sigprocmask(SIG_BLOCK, NULL, &m));
		if (r)
			say("back by %s, still blocked %d\n", sig_name(r), sigismember(&m, SIGUSR1));
		else
			raise(SIGUSR1);
		sigemptyset(&m);
		CK(sigprocmask(SIG_SETMASK, &m, NULL));
	}
	sigsetjmp(back, 1);
	if (jumps++ < 300)
		*(volatile int *)64 = 1;
	say("jumps %d\n", jumps - 1);
	done();
	return 0;
}
