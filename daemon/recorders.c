/* A child per recording: starts it, listens to it, and says what became of it if it cannot say so itself.
 *
 *     hermitd --fork, exec--> hermit session record          the specification as a memory file
 *             <--messages---  started, alive, ended, error   (daemon/spec.h)
 *             <--stderr-----  log lines, printed with the recording's id
 *
 * The child does not die with us: killed, hermitd leaves its recordings running, and the next one finds them by their locks. Whatever
 * is asked of a running recording goes by its lock file (store/live.h), so that all of them can be asked alike. */
#define LOG_AREA "daemon.recorders"
#include "daemon/recorders_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "base/str.h"
#include "daemon/limits_priv.h"
#include "daemon/spec.h"
#include "store/live.h"

struct recorder {
	struct recorders *owner;
	struct recorder *next;
	struct proc p;
	int tell_fd, log_fd;
	struct loop_source *on_end, *on_tell, *on_log;
	recorder_fn done; /* waits for the start; NULL: nobody does */
	void *ctx;
	bool started, ended, refused; /* what it has told */
	struct store_id id;
	char name[STORE_ID_LEN + 16]; /* for the log */
	uint64_t heard_ns;
	uint64_t end_by_ns;  /* it was asked to end; 0 = not */
	const char *killed;  /* why we killed it, NULL = we did not */
	uint64_t oom_kills;  /* of this machine when it began */
	char line[CHILD_LINE_MAX]; /* of its log, the beginning */
	size_t line_len;
};

struct recorders {
	struct daemon *d;
	struct recorder *list;
	size_t n;
	struct loop_source *timer;
	struct store_id *leaving; /* not our children, asked to end */
	size_t n_leaving;
	uint64_t leave_by_ns;
	bool draining;
};

#define LOOK_NS 1000000000ull
#define STOPPED "hermitd was stopped"

/* --- the end of a child --- */

/* How often the kernel has ended a process for want of memory. */
static uint64_t count_oom_kills(void)
{
	char *text CLEANUP(freep) = NULL;
	const char *p;
	size_t n;

	if (os_read_file("/proc/vmstat", 1u << 20, &text, &n) < 0)
		return 0;
	p = strstr(text, "\noom_kill ");
	return p ? strtoull(p + strlen("\noom_kill "), NULL, 10) : 0;
}

static void explain_end(const struct recorder *rec, int status, char *text, size_t size)
{
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (rec->killed)
		snprintf(text, size, "%s", rec->killed);
	else if (signo == SIGKILL && count_oom_kills() > rec->oom_kills)
		snprintf(text, size, "the recorder was killed (SIGKILL): the machine ran out of memory");
	else if (signo == SIGKILL)
		snprintf(text, size, "the recorder was killed (SIGKILL), not by hermitd");
	else if (signo)
		snprintf(text, size, "the recorder crashed (SIG%s)", sigabbrev_np(signo) ? sigabbrev_np(signo) : "?");
	else
		snprintf(text, size, "the recorder ended with exit code %d before the recording was finished", WEXITSTATUS(status));
}

static void tell_done(struct recorder *rec, const struct recorder_started *what)
{
	recorder_fn done = rec->done;

	rec->done = NULL;
	if (done)
		done(rec->ctx, what);
}

/* It has ended without a word. */
static void bury(struct recorder *rec, int status)
{
	struct recorders *rs = rec->owner;
	char text[160];
	int r;

	explain_end(rec, status, text, sizeof(text));
	if (!rec->started) {
		log_error("%s: %s", rec->name, text);
		tell_done(rec, &(struct recorder_started){ .r = ERR_GUEST_GONE, .exit = 125, .text = text });
		return;
	}
	r = store_recover_one(rs->d->store, &rec->id, text);
	log_error("%s: %s", rec->name, text);
	if (r < 0)
		log_error("%s: cannot be recovered: %s", rec->name, err_str(r));
	/* the house tells of the change itself, without why */
	feed_publish(rs->d->feed, "recording", json_pack("{ss ss ss}", "id", rec->id.hex, "what", "changed", "error", text));
}

