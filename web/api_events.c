/* Events of a recording: lists in several forms, one with all that is known of it, buffers, timelines. What filters have found is kept between requests (analysis/search.h). */
#define LOG_AREA "web.events"
#include "web/events_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "analysis/search.h"
#include "analysis/timeline.h"
#include "base/json.h"
#include "base/os.h"

#define BUFFER_IN_MEMORY (1u << 20) /* larger ones go through a file */
#define COPY_BYTES (256u << 10)
#define NS_PER_MS 1000000ull

/* --- a recording and its index --- */

int events_begin(struct web_request *q, struct events_view *v, bool *ret_ready)
{
	int r = web_recording(q, &v->id);

	*ret_ready = false;
	v->index = NULL;
	if (r < 0)
		return web_replied(q);
	r = web_reader(q, &v->id, &v->reader);
	if (r < 0)
		return r;
	v->live = store_reader_manifest(v->reader)->state == RECORDING_OPEN;
	if (!v->live && events_unchanged(q, v))
		return 0;
	r = store_reader_count(v->reader, &v->count, web_errinfo(q));
	*ret_ready = r >= 0;
	return r;
}

static void etag_text(const struct events_view *v, char ret[64])
{
	snprintf(ret, 64, "%s-events-%d", v->id.hex, EVENTS_ANSWER_VERSION);
}

/* Only whole answers of finished recordings have the tag, and they are the same for ever. */
bool events_unchanged(struct web_request *q, const struct events_view *v)
{
	const char *have = web_header(q, "If-None-Match");
	char tag[64];

	etag_text(v, tag);
	if (!have || !strstr(have, tag))
		return false;
	web_etag(q, true, "%s", tag);
	return web_not_modified(q);
}

void events_tag(struct web_request *q, const struct events_view *v)
{
	char tag[64];

	etag_text(v, tag);
	web_etag(q, true, "%s", tag);
}

int events_index(struct web_request *q, struct events_view *v, uint64_t number, unsigned budget_ms)
{
	struct evindex_view now;
	uint64_t until = os_mono_ns() + budget_ms * NS_PER_MS;
	bool enough;
	int r;

	number = MIN(number, v->count);
	do {
		evindex_unref(TAKE(v->index));
		r = searches_evindex(q->web->searches, &v->id, 20 * NS_PER_MS, &v->index, web_errinfo(q));
		if (r < 0)
			return r;
		evindex_view(v->index, &now);
		enough = now.finished || now.n >= number;
		evindex_release(&now);
		/* others may read meanwhile; what a stream holds is its own */
		if (!enough && budget_ms && !q->stream)
			web_reader_put(q, TAKE(v->reader));
	} while (!enough && os_mono_ns() < until);
	return v->reader ? 0 : web_reader(q, &v->id, &v->reader);
}

void events_end(struct events_view *v)
{
	evindex_unref(TAKE(v->index));
}

/* --- one event --- */

static int number_of(struct web_request *q, const char *name, uint64_t *ret)
{
	return str_parse_u64(web_param(q, name), ret);
}

static int no_such_event(struct web_request *q, const struct events_view *v)
{
	web_problem(q, 404, "no-such-event", "event %s: the recording has %" PRIu64, web_param(q, "n"), v->count);
	return 0;
}

/* Calls fn with the row of the event that the route names. */
static int with_event(struct web_request *q, int (*fn)(struct web_request *q, struct events_view *v, struct row_maker *m))
{
	struct events_view v;
	struct evindex_view now;
	struct row_maker m;
	uint64_t n;
	bool ready;
	int r = events_begin(q, &v, &ready);

	if (!ready)
		return r;
	if (number_of(q, "n", &n) < 0 || !n || n > v.count)
		return no_such_event(q, &v);
	r = events_index(q, &v, n, EVENTS_INDEX_MS);
	if (r >= 0) {
		evindex_view(v.index, &now);
		row_init(&m, v.reader, &now, EVENTS_DETAIL_STRING);
		r = row_make(&m, n, web_errinfo(q));
		if (r >= 0)
			r = fn(q, &v, &m);
		row_done(&m);
		evindex_release(&now);
	}
	events_end(&v);
	return r;
}

