/* An orphan gets a new parent while it runs; it outlives its parent but not the first process. Output: pids differ. */
#include "guest.h"

int main(void)
{
	int report[2];
	char line[128];
	ssize_t n;
	pid_t mid;

	CK(pipe(report));
	mid = xfork();
	if (mid == 0) {
		pid_t me = getpid();

		if (xfork() == 0) {
			int rounds = 0;

			while (getppid() == me) {
				rounds++;
				msleep(1);
			}
			dprintf(report[1], "orphan %d: parent was %d, now %d (%d rounds)", (int)getpid(), (int)me,
				(int)getppid(), rounds);
			_exit(0);
		}
		_exit(1);
	}
	say("middle: %s\n", wait_str(reap(mid)));
	n = CK(read(report[0], line, sizeof(line) - 1));
	line[n] = '\0';
	say("%s\n", line);
	done();
	return 0;
}
