/* pidfd_open, pidfd_send_signal, poll and waitid(P_PIDFD), pidfd_getfd, errors. Deterministic. */
#include "guest.h"
#include <poll.h>

int main(void)
{
	struct pollfd pf = { .events = POLLIN };
	siginfo_t si;
	int pidfd, up[2], fd;
	char c;
	pid_t p;

	CK(pipe(up));
	p = xfork();
	if (p == 0) {
		for (;;)
			pause();
	}
	pidfd = CK((int)syscall(SYS_pidfd_open, p, 0));
	say("pidfd %d, cloexec %d\n", pidfd, fcntl(pidfd, F_GETFD));
	pf.fd = pidfd;
	show("poll while alive", poll(&pf, 1, 0));
	show("signal 0", syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, up[1], 0);
	if (fd >= 0) {
		CHECK(write(fd, "x", 1) == 1 && read(up[0], &c, 1) == 1);
		say("the child's descriptor works here: %c\n", c);
	} else {
		show("pidfd_getfd", fd);
	}
	show("signal TERM", syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0));
	show("poll when dead", poll(&pf, 1, -1));
	say("revents %#x\n", (unsigned)pf.revents);
	CK(waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED));
	say("code %d status %d pid %d\n", si.si_code, si.si_status, si.si_pid == p);
	show("signal gone", syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0));
	show("open gone", syscall(SYS_pidfd_open, p, 0));
	show("open bad flag", syscall(SYS_pidfd_open, getpid(), 0x12345));
	show("send to a pipe", syscall(SYS_pidfd_send_signal, up[0], 0, NULL, 0));
	done();
	return 0;
}
