/* Realtime signals queue: order by number, then by time, each with its value; the limit. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	say("RTMIN+%d value %d code %d\n", sig - SIGRTMIN, si->si_value.sival_int, si->si_code);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct rlimit rl = { 0, 0 };
	union sigval v;
	sigset_t set;
	pid_t p;
	int n;

	sigemptyset(&set);
	for (int i = 0; i < 4; i++) {
		sigaddset(&set, SIGRTMIN + i);
		sigaddset(&sa.sa_mask, SIGRTMIN + i);
	}
	for (int i = 0; i < 4; i++)
		CK(sigaction(SIGRTMIN + i, &sa, NULL));
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	p = xfork();
	if (p == 0) {
		for (int k = 0; k < 3; k++)
			for (int i = 3; i >= 0; i--) {
				v.sival_int = 10 * i + k;
				CK(sigqueue(getppid(), SIGRTMIN + i, v));
			}
		_exit(0);
	}
	CHECK(reap(p) == 0);
	CK(sigprocmask(SIG_UNBLOCK, &set, NULL));
	say("all delivered\n");
	CK(setrlimit(RLIMIT_SIGPENDING, &rl));
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	v.sival_int = 1;
	for (n = 0; n < 3; n++)
		if (sigqueue(getpid(), SIGRTMIN, v) < 0)
			break;
	show("over the limit", n < 3 ? -1 : 0);
	done();
	return 0;
}
