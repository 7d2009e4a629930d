/* The server: one libmicrohttpd daemon for each address, a thread for each connection.
 *
 * Handlers block (they read files, wait for inspectors), so each connection has a thread; docs/BENCHMARKS.md says what that costs. A request goes
 *
 *     target_cb        the request line has come: struct web_request, target parsed
 *     access_cb        called once with the head: guard.c decides; then for each piece of the body; then once more: the handler runs
 *     completed_cb     whatever became of it: the request is freed (MHD says so on all paths, aborts too)
 */
#define LOG_AREA "web.server"
#include "web/server_priv.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "analysis/coverage.h"
#include "analysis/digest.h"
#include "analysis/search.h"
#include "base/log.h"
#include "base/os.h"
#include "web/diffs_priv.h"
#include "web/exports_priv.h"
#include "web/answers_priv.h"
#include "web/listen_priv.h"

#define DRAIN_LOOK_MS 20
/* With hundreds of threads each would get a heap of its own, kept for ever. */
#define ARENAS 4
#define TRIM_THRESHOLD (1 << 20)

static void PRINTF_LIKE(2, 0) log_cb(void *cls UNUSED, const char *fmt, va_list ap)
{
	char text[512];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
}

static struct conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void connection_cb(void *cls, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct listener *l = cls;
	struct conn *conn = NULL;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		conn_free(*context);
		*context = NULL;
		return;
	}
	if (!info)
		return;
	if (l->local && !listen_same_user(info->connect_fd))
		log_warn("%s: a process of another user was refused", l->url);
	else if (conn_new(l, info->connect_fd, &conn) < 0)
		log_warn("%s: out of memory, a connection was refused", l->url);
	if (!conn)
		(void)shutdown(info->connect_fd, SHUT_RDWR);
	*context = conn;
}

/* MHD would decode the target here; url.c does that. */
static size_t unescape_cb(void *cls UNUSED, struct MHD_Connection *c UNUSED, char *s)
{
	return strlen(s);
}

static void *target_cb(void *cls, const char *target, struct MHD_Connection *c)
{
	struct listener *l = cls;
	struct conn *conn = conn_of(c);

	return conn ? request_new(l->web, c, conn, target) : NULL;
}

static void completed_cb(void *cls UNUSED, struct MHD_Connection *c UNUSED, void **con_cls, enum MHD_RequestTerminationCode why UNUSED)
{
	request_free(*con_cls);
	*con_cls = NULL;
}

static enum MHD_Result access_cb(void *cls UNUSED, struct MHD_Connection *c UNUSED, const char *url UNUSED, const char *method,
				 const char *version UNUSED, const char *data, size_t *n, void **con_cls)
{
	struct web_request *q = *con_cls;

	if (!q)
		return MHD_NO;
	if (!q->begun) {
		request_begin(q, method);
		/* a long body that is not wanted is not waited for: the answer now, and MHD closes the connection */
		return !q->refusal.status || q->body_announced <= WEB_SWALLOW_MAX || request_run(q) == 0 ? MHD_YES : MHD_NO;
	}
	if (q->replied) {
		*n = 0;
		return MHD_YES;
	}
	if (*n == 0)
		return request_run(q) == 0 ? MHD_YES : MHD_NO;
	request_body(q, data, *n);
	*n = 0;
	/* a refusal is sent when the client has said what it has to say, unless that is too much: then the connection is cut */
	return q->refusal.status && q->body_len > WEB_SWALLOW_MAX ? MHD_NO : MHD_YES;
}

static size_t stack_bytes(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 4 * (size_t)WEB_STACK_BYTES;
#else
	return WEB_STACK_BYTES;
#endif
}

static int listener_start(struct listener *l, struct errinfo *ei)
{
	const unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC | MHD_USE_ERROR_LOG;
	const unsigned most = (unsigned)l->web->cfg->max_connections;
	sigset_t all, old;

	/* signals are for the loop's thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	l->mhd = MHD_start_daemon(flags, 0, NULL, NULL, access_cb, l,
				  MHD_OPTION_EXTERNAL_LOGGER, log_cb, NULL,
				  MHD_OPTION_LISTEN_SOCKET, l->fd,
				  MHD_OPTION_NOTIFY_CONNECTION, connection_cb, l,
				  MHD_OPTION_URI_LOG_CALLBACK, target_cb, l,
				  MHD_OPTION_UNESCAPE_CALLBACK, unescape_cb, NULL,
				  MHD_OPTION_NOTIFY_COMPLETED, completed_cb, NULL,
				  MHD_OPTION_CONNECTION_LIMIT, most + WEB_EXCESS_MAX,
				  /* all of a loopback address are one host */
				  MHD_OPTION_PER_IP_CONNECTION_LIMIT, l->loopback ? 0 : MAX(most / 4, 8u),
				  MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_S,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_POOL_BYTES,
				  MHD_OPTION_THREAD_STACK_SIZE, stack_bytes(),
				  MHD_OPTION_STRICT_FOR_CLIENT, 1,
				  MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
				  MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return l->mhd ? 0 : errinfo_set(ei, -EIO, "start the HTTP server on %s", l->url);
}

