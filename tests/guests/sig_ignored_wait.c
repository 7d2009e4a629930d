/* Signals that are ignored do not interrupt a wait that any other signal would (epoll_wait never restarts). Deterministic. */
#include "guest.h"
#include <sys/epoll.h>

int main(void)
{
	int ep = CK(epoll_create1(0));
	struct epoll_event e;
	pid_t me = getpid(), p;

	signal(SIGUSR1, SIG_IGN); /* SIGCHLD and SIGWINCH are ignored by default */
	p = xfork();
	if (p == 0) {
		msleep(20);
		kill(me, SIGUSR1);
		msleep(20);
		kill(me, SIGWINCH);
		_exit(0);
	}
	show("epoll_wait", epoll_wait(ep, &e, 1, 150));
	say("child: %s\n", wait_str(reap(p)));
	done();
	return 0;
}
