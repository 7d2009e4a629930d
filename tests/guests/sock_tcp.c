/* TCP over loopback between processes: names, partial reads, urgent data, half close, reset, refused. Output: ports differ. */
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static struct sockaddr_in addr = { .sin_family = AF_INET };

static void client(void)
{
	struct linger l = { 1, 0 };
	static char big[200000];
	int c = CK(socket(AF_INET, SOCK_STREAM, 0));

	CK(connect(c, (struct sockaddr *)&addr, sizeof(addr)));
	write_all(c, "hello", 5);
	CHECK(send(c, "!", 1, MSG_OOB) == 1);
	memset(big, 'B', sizeof(big));
	write_all(c, big, sizeof(big));
	CK(shutdown(c, SHUT_WR));
	CHECK(read(c, big, 10) == 4);
	close(c);
	c = CK(socket(AF_INET, SOCK_STREAM, 0));
	CK(connect(c, (struct sockaddr *)&addr, sizeof(addr)));
	CK(setsockopt(c, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	close(c); /* a reset */
	_exit(0);
}

int main(void)
{
	struct sockaddr_in peer;
	static char buf[65536];
	socklen_t len = sizeof(addr);
	int s, c, one = 1, reads = 0;
	struct tcp_info ti;
	size_t total = 0;
	ssize_t n;
	pid_t p;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s = CK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CK(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CK(bind(s, (struct sockaddr *)&addr, sizeof(addr)));
	CK(getsockname(s, (struct sockaddr *)&addr, &len));
	show("refused", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&addr, len));
	CK(listen(s, 4));
	say("listens on port %d\n", ntohs(addr.sin_port));
	p = xfork();
	if (p == 0)
		client();
	len = sizeof(peer);
	c = CK(accept(s, (struct sockaddr *)&peer, &len));
	say("from %s port %d\n", inet_ntoa(peer.sin_addr), ntohs(peer.sin_port));
	show("first", recv(c, buf, 5, MSG_WAITALL));
	while ((n = CK(read(c, buf, sizeof(buf)))) > 0) {
		total += (size_t)n;
		if (reads++ < 10)
			say("read %zd\n", n);
	}
	say("total %zu in %d reads\n", total, reads);
	show("urgent", recv(c, buf, 1, MSG_OOB));
	len = sizeof(ti);
	CK(getsockopt(c, IPPROTO_TCP, TCP_INFO, &ti, &len));
	say("tcp info: state %d rtt %u, %u bytes\n", ti.tcpi_state, ti.tcpi_rtt, (unsigned)len);
	write_all(c, "done", 4);
	close(c);
	c = CK(accept(s, NULL, NULL));
	n = read(c, buf, 1);
	show("reset", n);
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
