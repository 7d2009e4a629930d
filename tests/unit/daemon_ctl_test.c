/* daemon/ctl and daemon/spec: messages with descriptors, and whatever else strangers send. */
#include "daemon/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "daemon/spec.h"
#include "tests/unit/test.h"

struct pair {
	int a, b;
};

static struct pair new_pair(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){ fds[0], fds[1] };
}

static void free_pair(struct pair p)
{
	close(p.a);
	close(p.b);
}

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int i = 0; i < 200; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

START_TEST(messages)
{
	struct ctl_message m CLEANUP(ctl_message_done) = { 0 };
	json_t *j CLEANUP(jsonx_unrefp) = json_pack("{ss}", "ask", "start");
	struct pair p = new_pair();
	int files[2];
	const char *ask;

	ck_assert_int_eq(pipe(files), 0);
	ck_assert_int_eq(ctl_receive(p.b, &m), -EAGAIN);
	ck_assert_int_eq(ctl_send(p.a, j, files, 2), 0);
	ck_assert_int_eq(ctl_send(p.a, j, NULL, 0), 0);
	ck_assert_int_eq(ctl_receive(p.b, &m), 1);
	ck_assert_int_eq(jsonx_get_str(m.body, "ask", &ask), 0);
	ck_assert_str_eq(ask, "start");
	ck_assert_uint_eq(m.n_fds, 2);
	ck_assert(same_file(m.fds[0], files[0]) && same_file(m.fds[1], files[1]));
	ck_assert(fcntl(m.fds[0], F_GETFD) & FD_CLOEXEC);
	ctl_message_done(&m);
	ck_assert_int_eq(ctl_receive(p.b, &m), 1);
	ck_assert_uint_eq(m.n_fds, 0);
	ctl_message_done(&m);
	close(p.a);
	ck_assert_int_eq(ctl_receive(p.b, &m), 0);
	ck_assert_int_eq(ctl_send(p.b, j, NULL, 0), -EPIPE);
	close(p.b);
	close(files[0]);
	close(files[1]);
}
END_TEST

START_TEST(too_large)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	char *text = malloc(CTL_MESSAGE_MAX + 1);
	struct pair p = new_pair();
	int fds[CTL_FDS_MAX + 1], r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = 0;
	memset(text, 'x', CTL_MESSAGE_MAX);
	text[CTL_MESSAGE_MAX] = '\0';
	ck_assert_int_eq(jsonx_set_str(j, "text", text), 0);
	ck_assert_int_eq(ctl_send(p.a, j, NULL, 0), ERR_LIMIT);
	ck_assert_int_eq(jsonx_set_str(j, "text", "x"), 0);
	ck_assert_int_eq(ctl_send(p.a, j, fds, CTL_FDS_MAX + 1), ERR_LIMIT);
	/* who does not read is not waited for */
	for (int i = 0; i < 100000 && r == 0; i++)
		r = ctl_send(p.a, j, NULL, 0);
	ck_assert_int_eq(r, -EAGAIN);
	free(text);
	free_pair(p);
}
END_TEST

/* Sends n bytes with n_fds descriptors, as ctl_send() never would. */
static void send_raw(int sock, const void *bytes, size_t n, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(64 * sizeof(int))];
	} c = { .head = { .cmsg_len = CMSG_LEN(n_fds * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)bytes, n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds) {
		memset(CMSG_DATA(&c.head), 0, n_fds * sizeof(int)); /* 0: stdin */
		h.msg_control = &c;
		h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(sock, &h, 0), (ssize_t)n);
}

