/* A recording in the trace format that Chrome and Perfetto open: calls as slices, signals and the like as instants. Streamed from the index alone. */
#define LOG_AREA "web.trace"
#include "web/events_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/search.h"
#include "base/os.h"
#include "engine/sysprint.h"

#define PIECE_BYTES (128u << 10)
#define PIECE_MS 200u

struct trace {
	struct web_request *q;
	struct events_view v;
	uint64_t next;
	uint32_t next_thread; /* whose name has been told */
	bool begun, any, ended;
};

static void put_string(struct buf *out, const char *s)
{
	row_put_json_string(out, s, strlen(s));
}

static void put_comma(struct trace *t, struct buf *out)
{
	buf_printf(out, t->any ? ",\n" : "\n");
	t->any = true;
}

static void put_us(struct buf *out, const char *name, uint64_t ns)
{
	buf_printf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path ? path : "?";
}

static void put_thread(struct trace *t, const struct evindex_view *now, const struct evindex_thread *thread, struct buf *out)
{
	const char *name = base_name(evindex_name(now, thread->name));

	put_comma(t, out);
	buf_printf(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", thread->process == thread->number ? "process_name" : "thread_name",
		   thread->pid, thread->tid);
	put_string(out, name);
	buf_printf(out, "}}");
}

static void put_place(const struct evindex_view *now, const struct evindex_record *rec, struct buf *out)
{
	const struct evindex_thread *thread = evindex_thread(now, rec->thread);

	buf_printf(out, ",\"pid\":%d,\"tid\":%d", thread ? thread->pid : 0, thread ? thread->tid : 0);
	put_us(out, "ts", rec->time_ns);
}

/* A call: as long as it was blocked, else of no length. Its end has the result. */
static void put_call(struct trace *t, const struct evindex_view *now, uint64_t number, struct buf *out)
{
	const struct evindex_record *rec = evindex_at(now, number), *end = rec->kind == EVENT_SYSCALL ? rec : evindex_at(now, rec->partner);
	char name[24];

	put_comma(t, out);
	buf_printf(out, "{\"ph\":\"X\",\"cat\":\"syscall\",\"name\":\"%s\"", sys_name(rec->sysno, name));
	put_place(now, rec, out);
	put_us(out, "dur", end && end->time_ns > rec->time_ns ? end->time_ns - rec->time_ns : 0);
	buf_printf(out, ",\"args\":{\"event\":%" PRIu64, number);
	if (end && (end->bits & EVINDEX_FAILED) && sysprint_errno((int)-end->result))
		buf_printf(out, ",\"errno\":\"%s\"", sysprint_errno((int)-end->result));
	else if (end)
		buf_printf(out, ",\"result\":\"%" PRId64 "\"", end->result);
	for (int i = 0; i < 3; i++) {
		const char *path = rec->name[i] ? evindex_name(now, rec->name[i]) : NULL;

		if (!path)
			continue;
		buf_printf(out, ",\"path\":");
		put_string(out, path);
		break;
	}
	buf_printf(out, "}}");
}

static void put_instant(struct trace *t, const struct evindex_view *now, uint64_t number, struct buf *out)
{
	const struct evindex_record *rec = evindex_at(now, number);
	bool process = rec->kind == EVENT_EXEC || (rec->flags & (EVENT_F_FATAL | EVENT_F_GROUP));
	char name[24];

	put_comma(t, out);
	buf_printf(out, "{\"ph\":\"i\",\"cat\":\"%s\",\"s\":\"%s\",\"name\":", event_kind_name((enum event_kind)rec->kind), process ? "p" : "t");
	if (rec->kind == EVENT_SIGNAL)
		put_string(out, sysprint_signal(rec->sysno, name));
	else if (rec->kind == EVENT_EXEC || rec->kind == EVENT_NOTE)
		put_string(out, evindex_name(now, rec->name[0]) ? evindex_name(now, rec->name[0]) : "?");
	else
		put_string(out, event_kind_name((enum event_kind)rec->kind));
	put_place(now, rec, out);
	buf_printf(out, ",\"args\":{\"event\":%" PRIu64 "}}", number);
}

static void put_event(struct trace *t, const struct evindex_view *now, uint64_t number, struct buf *out)
{
	switch (evindex_at(now, number)->kind) {
	case EVENT_SYSCALL:
	case EVENT_SYSCALL_ENTER:
	case EVENT_BIRTH:
		put_call(t, now, number, out);
		break;
	case EVENT_EXEC:
	case EVENT_SIGNAL:
	case EVENT_EXIT:
	case EVENT_NOTE:
		put_instant(t, now, number, out);
		break;
	default: /* the ends of calls are told with their entries; the rest says little in a picture */
		break;
	}
}

static int trace_next(void *ctx, struct buf *out)
{
	struct trace *t = ctx;
	struct evindex_view now;
	/* durations need the ends of calls: the whole index first */
	int r = t->ended ? 0 : events_index(t->q, &t->v, t->v.count, PIECE_MS);

	if (r < 0 || t->ended)
		return r;
	if (!t->begun)
		buf_printf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"recording\":\"%s\"},\"traceEvents\":[", t->v.id.hex);
	t->begun = true;
	evindex_view(t->v.index, &now);
	if (now.finished || now.n >= t->v.count) {
		for (; t->next_thread < now.n_threads && out->len < PIECE_BYTES; t->next_thread++)
			put_thread(t, &now, &now.thread[t->next_thread], out);
		for (; t->next <= MIN(now.n, t->v.count) && out->len < PIECE_BYTES; t->next++)
			put_event(t, &now, t->next, out);
		t->ended = t->next > MIN(now.n, t->v.count) && t->next_thread >= now.n_threads;
	}
	evindex_release(&now);
	if (t->ended)
		buf_printf(out, "\n]}\n");
	return buf_error(out) ? buf_error(out) : 1;
}

static void trace_done(void *ctx)
{
	struct trace *t = ctx;

	events_end(&t->v);
	free(t);
}

int web_trace_get(struct web_request *q)
{
	struct trace *t = os_calloc(1, sizeof(*t));
	struct web_stream s = { trace_next, trace_done, t };
	char name[64];
	bool ready;
	int r;

	if (!t)
		return -ENOMEM;
	t->q = q;
	t->next = 1;
	r = events_begin(q, &t->v, &ready);
	if (!ready) {
		trace_done(t);
		return r;
	}
	web_reader_put(q, t->v.reader);
	t->v.reader = NULL;
	snprintf(name, sizeof(name), "trace-%.8s.json", t->v.id.hex);
	return web_reply_stream(q, "application/json", name, &s);
}
