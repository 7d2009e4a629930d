/* sendmmsg and recvmmsg: counts, lengths written back, time out, scattered buffers, names. Deterministic. */
#include "guest.h"
#include <sys/socket.h>

int main(void)
{
	static char text[6][32], in[6][2][16];
	struct iovec out[6], v[6][2];
	struct mmsghdr m[6] = { 0 };
	struct timespec ts = { 0, 5000000 };
	int sv[2];

	CK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv));
	for (int i = 0; i < 6; i++) {
		snprintf(text[i], sizeof(text[i]), "message number %d%.*s", i, i, "++++++");
		out[i] = (struct iovec){ text[i], strlen(text[i]) };
		m[i].msg_hdr.msg_iov = &out[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	show("sendmmsg", sendmmsg(sv[0], m, 5, 0));
	for (int i = 0; i < 6; i++)
		say(" %u", m[i].msg_len);
	say("\n");
	for (int i = 0; i < 6; i++) {
		v[i][0] = (struct iovec){ in[i][0], 8 };
		v[i][1] = (struct iovec){ in[i][1], i == 2 ? 3 : 15 };
		memset(&m[i], 0, sizeof(m[i]));
		m[i].msg_hdr.msg_iov = v[i];
		m[i].msg_hdr.msg_iovlen = 2;
	}
	show("recvmmsg 2", recvmmsg(sv[1], m, 2, 0, NULL));
	show("recvmmsg, rest", recvmmsg(sv[1], m + 2, 4, MSG_DONTWAIT, NULL));
	for (int i = 0; i < 6; i++)
		say("%u flags %#x: %.8s|%s\n", m[i].msg_len, (unsigned)m[i].msg_hdr.msg_flags, in[i][0], in[i][1]);
	show("nothing", recvmmsg(sv[1], m, 6, MSG_DONTWAIT, NULL));
	CHECK(send(sv[0], "one", 3, 0) == 3);
	show("wait for one", recvmmsg(sv[1], m, 6, MSG_WAITFORONE, NULL));
	CHECK(send(sv[0], "a", 1, 0) == 1 && send(sv[0], "b", 1, 0) == 1);
	show("with time", recvmmsg(sv[1], m, 2, 0, &ts));
	say("time left written back: %d\n", ts.tv_sec == 0);
	show("bad address", recvmmsg(sv[1], bad_address, 1, MSG_DONTWAIT, NULL));
	CHECK(send(sv[0], "c", 1, 0) == 1);
	show("bad address with data", recvmmsg(sv[1], bad_address, 1, MSG_DONTWAIT, NULL));
	done();
	return 0;
}
