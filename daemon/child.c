/* See child_priv.h.
 *
 * What it wrote is read to the end before ended() is called, but only what is there by then: its own children may hold the pipes open.
 */
#include "daemon/child_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "daemon/limits_priv.h"

#define LOG_AREA "daemon.child"
#include "base/log.h"

struct child {
	struct loop *loop;
	char *name;
	struct proc proc;
	pid_t pid;
	int lines_fd, err_fd;
	struct loop_source *lines_source, *err_source, *end_source;
	struct buf line; /* unfinished */
	bool too_long;   /* the rest of this line is dropped */
	char err[CHILD_STDERR_KEPT + 1];
	size_t err_len;
	void (*on_line)(void *ctx, const char *line);
	void (*on_end)(void *ctx, const char *error);
	void *ctx;
};

/* --- what it says --- */

static void take_lines(struct child *c, const char *p, size_t n)
{
	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t len = nl ? (size_t)(nl - p) : n;

		if (c->line.len + len > CHILD_TOLD_MAX)
			c->too_long = true;
		if (!c->too_long)
			buf_put(&c->line, p, len);
		if (nl) {
			if (!c->too_long && !buf_error(&c->line) && c->on_line)
				c->on_line(c->ctx, buf_cstr(&c->line));
			buf_clear(&c->line);
			c->too_long = false;
		}
		p += len + (nl != NULL);
		n -= len + (nl != NULL);
	}
}

/* Keeps the end. */
static void take_err(struct child *c, const char *p, size_t n)
{
	size_t drop;

	if (n > CHILD_STDERR_KEPT) {
		p += n - CHILD_STDERR_KEPT;
		n = CHILD_STDERR_KEPT;
	}
	drop = c->err_len + n > CHILD_STDERR_KEPT ? c->err_len + n - CHILD_STDERR_KEPT : 0;
	memmove(c->err, c->err + drop, c->err_len - drop);
	c->err_len -= drop;
	memcpy(c->err + c->err_len, p, n);
	c->err_len += n;
}

/* Reads what is there. False at the end of the pipe. */
static bool drain(struct child *c, int fd, void (*take)(struct child *c, const char *p, size_t n))
{
	char chunk[4096];

	/* a child that never stops writing must not keep the loop for itself */
	for (int rounds = 0; rounds < 64; rounds++) {
		ssize_t n = os_read(fd, chunk, sizeof(chunk));

		if (n <= 0)
			return n == -EAGAIN;
		take(c, chunk, (size_t)n);
	}
	return true;
}

static int on_lines(void *ctx, uint32_t events UNUSED)
{
	struct child *c = ctx;

	if (!drain(c, c->lines_fd, take_lines)) {
		loop_remove(c->lines_source);
		c->lines_source = NULL;
	}
	return 0;
}

static int on_err(void *ctx, uint32_t events UNUSED)
{
	struct child *c = ctx;

	if (!drain(c, c->err_fd, take_err)) {
		loop_remove(c->err_source);
		c->err_source = NULL;
	}
	return 0;
}

/* --- its end --- */

/* "hermit: cannot X\nhermit: Y\n" -> "cannot X; Y" */
static void put_messages(struct buf *b, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		while (*line == ' ' || *line == '\t')
			line++;
		if (str_has_prefix(line, "hermit: "))
			line += strlen("hermit: ");
		if (str_has_prefix(line, "error: "))
			line += strlen("error: ");
		if (!*line)
			continue;
		if (b->len)
			buf_put(b, "; ", 2);
		buf_put_printable(b, line);
	}
}

static void put_signal(struct buf *b, int signo)
{
	const char *name = sigabbrev_np(signo);

	buf_printf(b, "killed by SIG%s", name ? name : "?");
	if (signo == SIGKILL)
		buf_printf(b, " (out of memory, or by hand)");
}

