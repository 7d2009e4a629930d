/* A gdb and its pipes, see mi_priv.h. One command at a time:
 *
 *     mi_command ──> stdin   17-exec-next
 *         pump  <──  stdout  17^done: the answer; all else goes to opt.record
 *               <──  stderr  its end is kept, to tell why gdb ended
 *
 * All that may happen - output, the end of gdb, room in its input - makes one epoll descriptor readable, which is what others wait for: gdb's output
 * alone would not tell the end when a child of gdb holds the pipe. A command that is given up (opt.wait failed) is still answered by gdb some time; by
 * its token that answer is nobody's and goes to opt.record. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "base/proc.h"
#include "base/str.h"
#include "dap/mi_priv.h"

#define LOG_AREA "dap.mi"
#include "base/log.h"

/* gdb 13.1 takes time for a line that grows with the square of its length: a second for this one, during which it hears nothing. */
#define MI_COMMAND_MAX (30u << 10)
#define MI_LINE_MAX (64u << 20)
#define MI_LINE_KEPT (1u << 20) /* a buffer beyond that is given back after its line */
#define MI_STDERR_KEPT 4096u
#define MI_STDERR_TOLD 600u
/* Chunks that one mi_read() takes from a gdb that never stops talking. */
#define MI_READ_ROUNDS 64u
#define MI_END_MS 500

struct answer {
	uint64_t token;
	bool capture;
	struct buf *out; /* of captured streams; NULL = dropped */
	bool done;
	int error; /* a line before the answer, or the answer, could not be read */
	char *name;
	json_t *values;
};

struct mi {
	struct mi_options opt;
	struct proc proc;
	int in, out, err, epoll;
	struct buf line; /* unfinished */
	bool too_long;   /* the rest of this line is dropped */
	char err_text[MI_STDERR_KEPT];
	size_t err_len;
	struct buf unsent;
	size_t sent;
	bool waits_for_room;
	uint64_t token;
	struct answer *answer; /* NULL = no command waits */
	bool in_record;
	bool gone;
	int status; /* wait status, when it has gone */
};

static void answer_done(struct answer *a)
{
	free(a->name);
	json_decref(a->values);
}

/* --- lines --- */

/* A stream that the waiting command wants for itself. */
static bool captured(struct mi *m, const struct mi_record *rec)
{
	struct answer *a = m->answer;

	if (!a || a->done || !a->capture || (rec->kind != MI_CONSOLE && rec->kind != MI_TARGET))
		return false;
	if (a->out)
		buf_put(a->out, rec->text.data, rec->text.len);
	return true;
}

static bool answered(struct mi *m, struct mi_record *rec)
{
	struct answer *a = m->answer;

	if (!a || a->done || rec->kind != MI_RESULT || rec->token != a->token)
		return false;
	a->done = true;
	a->name = TAKE(rec->name);
	a->values = TAKE(rec->values);
	return true;
}

static int take_line(struct mi *m, const char *line, size_t n)
{
	CLEANUP(mi_record_done) struct mi_record rec = { 0 };
	int r = mi_parse(line, n, &rec);

	log_trace("gdb: %.*s", (int)MIN(n, (size_t)2000), line);
	if (r == ERR_PROTOCOL) { /* somebody else writes to the same pipe */
		rec.kind = MI_TARGET;
		buf_put(&rec.text, line, n);
		buf_put_u8(&rec.text, '\n');
		r = 0;
	}
	if (r < 0)
		return r;
	if (buf_error(&rec.text))
		return buf_error(&rec.text);
	if (answered(m, &rec) || captured(m, &rec) || !m->opt.record)
		return 0;
	m->in_record = true;
	m->opt.record(m->opt.ctx, &rec);
	m->in_record = false;
	return 0;
}

/* A line that could not be read is lost, no more: a command that waits fails with it, but not before its answer, so that the next one gets its own. */
static int lose_line(struct mi *m, int r)
{
	struct answer *a = m->answer;
	char begin[24];
	int n;

	if (!a || a->done)
		return r;
	n = snprintf(begin, sizeof(begin), "%llu^", (unsigned long long)a->token);
	a->error = r;
	a->done = m->line.len >= (size_t)n && memcmp(m->line.data, begin, (size_t)n) == 0;
	return 0;
}

static int end_line(struct mi *m)
{
	int r = m->too_long ? ERR_LIMIT : buf_error(&m->line);

	if (r == 0)
		r = take_line(m, buf_cstr(&m->line), m->line.len);
	if (r < 0)
		r = lose_line(m, r);
	if (m->line.cap > MI_LINE_KEPT)
		buf_done(&m->line);
	buf_clear(&m->line);
	m->too_long = false;
	return r;
}

