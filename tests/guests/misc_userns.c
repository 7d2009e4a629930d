/* A user namespace with pid and mount namespaces inside, where allowed: ids as seen within. Output: depends on the machine. */
#include "guest.h"

int main(void)
{
	pid_t p = xfork();

	if (p == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS) < 0) {
			say("unshare: %s\n", err_name(errno));
			_exit(0);
		}
		say("uid inside %d, pid still %s\n", (int)getuid(), getpid() > 1 ? "old" : "1");
		show("sethostname", sethostname("inside", 6));
		p = xfork();
		if (p == 0) {
			say("child pid %d ppid %d\n", (int)getpid(), (int)getppid());
			if (xfork() == 0) {
				say("grandchild pid %d ppid %d\n", (int)getpid(), (int)getppid());
				_exit(3);
			}
			say("grandchild: %s\n", wait_str(reap(2)));
			_exit(0);
		}
		say("child %d: %s\n", (int)p, wait_str(reap(p)));
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
