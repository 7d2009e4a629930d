/* Debug sessions: a child each (hermit replay --serve-only) that serves debuggers on a socket of its own.
 *
 *     starting --"Listening on"--> ready --a debugger killed the program, or DELETE--> ended
 *         |                          |
 *         +-------- it died ---------+-------> failed, with what it said
 *
 * The socket is a free port of the loopback interface; where hermitd itself can only be reached through files, it is a file beside the control socket.
 */
#include "daemon/sessions_priv.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "daemon/child_priv.h"
#include "daemon/limits_priv.h"
#include "daemon/token.h"

#define LOG_AREA "daemon.sessions"
#include "base/log.h"

#define SWEEP_NS 500000000ull
#define LISTENING "Listening on "

enum session_state { SESSION_STARTING, SESSION_READY, SESSION_ENDED, SESSION_FAILED };

struct session {
	struct session *next;
	struct sessions *all;
	char id[17];
	struct store_id recording;
	pid_t pid;
	char *go, *error;
	enum session_state state;
	uint16_t port;
	char *path; /* NULL: a port */
	struct child *child;
	uint64_t created_ns, started_ns, stop_ns; /* wall; monotonic; monotonic: it was asked to end then, 0 = not */
	bool killed;
};

struct sessions {
	struct daemon *d;
	pthread_mutex_t lock; /* held to change the list and states: others than the loop's thread look at them */
	struct session *first; /* newest first */
	struct loop_source *timer;
	bool draining;
};

static bool is_over(const struct session *s)
{
	return s->state == SESSION_ENDED || s->state == SESSION_FAILED;
}

/* --- as JSON --- */

static json_t *address_json(const struct session *s)
{
	if (s->state != SESSION_READY)
		return json_null();
	return s->path ? json_pack("{s:s}", "path", s->path) : json_pack("{s:s, s:i}", "host", "127.0.0.1", "port", (int)s->port);
}

static json_t *gdb_command(const struct session *s)
{
	struct buf b CLEANUP(buf_done), where CLEANUP(buf_done);

	buf_init(&b);
	buf_init(&where);
	if (s->state != SESSION_READY)
		return json_null();
	if (s->path)
		buf_printf(&where, "target remote %s", s->path);
	else
		buf_printf(&where, "target remote 127.0.0.1:%u", s->port);
	buf_printf(&b, "gdb -iex 'set auto-load off' -ex 'set sysroot target:' -ex ");
	buf_put_shell_quoted(&b, buf_cstr(&where));
	return json_string(buf_cstr(&b));
}

/* For who sits at the machine: the same without hermitd. */
static json_t *local_command(const struct session *s)
{
	const char *dir = s->all->d->cfg->data_dir;
	char *usual CLEANUP(freep) = NULL;
	struct buf b CLEANUP(buf_done);

	buf_init(&b);
	buf_printf(&b, "hermit replay ");
	if (store_default_dir(NULL, &usual) < 0 || strcmp(usual, dir) != 0) {
		buf_printf(&b, "--data-dir ");
		buf_put_shell_quoted(&b, dir);
		buf_put(&b, " ", 1);
	}
	buf_printf(&b, "%s", s->recording.hex);
	if (s->pid)
		buf_printf(&b, " -p %d", (int)s->pid);
	if (s->go) {
		buf_printf(&b, " -g ");
		buf_put_shell_quoted(&b, s->go);
	}
	return jsonx_string_lossy(buf_cstr(&b), b.len);
}

/* A link that hermit's extension for VS Code follows (dap/vscode/src/link.js): it attaches to the port. */
static json_t *vscode_link(const struct session *s)
{
	char link[128];

	if (s->state != SESSION_READY || s->path)
		return json_null();
	snprintf(link, sizeof(link), "vscode://hermit.hermit-debug/open?recording=%s&target=127.0.0.1:%u", s->recording.hex, s->port);
	return json_string(link);
}

