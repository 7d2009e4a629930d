/* Replies: headers that all have, bodies from memory, files and streams; ranges and conditions, which MHD leaves to us. */
#define LOG_AREA "web.reply"
#include "web/server_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "web/text_priv.h"

#define STREAM_BLOCK (32u << 10)
#define IMMUTABLE_S "31536000"

/* On every answer: what a browser may do with it. The page itself may run its own scripts and nothing else. */
static const struct {
	const char *name, *value;
} security[] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Content-Security-Policy",
	  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; "
	  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'" },
	{ "Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
};

void web_set_header(struct web_request *q, const char *name, const char *value)
{
	size_t i = 0;

	while (i < q->n_headers && strcasecmp(q->header[i].name, name) != 0)
		i++;
	must(i < WEB_HEADERS_MAX);
	must(strlen(name) < sizeof(q->header[i].name));
	(void)snprintf(q->header[i].name, sizeof(q->header[i].name), "%s", name);
	(void)snprintf(q->header[i].value, sizeof(q->header[i].value), "%s", value);
	/* a value made of recorded text must not become two headers */
	for (char *p = q->header[i].value; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	}
	if (i == q->n_headers)
		q->n_headers++;
}

static void add_headers(struct web_request *q, struct MHD_Response *r)
{
	const char *cache = q->immutable ? "private, max-age=" IMMUTABLE_S ", immutable" : q->no_cache ? "no-cache" : "no-store";

	for (size_t i = 0; i < ARRAY_SIZE(security); i++)
		(void)MHD_add_response_header(r, security[i].name, security[i].value);
	(void)MHD_add_response_header(r, "Cache-Control", cache);
	(void)MHD_add_response_header(r, "X-Request-Id", q->id);
	if (q->etag[0])
		(void)MHD_add_response_header(r, "ETag", q->etag);
	for (size_t i = 0; i < q->n_headers; i++)
		(void)MHD_add_response_header(r, q->header[i].name, q->header[i].value);
}

/* Takes r. */
int reply_response(struct web_request *q, unsigned status, struct MHD_Response *r, uint64_t bytes)
{
	enum MHD_Result ok;

	if (!r)
		return -ENOMEM;
	must(!q->replied);
	add_headers(q, r);
	q->replied = true;
	q->status = status;
	q->reply_bytes = q->head ? 0 : bytes;
	conn_deadline(q->conn, WEB_REPLY_NS + q->reply_bytes / WEB_SLOWEST_BYTES * 1000000000u);
	ok = MHD_queue_response(q->mhd, status, r);
	MHD_destroy_response(r);
	if (ok != MHD_YES)
		log_debug("%s %s: no reply can be sent", web_method(q), web_path(q));
	return 0;
}

int web_replied(struct web_request *q)
{
	return q->replied ? 0 : q->error ? q->error : -ENOMEM;
}

int web_reply_buf(struct web_request *q, unsigned status, const char *type, struct buf *b)
{
	struct MHD_Response *r;
	size_t n = b->len;

	if (buf_error(b))
		return buf_error(b);
	if (!b->data) /* MHD frees what it is given */
		(void)buf_cstr(b);
	r = MHD_create_response_from_buffer_with_free_callback(n, b->data, free);
	if (!r)
		return -ENOMEM;
	*b = (struct buf){ 0 };
	web_set_header(q, "Content-Type", type);
	return reply_response(q, status, r, n);
}

int web_reply_json(struct web_request *q, unsigned status, json_t *j)
{
	struct buf b = { 0 };
	char *text = NULL;
	size_t n;
	int r = j ? jsonx_dump(j, JSON_COMPACT, &text, &n) : -ENOMEM;

	json_decref(j);
	if (r < 0)
		return r;
	b.data = (uint8_t *)text;
	b.len = n;
	b.cap = n + 1;
	r = web_reply_buf(q, status, "application/json", &b);
	buf_done(&b);
	return r;
}

int web_reply_empty(struct web_request *q, unsigned status)
{
	return reply_response(q, status, MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT), 0);
}

/* --- conditions --- */

void web_etag(struct web_request *q, bool immutable, const char *fmt, ...)
{
	char text[WEB_HEADER_BYTES - 2];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~' || *p == '"')
			*p = '_';
	}
	/* an answer in another form is another thing: the cache of a browser would take one for the other */
	if (q->form)
		(void)snprintf(q->etag, sizeof(q->etag), "\"%.*s-form%d\"", (int)(sizeof(text) - sizeof("-form99")), text, q->form);
	else
		(void)snprintf(q->etag, sizeof(q->etag), "\"%s\"", text);
	q->immutable = immutable;
}

bool web_not_modified(struct web_request *q)
{
	const char *list = web_header(q, "If-None-Match");
	int r;

	if (!list || !text_etag_match(list, q->etag, false))
		return false;
	r = web_reply_empty(q, 304);
	q->error = r;
	return true;
}

bool web_if_match(struct web_request *q)
{
	const char *list = web_header(q, "If-Match");

	if (!list)
		q->error = web_problem(q, 428, "precondition-required", "this wants If-Match with the ETag that was seen");
	else if (!text_etag_match(list, q->etag, true))
		q->error = web_problem(q, 412, "precondition-failed", "it has been changed by somebody else: the present ETag is %s", q->etag);
	return list && !q->replied;
}

/* --- ranges --- */