START_TEST(garbage)
{
	static const char good[] = "{\"ask\":\"status\",\"n\":[1,2,{\"x\":\"y\"}]}";
	struct ctl_message m CLEANUP(ctl_message_done) = { 0 };
	struct pair p = new_pair();
	char *big = calloc(1, CTL_MESSAGE_MAX + 1), text[sizeof(good)];
	unsigned before = count_fds();

	/* every truncation, and every single bit flipped: an object or nothing, never a crash */
	for (size_t n = 1; n < sizeof(good) - 1; n++) {
		send_raw(p.a, good, n, 3);
		ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	}
	for (size_t bit = 0; bit < (sizeof(good) - 1) * 8; bit++) {
		int r;

		memcpy(text, good, sizeof(good));
		text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
		send_raw(p.a, text, sizeof(good) - 1, 2);
		r = ctl_receive(p.b, &m);
		ck_assert(r == ERR_PROTOCOL || (r == 1 && json_is_object(m.body)));
		ctl_message_done(&m);
	}
	send_raw(p.a, "[]", 2, 0);
	ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	send_raw(p.a, "{} x", 4, 0);
	ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	/* too large, though a whole object stands in front; too many descriptors */
	memset(big, ' ', CTL_MESSAGE_MAX + 1);
	memcpy(big, "{}", 2);
	send_raw(p.a, big, CTL_MESSAGE_MAX + 1, 1);
	ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	send_raw(p.a, big, CTL_MESSAGE_MAX, 1);
	ck_assert_int_eq(ctl_receive(p.b, &m), 1);
	ctl_message_done(&m);
	send_raw(p.a, "{}", 2, CTL_FDS_MAX + 1);
	ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	send_raw(p.a, "{}", 2, 60);
	ck_assert_int_eq(ctl_receive(p.b, &m), ERR_PROTOCOL);
	send_raw(p.a, "{}", 2, CTL_FDS_MAX);
	ck_assert_int_eq(ctl_receive(p.b, &m), 1);
	ck_assert_uint_eq(m.n_fds, CTL_FDS_MAX);
	ctl_message_done(&m);
	ck_assert_uint_eq(count_fds(), before); /* none of theirs stays open */
	free(big);
	free_pair(p);
}
END_TEST

START_TEST(listening)
{
	char dir[] = "/tmp/hermit-ctl-XXXXXX";
	int sock, lock, sock2, lock2, client;
	struct errinfo ei = { 0 };
	struct stat st;
	char *path;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	path = ctl_path(dir);
	ck_assert_int_eq(ctl_connect(dir, &client, NULL), -ENOENT);
	ck_assert_int_eq(ctl_listen(dir, &sock, &lock, &ei), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(ctl_listen(dir, &sock2, &lock2, &ei), ERR_BUSY);
	ck_assert_ptr_nonnull(strstr(ei.text, "another hermitd"));
	ck_assert_int_eq(ctl_connect(dir, &client, NULL), 0);
	ck_assert(ctl_peer_is_ours(client));
	close(client);
	close(sock);
	close(lock);
	/* a dead one's socket is still there */
	ck_assert_int_eq(ctl_connect(dir, &client, NULL), -ECONNREFUSED);
	ck_assert_int_eq(ctl_listen(dir, &sock, &lock, NULL), 0);
	ck_assert_int_eq(ctl_connect(dir, &client, NULL), 0);
	close(client);
	close(sock);
	close(lock);
	ck_assert_int_eq(ctl_connect("/tmp/a-path-that-is-longer-than-any-socket-may-have-because-its-address-has-room-for-108-bytes-only-0123456789", &client, NULL),
			 -ENAMETOOLONG);
	unlink(path);
	free(path);
	path = os_asprintf("%s/control.lock", dir);
	unlink(path);
	free(path);
	rmdir(dir);
}
END_TEST

struct answer {
	int sock;
	const char *text;
};

static void *answer(void *ctx)
{
	const struct answer *a = ctx;
	char part[100];

	if (recv(a->sock, part, sizeof(part), 0) > 0 && a->text)
		send(a->sock, a->text, strlen(a->text), 0);
	close(a->sock);
	return NULL;
}

static int ask(const char *text, struct errinfo *ei, json_t **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	struct pair p = new_pair();
	struct answer a = { p.b, text };
	pthread_t t;
	int r;

	fcntl(p.b, F_SETFL, 0);
	pthread_create(&t, NULL, answer, &a);
	*ret = NULL;
	r = ctl_ask(p.a, j, NULL, 0, 5000, ret, ei);
	pthread_join(t, NULL);
	close(p.a);
	return r;
}

START_TEST(asking)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object(), *reply;
	struct errinfo ei = { 0 };
	struct pair p = new_pair();

	ck_assert_int_eq(ask("{\"id\":\"x\"}", &ei, &reply), 0);
	ck_assert_str_eq(json_string_value(json_object_get(reply, "id")), "x");
	json_decref(reply);
	ck_assert_int_eq(ask("{\"error\":\"it is late\",\"code\":-2,\"exit\":127}", &ei, &reply), -2);
	ck_assert_str_eq(ei.text, "it is late");
	ck_assert_ptr_nonnull(reply);
	json_decref(reply);
	ck_assert_int_eq(ask("{\"error\":\"odd\",\"code\":5}", NULL, &reply), ERR_PROTOCOL); /* no success by a refusal */
	json_decref(reply);
	ck_assert_int_eq(ask("nonsense", NULL, &reply), ERR_PROTOCOL);
	ck_assert_int_eq(ask(NULL, NULL, &reply), ERR_PROTOCOL);
	ck_assert_int_eq(ctl_ask(p.a, j, NULL, 0, 30, &reply, NULL), ERR_TIMEOUT);
	free_pair(p);
}
END_TEST