/* What is wrong with a line does not keep the next ones from being read: the first error is returned. */
static int take_out(struct mi *m, const char *p, size_t n)
{
	int r = 0;

	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t len = nl ? (size_t)(nl - p) : n;

		if (m->line.len + len > MI_LINE_MAX)
			m->too_long = true;
		if (!m->too_long)
			buf_put(&m->line, p, len);
		if (nl) {
			int e = end_line(m);

			r = r < 0 ? r : e;
		}
		p += len + (nl != NULL);
		n -= len + (nl != NULL);
	}
	return r;
}

/* Keeps the end. */
static int take_err(struct mi *m, const char *p, size_t n)
{
	size_t drop;

	n = MIN(n, (size_t)MI_STDERR_KEPT); /* chunks are no longer */
	drop = m->err_len + n > MI_STDERR_KEPT ? m->err_len + n - MI_STDERR_KEPT : 0;
	memmove(m->err_text, m->err_text + drop, m->err_len - drop);
	m->err_len -= drop;
	memcpy(m->err_text + m->err_len, p, n);
	m->err_len += n;
	return 0;
}

/* --- pipes --- */

/* Reads what is there: at most so many chunks, 0 = all. A pipe that has ended is closed: *fd is -1 then. */
static int drain(struct mi *m, int *fd, unsigned int rounds, int (*take)(struct mi *m, const char *p, size_t n))
{
	char chunk[MI_STDERR_KEPT];
	int r = 0;

	for (unsigned int i = 0; *fd >= 0 && (rounds == 0 || i < rounds); i++) {
		ssize_t n = os_read(*fd, chunk, sizeof(chunk));
		int e;

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			closep(fd);
			*fd = -1;
			break;
		}
		e = take(m, chunk, (size_t)n);
		r = r < 0 ? r : e;
	}
	return r;
}

static void watch_room(struct mi *m, bool want)
{
	struct epoll_event ev = { .events = EPOLLOUT };

	if (want == m->waits_for_room)
		return;
	(void)epoll_ctl(m->epoll, want ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, m->in, &ev);
	m->waits_for_room = want;
}

/* Writes what gdb's input has room for. That gdb has closed it is noticed when it ends. */
static void flush(struct mi *m)
{
	while (m->sent < m->unsent.len) {
		ssize_t n = write(m->in, m->unsent.data + m->sent, m->unsent.len - m->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch_room(m, true);
			return;
		}
		m->sent = n < 0 ? m->unsent.len : m->sent + (size_t)n;
	}
	buf_clear(&m->unsent);
	m->sent = 0;
	watch_room(m, false);
}

/* --- the end of gdb --- */