static json_t *session_json(const struct session *s)
{
	static const char *const states[] = { [SESSION_STARTING] = "starting", [SESSION_READY] = "ready", [SESSION_ENDED] = "ended",
					      [SESSION_FAILED] = "failed" };

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:{s:o, s:o, s:o}}", "id", s->id, "recording", s->recording.hex, "kind",
			 "gdb", "pid", s->pid ? json_integer(s->pid) : json_null(), "goto", jsonx_text(s->go), "state", states[s->state], "error",
			 jsonx_text(s->error), "address", address_json(s), "created", jsonx_time(s->created_ns), "commands", "gdb", gdb_command(s), "local",
			 local_command(s), "vscode", vscode_link(s));
}

static void set_state(struct session *s, enum session_state state)
{
	pthread_mutex_lock(&s->all->lock);
	s->state = state;
	pthread_mutex_unlock(&s->all->lock);
	feed_publish(s->all->d->feed, "session", session_json(s));
}

/* --- the list --- */

static void session_free(struct session *s)
{
	if (!s)
		return;
	child_free(s->child);
	if (s->path)
		(void)unlink(s->path);
	free(s->path);
	free(s->go);
	free(s->error);
	free(s);
}

static void session_freep(struct session **s)
{
	session_free(*s);
}

static struct session *find(const struct sessions *all, const char *id)
{
	struct session *s = all->first;

	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	return s;
}

static void forget(struct sessions *all, struct session *s)
{
	struct session **p = &all->first;

	while (*p != s)
		p = &(*p)->next;
	pthread_mutex_lock(&all->lock);
	*p = s->next;
	pthread_mutex_unlock(&all->lock);
	session_free(s);
}

/* The oldest of those that are over go when there are many. */
static void forget_old(struct sessions *all)
{
	unsigned over = 0;

	for (struct session *s = all->first, *next; s; s = next) {
		next = s->next;
		over += is_over(s);
		if (is_over(s) && over > SESSIONS_KEPT)
			forget(all, s);
	}
}

unsigned sessions_count(const struct sessions *all)
{
	unsigned n = 0;

	for (const struct session *s = all->first; s; s = s->next)
		n += !is_over(s);
	return n;
}

bool sessions_use(struct sessions *all, const struct store_id *recording)
{
	bool used = false;

	pthread_mutex_lock(&all->lock);
	for (const struct session *s = all->first; s && !used; s = s->next)
		used = !is_over(s) && strcmp(s->recording.hex, recording->hex) == 0;
	pthread_mutex_unlock(&all->lock);
	return used;
}

/* --- the child --- */

static void on_line(void *ctx, const char *line)
{
	struct session *s = ctx;
	const char *colon = strrchr(line, ':');
	uint64_t port = 0;

	if (s->state != SESSION_STARTING || !str_has_prefix(line, LISTENING))
		return;
	if (!s->path && (!colon || str_parse_u64(colon + 1, &port) < 0 || port == 0 || port > UINT16_MAX))
		return;
	s->port = (uint16_t)port;
	log_info("session %s: recording %s is served on %s", s->id, s->recording.hex, line + strlen(LISTENING));
	set_state(s, SESSION_READY);
}

static void set_error(struct session *s, const char *text)
{
	free(s->error);
	s->error = os_strdup(text);
}

static void on_end(void *ctx, const char *error)
{
	struct session *s = ctx;
	struct sessions *all = s->all;
	bool failed;

	s->child = NULL;
	/* how it ends when it is told to does not matter */
	if (s->stop_ns)
		free(TAKE(s->error));
	else if (!s->error && (error || s->state == SESSION_STARTING))
		set_error(s, error ? error : "it ended before a debugger could come");
	failed = s->error && !s->stop_ns;
	if (failed)
		log_warn("session %s: recording %s: %s", s->id, s->recording.hex, s->error);
	else
		log_info("session %s: ended", s->id);
	set_state(s, failed ? SESSION_FAILED : SESSION_ENDED);
	forget_old(all);
}

