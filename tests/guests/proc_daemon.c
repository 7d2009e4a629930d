/*
 * A daemon (double fork, setsid, chdir /) that outlives the first process and prints afterwards: a recording ends only
 * with its whole tree. Output: pids differ; the daemon's lines come after "ok".
 */
#include "guest.h"

int main(void)
{
	pid_t first = getpid(), p;

	p = xfork();
	if (p == 0) {
		CK(setsid());
		if (xfork() != 0)
			_exit(0);
		CK(chdir("/"));
		/* The first process is gone, or waits as a zombie for whoever started it. */
		while (kill(first, 0) == 0) {
			char path[64], buf[256] = "";
			int fd;
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/%d/stat", (int)first);
			fd = open(path, O_RDONLY);
			if (fd < 0)
				break;
			n = read(fd, buf, sizeof(buf) - 1);
			close(fd);
			if (n <= 0 || strstr(buf, ") Z"))
				break;
			msleep(2);
		}
		msleep(50);
		say("daemon %d: session %d, parent %d\n", (int)getpid(), (int)getsid(0), (int)getppid());
		say("daemon ends\n");
		_exit(9);
	}
	say("first %d: child %s\n", (int)first, wait_str(reap(p)));
	done();
	return 0;
}
