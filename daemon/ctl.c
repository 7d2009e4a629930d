/* See ctl.h. */
#include "daemon/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(CTL_FDS_MAX * sizeof(int))];
};

/* --- messages --- */

void ctl_message_done(struct ctl_message *m)
{
	json_decref(m->body);
	for (size_t i = 0; i < m->n_fds; i++)
		closep(&m->fds[i]);
	*m = (struct ctl_message){ 0 };
}

int ctl_send(int sock, const json_t *body, const int *fds, size_t n_fds)
{
	union control c = { .head = { .cmsg_len = CMSG_LEN(n_fds * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	char *text CLEANUP(freep) = NULL;
	struct iovec iov;
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t n;
	int r = jsonx_dump(body, JSON_COMPACT, &text, &n);

	if (r < 0)
		return r;
	if (n > CTL_MESSAGE_MAX || n_fds > CTL_FDS_MAX)
		return ERR_LIMIT;
	iov = (struct iovec){ text, n };
	if (n_fds) {
		memcpy(CMSG_DATA(&c.head), fds, n_fds * sizeof(int));
		h.msg_control = &c;
		h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	while (sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Takes over all descriptors that came along, wanted or not. False: there were more than fit. */
static bool take_fds(struct msghdr *h, struct ctl_message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (m->n_fds < CTL_FDS_MAX)
				m->fds[m->n_fds++] = fd;
			else
				close(fd);
		}
	}
	return !(h->msg_flags & (MSG_CTRUNC | MSG_TRUNC));
}

int ctl_receive(int sock, struct ctl_message *ret)
{
	struct ctl_message m CLEANUP(ctl_message_done) = { 0 };
	char *text CLEANUP(freep) = os_malloc(CTL_MESSAGE_MAX);
	union control c;
	struct iovec iov = { text, CTL_MESSAGE_MAX };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	bool whole;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	do
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	whole = take_fds(&h, &m);
	if (n == 0)
		return 0;
	if (!whole || jsonx_parse(text, (size_t)n, &m.body, NULL) < 0 || !json_is_object(m.body))
		return ERR_PROTOCOL;
	*ret = m;
	m = (struct ctl_message){ 0 };
	return 1;
}

/* --- the socket --- */

char *ctl_path(const char *runtime_dir)
{
	return os_asprintf("%s/control.sock", runtime_dir);
}

static int address(const char *runtime_dir, struct sockaddr_un *ret, struct errinfo *ei)
{
	char *path CLEANUP(freep) = ctl_path(runtime_dir);

	if (!path)
		return errinfo_set_r(ei, -ENOMEM, "control socket");
	if (strlen(path) >= sizeof(ret->sun_path))
		return errinfo_set(ei, -ENAMETOOLONG, "%s: a path of a socket has at most %zu bytes", path, sizeof(ret->sun_path) - 1);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

static int bind_there(int sock, const struct sockaddr_un *a)
{
	mode_t old;
	int r = 0;

	/* whoever holds the lock may replace what a dead one left */
	if (unlink(a->sun_path) < 0 && errno != ENOENT)
		return -errno;
	old = umask(0177);
	if (bind(sock, (const struct sockaddr *)a, sizeof(*a)) < 0)
		r = -errno;
	umask(old);
	return r == 0 && listen(sock, 64) < 0 ? -errno : r;
}

int ctl_listen(const char *runtime_dir, int *ret_sock, int *ret_lock, struct errinfo *ei)
{
	char *path CLEANUP(freep) = os_asprintf("%s/control.lock", runtime_dir);
	int sock CLEANUP(closep) = -1, lock CLEANUP(closep) = -1;
	struct sockaddr_un a;
	int r = path ? address(runtime_dir, &a, ei) : -ENOMEM;

	if (r < 0)
		return r;
	lock = os_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (lock < 0)
		return errinfo_set_r(ei, lock, "open %s", path);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return errinfo_set(ei, ERR_BUSY, "another hermitd of this user is at work (%s)", a.sun_path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = sock < 0 ? -errno : bind_there(sock, &a);
	if (r < 0)
		return errinfo_set_r(ei, r, "listen on %s", a.sun_path);
	*ret_sock = TAKE_FD(sock);
	*ret_lock = TAKE_FD(lock);
	return 0;
}

bool ctl_peer_is_ours(int sock)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0 && (c.uid == geteuid() || c.uid == 0);
}

int ctl_connect(const char *runtime_dir, int *ret_sock, struct errinfo *ei)
{
	int sock CLEANUP(closep) = -1;
	struct sockaddr_un a;
	int r = address(runtime_dir, &a, ei);

	if (r < 0)
		return r;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) < 0)
		return errinfo_set_r(ei, -errno, "connect to %s", a.sun_path);
	if (!ctl_peer_is_ours(sock))
		return errinfo_set(ei, -EPERM, "%s belongs to another user's process", a.sun_path);
	*ret_sock = TAKE_FD(sock);
	return 0;
}

/* --- asking --- */

static int wait_readable(int sock, int timeout_ms)
{
	uint64_t end = os_mono_ns() + (uint64_t)timeout_ms * 1000000u;

	for (;;) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		uint64_t now = os_mono_ns();
		int n = now >= end ? 0 : poll(&p, 1, (int)((end - now) / 1000000u) + 1);

		if (n > 0)
			return 0;
		if (n == 0)
			return ERR_TIMEOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int refusal(const json_t *reply, struct errinfo *ei)
{
	const char *text;
	int64_t code;

	if (jsonx_get_str(reply, "error", &text) < 0)
		return 0;
	if (jsonx_get_i64(reply, "code", &code) < 0 || code >= 0 || code < INT_MIN)
		code = ERR_PROTOCOL;
	return errinfo_set(ei, (int)code, "%s", text);
}

int ctl_ask(int sock, const json_t *request, const int *fds, size_t n_fds, int timeout_ms, json_t **ret, struct errinfo *ei)
{
	struct ctl_message m CLEANUP(ctl_message_done) = { 0 };
	int r = ctl_send(sock, request, fds, n_fds);

	if (r == 0)
		r = wait_readable(sock, timeout_ms);
	if (r == 0)
		r = ctl_receive(sock, &m);
	if (r <= 0)
		return r == 0 ? errinfo_set(ei, ERR_PROTOCOL, "hermitd closed the connection") : errinfo_set_r(ei, r, "ask hermitd");
	*ret = TAKE(m.body);
	return refusal(*ret, ei);
}
