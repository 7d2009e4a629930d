/* The replay server as a child: starts it, waits until it serves, passes on what it says. */
#define LOG_AREA "dap.server"
#include "dap/dap_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

#define WORDS_MAX 32u
#define SAID_MAX 4096u
#define LINE_MAX_BYTES 4096u

/* What programs look for, not people (cli/fail.h). */
#define MARKER "HERMIT_INTERNAL_FAILURE "
#define ERROR_MARK "Error: "

static void keep_line(struct dap *d)
{
	struct dap_server *s = &d->server;
	const char *line = buf_cstr(&s->line);

	if (str_has_prefix(line, MARKER)) {
		buf_clear(&s->line);
		return;
	}
	if (str_has_prefix(line, ERROR_MARK))
		line += strlen(ERROR_MARK);
	if (s->said.len + s->line.len > SAID_MAX)
		buf_clear(&s->said);
	buf_printf(&s->said, "%s%s", s->said.len ? "\n" : "", line);
	/* while it starts, this becomes the error of launch */
	if (d->state >= DAP_CONFIG && s->line.len)
		dap_say(d, "console", "%s\n", line);
	buf_clear(&s->line);
}

void server_read(struct dap *d)
{
	struct dap_server *s = &d->server;
	char chunk[4096];
	ssize_t n = os_read(s->err_fd, chunk, sizeof(chunk));

	for (ssize_t i = 0; i < n; i++) {
		if (chunk[i] != '\n')
			buf_put_u8(&s->line, (uint8_t)chunk[i]);
		if (chunk[i] == '\n' || s->line.len >= LINE_MAX_BYTES)
			keep_line(d);
	}
	if (n > 0)
		return;
	if (s->line.len)
		keep_line(d);
	closep(&s->err_fd);
	s->err_fd = -1;
}

/* It says a line on stdout when it serves. */
static int wait_ready(struct dap *d, int fd)
{
	char c;

	for (;;) {
		int r = dap_wait_fd(d, fd, 200);
		ssize_t n;

		if (r < 0)
			return r;
		dap_progress(d, "Opening the recording");
		if (r == 0 && d->cancelled)
			return ERR_INTERRUPTED;
		if (r == 0)
			continue;
		n = os_read(fd, &c, 1);
		if (n == 1 && c == '\n')
			return 0;
		if (n > 0)
			continue;
		while (d->server.err_fd >= 0) /* it has ended: the rest of what it said is there, or coming */
			server_read(d);
		return errinfo_set(&d->ei, ERR_GUEST_GONE, "%s", d->server.said.len ? buf_cstr(&d->server.said) : "the replay server ended at once");
	}
}

static int spawn_server(struct dap *d, const char *const *argv, int *ret_out)
{
	int out[2], err[2], null CLEANUP(closep) = os_open("/dev/null", O_RDONLY, 0);
	int r;

	if (null < 0 || pipe2(out, O_CLOEXEC) < 0)
		return null < 0 ? null : -errno;
	if (pipe2(err, O_CLOEXEC) < 0) {
		r = -errno;
		closep(&out[0]);
		closep(&out[1]);
		return r;
	}
	struct proc_fd fds[] = { { null, 0 }, { out[1], 1 }, { err[1], 2 } };
	struct proc_options po = { .argv = argv, .fds = fds, .n_fds = ARRAY_SIZE(fds), .new_group = true, .die_with_us = true };

	r = proc_spawn(&po, &d->server.proc);
	closep(&out[1]);
	closep(&err[1]);
	if (r < 0) {
		closep(&out[0]);
		closep(&err[0]);
		return errinfo_set_r(&d->ei, r, "cannot start %s", argv[0]);
	}
	d->server.err_fd = err[0];
	*ret_out = out[0];
	return 0;
}

int server_start(struct dap *d, const char *const *words, size_t n)
{
	char *socket CLEANUP(freep) = os_asprintf("%s/gdb", d->dir);
	const char *argv[WORDS_MAX + 8] = { d->opt.hermit, "replay", "--gdbserver-socket", socket };
	size_t at = 4;
	int out CLEANUP(closep) = -1;
	int r;

	if (!socket)
		return -ENOMEM;
	must(n <= WORDS_MAX);
	if (d->opt.data_dir) {
		argv[at++] = "--data-dir";
		argv[at++] = d->opt.data_dir;
	}
	for (size_t i = 0; i < n; i++)
		argv[at++] = words[i];
	r = spawn_server(d, argv, &out);
	return r < 0 ? r : wait_ready(d, out);
}

void server_stop(struct dap *d)
{
	int status;

	if (d->server.proc.pid && proc_signal(&d->server.proc, SIGTERM) >= 0 && proc_wait(&d->server.proc, 2000, &status) < 0)
		log_warn("the replay server does not end: it is killed");
	proc_done(&d->server.proc);
	closep(&d->server.err_fd);
	d->server.err_fd = -1;
}
