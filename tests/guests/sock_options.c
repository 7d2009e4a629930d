/* getsockopt and setsockopt of many levels, value-result lengths, short buffers, unknown options. Deterministic. */
#include "guest.h"
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void get(int s, const char *what, int level, int opt, socklen_t room)
{
	unsigned char buf[256];
	socklen_t len = room;
	int r;

	memset(buf, 0x5a, sizeof(buf));
	r = getsockopt(s, level, opt, buf, &len);
	if (r < 0)
		say("%s: %s, length %u\n", what, err_name(errno), (unsigned)len);
	else
		say("%s: %u bytes %02x%02x%02x%02x %02x\n", what, (unsigned)len, buf[0], buf[1], buf[2], buf[3], buf[4]);
}

int main(void)
{
	struct sock_filter code[] = { { 0x06, 0, 0, 0xffff } };
	struct sock_fprog prog = { 1, code };
	struct linger l = { 1, 5 };
	int t = CK(socket(AF_INET, SOCK_STREAM, 0)), u = CK(socket(AF_UNIX, SOCK_DGRAM, 0)), v;

	get(t, "SO_TYPE", SOL_SOCKET, SO_TYPE, 4);
	get(t, "SO_DOMAIN", SOL_SOCKET, SO_DOMAIN, 4);
	get(t, "SO_PROTOCOL", SOL_SOCKET, SO_PROTOCOL, 100);
	get(t, "SO_TYPE short", SOL_SOCKET, SO_TYPE, 2);
	get(t, "SO_TYPE none", SOL_SOCKET, SO_TYPE, 0);
	get(t, "SO_ERROR", SOL_SOCKET, SO_ERROR, 4);
	v = 50000;
	show("set SO_RCVBUF", setsockopt(t, SOL_SOCKET, SO_RCVBUF, &v, sizeof(v)));
	get(t, "SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 4);
	show("set SO_LINGER", setsockopt(t, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	get(t, "SO_LINGER", SOL_SOCKET, SO_LINGER, 8);
	get(t, "SO_LINGER short", SOL_SOCKET, SO_LINGER, 5);
	v = 1;
	show("set SO_KEEPALIVE", setsockopt(t, SOL_SOCKET, SO_KEEPALIVE, &v, sizeof(v)));
	show("set TCP_NODELAY", setsockopt(t, IPPROTO_TCP, TCP_NODELAY, &v, sizeof(v)));
	get(t, "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 4);
	get(t, "TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG, 4);
	get(t, "TCP_CONGESTION", IPPROTO_TCP, TCP_CONGESTION, 16);
	get(t, "IP_TTL", IPPROTO_IP, IP_TTL, 4);
	get(t, "IP_TTL one byte", IPPROTO_IP, IP_TTL, 1);
	get(t, "IP_OPTIONS", IPPROTO_IP, IP_OPTIONS, 40);
	get(u, "SO_PASSCRED", SOL_SOCKET, SO_PASSCRED, 4);
	get(u, "SO_PEERSEC", SOL_SOCKET, SO_PEERSEC, 100);
	show("attach filter", setsockopt(u, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)));
	show("detach filter", setsockopt(u, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0));
	get(t, "unknown option", SOL_SOCKET, 9999, 50);
	get(t, "unknown level", 7777, 5, 50);
	get(t, "unknown TCP", IPPROTO_TCP, 8888, 50);
	get(u, "TCP on unix", IPPROTO_TCP, TCP_NODELAY, 4);
	show("set unknown", setsockopt(t, SOL_SOCKET, 9999, &v, sizeof(v)));
	show("set unknown level", setsockopt(t, 4242, 1, &v, sizeof(v)));
	show("set short", setsockopt(t, SOL_SOCKET, SO_KEEPALIVE, &v, 1));
	show("bad value", setsockopt(t, SOL_SOCKET, SO_KEEPALIVE, bad_address, 4));
	show("bad length", getsockopt(t, SOL_SOCKET, SO_TYPE, &v, bad_address));
	show("not a socket", getsockopt(0, SOL_SOCKET, SO_TYPE, &v, &(socklen_t){ 4 }));
	done();
	return 0;
}
