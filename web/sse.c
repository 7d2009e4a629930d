/* Server-sent events: what happens in the daemon, and how one recording grows.
 *
 * Ids of the daemon's stream name the run of the daemon, so that a client which comes back after a restart learns that it has missed things. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "analysis/search.h"
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "web/json_priv.h"
#include "web/recording_priv.h"

#define SSE_TYPE "text/event-stream"
#define RETRY_MS 2000
/* How often a recording is looked at, and output events that one look tells. */
#define LOOK_MS 300
#define LOOK_EVENTS 4096u
/* How long a look may add to the index of the recording, which all who look at it share. */
#define LOOK_NS 5000000u

static void put_event(struct buf *b, const char *id, const char *type, json_t *j)
{
	char *text CLEANUP(freep) = NULL;

	if (!j || jsonx_dump(j, JSON_COMPACT, &text, NULL) < 0) {
		b->error = b->error ? b->error : -ENOMEM;
	} else {
		if (id)
			buf_printf(b, "id: %s\n", id);
		buf_printf(b, "event: %s\ndata: %s\n\n", type, text);
	}
	json_decref(j);
}

/* Says something when nothing has been said for a while: a dead client is found out by that. */
static void keep_alive(struct buf *b, uint64_t *said_ns)
{
	uint64_t now = os_mono_ns();

	if (b->len == 0 && now - *said_ns >= WEB_SSE_PING_NS)
		buf_printf(b, ": still here\n\n");
	if (b->len)
		*said_ns = now;
}

static const char *last_event_id(struct web_request *q)
{
	const char *id = web_header(q, "Last-Event-ID");

	return id ? id : web_query(q, "last_event_id");
}

static int reply_events(struct web_request *q, const struct web_stream *s)
{
	web_set_header(q, "X-Accel-Buffering", "no");
	return web_reply_stream(q, SSE_TYPE, NULL, s);
}

/* --- the daemon's --- */

struct feed_stream {
	struct web *web;
	uint64_t last, said_ns;
	bool begun, lost;
};

static void feed_id(const struct feed_stream *s, char ret[48])
{
	(void)snprintf(ret, 48, "%s-%llu", s->web->boot, (unsigned long long)s->last);
}

/* The client has missed messages: it is to look at everything anew. */
static void put_reset(struct feed_stream *s, struct buf *b)
{
	char id[48];

	s->last = feed_last(daemon_feed(s->web->daemon));
	feed_id(s, id);
	put_event(b, id, "reset", json_object());
}

static int feed_next(void *ctx, struct buf *b)
{
	struct feed_stream *s = ctx;
	struct feed_message m;
	char id[48];
	int r;

	if (!s->begun) {
		s->begun = true;
		buf_printf(b, "retry: %d\n: welcome\n\n", RETRY_MS);
		if (s->lost)
			put_reset(s, b);
		keep_alive(b, &s->said_ns);
		return 1;
	}
	r = feed_wait(daemon_feed(s->web->daemon), s->last, WEB_SSE_SLICE_MS, &m);
	if (r == ERR_NOT_FOUND) {
		put_reset(s, b);
	} else if (r < 0) {
		return r == ERR_INTERRUPTED ? 0 : r;
	} else if (r > 0) {
		s->last = m.id;
		feed_id(s, id);
		buf_printf(b, "id: %s\nevent: %s\ndata: %s\n\n", id, m.type, m.json);
		free(m.json);
	}
	keep_alive(b, &s->said_ns);
	return 1;
}

int web_stream_get(struct web_request *q)
{
	struct feed_stream *s = os_calloc(1, sizeof(*s));
	const char *id = last_event_id(q);
	const size_t n = strlen(q->web->boot);

	if (!s)
		return -ENOMEM;
	s->web = q->web;
	s->last = feed_last(daemon_feed(q->web->daemon));
	if (id) {
		uint64_t seen;

		if (strncmp(id, q->web->boot, n) == 0 && id[n] == '-' && str_parse_u64(id + n + 1, &seen) == 0 && seen <= s->last)
			s->last = seen;
		else
			s->lost = true;
	}
	return reply_events(q, &(struct web_stream){ .next = feed_next, .done = free, .ctx = s });
}

/* --- a recording's --- */

struct recording_stream {
	struct web_request *q; /* outlives the stream */
	struct store_id id;
	uint64_t last;         /* event that has been told */
	uint64_t version, said_ns;
	bool begun, ended;
};