/* Takes fd. */
static int add_listener(struct web *w, int fd, struct errinfo *ei)
{
	struct listener *l = &w->listener[w->n_listeners];
	struct listen_info info = { 0 };
	int r;

	if (w->n_listeners == WEB_LISTENERS_MAX) {
		close(fd);
		return errinfo_set(ei, ERR_LIMIT, "listen on more than %d addresses", WEB_LISTENERS_MAX);
	}
	w->n_listeners++;
	*l = (struct listener){ .web = w, .fd = fd };
	r = listen_describe(fd, &info);
	l->url = info.url;
	l->local = info.local;
	l->loopback = info.loopback;
	if (r < 0)
		return errinfo_set_r(ei, r, "use a listening socket");
	/* the token goes over the wire in clear text: somebody has to have thought about that */
	if (!info.loopback && !(w->cfg->hosts && w->cfg->hosts[0]))
		return errinfo_set(ei, -EPERM, "listen on %s, which others reach: name the hosts under which they do (hosts), and see docs/HTTP.md about TLS",
				   l->url);
	if (info.port && !w->cookie_name[0])
		(void)snprintf(w->cookie_name, sizeof(w->cookie_name), "hermit-%u", info.port);
	return 0;
}

static int open_listeners(struct web *w, const int *fds, size_t n, struct errinfo *ei)
{
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		int one = add_listener(w, fds[i], ei); /* all are taken, whatever happens */

		r = r < 0 ? r : one;
	}
	for (size_t i = 0; n == 0 && r == 0 && w->cfg->listen && w->cfg->listen[i]; i++) {
		const char *text = w->cfg->listen[i];
		int fd;

		r = listen_open(text, &fd, ei);
		if (r == 0)
			r = add_listener(w, fd, ei);
		if (r == 0 && w->listener[w->n_listeners - 1].local) {
			w->listener[w->n_listeners - 1].path = os_strdup(text + strlen("unix:"));
			r = w->listener[w->n_listeners - 1].path ? 0 : -ENOMEM;
		}
	}
	return r == 0 && w->n_listeners == 0 ? errinfo_set(ei, -EINVAL, "no address is configured (listen)") : r;
}

/* Names that a Host header may have. */
static int list_hosts(struct web *w)
{
	static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t n = 0;

	while (w->cfg->hosts && w->cfg->hosts[n])
		n++;
	w->hosts = os_calloc(ARRAY_SIZE(own) + n + 1, sizeof(*w->hosts));
	if (!w->hosts)
		return -ENOMEM;
	memcpy(w->hosts, own, sizeof(own));
	for (size_t i = 0; i < n; i++)
		w->hosts[ARRAY_SIZE(own) + i] = w->cfg->hosts[i];
	return 0;
}

int web_new(struct daemon *d, const int *fds, size_t n, struct web **ret, struct errinfo *ei)
{
	struct web *w = os_calloc(1, sizeof(*w));
	int auth, r;

	if (!w) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		return -ENOMEM;
	}
	(void)mallopt(M_ARENA_MAX, ARENAS);
	(void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
	pthread_mutex_init(&w->edit, NULL);
	w->daemon = d;
	w->cfg = daemon_config(d);
	auth = auth_init(w, ei); /* who can connect finds the token */
	w->ui_dir = getenv("HERMIT_UI_DIR"); /* while somebody works on the page */
	r = open_listeners(w, fds, n, ei); /* takes fds, whatever happens */
	if (r == 0)
		r = list_hosts(w);
	if (r == 0)
		r = auth;
	if (r == 0)
		r = readers_new(w, &w->readers);
	if (r == 0)
		r = digests_new(&w->digests);
	if (r == 0)
		r = searches_new(w->cfg->data_dir, &w->searches);
	if (r == 0)
		r = answers_new(&w->answers);
	if (r == 0)
		r = coverage_cache_new(&w->coverage);
	if (r == 0)
		r = diffs_new(w, &w->diffs);
	if (r == 0)
		r = exports_new(&w->exports);
	if (r == 0)
		r = pages_new(&w->pages);
	if (r == 0)
		r = conns_init(&w->conns, w);
	for (size_t i = 0; i < w->n_listeners && r == 0; i++)
		r = listener_start(&w->listener[i], ei);
	if (r < 0) {
		web_free(w, 0);
		return r;
	}
	*ret = w;
	return 0;
}

const char *web_url(const struct web *w, size_t n)
{
	return n < w->n_listeners ? w->listener[n].url : NULL;
}

static void stop_listening(struct listener *l)
{
	if (l->mhd)
		(void)MHD_quiesce_daemon(l->mhd);
	closep(&l->fd);
	l->fd = -1;
	if (l->path)
		(void)unlink(l->path);
}

void web_free(struct web *w, int grace_ms)
{
	if (!w)
		return;
	w->stopping = true;
	for (size_t i = 0; i < w->n_listeners; i++)
		stop_listening(&w->listener[i]);
	for (int ms = 0; ms < grace_ms && w->counters.active; ms += DRAIN_LOOK_MS)
		(void)nanosleep(&(struct timespec){ .tv_nsec = DRAIN_LOOK_MS * 1000000 }, NULL);
	conns_cut(&w->conns);
	for (size_t i = 0; i < w->n_listeners; i++) {
		if (w->listener[i].mhd)
			MHD_stop_daemon(w->listener[i].mhd);
		free(w->listener[i].url);
		free(w->listener[i].path);
	}
	conns_done(&w->conns);
	diffs_free(w->diffs); /* its workers use the readers */
	readers_free(w->readers);
	digests_free(w->digests);
	searches_free(w->searches);
	answers_free(w->answers);
	coverage_cache_free(w->coverage);
	exports_free(w->exports);
	pages_free(w->pages);
	auth_done(w);
	free(w->hosts);
	pthread_mutex_destroy(&w->edit);
	free(w);
}
