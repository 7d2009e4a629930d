/*
 * EINTR and SA_RESTART of read, write, nanosleep, poll, wait, futex, accept, msgrcv, epoll_wait: a child signals while
 * the call blocks. Deterministic.
 */
#include "guest.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static int data[2], full[2], sock[2], handled;
static uint32_t word;

static void handler(int sig UNUSED)
{
	handled++;
}

/* Two signals while the parent sleeps; then whatever lets a restarted call end. */
static pid_t disturb(void (*release)(void))
{
	pid_t parent = getpid(), p = xfork();

	if (p == 0) {
		for (int i = 0; i < 2; i++) {
			wait_state(parent, 'S');
			CK(kill(parent, SIGUSR1));
			msleep(10);
		}
		if (release)
			release();
		_exit(6);
	}
	return p;
}

static void release_read(void)
{
	CHECK(write(data[1], "z", 1) == 1);
}

static void release_sock(void)
{
	CHECK(write(sock[1], "z", 1) == 1);
}

static void release_write(void)
{
	char buf[65536];

	CK(read(full[0], buf, sizeof(buf)));
}

static void one(const char *what, bool restart)
{
	struct timespec ts = { 5, 0 }, rem = { 0, 0 };
	struct epoll_event ev;
	struct pollfd pf = { .fd = data[0], .events = POLLIN };
	void (*rel)(void) = !strcmp(what, "read") ? release_read :
			    !strcmp(what, "recv") ? release_sock :
			    !strcmp(what, "write") ? release_write :
						     NULL;
	pid_t p = disturb(rel);
	long r = -2;
	int st, ep;
	char c;

	if (!strcmp(what, "read"))
		r = read(data[0], &c, 1);
	else if (!strcmp(what, "recv"))
		r = recv(sock[0], &c, 1, 0);
	else if (!strcmp(what, "write"))
		r = write(full[1], &c, 1);
	else if (!strcmp(what, "nanosleep"))
		r = nanosleep(&ts, &rem);
	else if (!strcmp(what, "poll"))
		r = poll(&pf, 1, 5000);
	else if (!strcmp(what, "wait"))
		r = waitpid(p, &st, 0) > 0 ? 1 : -1;
	else if (!strcmp(what, "futex"))
		r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0);
	else if (!strcmp(what, "pause"))
		r = pause();
	else if (!strcmp(what, "epoll")) {
		ep = CK(epoll_create1(0));
		r = epoll_wait(ep, &ev, 1, 5000);
		close(ep);
	}
	if (r == -1)
		say("%s, restart %d: %s\n", what, restart, err_name(errno));
	else
		say("%s, restart %d: %ld\n", what, restart, r);
	if (!strcmp(what, "nanosleep"))
		say("remaining time written: %d\n", rem.tv_sec > 0);
	if (kill(p, 0) == 0)
		while (waitpid(p, &st, 0) < 0 && errno == EINTR)
			continue;
	if (rel == release_read || rel == release_sock) {
		int fd = rel == release_read ? data[0] : sock[0];

		(void)!recv(fd, &c, 1, MSG_DONTWAIT);
		CK(fcntl(fd, F_SETFL, O_NONBLOCK));
		(void)!read(fd, &c, 1);
		CK(fcntl(fd, F_SETFL, 0));
	}
	if (rel == release_write) {
		static char buf[65536];

		CK(fcntl(full[1], F_SETFL, O_NONBLOCK));
		while (write(full[1], buf, sizeof(buf)) > 0 || write(full[1], buf, 1) > 0)
			continue;
		CK(fcntl(full[1], F_SETFL, 0));
	}
}

int main(void)
{
	static const char *const calls[] = { "read", "recv", "write", "nanosleep", "poll", "wait", "futex", "pause",
					     "epoll" };
	static char buf[65536];

	CK(pipe(data));
	CK(pipe(full));
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	CK(fcntl(full[1], F_SETFL, O_NONBLOCK));
	while (write(full[1], buf, sizeof(buf)) > 0)
		continue;
	CK(fcntl(full[1], F_SETFL, 0));
	for (int restart = 0; restart < 2; restart++) {
		struct sigaction sa = { .sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0 };

		CK(sigaction(SIGUSR1, &sa, NULL));
		for (size_t i = 0; i < N_ELEMENTS(calls); i++)
			one(calls[i], restart);
	}
	say("handled %d\n", handled);
	done();
	return 0;
}