static void recorder_free(struct recorder *rec)
{
	struct recorders *rs = rec->owner;
	struct recorder **p = &rs->list;

	while (*p != rec)
		p = &(*p)->next;
	*p = rec->next;
	rs->n--;
	loop_remove(rec->on_end);
	loop_remove(rec->on_tell);
	loop_remove(rec->on_log);
	closep(&rec->tell_fd);
	closep(&rec->log_fd);
	closep(&rec->p.pidfd); /* not proc_done(): what still runs goes on */
	free(rec);
}

/* --- its log --- */

static void print_line(struct recorder *rec)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	const char *line = rec->line;

	rec->line[rec->line_len] = '\0';
	rec->line_len = 0;
	for (size_t i = 0; i < 2; i++) { /* its own "hermit: warning: " is ours now */
		static const char *const prefix[] = { "hermit: ", "warning: " };

		line += str_has_prefix(line, prefix[i]) ? strlen(prefix[i]) : 0;
	}
	buf_put_printable(&text, line);
	log_warn("%s: %s", rec->name, buf_cstr(&text));
}

/* Reads what there is; false at its end. */
static bool read_log(struct recorder *rec)
{
	char part[4096];
	ssize_t n;

	while ((n = os_read(rec->log_fd, part, sizeof(part))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (part[i] != '\n' && rec->line_len < sizeof(rec->line) - 1)
				rec->line[rec->line_len++] = part[i];
			else
				print_line(rec);
		}
	return n == -EAGAIN;
}

static int on_log(void *ctx, uint32_t events)
{
	struct recorder *rec = ctx;

	(void)events;
	if (read_log(rec))
		return 0;
	loop_remove(rec->on_log);
	rec->on_log = NULL;
	return 0;
}

/* --- its messages --- */

static int told_started(struct recorder *rec, const json_t *j)
{
	const char *id;
	int r = jsonx_get_str(j, "id", &id);

	if (r < 0 || strlen(id) != STORE_ID_LEN || rec->started)
		return ERR_PROTOCOL;
	rec->started = true;
	memcpy(rec->id.hex, id, sizeof(rec->id.hex));
	snprintf(rec->name, sizeof(rec->name), "recording %s", id);
	log_info("%s: started", rec->name);
	if (rec->owner->draining && !rec->owner->d->cfg->keep_running) /* it was on its way when the stop began */
		(void)!recorders_cut(rec->owner, &rec->id, STOPPED);
	tell_done(rec, &(struct recorder_started){ .id = &rec->id });
	return 0;
}

static int told_alive(struct recorder *rec, const json_t *j)
{
	(void)rec;
	(void)j;
	return 0;
}

static int told_ended(struct recorder *rec, const json_t *j)
{
	const char *reason = "";
	int64_t status = -1;
	bool truncated = false;
	int r = jsonx_get_i64(j, "status", &status);

	if (r == 0)
		r = jsonx_get_bool(j, "truncated", &truncated);
	if (r == 0)
		r = jsonx_get_str(j, "reason", &reason);
	if (r < 0 || !rec->started)
		return ERR_PROTOCOL;
	rec->ended = true;
	if (truncated)
		log_warn("%s: cut off: %s", rec->name, reason);
	else if (WIFSIGNALED((int)status))
		log_info("%s: ended, killed by SIG%s", rec->name, sigabbrev_np(WTERMSIG((int)status)) ? sigabbrev_np(WTERMSIG((int)status)) : "?");
	else
		log_info("%s: ended, exit code %d", rec->name, WEXITSTATUS((int)status));
	return 0;
}

static int told_error(struct recorder *rec, const json_t *j)
{
	const char *text;
	int64_t error, exit;
	int r = jsonx_get_str(j, "text", &text);

	if (r == 0)
		r = jsonx_get_i64(j, "error", &error);
	if (r == 0)
		r = jsonx_get_i64(j, "exit", &exit);
	if (r < 0 || error >= 0 || error < INT_MIN || exit < 0 || exit > 255)
		return ERR_PROTOCOL;
	rec->refused = true;
	log_info("%s: %s", rec->name, text);
	tell_done(rec, &(struct recorder_started){ .r = (int)error, .exit = (int)exit, .text = text });
	return 0;
}

static const struct {
	const char *what;
	int (*fn)(struct recorder *rec, const json_t *j);
} tellings[] = {
	{ "started", told_started },
	{ "alive", told_alive },
	{ "ended", told_ended },
	{ "error", told_error },
};

static int take_message(struct recorder *rec, const char *text, size_t n)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const char *what;
	int r = jsonx_parse(text, n, &j, NULL);

	if (r == 0)
		r = jsonx_get_str(j, "what", &what);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(tellings); i++)
		if (!strcmp(tellings[i].what, what))
			return tellings[i].fn(rec, j);
	return ERR_PROTOCOL;
}

