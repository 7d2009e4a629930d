/* Messages to the client: responses, events, progress. */
#define LOG_AREA "dap.wire"
#include "dap/dap_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "base/str.h"

#define OUT_MAX (256u << 20) /* waits for a client that does not read: it is given up */
#define PROGRESS_AFTER_NS UINT64_C(250000000)
#define PROGRESS_EVERY_NS UINT64_C(200000000)

uint64_t dap_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Takes msg over. */
static void send_message(struct dap *d, const char *type, json_t *msg)
{
	int r = msg ? jsonx_set_i64(msg, "seq", ++d->seq) : -ENOMEM;

	if (r >= 0)
		r = jsonx_set_str(msg, "type", type);
	if (r >= 0)
		r = frame_write(msg, &d->out);
	if (r >= 0 && d->out.len - d->out_sent > OUT_MAX)
		r = ERR_LIMIT;
	jsonx_unrefp(&msg);
	if (r < 0) {
		(void)log_error_r(r, "cannot send a message to the client");
		d->leaving = d->done = true;
	}
}

/* A message of two members; content is taken over. */
static void send_named(struct dap *d, const char *type, const char *key, const char *name, const char *member, json_t *content)
{
	send_message(d, type, content ? json_pack("{ss so}", key, name, member, content) : NULL);
}

void dap_event(struct dap *d, const char *name, json_t *body)
{
	send_named(d, "event", "event", name, "body", body);
}

/* The members of a failed answer. */
static int put_failure(struct dap *d, json_t *msg, int r)
{
	const char *why = r == ERR_INTERRUPTED ? "cancelled" : d->ei.text[0] ? d->ei.text : err_str(r);
	/* a dialog of the editor is for what the user asked for with a click, not for what it looks up by itself */
	bool show = r == -EROFS || d->state <= DAP_READY;
	json_t *text = jsonx_string_lossy(why, strlen(why));
	json_t *error = text ? json_pack("{s{si ss s{sO} sb}}", "error", "id", -r, "format", "{text}", "variables", "text", text, "showUser", show) : NULL;
	int r2 = jsonx_set_new(msg, "message", text);

	return r2 < 0 ? (jsonx_unrefp(&error), r2) : jsonx_set_new(msg, "body", error);
}

void dap_respond(struct dap *d, const json_t *request, int r, json_t *body)
{
	json_t *command = json_object_get(request, "command");
	json_t *msg = json_pack("{sO sO sb}", "request_seq", json_object_get(request, "seq"), "command", command, "success", r >= 0);
	int r2 = msg ? 0 : -ENOMEM;

	if (r2 >= 0 && r < 0)
		r2 = put_failure(d, msg, r);
	else if (r2 >= 0 && body && json_object_size(body))
		r2 = jsonx_set_new(msg, "body", json_incref(body));
	if (r2 < 0)
		jsonx_unrefp(&msg);
	send_message(d, "response", msg);
}

void dap_reverse_request(struct dap *d, const char *command, json_t *arguments)
{
	send_named(d, "request", "command", command, "arguments", arguments);
}

void dap_say(struct dap *d, const char *category, const char *fmt, ...)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	dap_event(d, "output", json_pack("{ss so}", "category", category, "output", jsonx_string_lossy(line, (size_t)n)));
	freep(&line);
}

/* --- progress --- */

static json_t *progress_body(struct dap *d, const char *message)
{
	char id[32];

	snprintf(id, sizeof(id), "progress-%" PRIu64, d->progress.id);
	return json_pack("{ss ss*}", "progressId", id, "message", message);
}

static void start_progress(struct dap *d, const char *title)
{
	json_t *body;

	d->progress.id++;
	body = progress_body(d, NULL);
	if (body && (jsonx_set_str(body, "title", title) < 0 || jsonx_set_bool(body, "cancellable", true) < 0))
		jsonx_unrefp(&body);
	dap_event(d, "progressStart", body);
}

/* How far it is nobody knows: how long it has taken is shown. */
static void update_progress(struct dap *d, uint64_t now)
{
	struct buf passed CLEANUP(buf_done) = { 0 };

	buf_put_duration(&passed, now - d->progress.began_ns);
	dap_event(d, "progressUpdate", progress_body(d, buf_cstr(&passed)));
}

void dap_progress(struct dap *d, const char *title)
{
	struct dap_progress *p = &d->progress;
	uint64_t now = dap_now_ns();

	if (!d->client.progress)
		return;
	if (!p->began_ns)
		p->began_ns = now;
	if (now - p->began_ns < PROGRESS_AFTER_NS || (p->shown_ns && now - p->shown_ns < PROGRESS_EVERY_NS))
		return;
	if (p->shown_ns)
		update_progress(d, now);
	else
		start_progress(d, title);
	p->shown_ns = now;
}

void dap_progress_end(struct dap *d)
{
	if (d->progress.shown_ns)
		dap_event(d, "progressEnd", progress_body(d, NULL));
	d->progress.began_ns = d->progress.shown_ns = 0;
}
