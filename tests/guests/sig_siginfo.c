/* The siginfo a handler sees: kill, tgkill, raise, sigqueue, a child's kill, SIGCHLD. Output: pids differ. */
#include "guest.h"

static pid_t me;

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	say("  %s: signo %d errno %d code %d pid %s(%d) uid %d value %d\n", sig_name(sig), si->si_signo, si->si_errno,
	    si->si_code, si->si_pid == me ? "self" : "other", (int)si->si_pid, (int)si->si_uid,
	    sig == SIGCHLD ? si->si_status : si->si_code == SI_QUEUE ? si->si_value.sival_int : 0);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	static const int sigs[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGCONT, SIGURG, SIGWINCH };
	union sigval v = { .sival_int = 4711 };
	siginfo_t own;
	pid_t p;

	me = getpid();
	for (size_t i = 0; i < N_ELEMENTS(sigs); i++)
		CK(sigaction(sigs[i], &sa, NULL));
	say("kill\n");
	CK(kill(me, SIGUSR1));
	say("tgkill\n");
	CK((int)syscall(SYS_tgkill, me, gettid(), SIGUSR2));
	say("tkill\n");
	CK((int)syscall(SYS_tkill, gettid(), SIGURG));
	say("raise\n");
	CK(raise(SIGHUP));
	say("sigqueue\n");
	CK(sigqueue(me, SIGTERM, v));
	say("rt_tgsigqueueinfo\n");
	memset(&own, 0, sizeof(own));
	own.si_code = -77;
	own.si_errno = 5;
	CK((int)syscall(SYS_rt_tgsigqueueinfo, me, gettid(), SIGWINCH, &own));
	own.si_code = SI_USER;
	say("from a child\n");
	p = xfork();
	if (p == 0) {
		CK(kill(getppid(), SIGINT));
		_exit(33);
	}
	say("%s\n", wait_str(reap(p)));
	say("child by signal\n");
	p = xfork();
	if (p == 0) {
		CHECK(signal(SIGTERM, SIG_DFL) != SIG_ERR);
		raise(SIGTERM);
	}
	say("%s\n", wait_str(reap(p)));
	show("forged siginfo to another", syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR1, &own));
	show("kill nobody", kill(0x7ffffffe, SIGUSR1));
	show("kill bad signal", kill(me, 65));
	done();
	return 0;
}