static bool has_ended(const struct mi *m)
{
	struct pollfd p = { .fd = m->proc.pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* It has closed its output, or was asked to end: it gets a moment. Its children that are still in its group go with it: before it is reaped, as
 * its number is the group's. */
static void reap(struct mi *m)
{
	struct pollfd p = { .fd = m->proc.pidfd, .events = POLLIN };

	(void)poll(&p, 1, MI_END_MS);
	(void)kill(-m->proc.pid, SIGKILL);
	if (proc_wait(&m->proc, MI_END_MS, &m->status) < 0)
		proc_done(&m->proc);
}

static void put_status(struct buf *b, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (WIFSIGNALED(status))
		buf_printf(b, "gdb was killed by SIG%s", name ? name : "?");
	else
		buf_printf(b, "gdb ended with exit code %d", WEXITSTATUS(status));
}

static void put_stderr(struct buf *b, const struct mi *m)
{
	size_t from = m->err_len > MI_STDERR_TOLD ? m->err_len - MI_STDERR_TOLD : 0, n = m->err_len;
	CLEANUP(buf_done) struct buf text = { 0 };

	while (n > from && (m->err_text[n - 1] == '\n' || m->err_text[n - 1] == ' '))
		n--;
	for (size_t i = from; i < n; i++)
		buf_put_u8(&text, m->err_text[i] == '\n' || m->err_text[i] == '\0' ? ' ' : (uint8_t)m->err_text[i]);
	if (text.len == 0)
		return;
	buf_printf(b, ": ");
	buf_put_safe(b, buf_cstr(&text));
}

static int tell_gone(const struct mi *m, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	put_status(&b, m->status);
	put_stderr(&b, m);
	return errinfo_set(ei, ERR_GUEST_GONE, "%s", buf_cstr(&b));
}

/* --- reading --- */

int mi_read(struct mi *m, struct errinfo *ei)
{
	bool ended;
	int r;

	must(!m->in_record);
	if (m->gone)
		return tell_gone(m, ei);
	flush(m);
	ended = has_ended(m); /* first: what it wrote before is read to the end */
	(void)drain(m, &m->err, ended ? 0 : MI_READ_ROUNDS, take_err);
	r = drain(m, &m->out, ended ? 0 : MI_READ_ROUNDS, take_out);
	if (ended || m->out < 0) {
		m->gone = true;
		reap(m);
		return tell_gone(m, ei);
	}
	return r < 0 ? errinfo_set_r(ei, r, "read what gdb tells") : 0;
}

static int wait_for_gdb(struct mi *m)
{
	struct pollfd p = { .fd = m->epoll, .events = POLLIN };

	if (m->opt.wait)
		return m->opt.wait(m->opt.ctx, m->epoll);
	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* Until the answer is there. An answer counts also when gdb has ended right behind it. */
static int pump(struct mi *m, struct answer *a, struct errinfo *ei)
{
	int r = 0;

	flush(m);
	while (!a->done && r >= 0) {
		r = wait_for_gdb(m);
		if (r < 0)
			(void)errinfo_set_r(ei, r, "wait for gdb");
		else if (!a->done) /* the other work may have read it */
			r = mi_read(m, ei);
	}
	return a->done ? 0 : r;
}

/* --- commands --- */

static int tell_error(const struct answer *a, struct errinfo *ei)
{
	const char *msg = mi_str(a->values, "msg");

	if (strcmp(a->name, "error") != 0)
		return 0;
	return errinfo_set(ei, -EREMOTEIO, "%s", msg && *msg ? msg : "gdb tells an error without saying which");
}

/* line: without token and newline. */
static int ask(struct mi *m, struct buf *line, struct answer *a, struct errinfo *ei)
{
	int r;

	must(!m->in_record && !m->answer);
	if (buf_error(line))
		return errinfo_set_r(ei, buf_error(line), "ask gdb");
	if (memchr(line->data, '\n', line->len))
		return errinfo_set(ei, -EINVAL, "ask gdb: a line break in the command");
	if (line->len > MI_COMMAND_MAX)
		return errinfo_set(ei, ERR_LIMIT, "ask gdb: a command of %zu bytes is too long", line->len);
	if (m->gone)
		return tell_gone(m, ei);
	a->token = ++m->token;
	log_trace("gdb < %s", buf_cstr(line));
	buf_printf(&m->unsent, "%llu", (unsigned long long)a->token);
	buf_put(&m->unsent, line->data, line->len);
	buf_put_u8(&m->unsent, '\n');
	if (buf_error(&m->unsent))
		return errinfo_set_r(ei, buf_error(&m->unsent), "ask gdb");
	m->answer = a;
	r = pump(m, a, ei);
	m->answer = NULL;
	if (r == 0 && a->error)
		return errinfo_set_r(ei, a->error, "read what gdb answers");
	return r < 0 ? r : tell_error(a, ei);
}

static void put_format(struct buf *b, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		b->error = -ENOMEM;
	else
		buf_put(b, text, strlen(text));
	free(text);
}

int mi_command(struct mi *m, json_t **ret, struct errinfo *ei, const char *fmt, ...)
{
	CLEANUP(answer_done) struct answer a = { 0 };
	CLEANUP(buf_done) struct buf line = { 0 };
	va_list ap;
	int r;

	va_start(ap, fmt);
	put_format(&line, fmt, ap);
	va_end(ap);
	r = ask(m, &line, &a, ei);
	if (r == 0 && ret)
		*ret = TAKE(a.values);
	return r;
}

/* text: a line of gdb's console. thread 0: where gdb stands. */
static int console(struct mi *m, int thread, int level, struct buf *text, struct buf *out, struct errinfo *ei)
{
	CLEANUP(answer_done) struct answer a = { .capture = true, .out = out };
	CLEANUP(buf_done) struct buf line = { 0 };
	int r;

	if (buf_error(text))
		return errinfo_set_r(ei, buf_error(text), "ask gdb");
	if (memchr(text->data, '\n', text->len))
		return errinfo_set(ei, -EINVAL, "ask gdb: a line break in the command");
	buf_printf(&line, "-interpreter-exec ");
	if (thread)
		buf_printf(&line, "--thread %d --frame %d ", thread, level);
	buf_printf(&line, "console ");
	mi_quote(&line, buf_cstr(text));
	r = ask(m, &line, &a, ei);
	if (r == 0 && out && buf_error(out))
		return errinfo_set_r(ei, buf_error(out), "keep what gdb printed");
	return r;
}

int mi_console(struct mi *m, struct buf *out, struct errinfo *ei, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	put_format(&text, fmt, ap);
	va_end(ap);
	return console(m, 0, 0, &text, out, ei);
}

int mi_console_in(struct mi *m, int thread, int level, struct buf *out, struct errinfo *ei, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	put_format(&text, fmt, ap);
	va_end(ap);
	return console(m, thread, level, &text, out, ei);
}

void mi_interrupt(struct mi *m)
{
	(void)proc_signal(&m->proc, SIGINT);
}

/* --- life --- */

struct pipes {
	int in[2], out[2], err[2]; /* [0] is read, [1] written */
};

static void pipes_done(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		closep(&p->in[i]);
		closep(&p->out[i]);
		closep(&p->err[i]);
	}
}

static int make_pipe(int p[2], int ours)
{
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	return fcntl(p[ours], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Our environment but for the language: gdb's texts are compared, and its strings shall be UTF-8. Owned, its strings are borrowed; NULL when out of memory. */
static const char **gdb_environment(void)
{
	size_t n = 0, kept = 0;
	const char **env;

	while (environ[n])
		n++;
	env = os_calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	env[kept++] = "LC_ALL=C.UTF-8";
	for (size_t i = 0; i < n; i++)
		if (!str_has_prefix(environ[i], "LC_ALL=") && !str_has_prefix(environ[i], "LANGUAGE="))
			env[kept++] = environ[i];
	return env;
}

static int spawn(struct mi *m, struct errinfo *ei)
{
	CLEANUP(pipes_done) struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct proc_options opt = { .argv = m->opt.argv, .new_group = true, .die_with_us = true };
	CLEANUP(freep) const char **env = gdb_environment();
	int r;

	if (!env)
		return errinfo_set_r(ei, -ENOMEM, "start gdb");
	opt.envp = env;
	if ((r = make_pipe(p.in, 1)) < 0 || (r = make_pipe(p.out, 0)) < 0 || (r = make_pipe(p.err, 0)) < 0)
		return errinfo_set_r(ei, r, "make a pipe to gdb");
	opt.fds = (const struct proc_fd[]){ { p.in[0], 0 }, { p.out[1], 1 }, { p.err[1], 2 } };
	opt.n_fds = 3;
	r = proc_spawn(&opt, &m->proc);
	if (r < 0)
		return errinfo_set_r(ei, r, "start %s", m->opt.argv[0] ? m->opt.argv[0] : "gdb");
	m->in = TAKE_FD(p.in[1]);
	m->out = TAKE_FD(p.out[0]);
	m->err = TAKE_FD(p.err[0]);
	return 0;
}

static int watch(struct mi *m)
{
	const int fds[] = { m->out, m->err, m->proc.pidfd };

	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event ev = { .events = EPOLLIN };

		if (epoll_ctl(m->epoll, EPOLL_CTL_ADD, fds[i], &ev) < 0)
			return -errno;
	}
	return 0;
}

int mi_start(const struct mi_options *opt, struct mi **ret, struct errinfo *ei)
{
	CLEANUP(mi_freep) struct mi *m = os_calloc(1, sizeof(*m));
	int r;

	if (!m)
		return errinfo_set_r(ei, -ENOMEM, "start gdb");
	*m = (struct mi){ .opt = *opt, .proc = PROC_NONE, .in = -1, .out = -1, .err = -1, .epoll = -1 };
	r = spawn(m, ei);
	if (r < 0)
		return r;
	m->opt.argv = NULL; /* was borrowed for the call */
	r = watch(m);
	if (r < 0)
		return errinfo_set_r(ei, r, "watch gdb");
	*ret = TAKE(m);
	return 0;
}

void mi_free(struct mi *m)
{
	if (!m)
		return;
	must(!m->in_record && !m->answer);
	closep(&m->in);
	if (m->proc.pid > 0)
		reap(m);
	closep(&m->out);
	closep(&m->err);
	closep(&m->epoll);
	buf_done(&m->line);
	buf_done(&m->unsent);
	free(m);
}

void mi_freep(struct mi **m)
{
	mi_free(*m);
}

int mi_fd(const struct mi *m)
{
	return m->epoll;
}

pid_t mi_pid(const struct mi *m)
{
	return m->proc.pid;
}
