/* See control.h. A connection has one request at work at a time: it is not read while that waits. Whoever sends garbage, is of another
 * user, or does not read its replies loses its connection; nobody else notices. */
#define LOG_AREA "daemon.control"
#include "daemon/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"
#include "daemon/ctl.h"
#include "daemon/limits_priv.h"
#include "daemon/recorders_priv.h"

struct conn {
	struct control *owner;
	struct conn *next;
	int fd;
	struct loop_source *source;
};

struct control {
	struct daemon *d;
	int sock, lock;
	char *path;
	struct loop_source *source;
	struct conn *conns;
	size_t n_conns;
	const char *version;
	char *urls[CONFIG_LIST_MAX];
	size_t n_urls;
};

static void conn_free(struct conn *c)
{
	struct conn **p = &c->owner->conns;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	c->owner->n_conns--;
	recorders_forget(c->owner->d->recorders, c);
	loop_remove(c->source);
	closep(&c->fd);
	free(c);
}

/* Takes the reference. The connection may be gone afterwards. */
static void reply(struct conn *c, json_t *body)
{
	int r = body ? ctl_send(c->fd, body, NULL, 0) : -ENOMEM;

	json_decref(body);
	if (r == 0)
		r = loop_io_set(c->source, EPOLLIN);
	if (r < 0) {
		log_debug("a client does not get its reply: %s", err_str(r));
		conn_free(c);
	}
}

static void refuse(struct conn *c, int r, int exit, const char *text)
{
	reply(c, json_pack("{so si si}", "error", jsonx_string_lossy(text, strlen(text)), "code", r, "exit", exit));
}

/* --- requests --- */

static void ask_status(struct conn *c, struct ctl_message *m UNUSED)
{
	const struct control *ctl = c->owner;
	json_t *urls = json_array();

	for (size_t i = 0; urls && i < ctl->n_urls; i++)
		json_array_append_new(urls, json_string(ctl->urls[i]));
	reply(c, json_pack("{si ss so so sI}", "pid", (int)getpid(), "version", ctl->version, "data_dir", jsonx_bytes(ctl->d->cfg->data_dir), "urls", urls,
			   "recording", (json_int_t)recorders_count(ctl->d->recorders)));
}

static const char *browser_url(const struct control *ctl)
{
	for (size_t i = 0; i < ctl->n_urls; i++)
		if (str_has_prefix(ctl->urls[i], "http"))
			return ctl->urls[i];
	return NULL;
}

static void ask_login(struct conn *c, struct ctl_message *m UNUSED)
{
	const char *url = browser_url(c->owner);
	char token[65];
	int r = url ? daemon_login_new(c->owner->d, token) : ERR_NOT_FOUND;

	if (r < 0)
		refuse(c, r, EXIT_FAILURE, url ? err_str(r) : "hermitd listens on no address that a browser could use");
	else
		reply(c, json_pack("{so}", "url", json_sprintf("%s/login?token=%s", url, token)));
}

static void on_started(void *ctx, const struct recorder_started *what)
{
	struct conn *c = ctx;

	if (what->r < 0)
		refuse(c, what->r, what->exit, what->text);
	else
		reply(c, json_pack("{ss}", "id", what->id->hex));
}

