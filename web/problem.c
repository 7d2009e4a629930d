/* application/problem+json: one table of codes, one of our errors. */
#define LOG_AREA "web.problem"
#include "web/server_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/log.h"

#define DETAIL_BYTES 2048

static const struct {
	const char *code, *title;
} titles[] = {
	{ "bad-request", "The request is not understood" },
	{ "unauthorized", "A token is needed" },
	{ "forbidden", "Not allowed" },
	{ "read-only", "This server changes nothing" },
	{ "not-found", "There is no such thing" },
	{ "no-such-recording", "There is no such recording" },
	{ "no-such-event", "There is no such event" },
	{ "method-not-allowed", "The method does not fit" },
	{ "not-acceptable", "No such form of the answer" },
	{ "conflict", "Not in its present state" },
	{ "busy", "In use" },
	{ "precondition-failed", "It has changed meanwhile" },
	{ "too-large", "Too large" },
	{ "unsupported-media-type", "A body of another type is needed" },
	{ "range-not-satisfiable", "There are not so many bytes" },
	{ "wrong-host", "This server does not go by that name" },
	{ "bad-filter", "The filter is not understood" },
	{ "corrupt", "The recording is broken" },
	{ "diverged", "The replay diverged from the recording" },
	{ "precondition-required", "If-Match is needed" },
	{ "too-many-requests", "Too many at once" },
	{ "headers-too-large", "The headers are too large" },
	{ "internal", "Something went wrong" },
	{ "unavailable", "Not possible just now" },
	{ "disk-full", "The disk is full" },
	{ "timeout", "It takes too long" },
};

/* What a handler's negative result becomes. Others are 500 internal. */
static const struct {
	int error;
	unsigned status;
	const char *code;
} errors[] = {
	{ ERR_NOT_FOUND, 404, "not-found" },
	{ -ENOENT, 404, "not-found" },
	{ ERR_AMBIGUOUS, 409, "conflict" },
	{ ERR_BUSY, 409, "busy" },
	{ -EBUSY, 409, "busy" },
	{ -EEXIST, 409, "conflict" },
	{ ERR_CORRUPT, 422, "corrupt" },
	{ ERR_TRUNCATED, 422, "corrupt" },
	{ ERR_NEWER_FORMAT, 422, "corrupt" },
	{ ERR_MISSING_BLOB, 422, "corrupt" },
	{ ERR_DIVERGED, 422, "diverged" },
	{ ERR_UNSUPPORTED_CPU, 409, "conflict" },
	{ -EINVAL, 400, "bad-request" },
	{ -ERANGE, 400, "bad-request" },
	{ -EPERM, 403, "forbidden" },
	{ -EACCES, 403, "forbidden" },
	{ -EROFS, 403, "forbidden" },
	{ ERR_LIMIT, 429, "too-many-requests" },
	{ -EFBIG, 413, "too-large" },
	{ -E2BIG, 413, "too-large" },
	{ ERR_TIMEOUT, 504, "timeout" },
	{ -ETIMEDOUT, 504, "timeout" },
	{ ERR_INTERRUPTED, 503, "unavailable" },
	{ ERR_GUEST_GONE, 503, "unavailable" },
	{ ERR_NO_PTRACE, 503, "unavailable" },
	{ -EAGAIN, 503, "unavailable" },
	{ -EMFILE, 503, "unavailable" },
	{ -ENFILE, 503, "unavailable" },
	{ -ENOMEM, 503, "unavailable" },
	{ -ENOSPC, 507, "disk-full" },
	{ -EDQUOT, 507, "disk-full" },
};

static const char *title_of(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		if (strcmp(titles[i].code, code) == 0)
			return titles[i].title;
	}
	return code;
}

/* Takes members. */
static int problem(struct web_request *q, unsigned status, const char *code, json_t *members, const char *detail)
{
	json_t *j = members ? members : json_object();
	char *text = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };
	int r = j ? 0 : -ENOMEM;

	buf_printf(&b, "/problems/%s", code);
	if (r == 0)
		r = jsonx_set_str(j, "type", buf_cstr(&b));
	if (r == 0)
		r = jsonx_set_str(j, "title", title_of(code));
	if (r == 0)
		r = jsonx_set_u64(j, "status", status);
	if (r == 0)
		r = jsonx_set_new(j, "detail", jsonx_string_lossy(detail, strlen(detail)));
	if (r == 0)
		r = jsonx_set_str(j, "instance", web_path(q));
	if (r == 0)
		r = jsonx_set_str(j, "code", code);
	if (r == 0)
		r = jsonx_dump(j, JSON_COMPACT, &text, NULL);
	json_decref(j);
	if (r < 0)
		return r;
	if (status == 429 || status == 503)
		web_set_header(q, "Retry-After", "1");
	q->etag[0] = '\0';
	q->immutable = q->no_cache = false;
	buf_clear(&b);
	buf_put(&b, text, strlen(text));
	free(text);
	return web_reply_buf(q, status, "application/problem+json", &b);
}

int web_problem(struct web_request *q, unsigned status, const char *code, const char *fmt, ...)
{
	char detail[DETAIL_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	return problem(q, status, code, NULL, detail);
}

int web_problem_with(struct web_request *q, unsigned status, const char *code, json_t *members, const char *fmt, ...)
{
	char detail[DETAIL_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	return problem(q, status, code, members, detail);
}

void problem_error(struct web_request *q, int r)
{
	const char *text = q->ei.text[0] ? q->ei.text : err_str(r);
	unsigned status = 500;
	const char *code = "internal";

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (errors[i].error == r) {
			status = errors[i].status;
			code = errors[i].code;
			break;
		}
	}
	/* of a recording that is named in the path we can say more */
	if (r == ERR_NOT_FOUND && q->route && route_param(q->route, &q->url, "id") && !route_param(q->route, &q->url, "bid"))
		code = "no-such-recording";
	if (status == 500)
		log_error("%s %s: %s: %s", web_method(q), web_path(q), text, err_str(r));
	r = web_problem(q, status, code, "%s", text);
	if (r < 0)
		log_error_r(r, "reply to %s", web_path(q));
}
