/* MSG_ZEROCOPY and the error queue, SO_TIMESTAMPING, sendfile into TCP, splice from TCP. Output: depends on the kernel. */
#include "guest.h"
#include <arpa/inet.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	static char buf[100000], control[256];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int s, c, r, one = 1, fd, p[2];
	size_t total = 0;
	ssize_t n;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s = CK(socket(AF_INET, SOCK_STREAM, 0));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	CK(getsockname(s, (struct sockaddr *)&a, &len));
	CK(listen(s, 1));
	c = CK(socket(AF_INET, SOCK_STREAM, 0));
	CK(connect(c, (struct sockaddr *)&a, sizeof(a)));
	r = CK(accept(s, NULL, NULL));
	show("SO_ZEROCOPY", setsockopt(c, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	memset(buf, 'z', 20000);
	show("send", send(c, buf, 20000, MSG_ZEROCOPY));
	while (total < 20000)
		total += (size_t)CK(read(r, buf, sizeof(buf)));
	n = recvmsg(c, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
	say("error queue: %s, control %zu\n", n < 0 ? err_name(errno) : "message", m.msg_controllen);
	scratch();
	put_file("f", "by sendfile", 0600);
	fd = CK(open("f", O_RDONLY));
	show("sendfile", sendfile(c, fd, NULL, 11));
	show("read", read(r, buf, 64));
	say("%.11s\n", buf);
	CK(pipe(p));
	write_all(c, "spliced", 7);
	show("splice", splice(r, NULL, p[1], NULL, 100, 0));
	show("read", read(p[0], buf, 64));
	say("%.7s\n", buf);
	done();
	return 0;
}