static void put_state(struct recording_stream *s, const struct catalog_entry *e, struct buf *b)
{
	put_event(b, NULL, "state",
		  json_pack("{s:s,s:b,s:o,s:o,s:I,s:I,s:I}", "state", web_entry_state(e), "live", (int)e->live, "exit", web_json_exit(e->status, e->live),
			    "duration_ns", web_json_ns(e->duration_ns), "events", (json_int_t)e->events, "processes", (json_int_t)e->processes, "bytes",
			    (json_int_t)e->bytes));
	s->version = e->version;
}

/* Many at once, while the index cannot grow: as text. */
static void put_output(const struct evindex_view *v, uint64_t number, struct buf *b)
{
	const unsigned flags = v->record[number - 1].flags & (EVENT_F_STDOUT | EVENT_F_STDERR);

	if (flags)
		buf_printf(b, "event: output\ndata: {\"event\":%llu,\"stream\":\"%s\"}\n\n", (unsigned long long)number, flags & EVENT_F_STDOUT ? "stdout" : "stderr");
}

/* Tells the events behind s->last that are in the index by now; at most so many, the rest at the next look. 1: there are no more; 0: there may be. */
static int put_events(struct recording_stream *s, uint64_t events, struct buf *b)
{
	struct evindex *d CLEANUP(evindex_unrefp) = NULL;
	struct evindex_view v;
	uint64_t time_ns = 0, last;
	char id[24];
	int r = searches_evindex(s->q->web->searches, &s->id, LOOK_NS, &d, NULL);

	if (r < 0)
		return r;
	evindex_view(d, &v);
	last = MIN(v.n, s->last + LOOK_EVENTS);
	r = v.n <= last && (v.finished || v.n >= events);
	for (uint64_t n = s->last + 1; n <= last; n++)
		put_output(&v, n, b);
	if (last > s->last)
		time_ns = v.record[last - 1].time_ns;
	evindex_release(&v);
	if (last > s->last) {
		s->last = last;
		(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)last);
		put_event(b, id, "events", json_pack("{s:I,s:o}", "last", (json_int_t)last, "time_ns", web_json_ns(time_ns)));
	}
	return r;
}

/* What has changed since the last look. */
static void look(struct recording_stream *s, struct buf *b)
{
	struct catalog *c = daemon_catalog(s->q->web->daemon);
	const struct catalog_view *v = catalog_get(c);
	const struct catalog_entry *e = v ? catalog_find(v, &s->id) : NULL;
	const bool live = e && e->live, more = e && e->events > s->last && !e->broken;
	const uint64_t before = s->last, events = e ? e->events : 0;

	if (e && e->version != s->version)
		put_state(s, e, b);
	catalog_put(c, v);
	/* what cannot be read just now (it is being moved or sealed) is read at the next look */
	if (more) {
		int r = put_events(s, events, b);

		if (r == ERR_LIMIT) /* too long for an index: its end can be told all the same */
			s->last = events;
		else if (r <= 0)
			return;
	}
	if (!live && s->last == before) {
		put_event(b, NULL, "end", json_pack("{s:s}", "why", e ? "ended" : "removed"));
		s->ended = true;
	}
}

static int recording_next(void *ctx, struct buf *b)
{
	struct recording_stream *s = ctx;

	if (s->ended)
		return 0;
	if (!s->begun)
		buf_printf(b, "retry: %d\n: welcome\n\n", RETRY_MS);
	else
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000 }, NULL);
	s->begun = true;
	look(s, b);
	keep_alive(b, &s->said_ns);
	return 1;
}

/* Begins behind Last-Event-ID or "after", else with what comes. */
int web_recording_stream_get(struct web_request *q)
{
	struct recording_stream *s;
	const char *id = last_event_id(q);
	const struct catalog_view *v;
	const struct catalog_entry *e;
	struct store_id recording;
	uint64_t after = UINT64_MAX;

	if (web_recording(q, &recording) < 0 || web_query_u64(q, "after", 0, INT64_MAX, UINT64_MAX, &after) < 0)
		return web_replied(q);
	if (id && str_parse_u64(id, &after) < 0)
		return web_problem(q, 400, "bad-request", "Last-Event-ID is the number of an event");
	s = os_calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->q = q;
	s->id = recording;
	/* one that was started just now may have to be looked for */
	if (recording_entry(q, &recording, &v, &e) == 0) {
		s->last = MIN(after, e->events);
		catalog_put(daemon_catalog(q->web->daemon), v);
	}
	return reply_events(q, &(struct web_stream){ .next = recording_next, .done = free, .ctx = s });
}
