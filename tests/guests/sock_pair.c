/* socketpair with flags of recv and send: MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT, MSG_TRUNC, MSG_NOSIGNAL, MSG_MORE, out-of-band refusal. Deterministic. */
#include "guest.h"
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(void)
{
	char buf[64] = "";
	int sv[2], n;
	pid_t p;

	CK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	CHECK(send(sv[0], "abcdefgh", 8, MSG_MORE) == 8);
	show("peek", recv(sv[1], buf, 4, MSG_PEEK));
	show("peek again", recv(sv[1], buf, 64, MSG_PEEK));
	say("%s\n", buf);
	CK(ioctl(sv[1], FIONREAD, &n));
	say("waiting %d\n", n);
	show("part", recv(sv[1], buf, 3, 0));
	p = xfork();
	if (p == 0) {
		for (int i = 0; i < 5; i++) {
			msleep(2);
			CHECK(send(sv[0], "xy", 2, 0) == 2);
		}
		_exit(0);
	}
	memset(buf, 0, sizeof(buf));
	show("wait for all", recv(sv[1], buf, 15, MSG_WAITALL));
	say("%s, %s\n", buf, wait_str(reap(p)));
	show("do not wait", recv(sv[1], buf, 1, MSG_DONTWAIT));
	show("nothing to peek", recv(sv[1], buf, 1, MSG_PEEK | MSG_DONTWAIT));
	CK(shutdown(sv[0], SHUT_WR));
	show("end", recv(sv[1], buf, 1, 0));
	CHECK(send(sv[1], "other way", 9, 0) == 9);
	show("other way", read(sv[0], buf, sizeof(buf)));
	show("shut", send(sv[0], "x", 1, MSG_NOSIGNAL));
	show("error queue", recv(sv[0], buf, 1, MSG_ERRQUEUE | MSG_DONTWAIT) >= -1);
	show("inet pair", socketpair(AF_INET, SOCK_STREAM, 0, sv));
	show("bad type", socketpair(AF_UNIX, 77, 0, sv));
	show("bad family", socket(777, SOCK_STREAM, 0));
	show("not a socket", recv(0, buf, 1, 0));
	done();
	return 0;
}
