/* PR_SET_CHILD_SUBREAPER: orphans below come to this process and are waited for here. Output: pids differ. */
#include "guest.h"

int main(void)
{
	int on = 0, st;
	pid_t p, r;

	CK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	CK(prctl(PR_GET_CHILD_SUBREAPER, &on, 0, 0, 0));
	say("subreaper %d\n", on);
	p = xfork();
	if (p == 0) {
		pid_t me = getpid();

		for (int i = 0; i < 3; i++) {
			if (xfork() == 0) {
				while (getppid() == me)
					msleep(1);
				_exit(20 + i);
			}
		}
		_exit(1);
	}
	for (int i = 0; i < 4; i++) {
		r = CK(wait(&st));
		say("collected %d: %s\n", (int)r, wait_str(st));
	}
	show("wait", wait(&st));
	CHECK(errno == ECHILD);
	done();
	return 0;
}
