/* fork and wait: exit codes and pids by pid, in any order, by process group; ECHILD at the end. Output: pids differ. */
#include "guest.h"

int main(void)
{
	pid_t p[5];
	int st;

	say("parent %d of %d\n", (int)getpid(), (int)getppid());
	for (int i = 0; i < 5; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			say("child %d: pid %d parent %d\n", i, (int)getpid(), (int)getppid());
			_exit(10 + i);
		}
	}
	for (int i = 4; i >= 3; i--) {
		CHECK(waitpid(p[i], &st, 0) == p[i]);
		say("waitpid(%d): %s\n", (int)p[i], wait_str(st));
		CHECK(WEXITSTATUS(st) == 10 + i);
	}
	for (int i = 0; i < 3; i++) {
		pid_t r = CK(wait(&st));

		say("wait: %d %s\n", (int)r, wait_str(st));
		CHECK(r == p[WEXITSTATUS(st) - 10]);
	}
	show("wait", wait(&st));
	CHECK(errno == ECHILD);
	done();
	return 0;
}
