/* SCM_RIGHTS: descriptors of files, pipes and sockets passed to a child that uses them; truncated control data; close-on-exec. Deterministic. */
#include "guest.h"
#include <sys/socket.h>

static char control[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8)));

static int receive(int s, int fds[4], size_t room, int flags)
{
	char c[8] = "";
	struct iovec iov = { c, sizeof(c) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room };
	struct cmsghdr *h;
	int n = 0;

	show("recvmsg", recvmsg(s, &m, flags));
	h = CMSG_FIRSTHDR(&m);
	if (h)
		n = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	if (n > 0)
		memcpy(fds, CMSG_DATA(h), (size_t)n * sizeof(int));
	say("flags %#x, control %zu, %d descriptors:", (unsigned)m.msg_flags, m.msg_controllen, n);
	for (int i = 0; i < n; i++)
		say(" %d", fds[i]);
	say("\n");
	return n;
}

static void pass(int s, const int *fds, int n)
{
	struct iovec iov = { (char *)(uintptr_t) "x", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *h;

	m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(h), fds, (size_t)n * sizeof(int));
	CK(sendmsg(s, &m, 0));
}

int main(void)
{
	int sv[2], fds[4], got[4] = { 0 }, pfd[2], back[2], n;
	char buf[32] = "";
	pid_t p;

	scratch();
	put_file("f", "file contents", 0600);
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, back));
	p = xfork();
	if (p == 0) {
		n = receive(sv[1], got, sizeof(control), MSG_CMSG_CLOEXEC);
		CHECK(n == 3);
		say("cloexec %d\n", fcntl(got[0], F_GETFD));
		CHECK(read(got[0], buf, sizeof(buf)) == 13);
		say("file: %s\n", buf);
		write_all(got[1], "into the pipe", 13);
		write_all(got[2], "into the socket", 15);
		_exit(0);
	}
	CK(pipe(pfd));
	fds[0] = CK(open("f", O_RDONLY));
	fds[1] = pfd[1];
	fds[2] = back[1];
	pass(sv[0], fds, 3);
	show("pipe", read(pfd[0], buf, sizeof(buf)));
	show("socket", read(back[0], buf, sizeof(buf)));
	say("%s\n", wait_str(reap(p)));
	pass(sv[0], fds, 3);
	n = receive(sv[1], got, CMSG_LEN(sizeof(int)), 0);
	pass(sv[0], fds, 2);
	n = receive(sv[1], got, 4, 0);
	pass(sv[0], fds, 1);
	show("by read, lost", read(sv[1], buf, 8));
	pass(sv[0], &sv[0], 1);
	n = receive(sv[1], got, sizeof(control), MSG_PEEK);
	close(got[0]);
	n = receive(sv[1], got, sizeof(control), 0);
	show("one's own other end", write(got[0], "loop", 4));
	show("read", read(sv[1], buf, 8));
	fds[0] = 500;
	{
		struct iovec iov = { buf, 1 };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
				    .msg_controllen = CMSG_SPACE(sizeof(int)) };
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), fds, sizeof(int));
		show("bad descriptor", sendmsg(sv[0], &m, 0));
		h->cmsg_len = 1000;
		show("bad control length", sendmsg(sv[0], &m, 0));
	}
	done();
	return 0;
}