static int reply_detail(struct web_request *q, struct events_view *v, struct row_maker *m)
{
	json_t *j = NULL;
	int r = row_detail(m, &j, web_errinfo(q));

	if (r < 0)
		return r;
	/* the partner and the next event of the thread may still come */
	if (m->view->finished && !v->live)
		events_tag(q, v);
	return web_reply_json(q, 200, j);
}

int web_event_get(struct web_request *q)
{
	return with_event(q, reply_detail);
}

static int reply_small(struct web_request *q, struct row_maker *m, size_t i, uint64_t len)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	void *p = buf_extend(&b, (size_t)len);
	int r = p ? row_buffer_read(m, i, 0, p, (size_t)len, web_errinfo(q)) : -ENOMEM;

	return r < 0 ? r : web_reply_range(q, &b, "application/octet-stream", NULL);
}

static int open_unnamed(struct web_request *q)
{
	char *dir CLEANUP(freep) = os_asprintf("%s/cache", q->web->cfg->data_dir);
	int r UNUSED = dir ? os_mkdir(dir, 0700) : -ENOMEM; /* it is there, mostly */
	int fd = dir ? os_open(dir, O_TMPFILE | O_RDWR | O_NOFOLLOW, 0600) : -ENOMEM;

	if (fd < 0)
		fd = memfd_create("hermit-buffer", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int reply_large(struct web_request *q, struct row_maker *m, size_t i, uint64_t len)
{
	int fd CLEANUP(closep) = open_unnamed(q);
	void *p CLEANUP(freep) = os_malloc(COPY_BYTES);
	int r = fd < 0 ? fd : p ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < len && r >= 0; at += COPY_BYTES) {
		size_t n = (size_t)MIN(len - at, (uint64_t)COPY_BYTES);

		r = row_buffer_read(m, i, at, p, n, web_errinfo(q));
		if (r >= 0)
			r = os_pwrite_full(fd, p, n, (off_t)at);
	}
	return r < 0 ? r : web_reply_file(q, TAKE_FD(fd), 0, len, "application/octet-stream", NULL);
}

static int reply_buffer(struct web_request *q, struct events_view *v, struct row_maker *m)
{
	uint64_t i, len = 0;
	int r = number_of(q, "i", &i);

	if (r >= 0)
		r = row_buffer(m, i, &len);
	if (r < 0) {
		web_problem(q, 404, "not-found", "event %s has no buffer %s", web_param(q, "n"), web_param(q, "i"));
		return 0;
	}
	/* bytes of an event never change, and a tag is what ranges need */
	web_etag(q, !v->live, "%s-buffer-%s-%" PRIu64, v->id.hex, web_param(q, "n"), i);
	if (web_not_modified(q))
		return 0;
	return len <= BUFFER_IN_MEMORY ? reply_small(q, m, i, len) : reply_large(q, m, i, len);
}

int web_buffer_get(struct web_request *q)
{
	return with_event(q, reply_buffer);
}

/* --- timeline --- */

int web_timeline_get(struct web_request *q)
{
	struct timeline_window w = { 0 };
	struct events_view v;
	struct evindex_view now;
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t buckets = 0;
	bool ready, complete;
	int r = web_query_u64(q, "from_ns", 0, UINT64_MAX, 0, &w.from_ns);

	if (r >= 0)
		r = web_query_u64(q, "to_ns", 0, UINT64_MAX, UINT64_MAX, &w.to_ns);
	if (r >= 0)
		r = web_query_u64(q, "buckets", TIMELINE_BUCKETS_MIN, TIMELINE_BUCKETS_MAX, 1200, &buckets);
	if (r < 0)
		return web_replied(q);
	w.buckets = (unsigned)buckets;
	r = events_begin(q, &v, &ready);
	if (!ready)
		return r;
	r = events_index(q, &v, v.count, EVENTS_TIMELINE_MS);
	if (r >= 0) {
		evindex_view(v.index, &now);
		complete = now.finished || now.n >= v.count;
		r = timeline_put(&now, &w, complete, &b);
		if (now.finished && !v.live)
			events_tag(q, &v);
		evindex_release(&now);
	}
	events_end(&v);
	return r < 0 ? r : web_reply_buf(q, 200, "application/json", &b);
}
