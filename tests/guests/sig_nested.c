/* Nested handlers: sa_mask, SA_NODEFER, SA_RESETHAND, the mask in the ucontext. Deterministic. */
#include "guest.h"
#include <ucontext.h>

static int depth, budget;

static void handler(int sig, siginfo_t *si UNUSED, void *ucv)
{
	ucontext_t *uc = ucv;
	sigset_t now;

	depth++;
	CK(sigprocmask(SIG_BLOCK, NULL, &now));
	say("%*s%s: blocked USR1 %d USR2 %d ALRM %d; before USR1 %d\n", depth, "", sig_name(sig),
	    sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2), sigismember(&now, SIGALRM),
	    sigismember(&uc->uc_sigmask, SIGUSR1));
	if (sig == SIGUSR1 && budget-- > 0) {
		raise(SIGUSR2);
		raise(SIGUSR1);
		raise(SIGALRM);
		say("%*sUSR1 leaves\n", depth, "");
	}
	depth--;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler };
	sigset_t now;

	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGALRM);
	sa.sa_flags = SA_SIGINFO;
	CK(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&sa.sa_mask);
	CK(sigaction(SIGUSR2, &sa, NULL));
	CK(sigaction(SIGALRM, &sa, NULL));
	budget = 2;
	say("deferred\n");
	raise(SIGUSR1);
	budget = 2;
	say("not deferred\n");
	sa.sa_flags = SA_SIGINFO | SA_NODEFER;
	CK(sigaction(SIGUSR1, &sa, NULL));
	raise(SIGUSR1);
	say("reset\n");
	sa.sa_flags = (int)(SA_SIGINFO | SA_RESETHAND);
	CK(sigaction(SIGUSR2, &sa, NULL));
	raise(SIGUSR2);
	CK(sigaction(SIGUSR2, NULL, &sa));
	say("handler is default: %d\n", sa.sa_handler == SIG_DFL);
	CK(sigprocmask(SIG_BLOCK, NULL, &now));
	say("blocked at the end: USR1 %d USR2 %d ALRM %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2),
	    sigismember(&now, SIGALRM));
	done();
	return 0;
}
