/* sigwaitinfo, sigtimedwait, sigwait: queued and arriving signals, timeout, interruption by another. Output: pids differ. */
#include "guest.h"

static void handler(int sig UNUSED)
{
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct timespec ts = { 0, 5000000 };
	union sigval v = { .sival_int = 12 };
	siginfo_t si;
	sigset_t set;
	pid_t p;
	int s;

	CK(sigaction(SIGUSR2, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	show("timeout", sigtimedwait(&set, &si, &ts));
	CK(sigqueue(getpid(), SIGRTMIN, v));
	CK(raise(SIGUSR1));
	show("first", sigwaitinfo(&set, &si) == SIGUSR1);
	show("second", sigwaitinfo(&set, &si) == SIGRTMIN);
	say("value %d code %d\n", si.si_value.sival_int, si.si_code);
	p = xfork();
	if (p == 0) {
		wait_state(getppid(), 'S');
		CK(kill(getppid(), SIGUSR1));
		wait_state(getppid(), 'S');
		msleep(10);
		CK(kill(getppid(), SIGUSR2));
		_exit(0);
	}
	CHECK(sigwait(&set, &s) == 0);
	say("sigwait gave %s\n", sig_name(s));
	show("interrupted", sigwaitinfo(&set, &si));
	say("child %d: %s\n", (int)p, wait_str(reap(p)));
	ts.tv_nsec = 0;
	show("poll", sigtimedwait(&set, NULL, &ts));
	done();
	return 0;
}
