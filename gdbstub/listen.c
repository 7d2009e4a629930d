/* Listening sockets: only this machine, and for unix sockets only this user. */
#include "gdbstub/gdbstub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/str.h"

static int listen_at(const struct sockaddr *sa, socklen_t n, int *ret_fd)
{
	int fd CLEANUP(closep) = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	if (sa->sa_family != AF_UNIX && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, sa, n) < 0 || listen(fd, 1) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int listen_ip(bool v6, uint16_t port, uint16_t *ret_port, int *ret_fd, struct errinfo *ei)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t n = v6 ? sizeof(a6) : sizeof(a4);
	struct sockaddr *sa = v6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4;
	int fd = -1;
	int r = listen_at(sa, n, &fd);

	if (r >= 0 && getsockname(fd, sa, &n) < 0)
		r = -errno;
	if (r < 0) {
		closep(&fd);
		return errinfo_set_r(ei, r, "listen on %s port %u", v6 ? "::1" : "127.0.0.1", port);
	}
	if (ret_port)
		*ret_port = ntohs(v6 ? a6.sin6_port : a4.sin_port);
	*ret_fd = fd;
	return 0;
}

int stub_listen_port(uint16_t port, uint16_t *ret_port, int *ret_fd, struct errinfo *ei)
{
	return listen_ip(false, port, ret_port, ret_fd, ei);
}

int stub_listen_host(const char *text, uint16_t *ret_port, int *ret_fd, struct errinfo *ei)
{
	static const char *const hosts[] = { "localhost:", "127.0.0.1:", "[::1]:", ":" };
	const char *port = text;
	uint64_t n;
	bool v6 = false;

	for (size_t i = 0; i < ARRAY_SIZE(hosts) && port == text; i++) {
		if (!str_has_prefix(text, hosts[i]))
			continue;
		port = text + strlen(hosts[i]);
		v6 = hosts[i][0] == '[';
	}
	if (str_parse_u64(port, &n) < 0 || n > UINT16_MAX)
		return errinfo_set(ei, -EINVAL, "%.80s: want a port, or localhost:PORT; other hosts are not served (use ssh to forward the port)", text);
	return listen_ip(v6, (uint16_t)n, ret_port, ret_fd, ei);
}

/* A socket that nobody listens on any more, of this user. */
static bool is_stale(const struct sockaddr_un *sa)
{
	int fd CLEANUP(closep) = -1;
	struct stat st;

	if (lstat(sa->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 && errno == ECONNREFUSED;
}

int stub_listen_unix(const char *path, int *ret_fd, struct errinfo *ei)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd = -1, r;

	if (strlen(path) >= sizeof(sa.sun_path))
		return errinfo_set(ei, -ENAMETOOLONG, "%.120s: the path of a socket has at most %zu bytes", path, sizeof(sa.sun_path) - 1);
	memcpy(sa.sun_path, path, strlen(path));
	mask = umask(0177);
	r = listen_at((struct sockaddr *)&sa, sizeof(sa), &fd);
	if (r == -EADDRINUSE && is_stale(&sa) && unlink(path) == 0)
		r = listen_at((struct sockaddr *)&sa, sizeof(sa), &fd);
	umask(mask);
	if (r < 0)
		return errinfo_set_r(ei, r, "listen on %.120s", path);
	*ret_fd = fd;
	return 0;
}

/* Is the other end of a unix socket this user? TCP has no such thing. */
static bool is_ours(int fd)
{
	struct ucred cred;
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa), cred_n = sizeof(cred);

	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0 || sa.ss_family != AF_UNIX)
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_n) == 0 && (cred.uid == geteuid() || cred.uid == 0);
}

int stub_accept(int listen_fd, int timeout_ms, int *ret_fd)
{
	struct pollfd pfd = { .fd = listen_fd, .events = POLLIN };
	int on = 1;

	for (;;) {
		int fd CLEANUP(closep) = -1;
		int r = poll(&pfd, 1, timeout_ms);

		if (r <= 0)
			return r ? -errno : ERR_TIMEOUT;
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR || errno == EAGAIN))
			continue;
		if (fd < 0)
			return -errno;
		if (!is_ours(fd))
			continue;
		/* packets are small and each waits for its answer; a unix socket does not know the option */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
}
