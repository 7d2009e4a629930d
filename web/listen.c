/* Listening sockets: "127.0.0.1:7777", "[::1]:0", "unix:PATH", or what somebody else has opened. */
#include "web/listen_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"

/* A whole crowd of clients may come at once: who does not fit in here tries again after a second. */
#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static int parse_port(const char *s, uint16_t *ret)
{
	uint64_t v;

	if (str_parse_u64(s, &v) < 0 || v > 65535)
		return -EINVAL;
	*ret = htons((uint16_t)v);
	return 0;
}

/* Takes host apart; it is changed. */
static int parse_address(char *host, union address *ret, socklen_t *ret_len)
{
	char *port = strrchr(host, ':');
	uint16_t n;

	if (!port)
		return -EINVAL;
	*port++ = '\0';
	if (parse_port(port, &n) < 0)
		return -EINVAL;
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = n };
		*ret_len = sizeof(ret->v6);
		return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = n };
	*ret_len = sizeof(ret->v4);
	return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_UNIX || (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr));
}

/* What is left of an earlier run is removed: a socket of ours that nobody answers at. */
static int clear_stale(const union address *a, socklen_t len)
{
	const char *path = a->un.sun_path;
	int fd CLEANUP(closep) = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, &a->any, len) == 0)
		return -EADDRINUSE;
	return unlink(path) < 0 ? -errno : 0;
}

/* Nobody can connect before listen(), so the mode is right in time. */
static int listen_at(const union address *a, socklen_t len, int *ret)
{
	const bool local = a->any.sa_family == AF_UNIX;
	int fd CLEANUP(closep) = -1, on = 1, r = local ? clear_stale(a, len) : 0;

	if (r < 0)
		return r;
	fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!local && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (a->any.sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &a->any, len) < 0)
		return -errno;
	if (local && chmod(a->un.sun_path, 0600) < 0)
		return -errno;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

int listen_open(const char *text, int *ret_fd, struct errinfo *ei)
{
	union address a = { 0 };
	socklen_t len = sizeof(a.un);
	int r;

	if (str_has_prefix(text, "unix:")) {
		const char *path = text + strlen("unix:");

		if (path[0] != '/' || strlen(path) >= sizeof(a.un.sun_path))
			return errinfo_set(ei, -EINVAL, "listen on %s: a unix socket has an absolute path of at most %zu bytes", text,
					   sizeof(a.un.sun_path) - 1);
		a.un.sun_family = AF_UNIX;
		memcpy(a.un.sun_path, path, strlen(path) + 1);
	} else {
		char *copy CLEANUP(freep) = os_strdup(text);

		if (!copy)
			return -ENOMEM;
		if (parse_address(copy, &a, &len) < 0)
			return errinfo_set(ei, -EINVAL, "listen on %s: wanted is ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH", text);
	}
	r = listen_at(&a, len, ret_fd);
	return r < 0 ? errinfo_set_r(ei, r, "listen on %s", text) : 0;
}

int listen_describe(int fd, struct listen_info *ret)
{
	union address a = { 0 };
	socklen_t len = sizeof(a);
	char host[INET6_ADDRSTRLEN];

	if (getsockname(fd, &a.any, &len) < 0)
		return -errno;
	*ret = (struct listen_info){ .loopback = is_loopback(&a), .local = a.any.sa_family == AF_UNIX };
	switch (a.any.sa_family) {
	case AF_INET:
		ret->port = ntohs(a.v4.sin_port);
		(void)inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host));
		ret->url = os_asprintf("http://%s:%u", host, ret->port);
		break;
	case AF_INET6:
		ret->port = ntohs(a.v6.sin6_port);
		(void)inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof(host));
		ret->url = os_asprintf("http://[%s]:%u", host, ret->port);
		break;
	case AF_UNIX:
		ret->url = os_asprintf("unix:%s", a.un.sun_path);
		break;
	default:
		return -EAFNOSUPPORT;
	}
	return ret->url ? 0 : -ENOMEM;
}

bool listen_same_user(int fd)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && (who.uid == geteuid() || who.uid == 0);
}
