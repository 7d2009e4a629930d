/* SIGPIPE: default death, ignored gives EPIPE, handler; MSG_NOSIGNAL. Deterministic. */
#include "guest.h"
#include <sys/socket.h>

static void handler(int sig)
{
	say("%s\n", sig_name(sig));
}

int main(void)
{
	int fd[2], sv[2];
	pid_t p;

	CK(pipe(fd));
	close(fd[0]);
	p = xfork();
	if (p == 0) {
		CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
		(void)!write(fd[1], "x", 1);
		_exit(0);
	}
	say("default: %s\n", wait_str(reap(p)));
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	show("ignored", write(fd[1], "x", 1));
	CHECK(signal(SIGPIPE, handler) != SIG_ERR);
	show("handled", write(fd[1], "x", 1));
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	close(sv[0]);
	show("socket", send(sv[1], "x", 1, 0));
	show("socket, no signal", send(sv[1], "x", 1, MSG_NOSIGNAL));
	done();
	return 0;
}
