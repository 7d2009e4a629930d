/* What the program was at an event: stack, registers, mappings, threads, memory; and source files. The inspector of the recording is asked
 * (daemon_inspect()); here are the parameters, and which problem it is when there is no answer. */
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "web/http_priv.h"

#define INSPECT_TIMEOUT_MS 60000
#define INSPECT_MEMORY_MAX 65536u
#define INSPECT_MEMORY_PRESET 256u
#define INSPECT_LINES_MAX 20000u
#define INSPECT_PATH_MAX 4000u

/* {n} of the path. false: the reply has been given. */
static bool event_number(struct web_request *q, uint64_t *ret, int *r)
{
	if (str_parse_u64(web_param(q, "n"), ret) == 0 && *ret >= 1 && *ret <= INT64_MAX)
		return true;
	*r = web_problem(q, 404, "no-such-event", "'%.60s' is no number of an event", web_param(q, "n"));
	return false;
}

/* Why something is not there. */
static int not_found(struct web_request *q, const struct store_id *id, uint64_t event)
{
	struct store_reader *r;
	uint64_t n = 0;
	struct errinfo ei = { 0 };
	int rc = web_reader(q, id, &r);

	if (rc < 0)
		return rc;
	rc = store_reader_count(r, &n, &ei);
	web_reader_put(q, r);
	if (rc >= 0 && event > n)
		return web_problem(q, 404, "no-such-event", "the recording has %" PRIu64 " events", n);
	return web_problem(q, 404, "not-found", "%s", web_errinfo(q)->text[0] ? web_errinfo(q)->text : "it is not there at that event");
}

/* Asks; *ret: the result, new reference. 1: the reply has been given. */
static int ask(struct web_request *q, const struct store_id *id, json_t *request, uint64_t event, json_t **ret)
{
	int r = request ? daemon_inspect(web_daemon(q), id, request, INSPECT_TIMEOUT_MS, ret, web_errinfo(q)) : -ENOMEM;

	if (r == ERR_NOT_FOUND) {
		r = not_found(q, id, event);
		return r < 0 ? r : 1;
	}
	if (r == ERR_LIMIT) {
		r = web_problem(q, 413, "too-large", "%s", web_errinfo(q)->text);
		return r < 0 ? r : 1;
	}
	return MIN(r, 0);
}

/* What all questions about an event have. 1: the reply has been given. */
static int place(struct web_request *q, const char *op, struct store_id *id, uint64_t *event, json_t *request)
{
	static const char *const when[] = { "before", "after", NULL };
	uint64_t thread, pid;
	int which, r = web_recording(q, id);

	if (r < 0)
		return web_replied(q) == 0 ? 1 : r;
	if (!event_number(q, event, &r))
		return r < 0 ? r : 1;
	if (web_query_enum(q, "when", when, 0, &which) < 0 || web_query_u64(q, "thread", 1, UINT32_MAX, 0, &thread) < 0 ||
	    web_query_u64(q, "pid", 1, INT32_MAX, 0, &pid) < 0)
		return 1;
	r = jsonx_set_str(request, "op", op);
	if (r >= 0)
		r = jsonx_set_u64(request, "event", *event);
	if (r >= 0)
		r = jsonx_set_str(request, "when", when[which]);
	if (r >= 0 && thread)
		r = jsonx_set_u64(request, "thread", thread);
	return r >= 0 && pid ? jsonx_set_u64(request, "pid", pid) : r;
}

static int about_event(struct web_request *q, const char *op)
{
	json_t *request CLEANUP(jsonx_unrefp) = json_object(), *result = NULL;
	struct store_id id;
	uint64_t event;
	int r = request ? place(q, op, &id, &event, request) : -ENOMEM;

	if (r == 0)
		r = ask(q, &id, request, event, &result);
	if (r)
		return r < 0 ? r : web_replied(q);
	return web_reply_json(q, 200, result);
}

int web_stack_get(struct web_request *q)
{
	return about_event(q, "stack");
}

int web_registers_get(struct web_request *q)
{
	return about_event(q, "registers");
}

int web_maps_get(struct web_request *q)
{
	return about_event(q, "maps");
}

int web_threads_get(struct web_request *q)
{
	return about_event(q, "threads");
}

/* --- memory --- */

static int reply_bytes(struct web_request *q, const json_t *result)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct base64_decode_ctx ctx;
	const char *text;
	uint8_t *to;
	size_t n;

	if (jsonx_get_str(result, "data", &text) < 0)
		return ERR_PROTOCOL;
	n = BASE64_DECODE_LENGTH(strlen(text));
	to = n ? buf_extend(&b, n) : NULL;
	if (n && !to)
		return -ENOMEM;
	base64_decode_init(&ctx);
	if (n && (!base64_decode_update(&ctx, &n, to, strlen(text), text) || !base64_decode_final(&ctx)))
		return ERR_PROTOCOL;
	b.len = n;
	return web_reply_buf(q, 200, "application/octet-stream", &b);
}

int web_memory_get(struct web_request *q)
{
	static const char *const types[] = { "application/json", "application/octet-stream", NULL };
	json_t *request CLEANUP(jsonx_unrefp) = json_object(), *result CLEANUP(jsonx_unrefp) = NULL;
	const char *addr = web_query(q, "addr");
	struct store_id id;
	uint64_t event, len, at;
	int type, r;

	if (!addr || str_parse_u64(addr, &at) < 0)
		return web_problem(q, 400, "bad-request", "addr is no address: it is written 0x7f001000");
	if (web_query_u64(q, "len", 1, INSPECT_MEMORY_MAX, INSPECT_MEMORY_PRESET, &len) < 0 || web_accept(q, types, &type) < 0)
		return web_replied(q);
	r = request ? place(q, "memory", &id, &event, request) : -ENOMEM;
	if (r == 0)
		r = jsonx_set_str(request, "addr", addr);
	if (r == 0)
		r = jsonx_set_u64(request, "len", len);
	if (r == 0)
		r = ask(q, &id, request, event, &result);
	if (r)
		return r < 0 ? r : web_replied(q);
	return type ? reply_bytes(q, result) : web_reply_json(q, 200, json_incref(result));
}

/* --- sources --- */

int web_source_get(struct web_request *q)
{
	json_t *request CLEANUP(jsonx_unrefp) = json_object(), *result = NULL;
	const char *path = web_query(q, "path");
	uint64_t line, context, event;
	struct store_id id;
	int r = web_recording(q, &id);

	if (r < 0)
		return web_replied(q);
	if (!path || !*path || strlen(path) > INSPECT_PATH_MAX)
		return web_problem(q, 400, "bad-request", "path does not name a source file");
	if (web_query_u64(q, "line", 1, INT32_MAX, 0, &line) < 0 ||
	    web_query_u64(q, "context", 0, INSPECT_LINES_MAX, INSPECT_LINES_MAX, &context) < 0 ||
	    web_query_u64(q, "event", 1, INT64_MAX, 0, &event) < 0)
		return web_replied(q);
	r = request ? jsonx_set_str(request, "op", "source") : -ENOMEM;
	if (r >= 0)
		r = jsonx_set_str(request, "path", path);
	if (r >= 0 && event)
		r = jsonx_set_u64(request, "event", event);
	if (r >= 0 && line)
		r = jsonx_set_u64(request, "line", line);
	if (r >= 0)
		r = jsonx_set_u64(request, "context", context);
	if (r >= 0)
		r = ask(q, &id, request, event, &result);
	if (r)
		return r < 0 ? r : web_replied(q);
	return web_reply_json(q, 200, result);
}