static void put_ending(struct buf *b, struct child *c, int status)
{
	struct buf said CLEANUP(buf_done);

	buf_init(&said);
	c->err[c->err_len] = '\0';
	put_messages(&said, c->err);
	if (WIFSIGNALED(status))
		put_signal(b, WTERMSIG(status));
	else if (!said.len)
		buf_printf(b, "ended with exit code %d and said nothing", WEXITSTATUS(status));
	if (said.len && b->len)
		buf_put(b, ": ", 2);
	buf_put(b, said.data, said.len);
}

static int on_end(void *ctx)
{
	struct child *c = ctx;
	struct buf why CLEANUP(buf_done);
	int status = 0, r = proc_wait(&c->proc, 0, &status);

	buf_init(&why);
	(void)!drain(c, c->lines_fd, take_lines);
	(void)!drain(c, c->err_fd, take_err);
	if (r < 0)
		buf_printf(&why, "cannot be waited for: %s", err_str(r));
	else if (status != 0)
		put_ending(&why, c, status);
	log_debug("%s (%d) ended: %s", c->name, (int)c->pid, why.len ? buf_cstr(&why) : "fine");
	c->on_end(c->ctx, why.len ? buf_cstr(&why) : NULL);
	child_free(c);
	return 0;
}

/* --- start --- */

static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* ours alone does not block */
	if (fcntl(fds[1], F_SETFL, 0) < 0) {
		close(fds[0]);
		close(fds[1]);
		return -errno;
	}
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

static int spawn(struct child *c, const struct child_options *opt)
{
	int null CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0);
	int lines CLEANUP(closep) = -1, err CLEANUP(closep) = -1;
	struct proc_fd fds[5] = { { null, 0 } };
	struct proc_options po = { .argv = opt->argv, .envp = opt->envp, .fds = fds, .new_group = true, .die_with_us = true };
	int r = null < 0 ? null : make_pipe(&c->lines_fd, &lines);

	if (r == 0)
		r = make_pipe(&c->err_fd, &err);
	if (r < 0)
		return r;
	fds[1] = (struct proc_fd){ err, 2 };
	fds[2] = (struct proc_fd){ lines, opt->lines_fd };
	po.n_fds = 3;
	if (opt->lines_fd != 1)
		fds[po.n_fds++] = (struct proc_fd){ null, 1 };
	if (opt->fd.child)
		fds[po.n_fds++] = opt->fd;
	return proc_spawn(&po, &c->proc);
}

int child_start(struct loop *l, const struct child_options *opt, struct child **ret)
{
	struct child *c = os_calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct child){ .loop = l, .proc = PROC_NONE, .lines_fd = -1, .err_fd = -1, .on_line = opt->line, .on_end = opt->ended,
			     .ctx = opt->ctx };
	buf_init(&c->line);
	c->name = os_strdup(opt->name);
	r = c->name ? spawn(c, opt) : -ENOMEM;
	c->pid = c->proc.pid;
	if (r == 0)
		r = loop_add_io(l, c->name, c->lines_fd, EPOLLIN, on_lines, c, &c->lines_source);
	if (r == 0)
		r = loop_add_io(l, c->name, c->err_fd, EPOLLIN, on_err, c, &c->err_source);
	if (r == 0)
		r = loop_add_child(l, c->name, c->proc.pidfd, on_end, c, &c->end_source);
	if (r < 0) {
		child_free(c);
		return r;
	}
	log_debug("%s started: %s as process %d", c->name, opt->argv[0], (int)c->pid);
	*ret = c;
	return 0;
}

void child_signal(struct child *c, int signo)
{
	/* not reaped yet, so the number is still its own */
	if (c->proc.pid > 0)
		(void)kill(-c->proc.pid, signo);
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

void child_free(struct child *c)
{
	if (!c)
		return;
	loop_remove(c->lines_source);
	loop_remove(c->err_source);
	loop_remove(c->end_source);
	child_signal(c, SIGKILL);
	proc_done(&c->proc);
	closep(&c->lines_fd);
	closep(&c->err_fd);
	buf_done(&c->line);
	free(c->name);
	free(c);
}
