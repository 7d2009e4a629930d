/* See ask.h. A child, because debugging information comes from strangers: what it does to the reader ends the child alone. */
#include "cli/ask.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "cli/fail.h"
#include "cli/term.h"

static NORETURN void serve(struct store *s, const struct inspector_options *opt, int fd, pid_t parent)
{
	struct errinfo ei = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_INTERNAL);
	_exit(inspector_serve(s, opt, fd, &ei) < 0 ? EXIT_INTERNAL : 0);
}

int ask_start(struct ask *a, struct store *s, const struct inspector_options *opt)
{
	pid_t parent = getpid();
	int fds[2];

	*a = (struct ask){ .child = PROC_NONE, .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	fflush(NULL);
	a->fd = fds[0];
	a->child.pid = fork();
	if (a->child.pid == 0) {
		close(fds[0]);
		serve(s, opt, fds[1], parent);
	}
	close(fds[1]);
	if (a->child.pid < 0) {
		a->child.pid = 0;
		return -errno;
	}
	a->child.pidfd = (int)syscall(SYS_pidfd_open, a->child.pid, 0);
	return a->child.pidfd < 0 ? -errno : 0;
}

void ask_done(struct ask *a)
{
	closep(&a->fd);
	proc_done(&a->child);
	buf_done(&a->input);
}

static int send_request(struct ask *a, json_t *request)
{
	char *text CLEANUP(freep) = NULL;
	size_t len = 0, sent = 0;
	int r = request ? jsonx_set_u64(request, "id", ++a->last_id) : -ENOMEM;

	if (r >= 0)
		r = jsonx_dump(request, JSON_COMPACT, &text, &len);
	if (r < 0)
		return r;
	text[len++] = '\n'; /* in place of its NUL */
	while (sent < len) {
		ssize_t n = send(a->fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? ERR_GUEST_GONE : -errno;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The next line as JSON. */
static int receive(struct ask *a, json_t **ret, struct errinfo *ei)
{
	for (;;) {
		const uint8_t *end = a->input.len ? memchr(a->input.data, '\n', a->input.len) : NULL;
		uint8_t part[1 << 14];
		ssize_t n;

		if (end) {
			size_t len = (size_t)(end - a->input.data);
			int r = jsonx_parse((const char *)a->input.data, len, ret, ei);

			memmove(a->input.data, end + 1, a->input.len - len - 1);
			a->input.len -= len + 1;
			return r;
		}
		n = os_read(a->fd, part, sizeof(part));
		if (n <= 0)
			return n < 0 && n != -ECONNRESET ? (int)n : errinfo_set(ei, ERR_GUEST_GONE, "the inspector died");
		buf_put(&a->input, part, (size_t)n);
		if (buf_error(&a->input) < 0)
			return buf_error(&a->input);
	}
}

static int refused(const json_t *error, struct errinfo *ei)
{
	const char *text = "";
	int64_t code = ERR_PROTOCOL;

	if (jsonx_get_i64(error, "code", &code) < 0 || code >= 0 || code < INT32_MIN || jsonx_get_str(error, "text", &text) < 0)
		return errinfo_set(ei, ERR_PROTOCOL, "the inspector gave an answer that is none");
	return errinfo_set(ei, (int)code, "%s", text);
}

static void show_progress(const json_t *progress)
{
	uint64_t event, total;

	if (jsonx_get_u64(progress, "event", &event) >= 0 && jsonx_get_u64(progress, "total", &total) >= 0 &&
	    term_progress_count("events", event, total) < 0)
		return; /* signals end the process as it is */
}

int ask_for(struct ask *a, json_t *request, json_t **ret, struct errinfo *ei)
{
	int r = send_request(a, request);

	json_decref(request);
	term_progress_watch("replaying");
	while (r >= 0) {
		json_t *line CLEANUP(jsonx_unrefp) = NULL, *part;

		r = receive(a, &line, ei);
		if (r < 0)
			break;
		if (jsonx_get_object(line, "progress", &part) >= 0) {
			show_progress(part);
			continue;
		}
		if (jsonx_get_object(line, "result", &part) >= 0)
			*ret = json_incref(part);
		else
			r = refused(json_object_get(line, "error"), ei);
		break;
	}
	term_progress_end();
	return r;
}
