/* SIGKILL of children that block in read, wait, futex, sleep, poll and of one that runs. Deterministic. */
#include "guest.h"
#include <linux/futex.h>
#include <poll.h>

int main(void)
{
	static uint32_t word;

	for (int how = 0; how < 6; how++) {
		int fd[2];
		pid_t p;
		char c;

		CK(pipe(fd));
		p = xfork();
		if (p == 0) {
			if (how == 0)
				(void)!read(fd[0], &c, 1);
			else if (how == 1) {
				pid_t me = getpid();

				if (xfork() == 0) {
					/* dies with its parent */
					CK(prctl(PR_SET_PDEATHSIG, SIGKILL));
					while (getppid() == me)
						pause();
					_exit(0);
				}
				wait(NULL);
			} else if (how == 2)
				syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
			else if (how == 3)
				sleep(100);
			else if (how == 4)
				poll(NULL, 0, -1);
			else
				for (;;)
					syscall(SYS_getppid);
			_exit(0);
		}
		if (how < 5)
			wait_state(p, 'S');
		else
			msleep(5);
		CK(kill(p, SIGKILL));
		say("way %d: %s\n", how, wait_str(reap(p)));
		close(fd[0]);
		close(fd[1]);
	}
	done();
	return 0;
}
