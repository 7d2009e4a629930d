/* Sessions: setsid, getsid, what a leader may not do, no controlling terminal afterwards. Output: pids differ. */
#include "guest.h"

int main(void)
{
	pid_t p;

	say("session %d group %d\n", (int)getsid(0), (int)getpgrp());
	p = xfork();
	if (p == 0) {
		pid_t me = getpid();

		CHECK(setsid() == me);
		say("new session: sid %d pgid %d\n", getsid(0) == me, getpgrp() == me);
		show("again", setsid());
		show("leader changes group", setpgid(0, 0));
		show("/dev/tty", open("/dev/tty", O_RDWR));
		if (xfork() == 0) {
			say("grandchild in session: %d\n", getsid(0) == me);
			show("join a group of another session", setpgid(0, getpgid(1)));
			CK(setpgid(0, 0));
			say("own group: %d\n", getpgrp() == getpid());
			_exit(0);
		}
		CHECK(wait(NULL) > 0);
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
