/* O_ASYNC: SIGIO with si_fd and si_band when a pipe becomes readable; a lease broken by another open. Output: order differs. */
#include "guest.h"

static volatile sig_atomic_t got;

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	got++;
	say("%s: code %d fd %d band %#lx\n", sig_name(sig), si->si_code, si->si_fd, (unsigned long)si->si_band);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t set, none;
	int p[2], fd;
	pid_t c;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGIO);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	CK(sigaction(SIGUSR1, &sa, NULL));
	CK(sigaction(SIGIO, &sa, NULL));
	CK(pipe(p));
	CK(fcntl(p[0], F_SETOWN, getpid()));
	CK(fcntl(p[0], F_SETSIG, SIGUSR1));
	CK(fcntl(p[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	c = xfork();
	if (c == 0) {
		CHECK(write(p[1], "data", 4) == 4);
		_exit(0);
	}
	while (got < 1)
		sigsuspend(&none);
	reap(c);
	scratch();
	put_file("f", "leased", 0600);
	fd = CK(open("f", O_RDWR));
	CK(fcntl(fd, F_SETSIG, SIGIO));
	if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0) {
		c = xfork();
		if (c == 0) {
			CK(open("f", O_RDONLY));
			_exit(0);
		}
		while (got < 2)
			sigsuspend(&none);
		show("lease now", fcntl(fd, F_GETLEASE));
		CK(fcntl(fd, F_SETLEASE, F_UNLCK));
		say("%s\n", wait_str(reap(c)));
	}
	done();
	return 0;
}
