/* ppoll, pselect, epoll_pwait: the mask is changed for the wait only. Deterministic. */
#include "guest.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile sig_atomic_t handled;

static void handler(int sig UNUSED)
{
	handled++;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct timespec ts = { 0, 3000000 }, zero = { 0, 0 };
	struct epoll_event ev;
	sigset_t set, none;
	int ep = CK(epoll_create1(0));

	CK(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 3; i++) {
		CK(raise(SIGUSR1));
		if (i == 0)
			show("ppoll", ppoll(NULL, 0, NULL, &none));
		else if (i == 1)
			show("pselect", pselect(0, NULL, NULL, NULL, NULL, &none));
		else
			show("epoll_pwait", epoll_pwait(ep, &ev, 1, -1, &none));
		say("handled %d\n", (int)handled);
	}
	CK(raise(SIGUSR1));
	show("ppoll, still blocked", ppoll(NULL, 0, &ts, &set));
	show("pselect, still blocked", pselect(0, NULL, NULL, NULL, &zero, &set));
	say("handled %d\n", (int)handled);
	/* The kernel writes the time that is left into the raw call's timespec. */
	ts.tv_nsec = 2000000;
	show("raw pselect6", syscall(SYS_pselect6, 0, NULL, NULL, NULL, &ts, NULL));
	say("time left %ld\n", ts.tv_nsec);
	done();
	return 0;
}
