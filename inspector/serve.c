/* The protocol: lines in, one answer each. While a replay is under way the lines that come are looked at as well, for the one that ends it. */
#define LOG_AREA "inspector"
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"

#define PROGRESS_NS 200000000ull

struct server {
	struct inspector in;
	int fd;
	struct buf input;              /* not parsed yet */
	struct request queue[INSPECT_QUEUE_MAX];
	size_t n_queued;
	uint64_t now;                  /* id of the request that is worked at */
	bool working, cancelled, closed;
	int error;                     /* of the descriptor */
	uint64_t told_ns;              /* when progress was told last */
};

typedef int (*answer_fn)(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei);

/* clang-format off */
static const answer_fn answers[OP_MAX_] = {
	[OP_STACK] = answer_stack, [OP_REGISTERS] = answer_registers, [OP_MAPS] = answer_maps, [OP_THREADS] = answer_threads,
	[OP_MEMORY] = answer_memory, [OP_SOURCE] = answer_source,
};
/* clang-format on */

/* --- output --- */

static void send_line(struct server *s, json_t *j)
{
	char *text CLEANUP(freep) = NULL;
	size_t len = 0;
	int r = j ? jsonx_dump(j, JSON_COMPACT, &text, &len) : -ENOMEM;

	if (r >= 0) {
		text[len] = '\n'; /* in place of its NUL */
		r = os_write_full(s->fd, text, len + 1);
	}
	if (r < 0 && !s->error)
		s->error = r;
}

static void send_error(struct server *s, uint64_t id, int r, const struct errinfo *ei)
{
	json_t *error CLEANUP(jsonx_unrefp) = json_object(), *line CLEANUP(jsonx_unrefp) = json_object();
	const char *text = ei->text[0] ? ei->text : err_str(r);
	bool ok = jsonx_set_i64(error, "code", r) >= 0 && jsonx_set_str(error, "name", err_name(r)) >= 0 &&
		  jsonx_set_new(error, "text", jsonx_string_lossy(text, strlen(text))) >= 0 &&
		  (!ei->event || jsonx_set_u64(error, "event", ei->event) >= 0);

	if (ok)
		ok = jsonx_set_u64(line, "id", id) >= 0 && jsonx_set_new(line, "error", json_incref(error)) >= 0;
	send_line(s, ok ? line : NULL);
}

static void send_result(struct server *s, uint64_t id, json_t *result)
{
	json_t *line CLEANUP(jsonx_unrefp) = json_object();
	bool ok = jsonx_set_u64(line, "id", id) >= 0 && jsonx_set_new(line, "result", result) >= 0;

	send_line(s, ok ? line : NULL);
}

static void send_progress(struct server *s, const struct dbg_progress *p)
{
	json_t *line CLEANUP(jsonx_unrefp) = NULL;

	if (os_mono_ns() - s->told_ns < PROGRESS_NS)
		return;
	s->told_ns = os_mono_ns();
	line = json_pack("{s:I, s:{s:I, s:I}}", "id", (json_int_t)s->now, "progress", "event", (json_int_t)p->event, "total",
			 (json_int_t)p->total);
	send_line(s, line);
}

/* --- input --- */

static void cancel(struct server *s, const struct request *q)
{
	if (s->working && (!q->has_target || q->target == s->now))
		s->cancelled = true;
	for (size_t i = 0; q->has_target && i < s->n_queued; i++) {
		struct errinfo ei = { 0 };

		if (s->queue[i].id != q->target)
			continue;
		memmove(&s->queue[i], &s->queue[i + 1], (s->n_queued - i - 1) * sizeof(s->queue[0]));
		s->n_queued--;
		send_error(s, q->target, ERR_INTERRUPTED, &ei);
		return;
	}
}

static void take_line(struct server *s, const char *line, size_t len)
{
	struct errinfo ei = { 0 };
	struct request q;
	int r = request_parse(line, len, &q, &ei);

	if (r < 0)
		send_error(s, q.id, r, &ei);
	else if (q.op == OP_CANCEL)
		cancel(s, &q);
	else if (s->n_queued == INSPECT_QUEUE_MAX)
		send_error(s, q.id, ERR_LIMIT, &ei);
	else
		s->queue[s->n_queued++] = q;
}

/* Whole lines of the input. */
static void take_lines(struct server *s)
{
	size_t done = 0;

	for (;;) {
		const uint8_t *begin = s->input.data + done;
		const uint8_t *end = s->input.len > done ? memchr(begin, '\n', s->input.len - done) : NULL;

		if (!end)
			break;
		if (end > begin)
			take_line(s, (const char *)begin, (size_t)(end - begin));
		done += (size_t)(end - begin) + 1;
	}
	if (done) {
		memmove(s->input.data, s->input.data + done, s->input.len - done);
		s->input.len -= done;
	}
	if (s->input.len > INSPECT_LINE_MAX)
		s->error = ERR_LIMIT; /* what follows could not be told from the rest of this line */
}

/* Reads what is there; waits for something when wait is set. */
static void read_input(struct server *s, bool wait)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	uint8_t part[1 << 14];
	ssize_t n;

	while (poll(&p, 1, wait ? -1 : 0) > 0) {
		wait = false;
		n = os_read(s->fd, part, sizeof(part));
		if (n == -EAGAIN)
			continue;
		if (n <= 0) {
			s->closed = true;
			s->error = n < 0 && n != -ECONNRESET ? (int)n : s->error;
			return;
		}
		buf_put(&s->input, part, (size_t)n);
		if (buf_error(&s->input))
			s->error = buf_error(&s->input);
		take_lines(s);
		if (s->error)
			return;
	}
}

static bool interrupted(void *ctx, const struct dbg_progress *p)
{
	struct server *s = ctx;

	read_input(s, false);
	send_progress(s, p);
	return s->cancelled || s->closed || s->error;
}

/* --- work --- */

static void serve_one(struct server *s, const struct request *q)
{
	json_t *result = NULL;
	struct errinfo ei = { 0 };
	int r;

	s->now = q->id;
	s->working = true;
	s->cancelled = false;
	s->told_ns = os_mono_ns();
	s->in.request_fd = s->fd;
	s->in.request_id = q->id;
	r = answers[q->op](&s->in, q, &result, &ei);
	s->working = false;
	if (r < 0)
		send_error(s, q->id, r, &ei);
	else
		send_result(s, q->id, result);
}

static int serve(struct server *s)
{
	while (!s->error) {
		struct request q;

		read_input(s, !s->n_queued);
		if (s->closed || s->error)
			break;
		if (!s->n_queued)
			continue;
		q = s->queue[0];
		s->n_queued--;
		memmove(&s->queue[0], &s->queue[1], s->n_queued * sizeof(s->queue[0]));
		serve_one(s, &q);
	}
	return s->closed ? 0 : s->error;
}

int inspector_serve(struct store *st, const struct inspector_options *opt, int fd, struct errinfo *ei)
{
	struct server *s CLEANUP(freep) = os_calloc(1, sizeof(*s));
	int r;

	if (!s)
		return errinfo_set_r(ei, -ENOMEM, "serve recording %s", opt->recording.hex);
	signal(SIGPIPE, SIG_IGN);
	s->fd = fd;
	s->in = (struct inspector){ .store = st, .opt = opt, .interrupted = interrupted, .ctx = s };
	r = serve(s);
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0; /* nobody asks any more */
	if (r < 0)
		errinfo_set_r(ei, r, "serve recording %s", opt->recording.hex);
	buf_done(&s->input);
	source_done(&s->in);
	modules_done(&s->in);
	position_done(&s->in);
	return r;
}
