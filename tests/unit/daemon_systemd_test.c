/* daemon/systemd: what is taken from the environment, what is refused, what is told. */
#include "daemon/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/wait.h>
#include "tests/unit/store_help.h"

static void set(const char *name, long v)
{
	char text[100];

	(void)snprintf(text, sizeof(text), "%ld", v);
	(void)setenv(name, text, 1);
}

static int listener(int type, bool listens)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, type, 0);

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 && (!listens || listen(fd, 1) == 0) ? fd : -1;
}

/* Descriptor 3 belongs to the test program itself: what needs it runs in a child, without the assertions of check. Gives the number of the line that went wrong, or 0. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define WANT(cond) \
	do { \
		if (!(cond)) \
			return __LINE__ % 255 + 1; \
	} while (0)

START_TEST(nothing)
{
	struct systemd s = { .n_fds = 9 };

	OK(systemd_begin(&s, NULL));
	ck_assert(s.n_fds == 0 && s.watchdog_ns == 0);
	ck_assert_int_eq(systemd_notify(&s, "READY=1"), 0);
	systemd_done(&s);
}
END_TEST

static int take_two(void)
{
	struct systemd s;

	WANT(dup2(listener(SOCK_STREAM, true), 3) == 3 && dup2(listener(SOCK_STREAM, true), 4) == 4);
	set("LISTEN_PID", getpid());
	set("LISTEN_FDS", 2);
	(void)setenv("LISTEN_FDNAMES", "http:http", 1);
	WANT(systemd_begin(&s, NULL) == 0);
	WANT(s.n_fds == 2 && s.fds[0] == 3 && s.fds[1] == 4);
	WANT(fcntl(3, F_GETFD) == FD_CLOEXEC);
	WANT(!getenv("LISTEN_FDS") && !getenv("LISTEN_PID") && !getenv("LISTEN_FDNAMES"));
	systemd_done(&s);
	WANT(fcntl(3, F_GETFD) == -1 && fcntl(4, F_GETFD) == -1);
	return 0;
}

START_TEST(sockets)
{
	ck_assert_int_eq(in_child(take_two), 0);
}
END_TEST

START_TEST(not_ours)
{
	struct systemd s;

	set("LISTEN_PID", getpid() + 1L);
	set("LISTEN_FDS", 2);
	set("WATCHDOG_PID", getpid() + 1L);
	set("WATCHDOG_USEC", 5000000);
	OK(systemd_begin(&s, NULL));
	ck_assert(s.n_fds == 0 && s.watchdog_ns == 0);
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
	set("LISTEN_FDS", 2);
	OK(systemd_begin(&s, NULL));
	ck_assert_uint_eq(s.n_fds, 0);
}
END_TEST

static int begin_with(const char *n, struct errinfo *ei)
{
	struct systemd s;

	set("LISTEN_PID", getpid());
	(void)setenv("LISTEN_FDS", n, 1);
	return systemd_begin(&s, ei);
}

static int take_bad(void)
{
	struct errinfo ei = { 0 };

	WANT(dup2(listener(SOCK_STREAM, false), 3) == 3);
	WANT(begin_with("1", &ei) == -EINVAL && strstr(ei.text, "no listening stream socket"));
	WANT(dup2(listener(SOCK_DGRAM, false), 3) == 3);
	WANT(begin_with("1", NULL) == -EINVAL);
	WANT(dup2(open("/dev/null", O_RDONLY), 3) == 3);
	WANT(begin_with("1", NULL) == -EINVAL);
	close(3);
	WANT(begin_with("1", NULL) == -EBADF);
	WANT(begin_with("17", NULL) == -EINVAL);
	WANT(begin_with("x1", NULL) == -EINVAL);
	WANT(begin_with("0", NULL) == 0);
	return 0;
}

START_TEST(bad_sockets)
{
	ck_assert_int_eq(in_child(take_bad), 0);
}
END_TEST

START_TEST(watchdog)
{
	struct systemd s;

	set("WATCHDOG_USEC", 5000000);
	OK(systemd_begin(&s, NULL));
	ck_assert_uint_eq(s.watchdog_ns, 5000000000);
	set("WATCHDOG_USEC", 5000000);
	set("WATCHDOG_PID", getpid());
	OK(systemd_begin(&s, NULL));
	ck_assert_uint_eq(s.watchdog_ns, 5000000000);
	set("WATCHDOG_USEC", 0);
	FAILS(-EINVAL, systemd_begin(&s, NULL));
}
END_TEST

static int receiver(const char *name, size_t n)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memcpy(a.sun_path, name, n);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)), 0);
	return fd;
}

START_TEST(notify)
{
	char *dir = help_tmp_dir(), *path = os_asprintf("%s/notify", dir), *name = os_asprintf("@hermit-test-%d", (int)getpid());
	char got[100], abstract[100] = "";
	struct systemd s;
	int fd = receiver(path, strlen(path) + 1);

	(void)setenv("NOTIFY_SOCKET", path, 1);
	OK(systemd_begin(&s, NULL));
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	ck_assert_int_eq(systemd_notify(&s, "READY=1\nSTATUS=fine"), 1);
	ck_assert_int_eq(recv(fd, got, sizeof(got), 0), 19);
	ck_assert_mem_eq(got, "READY=1\nSTATUS=fine", 19);
	close(fd);
	FAILS(-ECONNREFUSED, systemd_notify(&s, "x"));
	(void)setenv("NOTIFY_SOCKET", name, 1);
	memcpy(abstract + 1, name + 1, strlen(name));
	fd = receiver(abstract, strlen(name));
	OK(systemd_begin(&s, NULL));
	ck_assert_int_eq(systemd_notify(&s, "STOPPING=1"), 1);
	ck_assert_int_eq(recv(fd, got, sizeof(got), 0), 10);
	close(fd);
	(void)setenv("NOTIFY_SOCKET", "relative", 1);
	FAILS(-EINVAL, systemd_begin(&s, NULL));
	help_remove(dir);
	free(dir);
	free(path);
	free(name);
}
END_TEST

TEST_MAIN("daemon_systemd", nothing, sockets, not_ours, bad_sockets, watchdog, notify)