/* Settles status and the part that is asked for; adds the headers. False: replied. */
static bool choose_range(struct web_request *q, uint64_t n, uint64_t *ret_first, uint64_t *ret_n, unsigned *ret_status)
{
	const char *if_range = web_header(q, "If-Range");
	const char *header = if_range && !text_etag_match(if_range, q->etag, true) ? NULL : web_header(q, "Range");
	uint64_t first = 0, last = 0;
	int r = text_range(header, n, &first, &last);
	char text[96];

	web_set_header(q, "Accept-Ranges", "bytes");
	*ret_first = 0;
	*ret_n = n;
	*ret_status = 200;
	if (r == 0)
		return true;
	if (r < 0) {
		(void)snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)n);
		web_set_header(q, "Content-Range", text);
		q->error = web_problem(q, 416, "range-not-satisfiable", "there are %llu bytes", (unsigned long long)n);
		return false;
	}
	(void)snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)first, (unsigned long long)last, (unsigned long long)n);
	web_set_header(q, "Content-Range", text);
	*ret_first = first;
	*ret_n = last - first + 1;
	*ret_status = 206;
	return true;
}

static int set_disposition(struct web_request *q, const char *filename)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (!filename)
		return 0;
	buf_printf(&b, "attachment; ");
	text_put_filename(&b, filename);
	if (buf_error(&b))
		return buf_error(&b);
	web_set_header(q, "Content-Disposition", buf_cstr(&b));
	return 0;
}

int web_reply_file(struct web_request *q, int file, uint64_t off, uint64_t n, const char *type, const char *filename)
{
	int fd CLEANUP(closep) = file;
	struct MHD_Response *resp;
	uint64_t first, part;
	unsigned status;
	int r = set_disposition(q, filename);

	if (r < 0)
		return r;
	if (!choose_range(q, n, &first, &part, &status))
		return web_replied(q);
	resp = MHD_create_response_from_fd_at_offset64(part, fd, off + first);
	if (!resp)
		return -ENOMEM;
	(void)TAKE_FD(fd);
	web_set_header(q, "Content-Type", type);
	return reply_response(q, status, resp, part);
}

int web_reply_range(struct web_request *q, struct buf *b, const char *type, const char *filename)
{
	uint64_t first, part;
	unsigned status;
	int r = buf_error(b) ? buf_error(b) : set_disposition(q, filename);

	if (r < 0)
		return r;
	if (!choose_range(q, b->len, &first, &part, &status))
		return web_replied(q);
	if (first)
		memmove(b->data, b->data + first, part);
	b->len = part;
	return web_reply_buf(q, status, type, b);
}

/* --- streams --- */

/* Lives with the response; the request may end before it or after it. */
struct stream {
	struct web_request *q; /* NULL = has ended */
	struct web_stream s;
	struct buf b;
	size_t sent;           /* of b */
	bool ended, done;
};

static void stream_done(struct stream *st)
{
	if (st->done)
		return;
	st->done = true;
	if (st->s.done)
		st->s.done(st->s.ctx);
}

void stream_request_gone(struct web_request *q)
{
	struct stream *st = q->stream;

	if (!st)
		return;
	stream_done(st);
	st->q = NULL;
	q->stream = NULL;
	q->web->counters.streams--;
}

static void stream_free(void *cls)
{
	struct stream *st = cls;

	stream_done(st);
	if (st->q) {
		st->q->stream = NULL;
		st->q->web->counters.streams--;
	}
	buf_done(&st->b);
	free(st);
}

/* Fetches more until there is something to send. MHD asks again at once when it is given nothing, so waiting is done here. */
static int stream_fill(struct stream *st)
{
	struct web_request *q = st->q;
	const bool sse = q->route && q->route->flags & ROUTE_SSE;

	buf_clear(&st->b);
	st->sent = 0;
	while (st->b.len == 0 && !st->ended) {
		int r = st->s.next(st->s.ctx, &st->b);

		if (r == 0 && buf_error(&st->b))
			r = buf_error(&st->b);
		if (r < 0)
			return r;
		st->ended = r == 0 && st->b.len == 0;
		if (conn_gone(q->conn, sse) || (q->web->stopping && sse))
			return ERR_INTERRUPTED;
	}
	return 0;
}

static ssize_t stream_read(void *cls, uint64_t pos UNUSED, char *p, size_t max)
{
	struct stream *st = cls;
	size_t n;

	if (!st->q)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (st->sent == st->b.len) {
		conn_deadline(st->q->conn, 0);
		if (stream_fill(st) < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		conn_deadline(st->q->conn, WEB_REPLY_NS);
	}
	n = MIN(st->b.len - st->sent, max);
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	memcpy(p, st->b.data + st->sent, n);
	st->sent += n;
	st->q->reply_bytes += n;
	return (ssize_t)n;
}

static int reply_no_room(struct web_request *q)
{
	web_set_header(q, "Retry-After", "10");
	return web_problem(q, 503, "unavailable", "%d long answers are being taken already", WEB_LONG_READERS_MAX);
}

int web_reply_stream(struct web_request *q, const char *type, const char *filename, const struct web_stream *s)
{
	struct stream *st = os_calloc(1, sizeof(*st));
	struct MHD_Response *resp = NULL;
	bool room = readers_long(q);
	int r = st ? set_disposition(q, filename) : -ENOMEM;

	if (r == 0 && room) {
		resp = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, st, stream_free);
		r = resp ? 0 : -ENOMEM;
	}
	if (r < 0 || !room) {
		if (s->done)
			s->done(s->ctx);
		free(st);
		return r < 0 ? r : reply_no_room(q);
	}
	st->q = q;
	st->s = *s;
	q->stream = st;
	q->web->counters.streams++;
	web_set_header(q, "Content-Type", type);
	return reply_response(q, 200, resp, 0);
}