static int on_tell(void *ctx, uint32_t events)
{
	struct recorder *rec = ctx;
	char text[SPEC_TELL_MAX];
	ssize_t n = recv(rec->tell_fd, text, sizeof(text), MSG_DONTWAIT);
	int r;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* the end of the process tells the rest */
		loop_remove(rec->on_tell);
		rec->on_tell = NULL;
		return 0;
	}
	rec->heard_ns = os_mono_ns();
	r = take_message(rec, text, (size_t)n);
	if (r < 0)
		log_error("%s: a message of the recorder makes no sense: %s", rec->name, err_str(r));
	return 0;
}

/* There is a message that has not been read. */
static bool has_told(const struct recorder *rec)
{
	return rec->on_tell && recv(rec->tell_fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The process has ended; what it has told and logged before is still to be read. */
static int on_end(void *ctx)
{
	struct recorder *rec = ctx;
	struct recorders *rs = rec->owner;
	int status = 0;

	while (has_told(rec))
		(void)!on_tell(rec, EPOLLIN);
	(void)read_log(rec);
	if (rec->line_len)
		print_line(rec);
	if (proc_wait(&rec->p, 0, &status) < 0)
		log_debug("%s: not reaped", rec->name);
	if (!rec->ended && !rec->refused)
		bury(rec, status);
	if (rec->started && !rec->refused && rs->d->house) /* one that was refused afterwards, for its time limit, is not kept */
		house_ended(rs->d->house, &rec->id);
	recorder_free(rec);
	return 0;
}

/* --- starting --- */

static int spawn(struct recorder *rec, const struct recorder_order *o)
{
	const struct daemon_config *cfg = rec->owner->d->cfg;
	char *dir CLEANUP(freep) = os_asprintf("--data-dir=%s", cfg->data_dir);
	char *source CLEANUP(freep) = os_asprintf("--source=%s", o->source);
	const char *const argv[] = { cfg->session_binary, "session", "record", dir, source, NULL };
	/* opened three times: what a program writes to its stdout and its stderr is told apart by the open file */
	int null CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0);
	int null1 CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0);
	int null2 CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0);
	const int nulls[3] = { null, null1, null2 };
	int tell CLEANUP(closep) = -1, log CLEANUP(closep) = -1;
	struct proc_fd fds[SPEC_FD_END_];
	struct proc_options opt = { .argv = argv, .fds = fds };
	int pair[2];

	if (!dir || !source)
		return -ENOMEM;
	if (null < 0 || null1 < 0 || null2 < 0)
		return null < 0 ? null : null1 < 0 ? null1 : null2;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	rec->tell_fd = pair[0];
	tell = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	rec->log_fd = pair[0];
	log = pair[1];
	if (fcntl(rec->log_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	fds[opt.n_fds++] = (struct proc_fd){ null, 0 };
	fds[opt.n_fds++] = (struct proc_fd){ null, 1 };
	fds[opt.n_fds++] = (struct proc_fd){ log, 2 };
	fds[opt.n_fds++] = (struct proc_fd){ tell, SPEC_FD_TELL };
	fds[opt.n_fds++] = (struct proc_fd){ o->spec_fd, SPEC_FD_SPEC };
	for (int i = 0; i < 3; i++)
		fds[opt.n_fds++] = (struct proc_fd){ o->fds[i] >= 0 ? o->fds[i] : nulls[i], SPEC_FD_STDIN + i };
	if (o->cwd_fd >= 0)
		fds[opt.n_fds++] = (struct proc_fd){ o->cwd_fd, SPEC_FD_CWD };
	return proc_spawn(&opt, &rec->p);
}

static int listen_to(struct recorder *rec)
{
	struct loop *l = rec->owner->d->loop;
	int r = loop_add_io(l, "recorder", rec->tell_fd, EPOLLIN, on_tell, rec, &rec->on_tell);

	if (r == 0)
		r = loop_add_io(l, "recorder's log", rec->log_fd, EPOLLIN, on_log, rec, &rec->on_log);
	if (r == 0)
		r = loop_add_child(l, "recorder's end", rec->p.pidfd, on_end, rec, &rec->on_end);
	return r;
}

static int may_start(const struct recorders *rs, struct errinfo *ei)
{
	const struct daemon_config *cfg = rs->d->cfg;

	if (rs->draining)
		return errinfo_set(ei, ERR_INTERRUPTED, "hermitd is being stopped");
	if (rs->n >= cfg->max_recordings)
		return errinfo_set(ei, ERR_LIMIT, "%zu recordings are being made, more are not allowed (max_recordings)", rs->n);
	return rs->d->house ? house_disk_refusal(rs->d->house, ei) : 0;
}

int recorders_start(struct recorders *rs, const struct recorder_order *o, recorder_fn done, void *ctx, struct errinfo *ei)
{
	struct recorder *rec;
	int r = may_start(rs, ei);

	if (r < 0)
		return r;
	rec = os_calloc(1, sizeof(*rec));
	if (!rec)
		return errinfo_set_r(ei, -ENOMEM, "start a recorder");
	rec->owner = rs;
	rec->p = PROC_NONE;
	rec->tell_fd = rec->log_fd = -1;
	rec->next = rs->list;
	rs->list = rec;
	rs->n++;
	rec->oom_kills = count_oom_kills();
	rec->heard_ns = os_mono_ns();
	r = spawn(rec, o);
	snprintf(rec->name, sizeof(rec->name), "recorder %d", (int)rec->p.pid);
	if (r == 0)
		r = listen_to(rec);
	if (r < 0) {
		proc_done(&rec->p);
		recorder_free(rec);
		return errinfo_set_r(ei, r, "start a recorder (%s)", rs->d->cfg->session_binary);
	}
	rec->done = done;
	rec->ctx = ctx;
	return 0;
}

void recorders_forget(struct recorders *rs, const void *ctx)
{
	for (struct recorder *rec = rs->list; rec; rec = rec->next)
		if (rec->ctx == ctx)
			rec->done = NULL;
}

size_t recorders_count(const struct recorders *rs)
{
	return rs->n;
}

/* --- looking after them --- */

static struct recorder *find(const struct recorders *rs, const struct store_id *id)
{
	for (struct recorder *rec = rs->list; rec; rec = rec->next)
		if (rec->started && !strcmp(rec->id.hex, id->hex))
			return rec;
	return NULL;
}

static int look(void *ctx)
{
	struct recorders *rs = ctx;
	uint64_t now = os_mono_ns();

	for (struct recorder *rec = rs->list; rec; rec = rec->next) {
		if (rec->killed)
			continue;
		/* not for what it has told while we ourselves were stopped, or waited for a disk */
		if (now - rec->heard_ns > rs->d->cfg->recorder_timeout_s * 1000000000u && !has_told(rec))
			rec->killed = "the recorder did not answer any more and was ended by hermitd";
		else if (rec->end_by_ns && now > rec->end_by_ns)
			rec->killed = "the recorder did not end the recording when it was asked to, and was ended by hermitd";
		if (rec->killed && proc_signal(&rec->p, SIGKILL) < 0)
			log_debug("%s: has ended just now", rec->name);
	}
	return 0;
}

/* --- asking them --- */

int recorders_cut(struct recorders *rs, const struct store_id *id, const char *reason)
{
	struct recorder *rec = find(rs, id);
	int r = store_ask(rs->d->store, id, "cut %.200s", reason);

	if (r == 0 && rec && !rec->end_by_ns)
		rec->end_by_ns = os_mono_ns() + RECORDER_END_NS;
	return r;
}

static void cut_other(struct recorders *rs, const struct store_id *id, const char *reason)
{
	struct store_id *more;

	if (recorders_cut(rs, id, reason) < 0)
		return;
	more = reallocarray(rs->leaving, rs->n_leaving + 1, sizeof(*more));
	if (!more)
		return;
	rs->leaving = more;
	rs->leaving[rs->n_leaving++] = *id;
}

/* Recordings of other recorders; only_ours: those that an earlier hermitd began. */
static void cut_others(struct recorders *rs, bool only_ours, const char *reason)
{
	const struct catalog_view *v = catalog_get(rs->d->catalog);

	for (size_t i = 0; v && i < v->n; i++) {
		const struct catalog_entry *e = v->entry[i];

		if (e->live && !find(rs, &e->id) && (!only_ours || !strcmp(e->source, "daemon") || !strcmp(e->source, "http")))
			cut_other(rs, &e->id, reason);
	}
	catalog_put(rs->d->catalog, v);
}

void recorders_cut_all(struct recorders *rs, const char *reason)
{
	for (struct recorder *rec = rs->list; rec; rec = rec->next)
		if (rec->started && !rec->end_by_ns && recorders_cut(rs, &rec->id, reason) < 0)
			log_debug("%s: ends just now", rec->name);
	cut_others(rs, false, reason);
	rs->n_leaving = 0;
}

void recorders_drain(struct recorders *rs)
{
	rs->draining = true;
	if (rs->d->cfg->keep_running)
		return;
	rs->leave_by_ns = os_mono_ns() + RECORDER_END_NS;
	for (struct recorder *rec = rs->list; rec; rec = rec->next)
		if (rec->started && recorders_cut(rs, &rec->id, STOPPED) < 0)
			log_debug("%s: ends just now", rec->name);
	cut_others(rs, true, STOPPED);
}

bool recorders_busy(const struct recorders *rs)
{
	for (const struct recorder *rec = rs->list; rec; rec = rec->next)
		if (!rec->started || !rs->d->cfg->keep_running)
			return true;
	for (size_t i = 0; i < rs->n_leaving && os_mono_ns() < rs->leave_by_ns; i++)
		if (store_is_live(rs->d->store, &rs->leaving[i]))
			return true;
	return false;
}

/* --- making and freeing --- */

int recorders_new(struct daemon *d, struct recorders **ret)
{
	struct recorders *rs = os_calloc(1, sizeof(*rs));
	int r;

	if (!rs)
		return -ENOMEM;
	rs->d = d;
	r = loop_add_timer(d->loop, "recorders", LOOK_NS, LOOK_NS, look, rs, &rs->timer);
	if (r < 0) {
		free(rs);
		return r;
	}
	*ret = rs;
	return 0;
}

void recorders_free(struct recorders *rs)
{
	if (!rs)
		return;
	while (rs->list) {
		tell_done(rs->list, &(struct recorder_started){ .r = ERR_INTERRUPTED, .exit = 125, .text = "hermitd has been stopped" });
		recorder_free(rs->list);
	}
	loop_remove(rs->timer);
	free(rs->leaving);
	free(rs);
}
