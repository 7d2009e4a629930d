/* signalfd: records of queued signals, several at once, poll, EAGAIN, change of mask. Output: pids differ. */
#include "guest.h"
#include <poll.h>
#include <sys/signalfd.h>

int main(void)
{
	struct signalfd_siginfo si[4];
	struct pollfd pf = { .events = POLLIN };
	union sigval v = { .sival_int = 5 };
	sigset_t set;
	ssize_t n;
	pid_t p;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	sigaddset(&set, SIGCHLD);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = pf.fd = CK(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	show("empty", read(fd, si, sizeof(si)));
	p = xfork();
	if (p == 0) {
		CK(kill(getppid(), SIGUSR1));
		CK(sigqueue(getppid(), SIGRTMIN + 2, v));
		v.sival_int = 6;
		CK(sigqueue(getppid(), SIGRTMIN + 2, v));
		_exit(44);
	}
	CHECK(waitid(P_PID, (id_t)p, &(siginfo_t){ 0 }, WEXITED) == 0);
	show("poll", poll(&pf, 1, -1));
	while ((n = read(fd, si, sizeof(si))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(si[0]); i++)
			say("%s code %d pid %s(%d) int %d status %d\n", sig_name((int)si[i].ssi_signo), si[i].ssi_code,
			    si[i].ssi_pid == (uint32_t)p ? "child" : "?", (int)si[i].ssi_pid, si[i].ssi_int,
			    si[i].ssi_status);
	show("drained", n);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	show("same descriptor", signalfd(fd, &set, 0) == fd);
	CK(fcntl(fd, F_SETFL, 0));
	if (xfork() == 0) {
		msleep(10);
		CK(kill(getppid(), SIGUSR2));
		_exit(0);
	}
	show("blocking read", read(fd, si, sizeof(si)));
	say("%s\n", sig_name((int)si[0].ssi_signo));
	show("buffer too small", read(fd, si, 5));
	done();
	return 0;
}
