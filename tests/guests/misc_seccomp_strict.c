/* Strict seccomp: read, write and exit only; another call kills. Deterministic. */
#include "guest.h"
#include <linux/seccomp.h>

int main(void)
{
	for (int how = 0; how < 2; how++) {
		pid_t p = xfork();

		if (p == 0) {
			CK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
			say("strict now\n");
			if (how)
				syscall(SYS_getpid);
			syscall(SYS_exit, 5);
		}
		say("child: %s\n", wait_str(reap(p)));
	}
	done();
	return 0;
}
