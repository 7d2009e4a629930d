/* What the program wrote to its stdout and stderr: chunks with their events, or the bytes alone. */
#define LOG_AREA "web.console"
#include "web/server_priv.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/digest.h"
#include "base/json.h"
#include "base/os.h"
#include "web/json_priv.h"

/* How long an answer waits until more of a long recording has been read. */
#define BUDGET_MS 500u
/* Bytes of output in one JSON answer (a chunk's text is cut there). */
#define ANSWER_MAX (1u << 20)
#define LIMIT_MAX 1000
/* Bytes of one piece of a stream. */
#define PIECE_MAX (256u << 10)
#define ANSWER_VERSION 1

/* A walk through the output of a recording. */
struct walk {
	struct web *web;
	struct store_reader *reader;
	struct store_id id;
	uint64_t after;   /* event */
	uint64_t at, off; /* the chunk that is being read, 0 = none, and how far */
	unsigned streams;
	bool live, at_end, complete; /* as of the last look */
};

/* The next event with output: 1 and *ret, 0: none so far. */
static int next_event(struct walk *k, uint64_t *ret, struct errinfo *ei)
{
	struct digest *d;
	int r = digests_get(k->web->digests, k->reader, BUDGET_MS, &d, ei);

	if (r < 0)
		return r;
	*ret = console_next(d->console, k->after, k->streams);
	k->at_end = d->at_end;
	k->complete = d->at_end && console_complete(d->console);
	digests_put(k->web->digests, d);
	return *ret != 0;
}

static int begin(struct web_request *q, struct walk *k)
{
	static const char *const streams[] = { "stdout", "stderr", "both", NULL };
	int stream, r = web_recording(q, &k->id);

	if (r >= 0)
		r = web_query_u64(q, "after", 0, INT64_MAX, 0, &k->after);
	if (r >= 0)
		r = web_query_enum(q, "stream", streams, CONSOLE_BOTH - 1, &stream);
	if (r >= 0)
		r = web_reader(q, &k->id, &k->reader);
	if (r < 0)
		return r;
	k->streams = (unsigned)stream + 1;
	k->web = q->web;
	k->live = store_reader_manifest(k->reader)->state == RECORDING_OPEN;
	return 0;
}

/* --- JSON --- */

/* 1: it does not fit into this answer any more. */
static int put_chunk(struct walk *k, uint64_t event, size_t *left, const struct digest *d, json_t *list, struct errinfo *ei)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct console_chunk c;
	json_t *obj;
	int r = console_read(k->reader, event, 0, *left, &c, &b, ei);

	if (r < 0)
		return r;
	if (*left < ANSWER_MAX && c.bytes > *left)
		return 1;
	*left -= b.len;
	obj = json_pack("{s:o, s:o, s:o, s:i, s:s}", "event", jsonx_count(c.event), "time_ns", web_json_ns(c.time_ns), "thread", jsonx_count(c.thread), "pid",
			(int)processes_pid(d->processes, c.thread), "stream", c.stream == CONSOLE_OUT ? "stdout" : "stderr");
	if (json_array_append_new(list, obj) < 0 || !web_json_put(obj, "text", jsonx_string_lossy((const char *)b.data, b.len)) ||
	    !web_json_put(obj, "bytes", jsonx_count(c.bytes)))
		return -ENOMEM;
	return 0;
}

/* Fills a page; *ret_more: there was not room for all. */
static int page(struct walk *k, uint64_t limit, json_t *list, bool *ret_more, struct errinfo *ei)
{
	size_t left = ANSWER_MAX;
	struct digest *d;
	uint64_t event;
	int r = digests_get(k->web->digests, k->reader, BUDGET_MS, &d, ei);

	if (r < 0)
		return r;
	k->at_end = d->at_end;
	k->complete = d->at_end && console_complete(d->console);
	*ret_more = false;
	while ((event = console_next(d->console, k->after, k->streams))) {
		*ret_more = !limit--;
		if (*ret_more)
			break;
		r = put_chunk(k, event, &left, d, list, ei);
		*ret_more = r == 1;
		if (r)
			break;
		k->after = event;
	}
	digests_put(k->web->digests, d);
	return r < 0 ? r : 0;
}

static int reply_page(struct web_request *q, struct walk *k)
{
	json_t *list = json_array(), *j;
	uint64_t limit, from = k->after;
	bool more;
	int r = web_query_u64(q, "limit", 1, LIMIT_MAX, 100, &limit);

	if (r < 0) {
		json_decref(list);
		return web_replied(q);
	}
	r = list ? page(k, limit, list, &more, web_errinfo(q)) : -ENOMEM;
	if (r < 0) {
		json_decref(list);
		return r;
	}
	if (!k->live && k->at_end)
		web_etag(q, true, "%s-console-%llu-%llu-%u-%d", k->id.hex, (unsigned long long)from, (unsigned long long)limit, k->streams, ANSWER_VERSION);
	if (!k->live && k->at_end && web_not_modified(q)) {
		json_decref(list);
		return 0;
	}
	/* where a recording is not read to its end yet, or goes on, there will be more behind the last one */
	j = json_pack("{s:o, s:o, s:b}", "items", list, "next_after", more || k->live || !k->at_end ? jsonx_count(k->after) : json_null(), "complete",
		      k->complete && !more);
	return web_reply_json(q, 200, j);
}

/* --- bytes --- */

static int stream_next(void *ctx, struct buf *b)
{
	struct walk *k = ctx;
	struct console_chunk c;
	struct errinfo ei = { 0 };
	size_t before = b->len;
	int r;

	while (b->len - before < PIECE_MAX) {
		size_t had = b->len;

		if (!k->at) {
			r = next_event(k, &k->at, &ei);
			if (r < 0)
				return r;
			if (!k->at) /* the end, as far as there is one */
				return !k->at_end || b->len > before;
		}
		r = console_read(k->reader, k->at, k->off, PIECE_MAX, &c, b, &ei);
		if (r < 0)
			return r;
		k->off += b->len - had;
		if (b->len - had == PIECE_MAX)
			continue;
		k->after = k->at;
		k->at = k->off = 0;
	}
	return 1;
}

static void stream_done(void *ctx)
{
	free(ctx);
}

static int reply_bytes(struct web_request *q, const struct walk *k)
{
	struct walk *copy = os_malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *k;
	return web_reply_stream(q, "text/plain; charset=utf-8", NULL, &(struct web_stream){ stream_next, stream_done, copy });
}

int web_console_get(struct web_request *q)
{
	static const char *const types[] = { "application/json", "text/plain", NULL };
	struct walk k = { 0 };
	int type, r = web_accept(q, types, &type);

	if (r < 0)
		return web_replied(q);
	r = begin(q, &k);
	if (r < 0)
		return r == -EINVAL ? web_replied(q) : r;
	return type ? reply_bytes(q, &k) : reply_page(q, &k);
}