static int start(struct session *s)
{
	const struct daemon_config *cfg = s->all->d->cfg;
	char pid[24], name[40];
	char *go CLEANUP(freep) = s->go ? os_asprintf("--goto=%s", s->go) : NULL;
	const char *argv[12] = { cfg->session_binary, "replay", "--data-dir", cfg->data_dir, "--serve-only", s->recording.hex };
	struct child_options opt = { .name = name, .argv = argv, .lines_fd = 1, .line = on_line, .ended = on_end, .ctx = s };
	size_t n = 6;

	if (s->go && !go)
		return -ENOMEM;
	if (s->path) {
		argv[n++] = "--gdbserver-socket";
		argv[n++] = s->path;
	}
	if (s->pid) {
		(void)snprintf(pid, sizeof(pid), "--process=%d", (int)s->pid);
		argv[n++] = pid;
	}
	if (go)
		argv[n++] = go;
	(void)snprintf(name, sizeof(name), "session %s", s->id);
	return child_start(s->all->d->loop, &opt, &s->child);
}

static void stop(struct session *s)
{
	if (is_over(s) || s->stop_ns)
		return;
	s->stop_ns = os_mono_ns();
	child_signal(s->child, SIGTERM);
}

void sessions_sweep(struct sessions *all, uint64_t now)
{
	for (struct session *s = all->first; s; s = s->next) {
		if (is_over(s) || s->killed)
			continue;
		if (s->state == SESSION_STARTING && !s->stop_ns && now > s->started_ns && now - s->started_ns > SESSION_START_NS)
			set_error(s, "it was not ready after 15 minutes and was killed");
		else if (!s->stop_ns || now < s->stop_ns || now - s->stop_ns <= SESSION_STOP_NS)
			continue;
		s->killed = true;
		child_signal(s->child, SIGKILL);
	}
}

static int on_timer(void *ctx)
{
	sessions_sweep(ctx, os_mono_ns());
	return 0;
}

/* --- making one --- */

/* Only files: no port of the machine is open for anybody either. */
static bool only_files(const struct daemon_config *cfg)
{
	for (size_t i = 0; cfg->listen && cfg->listen[i]; i++)
		if (!str_has_prefix(cfg->listen[i], "unix:"))
			return false;
	return cfg->listen && cfg->listen[0];
}

static bool good_goto(const char *go)
{
	size_t n = strlen(go);

	for (size_t i = 0; i < n; i++)
		if (go[i] < 0x20 || go[i] > 0x7e)
			return false;
	return n > 0 && n <= SESSION_GOTO_MAX;
}

static int fill(struct session *s, const struct daemon_session_spec *spec)
{
	const struct daemon_config *cfg = s->all->d->cfg;
	char token[TOKEN_HEX_BYTES];
	int r = token_random(token);

	if (r < 0)
		return r;
	memcpy(s->id, token, sizeof(s->id) - 1);
	s->recording = spec->recording;
	s->pid = spec->pid;
	s->created_ns = os_wall_ns();
	s->started_ns = os_mono_ns();
	s->go = spec->go ? os_strdup(spec->go) : NULL;
	s->path = only_files(cfg) ? os_asprintf("%s/session-%s", cfg->runtime_dir, s->id) : NULL;
	return (spec->go && !s->go) || (only_files(cfg) && !s->path) ? -ENOMEM : 0;
}

static int make(struct sessions *all, const struct daemon_session_spec *spec, struct session **ret, struct errinfo *ei)
{
	struct session *s CLEANUP(session_freep) = NULL;
	int r;

	if (all->draining)
		return errinfo_set(ei, ERR_INTERRUPTED, "hermitd is being stopped");
	if (sessions_count(all) >= all->d->cfg->max_sessions)
		return errinfo_set(ei, ERR_LIMIT, "%u debug sessions are open, more are not allowed (max_sessions): end one first",
				   sessions_count(all));
	s = os_calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->all = all;
	r = fill(s, spec);
	if (r == 0)
		r = start(s);
	if (r < 0)
		return errinfo_set_r(ei, r, "start %s", all->d->cfg->session_binary);
	pthread_mutex_lock(&all->lock);
	s->next = all->first;
	all->first = s;
	pthread_mutex_unlock(&all->lock);
	*ret = s;
	s = NULL;
	log_info("session %s: recording %s, process %d", (*ret)->id, (*ret)->recording.hex, (int)child_pid((*ret)->child));
	set_state(*ret, SESSION_STARTING);
	return 0;
}

