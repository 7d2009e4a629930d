/* See systemd.h. */
#include "daemon/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"

#define FIRST_FD 3

/* Is the variable, the number of a process, missing or ours? */
static bool is_for_us(const char *name, bool if_missing)
{
	const char *text = getenv(name);
	uint64_t pid;

	if (!text)
		return if_missing;
	return str_parse_u64(text, &pid) == 0 && pid == (uint64_t)getpid();
}

static int take_notify(struct systemd *s, struct errinfo *ei)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;

	if (!n)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || n >= sizeof(s->notify.sun_path))
		return errinfo_set(ei, -EINVAL, "NOTIFY_SOCKET=%.200s: neither a path nor an abstract name", path);
	s->notify.sun_family = AF_UNIX;
	memcpy(s->notify.sun_path, path, n);
	if (path[0] == '@')
		s->notify.sun_path[0] = '\0';
	s->notify_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (path[0] == '/'));
	return 0;
}

static bool option_is(int fd, int option, int want)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == want;
}

static int take_fds(struct systemd *s, struct errinfo *ei)
{
	const char *text = getenv("LISTEN_FDS");
	uint64_t n;

	if (!text || !is_for_us("LISTEN_PID", false))
		return 0;
	if (str_parse_u64(text, &n) < 0 || n > SYSTEMD_FDS_MAX)
		return errinfo_set(ei, -EINVAL, "LISTEN_FDS=%.100s: at most %d sockets can be passed", text, SYSTEMD_FDS_MAX);
	for (int fd = FIRST_FD; fd < FIRST_FD + (int)n; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0)
			return errinfo_set_r(ei, -errno, "LISTEN_FDS=%.100s: descriptor %d", text, fd);
		if (!option_is(fd, SO_TYPE, SOCK_STREAM) || !option_is(fd, SO_ACCEPTCONN, 1))
			return errinfo_set(ei, -EINVAL, "descriptor %d of LISTEN_FDS is no listening stream socket", fd);
		if (fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
			return errinfo_set_r(ei, -errno, "descriptor %d", fd);
	}
	for (; s->n_fds < n; s->n_fds++)
		s->fds[s->n_fds] = FIRST_FD + (int)s->n_fds;
	return 0;
}

static int take_watchdog(struct systemd *s, struct errinfo *ei)
{
	const char *text = getenv("WATCHDOG_USEC");
	uint64_t us;

	if (!text || !is_for_us("WATCHDOG_PID", true))
		return 0;
	if (str_parse_u64(text, &us) < 0 || us == 0 || us > UINT64_MAX / 1000)
		return errinfo_set(ei, -EINVAL, "WATCHDOG_USEC=%.100s: no time", text);
	s->watchdog_ns = us * 1000;
	return 0;
}

int systemd_begin(struct systemd *ret, struct errinfo *ei)
{
	static const char *const names[] = { "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID" };
	struct systemd s = { 0 };
	int r = take_notify(&s, ei);

	if (r == 0)
		r = take_watchdog(&s, ei);
	if (r == 0)
		r = take_fds(&s, ei);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unsetenv(names[i]);
	if (r == 0)
		*ret = s;
	return r;
}

void systemd_done(struct systemd *s)
{
	while (s->n_fds)
		close(s->fds[--s->n_fds]);
}

int systemd_notify(const struct systemd *s, const char *text)
{
	int fd CLEANUP(closep) = -1;
	size_t n = strlen(text);

	if (!s->notify_len)
		return 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* a manager that does not read must not hold up the loop */
	if (sendto(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&s->notify, s->notify_len) != (ssize_t)n)
		return -errno;
	return 1;
}
