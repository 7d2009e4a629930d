/* SCM_CREDENTIALS and SO_PASSCRED: the sender's pid, forged ids refused, SO_PEERCRED and SO_PEERGROUPS. Output: pids differ. */
#include "guest.h"
#include <sys/socket.h>

int main(void)
{
	char control[256] __attribute__((aligned(8))), c = 'x';
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *h;
	struct ucred cred = { 1, 0, 0 };
	gid_t groups[64];
	socklen_t len;
	int sv[2], one = 1;
	pid_t p;

	CK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv));
	CK(setsockopt(sv[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)));
	p = xfork();
	if (p == 0) {
		CHECK(send(sv[1], "y", 1, 0) == 1);
		_exit(0);
	}
	show("recvmsg", recvmsg(sv[0], &m, 0));
	h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_CREDENTIALS);
	memcpy(&cred, CMSG_DATA(h), sizeof(cred));
	say("pid of the child %d (%d), uid %d gid %d\n", cred.pid == p, (int)cred.pid, (int)cred.uid, (int)cred.gid);
	say("%s\n", wait_str(reap(p)));
	cred = (struct ucred){ getpid(), getuid(), getgid() };
	m.msg_controllen = CMSG_SPACE(sizeof(cred));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_CREDENTIALS;
	h->cmsg_len = CMSG_LEN(sizeof(cred));
	memcpy(CMSG_DATA(h), &cred, sizeof(cred));
	show("own ids", sendmsg(sv[1], &m, 0));
	m.msg_controllen = sizeof(control);
	show("recvmsg", recvmsg(sv[0], &m, 0));
	cred.pid = 0x7ffffffe;
	m.msg_controllen = CMSG_SPACE(sizeof(cred));
	memcpy(CMSG_DATA(h), &cred, sizeof(cred));
	show("forged pid", sendmsg(sv[1], &m, 0));
	len = sizeof(cred);
	show("SO_PEERCRED", getsockopt(sv[0], SOL_SOCKET, SO_PEERCRED, &cred, &len));
	say("creator %d\n", cred.pid == getpid());
	len = sizeof(groups);
	show("SO_PEERGROUPS", getsockopt(sv[0], SOL_SOCKET, SO_PEERGROUPS, groups, &len));
	say("%u bytes\n", (unsigned)len);
	done();
	return 0;
}