/* --- life --- */

int sessions_new(struct daemon *d, struct sessions **ret)
{
	struct sessions *all = os_calloc(1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all->d = d;
	pthread_mutex_init(&all->lock, NULL);
	r = loop_add_timer(d->loop, "sessions", SWEEP_NS, SWEEP_NS, on_timer, all, &all->timer);
	if (r < 0) {
		sessions_free(all);
		return r;
	}
	*ret = all;
	return 0;
}

void sessions_free(struct sessions *all)
{
	if (!all)
		return;
	loop_remove(all->timer);
	while (all->first)
		forget(all, all->first);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

void sessions_drain(struct sessions *all)
{
	all->draining = true;
	for (struct session *s = all->first; s; s = s->next)
		stop(s);
}

bool sessions_busy(const struct sessions *all)
{
	return sessions_count(all) > 0;
}

/* --- from any thread --- */

struct request {
	struct daemon *d;
	const struct daemon_session_spec *spec;
	const char *id;
	json_t *json;
	struct errinfo *ei;
};

static int do_new(void *ctx)
{
	struct request *q = ctx;
	struct session *s = NULL;
	int r = make(q->d->sessions, q->spec, &s, q->ei);

	if (r < 0)
		return r;
	q->json = session_json(s);
	return q->json ? 0 : -ENOMEM;
}

static int do_list(void *ctx)
{
	struct request *q = ctx;

	q->json = json_array();
	for (const struct session *s = q->d->sessions->first; s && q->json; s = s->next)
		if (json_array_append_new(q->json, session_json(s)) < 0) {
			json_decref(q->json);
			q->json = NULL;
		}
	return q->json ? 0 : -ENOMEM;
}

static int do_get(void *ctx)
{
	struct request *q = ctx;
	const struct session *s = find(q->d->sessions, q->id);

	if (!s)
		return ERR_NOT_FOUND;
	q->json = session_json(s);
	return q->json ? 0 : -ENOMEM;
}

static int do_end(void *ctx)
{
	struct request *q = ctx;
	struct session *s = find(q->d->sessions, q->id);

	if (!s)
		return ERR_NOT_FOUND;
	if (is_over(s))
		forget(q->d->sessions, s);
	else
		stop(s);
	return 0;
}

static int check(struct daemon *d, const struct daemon_session_spec *spec, struct errinfo *ei)
{
	const struct catalog_view *v;
	bool there;

	if (spec->go && !good_goto(spec->go))
		return errinfo_set(ei, -EINVAL, "goto wants an event number, \"end\", \"crash\" or a position");
	if (spec->pid < 0)
		return errinfo_set(ei, -EINVAL, "pid must be that of a process of the recording");
	v = catalog_get(d->catalog);
	there = catalog_find(v, &spec->recording) != NULL;
	catalog_put(d->catalog, v);
	return there ? 0 : errinfo_set(ei, ERR_NOT_FOUND, "there is no recording %s", spec->recording.hex);
}

int daemon_session_new(struct daemon *d, const struct daemon_session_spec *spec, json_t **ret, struct errinfo *ei)
{
	struct request q = { .d = d, .spec = spec, .ei = ei };
	int r = check(d, spec, ei);

	if (r == 0) {
		r = loop_call(d->loop, do_new, &q);
		if (r < 0)
			(void)errinfo_set_r(ei, r, "open a debug session");
	}
	if (r < 0)
		return r;
	*ret = q.json;
	return 0;
}

int daemon_session_list(struct daemon *d, json_t **ret)
{
	struct request q = { .d = d };
	int r = loop_call(d->loop, do_list, &q);

	if (r == 0)
		*ret = q.json;
	return r;
}

int daemon_session_get(struct daemon *d, const char *sid, json_t **ret)
{
	struct request q = { .d = d, .id = sid };
	int r = loop_call(d->loop, do_get, &q);

	if (r == 0)
		*ret = q.json;
	return r;
}

int daemon_session_end(struct daemon *d, const char *sid)
{
	struct request q = { .d = d, .id = sid };

	return loop_call(d->loop, do_end, &q);
}
