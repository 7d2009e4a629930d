/* What handlers of the HTTP API are written with. A route (web/routes.def) names its method, path and handler; a handler runs in a thread of its own connection, may
 * block, and gives exactly one reply.
 *
 *     int web_recordings_get(struct web_request *q);     0: replied. Negative: becomes a problem by a table (ERR_NOT_FOUND 404, ERR_BUSY 409, ...)
 *                                                          with web_errinfo(q)'s text.
 */
#ifndef WEB_HTTP_PRIV_H
#define WEB_HTTP_PRIV_H

#include <jansson.h>
#include "base/buf.h"
#include "daemon/daemon.h"
#include "store/reader.h"

struct web_request;

/* --- the request --- */
struct daemon *web_daemon(struct web_request *q);
struct store *web_store(struct web_request *q);        /* of this request alone */
struct errinfo *web_errinfo(struct web_request *q);    /* to pass as ei */
const char *web_method(const struct web_request *q);   /* HEAD shows as GET */
const char *web_path(const struct web_request *q);
const char *web_param(const struct web_request *q, const char *name);  /* of the route: "id"; never NULL */
const char *web_query(const struct web_request *q, const char *name);  /* decoded; NULL: not given */
/* The n-th of a repeated one, NULL behind the last. */
const char *web_query_nth(const struct web_request *q, const char *name, size_t n);
const char *web_header(const struct web_request *q, const char *name); /* NULL */
/* Typed: 0 and the default when it is not given; a bad one has been answered with 400 naming it, then -EINVAL: just return web_replied(q). */
int web_query_u64(struct web_request *q, const char *name, uint64_t min, uint64_t max, uint64_t preset, uint64_t *ret) MUST_CHECK;
int web_query_bool(struct web_request *q, const char *name, bool *ret) MUST_CHECK;
int web_query_enum(struct web_request *q, const char *name, const char *const *choices, int preset, int *ret) MUST_CHECK;
/* {id} of the route as a recording that exists (or 404 has been answered). */
int web_recording(struct web_request *q, struct store_id *ret) MUST_CHECK;
/* A reader of it from the pool, given back when the request ends (or by web_reader_put() before). Blocks when all are in use. */
int web_reader(struct web_request *q, const struct store_id *id, struct store_reader **ret) MUST_CHECK;
void web_reader_put(struct web_request *q, struct store_reader *r);
/* The body as a JSON object (borrowed); 400, 413, 415 have been answered otherwise. */
int web_body_json(struct web_request *q, json_t **ret) MUST_CHECK;
/* The body of a route with the flag UPLOAD: a temporary file, at its beginning. Borrowed. */
int web_body_file(struct web_request *q);
/* Does the client prefer this type (a row of types, first is the default)? Index into types. 406 has been answered: -EINVAL. */
int web_accept(struct web_request *q, const char *const *types, int *ret) MUST_CHECK;
/* Has something been replied? For handlers that return after a helper has: returns 0. */
int web_replied(struct web_request *q);

/* --- the reply: 0, or a negative error --- */
int web_reply_json(struct web_request *q, unsigned status, json_t *j) MUST_CHECK; /* takes the reference; NULL = -ENOMEM */
int web_reply_buf(struct web_request *q, unsigned status, const char *type, struct buf *b) MUST_CHECK; /* takes the content */
int web_reply_empty(struct web_request *q, unsigned status) MUST_CHECK;
/* n bytes at off of a file, with Range, If-Range and HEAD. Takes fd. filename: for Content-Disposition, NULL = inline. Needs web_etag() before. */
int web_reply_file(struct web_request *q, int fd, uint64_t off, uint64_t n, const char *type, const char *filename) MUST_CHECK;
/* The same from memory. Takes the content of b. */
int web_reply_range(struct web_request *q, struct buf *b, const char *type, const char *filename) MUST_CHECK;
/* Calls next(ctx, b) for more until it appends nothing and returns 0 (end) or is negative (the connection is cut); done(ctx) at last, always. Each call should come back within
 * seconds: an empty chunk is > 0 with nothing appended. */
struct web_stream {
	int (*next)(void *ctx, struct buf *b);
	void (*done)(void *ctx);
	void *ctx;
};
int web_reply_stream(struct web_request *q, const char *type, const char *filename, const struct web_stream *s) MUST_CHECK;
/* application/problem+json. */
int web_problem(struct web_request *q, unsigned status, const char *code, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* With further members (takes the reference). */
int web_problem_with(struct web_request *q, unsigned status, const char *code, json_t *members, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Set before the reply. etag: without quotes. immutable: of a finished recording. web_not_modified(): If-None-Match matched, 304 has been answered. */
void web_etag(struct web_request *q, bool immutable, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool web_not_modified(struct web_request *q);
/* 412 or 428 has been answered: false. */
bool web_if_match(struct web_request *q);
void web_set_header(struct web_request *q, const char *name, const char *value);

/* --- the handlers of routes.def --- */
#define ROUTE(method, path, handler, flags) int handler(struct web_request *q);
#include "web/routes.def"
#undef ROUTE

#endif
