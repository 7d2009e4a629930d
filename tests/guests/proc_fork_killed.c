/* Processes that fork without end, killed at any moment, also between a fork and the birth of the child. Deterministic output. */
#include "guest.h"

static void fork_for_ever(void)
{
	for (;;) {
		if (fork() == 0)
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		pid_t p = xfork();

		if (p == 0)
			fork_for_ever();
		usleep((useconds_t)(500 + 137 * i % 3000));
		CK(kill(p, SIGKILL));
		CHECK(reap(p) == SIGKILL);
	}
	done();
	return 0;
}