/* Clients may mean another store than ours. */
static bool same_dir(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static void ask_start(struct conn *c, struct ctl_message *m)
{
	struct daemon *d = c->owner->d;
	struct recorder_order o = { .source = "daemon" };
	char *dir CLEANUP(freep) = NULL;
	struct errinfo ei = { 0 };
	int r = m->n_fds == CTL_START_MAX_ ? jsonx_bytes_value(json_object_get(m->body, "data_dir"), &dir) : ERR_PROTOCOL;

	if (r < 0) {
		refuse(c, ERR_PROTOCOL, 125, "a start wants data_dir and five descriptors");
		return;
	}
	if (!same_dir(dir, d->cfg->data_dir)) {
		errinfo_set(&ei, ERR_BUSY, "hermitd (process %d) keeps its recordings in %s", (int)getpid(), d->cfg->data_dir);
		refuse(c, ERR_BUSY, 125, ei.text);
		return;
	}
	o.spec_fd = m->fds[CTL_START_SPEC];
	memcpy(o.fds, &m->fds[CTL_START_STDIN], sizeof(o.fds));
	o.cwd_fd = m->fds[CTL_START_CWD];
	r = loop_io_set(c->source, 0); /* until it is told */
	if (r == 0)
		r = recorders_start(d->recorders, &o, on_started, c, &ei);
	if (r < 0)
		refuse(c, r, 125, ei.text[0] ? ei.text : err_str(r));
}

static const struct {
	const char *ask;
	void (*fn)(struct conn *c, struct ctl_message *m);
} asks[] = {
	{ "status", ask_status },
	{ "login", ask_login },
	{ "start", ask_start },
};

static int take_request(struct conn *c)
{
	struct ctl_message m CLEANUP(ctl_message_done) = { 0 };
	const char *ask;
	int r = ctl_receive(c->fd, &m);

	if (r <= 0)
		return r == 0 ? -ECONNRESET : r;
	r = jsonx_get_str(m.body, "ask", &ask);
	if (r < 0)
		return ERR_PROTOCOL;
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		if (!strcmp(asks[i].ask, ask)) {
			asks[i].fn(c, &m);
			return 0;
		}
	refuse(c, ERR_PROTOCOL, 125, "hermitd does not know that request: is it of another version?");
	return 0;
}

static int on_conn(void *ctx, uint32_t events)
{
	struct conn *c = ctx;
	int r = events & EPOLLIN ? take_request(c) : -ECONNRESET; /* EPOLLHUP: comes while a start is awaited, too */

	if (r < 0 && r != -EAGAIN) {
		if (r != -ECONNRESET)
			log_info("a client on the control socket is cut off: %s", err_str(r));
		conn_free(c);
	}
	return 0;
}

/* --- connections --- */

static int add_conn(struct control *ctl, int fd)
{
	struct conn *c = os_calloc(1, sizeof(*c));
	int r = c ? loop_add_io(ctl->d->loop, "control connection", fd, EPOLLIN, on_conn, c, &c->source) : -ENOMEM;

	if (r < 0) {
		free(c);
		return r;
	}
	c->owner = ctl;
	c->fd = fd;
	c->next = ctl->conns;
	ctl->conns = c;
	ctl->n_conns++;
	return 0;
}

static int on_sock(void *ctx, uint32_t events UNUSED)
{
	struct control *ctl = ctx;
	int fd = accept4(ctl->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int r = 0;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			usleep(10000); /* it stays readable; others close theirs */
		return 0;
	}
	if (!ctl_peer_is_ours(fd))
		r = -EPERM;
	else if (ctl->n_conns >= CONTROL_CONNS_MAX)
		r = ERR_LIMIT;
	else
		r = add_conn(ctl, fd);
	if (r < 0) {
		log_warn("a client on the control socket is refused: %s", r == -EPERM ? "it is of another user" : err_str(r));
		close(fd);
	}
	return 0;
}

int control_new(struct daemon *d, int sock, int lock, const char *version, struct control **ret)
{
	struct control *ctl = os_calloc(1, sizeof(*ctl));
	int r = -ENOMEM;

	if (!ctl) {
		close(sock);
		close(lock);
		return r;
	}
	ctl->d = d;
	ctl->sock = sock;
	ctl->lock = lock;
	ctl->version = version;
	ctl->path = ctl_path(d->cfg->runtime_dir);
	if (ctl->path)
		r = loop_add_io(d->loop, "control socket", sock, EPOLLIN, on_sock, ctl, &ctl->source);
	if (r < 0) {
		control_free(ctl);
		return r;
	}
	*ret = ctl;
	return 0;
}

int control_add_url(struct control *ctl, const char *url)
{
	char *copy = ctl->n_urls < ARRAY_SIZE(ctl->urls) ? os_strdup(url) : NULL;

	if (!copy)
		return ctl->n_urls < ARRAY_SIZE(ctl->urls) ? -ENOMEM : ERR_LIMIT;
	ctl->urls[ctl->n_urls++] = copy;
	return 0;
}

void control_free(struct control *ctl)
{
	if (!ctl)
		return;
	while (ctl->conns)
		conn_free(ctl->conns);
	loop_remove(ctl->source);
	if (ctl->path && ctl->source)
		unlink(ctl->path);
	closep(&ctl->sock);
	closep(&ctl->lock);
	for (size_t i = 0; i < ctl->n_urls; i++)
		free(ctl->urls[i]);
	free(ctl->path);
	free(ctl);
}
