/* Unix datagrams: autobind, sendto, recvfrom with names, connected pairs, truncation, abstract names, seqpacket. Output: autobound names differ. */
#include "guest.h"
#include <sys/socket.h>
#include <sys/un.h>

static void show_name(const char *what, const struct sockaddr_un *a, socklen_t len)
{
	size_t n = len - offsetof(struct sockaddr_un, sun_path);

	say("%s: %s%.*s\n", what, a->sun_path[0] ? "" : "@", (int)n, a->sun_path[0] ? a->sun_path : a->sun_path + 1);
}

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "server" }, from = { 0 };
	socklen_t len;
	int s, c, sv[2];
	char buf[64] = "";

	scratch();
	s = CK(socket(AF_UNIX, SOCK_DGRAM, 0));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	c = CK(socket(AF_UNIX, SOCK_DGRAM, 0));
	CK(bind(c, (struct sockaddr *)&a, sizeof(sa_family_t))); /* the kernel chooses an abstract name */
	CHECK(sendto(c, "datagram one", 12, 0, (struct sockaddr *)&a, sizeof(a)) == 12);
	len = sizeof(from);
	show("recvfrom", recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len));
	show_name(buf, &from, len);
	CHECK(sendto(s, "reply", 5, 0, (struct sockaddr *)&from, len) == 5);
	show("reply, cut", recv(c, buf, 3, MSG_TRUNC));
	len = 4;
	CHECK(send(c, "x", 1, 0) == -1);
	show("not connected", -1);
	CK(connect(c, (struct sockaddr *)&a, sizeof(a)));
	CHECK(send(c, "", 0, 0) == 0);
	show("empty datagram, short name", recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len));
	say("name length said %u\n", (unsigned)len);
	show("nothing there", recv(s, buf, 10, MSG_DONTWAIT));
	CK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	CHECK(send(sv[0], "first", 5, 0) == 5 && send(sv[0], "second", 6, MSG_EOR) == 6);
	show("seqpacket", recv(sv[1], buf, 3, 0));
	show("seqpacket", recv(sv[1], buf, sizeof(buf), 0));
	close(sv[0]);
	show("seqpacket end", recv(sv[1], buf, sizeof(buf), 0));
	a.sun_path[0] = '\0';
	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "hermit-guest-%d", (int)getpid());
	s = CK(socket(AF_UNIX, SOCK_STREAM, 0));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	CK(listen(s, 1));
	c = CK(socket(AF_UNIX, SOCK_STREAM, 0));
	CK(connect(c, (struct sockaddr *)&a, sizeof(a)));
	len = sizeof(from);
	CK(getpeername(c, (struct sockaddr *)&from, &len));
	show_name("abstract peer", &from, len);
	done();
	return 0;
}
