/* O_NONBLOCK: EAGAIN of reads and writes, set by fcntl and FIONBIO, FIONREAD, inherited by fork. Deterministic. */
#include "guest.h"
#include <sys/ioctl.h>

int main(void)
{
	static char buf[100000];
	int fd[2], n, on = 1;
	long total = 0, w;
	pid_t p;

	CK(pipe2(fd, O_NONBLOCK));
	show("empty", read(fd[0], buf, 10));
	while ((w = write(fd[1], buf, sizeof(buf))) > 0)
		total += w;
	show("full", w);
	say("took %ld\n", total);
	CK(ioctl(fd[0], FIONREAD, &n));
	say("FIONREAD %d\n", n);
	show("read all", read(fd[0], buf, sizeof(buf)));
	CK(fcntl(fd[1], F_SETFL, 0));
	say("flags %#x %#x\n", (unsigned)fcntl(fd[0], F_GETFL), (unsigned)fcntl(fd[1], F_GETFL));
	CK(ioctl(fd[1], FIONBIO, &on));
	say("flags %#x\n", (unsigned)fcntl(fd[1], F_GETFL));
	p = xfork();
	if (p == 0) {
		CK(fcntl(fd[0], F_SETFL, 0));
		_exit(0);
	}
	reap(p);
	say("set by the child too: %#x\n", (unsigned)fcntl(fd[0], F_GETFL));
	done();
	return 0;
}
