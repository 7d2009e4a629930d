/* UDP over loopback: addresses, truncation, connected, refused by ICMP, IPv6 where there is one, packet info. Output: ports differ. */
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET }, from;
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT }, from6;
	socklen_t len = sizeof(a);
	struct timeval tv = { 0, 5000 };
	char buf[64] = "", control[256];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int s, c, one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s = CK(socket(AF_INET, SOCK_DGRAM, 0));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	CK(getsockname(s, (struct sockaddr *)&a, &len));
	CK(setsockopt(s, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)));
	CK(setsockopt(s, SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)));
	c = CK(socket(AF_INET, SOCK_DGRAM, 0));
	CHECK(sendto(c, "a datagram", 10, 0, (struct sockaddr *)&a, sizeof(a)) == 10);
	len = sizeof(from);
	show("recvfrom", recvfrom(s, buf, 4, MSG_TRUNC, (struct sockaddr *)&from, &len));
	say("from %s port %d: %.4s\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port), buf);
	CK(connect(c, (struct sockaddr *)&a, sizeof(a)));
	CHECK(send(c, "connected", 9, 0) == 9);
	show("recvmsg", recvmsg(s, &m, 0));
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		say("control level %d type %d length %zu, hash %llx\n", h->cmsg_level, h->cmsg_type, h->cmsg_len,
		    (unsigned long long)hash(CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0)));
	CK(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	show("time out", recv(s, buf, sizeof(buf), 0));
	close(s);
	CHECK(send(c, "to nobody", 9, 0) == 9);
	show("refused", recv(c, buf, sizeof(buf), 0));
	s = socket(AF_INET6, SOCK_DGRAM, 0);
	if (s >= 0 && bind(s, (struct sockaddr *)&a6, sizeof(a6)) == 0) {
		len = sizeof(a6);
		CK(getsockname(s, (struct sockaddr *)&a6, &len));
		CHECK(sendto(s, "six", 3, 0, (struct sockaddr *)&a6, sizeof(a6)) == 3);
		len = sizeof(from6);
		show("IPv6", recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *)&from6, &len));
		say("port %d\n", ntohs(from6.sin6_port));
	}
	done();
	return 0;
}
