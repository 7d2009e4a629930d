/* Unix stream sockets: bind, listen, accept4, names of both sides, shutdown, connection refused, address in use. Output: pids differ. */
#include "guest.h"
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "sock" }, b;
	struct ucred cred;
	socklen_t len = sizeof(b);
	char buf[64] = "";
	int s, c;
	pid_t p;

	scratch();
	s = CK(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	show("connect to nothing", connect(s, (struct sockaddr *)&a, sizeof(a)));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	show("bind again", bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)));
	show("refused", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)));
	CK(listen(s, 5));
	p = xfork();
	if (p == 0) {
		c = CK(socket(AF_UNIX, SOCK_STREAM, 0));
		CK(connect(c, (struct sockaddr *)&a, sizeof(a)));
		write_all(c, "request", 7);
		CK(shutdown(c, SHUT_WR));
		while ((len = (socklen_t)CK(read(c, buf, sizeof(buf)))) > 0)
			say("client got %.*s\n", (int)len, buf);
		_exit(0);
	}
	len = sizeof(b);
	c = CK(accept4(s, (struct sockaddr *)&b, &len, SOCK_CLOEXEC));
	say("peer name length %u family %d\n", (unsigned)len, b.sun_family);
	len = sizeof(b);
	CK(getsockname(c, (struct sockaddr *)&b, &len));
	say("own name %s length %u\n", b.sun_path, (unsigned)len);
	len = sizeof(cred);
	CK(getsockopt(c, SOL_SOCKET, SO_PEERCRED, &cred, &len));
	say("peer is the child %d (%d), uid %d\n", cred.pid == p, (int)cred.pid, (int)cred.uid);
	show("read", read(c, buf, sizeof(buf)));
	show("end", read(c, buf, sizeof(buf)));
	write_all(c, "answer", 6);
	close(c);
	say("%s\n", wait_str(reap(p)));
	show("accept nonblocking", (fcntl(s, F_SETFL, O_NONBLOCK), accept(s, NULL, NULL)));
	show("listen on connected", listen(c, 1));
	done();
	return 0;
}
