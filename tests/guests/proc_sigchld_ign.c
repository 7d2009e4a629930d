/* SIGCHLD ignored and SA_NOCLDWAIT: children vanish without wait; wait blocks until all are gone and says ECHILD. Deterministic. */
#include "guest.h"

int main(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };
	int st;

	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	for (int i = 0; i < 5; i++) {
		if (xfork() == 0) {
			msleep(5 * i);
			_exit(i);
		}
	}
	show("wait", wait(&st));
	CK(sigaction(SIGCHLD, &sa, NULL));
	for (int i = 0; i < 5; i++) {
		if (xfork() == 0)
			_exit(i);
	}
	show("wait", wait(&st));
	done();
	return 0;
}
