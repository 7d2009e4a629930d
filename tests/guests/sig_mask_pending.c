/* Blocking, pending sets of thread and process, sigsuspend, unblocking delivers the lowest first. Deterministic. */
#include "guest.h"

static void handler(int sig)
{
	say("  handler %s\n", sig_name(sig));
}

static void show_pending(const char *when)
{
	sigset_t p;

	CK(sigpending(&p));
	say("%s: pending", when);
	for (int s = 1; s < 65; s++)
		if (sigismember(&p, s) == 1)
			say(" %s", sig_name(s));
	say("\n");
}

int main(void)
{
	static const int sigs[] = { SIGUSR2, SIGUSR1, SIGHUP, SIGTERM, SIGINT };
	struct sigaction sa = { .sa_handler = handler };
	sigset_t all, old, some;

	for (size_t i = 0; i < N_ELEMENTS(sigs); i++)
		CK(sigaction(sigs[i], &sa, NULL));
	sigfillset(&all);
	CK(sigprocmask(SIG_SETMASK, &all, &old));
	CK(sigprocmask(SIG_BLOCK, NULL, &some));
	say("KILL blocked %d STOP blocked %d\n", sigismember(&some, SIGKILL), sigismember(&some, SIGSTOP));
	show_pending("start");
	for (size_t i = 0; i < N_ELEMENTS(sigs); i++) {
		CK(kill(getpid(), sigs[i]));
		CK(raise(sigs[i]));
		CK(kill(getpid(), sigs[i]));
	}
	show_pending("sent");
	CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
	show_pending("TERM ignored");
	some = all;
	sigdelset(&some, SIGUSR1);
	show("sigsuspend", sigsuspend(&some));
	show_pending("after sigsuspend");
	CK(sigprocmask(SIG_SETMASK, &some, NULL));
	show_pending("USR1 open");
	CK(sigprocmask(SIG_SETMASK, &old, NULL));
	show_pending("all open");
	show("bad how", sigprocmask(77, &all, NULL));
	show("bad size", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 3));
	done();
	return 0;
}