/* --- specifications --- */

START_TEST(spec_comes_back)
{
	char a0[] = "prog", a1[] = "caf\xff\x01", e0[] = "A=\xfe", cwd[] = "/some\xc0where";
	char *argv[] = { a0, a1, NULL }, *envp[] = { e0, NULL };
	json_t *options CLEANUP(jsonx_unrefp) = json_pack("{ss}", "label", "x");
	struct rlimit limits[RLIM_NLIMITS];
	struct daemon_record rec = { .argv = argv, .envp = envp, .cwd = cwd, .umask = 027, .limits = limits, .options = options };
	struct record_spec s CLEANUP(spec_done) = { 0 };
	int fd;

	for (int i = 0; i < RLIM_NLIMITS; i++)
		limits[i] = (struct rlimit){ (rlim_t)i, i % 2 ? RLIM_INFINITY : 1000 };
	ck_assert_int_eq(spec_new(&rec, &fd), 0);
	ck_assert_int_eq(spec_load(fd, &s, NULL), 0);
	ck_assert_str_eq(s.argv[1], a1);
	ck_assert_ptr_null(s.argv[2]);
	ck_assert_str_eq(s.env[0], e0);
	ck_assert_str_eq(s.cwd, cwd);
	ck_assert_uint_eq(s.umask, 027);
	ck_assert(s.has_limits);
	ck_assert(s.limits[3].rlim_cur == 3 && s.limits[3].rlim_max == RLIM_INFINITY && s.limits[4].rlim_max == 1000);
	ck_assert(json_equal(s.options, options));
	close(fd);
	spec_done(&s);
	/* the least there can be */
	rec = (struct daemon_record){ .argv = argv, .umask = (mode_t)-1 };
	ck_assert_int_eq(spec_new(&rec, &fd), 0);
	ck_assert_int_eq(spec_load(fd, &s, NULL), 0);
	ck_assert(!s.env && !s.cwd && !s.has_limits && s.umask == (mode_t)-1 && json_object_size(s.options) == 0);
	close(fd);
}
END_TEST

START_TEST(spec_garbage)
{
	static const char *const bad[] = {
		"", "{}", "[]", "{\"argv\":[]}", "{\"argv\":[5]}", "{\"argv\":\"x\"}", "{\"argv\":[\"x\"],\"env\":5}", "{\"argv\":[\"x\"],\"umask\":\"x\"}",
		"{\"argv\":[\"x\"],\"limits\":[[1,2]]}", "{\"argv\":[\"x\"],\"options\":[]}", "{\"argv\":[{\"hex\":\"00\"}]}", "{\"argv\":[\"x\"]} trailing",
	};
	int p[2];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct record_spec s CLEANUP(spec_done) = { 0 };
		struct errinfo ei = { 0 };
		char path[] = "/tmp/hermit-spec-XXXXXX";
		int fd = mkstemp(path);

		unlink(path);
		ck_assert_int_eq(write(fd, bad[i], strlen(bad[i])), (ssize_t)strlen(bad[i]));
		ck_assert_msg(spec_load(fd, &s, &ei) == ERR_CORRUPT && ei.text[0], "%s", bad[i]);
		close(fd);
	}
	ck_assert_int_eq(pipe(p), 0); /* would wait for its writer */
	{
		struct record_spec s CLEANUP(spec_done) = { 0 };

		ck_assert_int_eq(spec_load(p[0], &s, NULL), ERR_CORRUPT);
	}
	close(p[0]);
	close(p[1]);
}
END_TEST

TEST_MAIN("ctl", messages, too_large, garbage, listening, asking, spec_comes_back, spec_garbage)
