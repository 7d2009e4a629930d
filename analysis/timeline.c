/* See timeline.h. One pass over the records of the window. A call during which a thread is blocked is seen at its entry or at its end, whichever is in the window; a thread
 * without an event in it may be blocked all the time, which its last event before tells. */
#include "analysis/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/idmap_priv.h"
#include "analysis/row.h"
#include "base/os.h"
#include "engine/sysprint.h"

#define LOOK_BACK_MAX (1u << 20) /* records before the window that are looked at for threads that are blocked all through it */

struct lane {
	const struct evindex_thread *thread;
	uint32_t *counts, *errors; /* into the timeline's block */
	uint64_t *blocked;         /* ns */
	bool seen;                 /* it has an event in the window */
	bool in_call;              /* its last event so far is the entry of a call, */
	uint64_t entered_ns;       /* made then */
};

struct timeline {
	const struct evindex_view *v;
	uint64_t from, to, bucket_ns; /* to: behind the last ns */
	unsigned buckets;
	uint64_t first, last;         /* records of the window: [first, last) */
	struct lane *lane;
	uint32_t n_lanes, lanes_total;
	struct idmap index;           /* thread -> lane */
	void *block;                  /* memory of all lanes */
	uint32_t mark[MARK_MAX_][TIMELINE_MARKS_MAX];
	uint32_t n_marks[MARK_MAX_];
};

uint64_t timeline_find(const struct evindex_view *v, uint64_t time_ns)
{
	uint64_t lo = 0, hi = v->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (v->record[mid].time_ns < time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void timeline_done(struct timeline *t)
{
	free(t->lane);
	free(t->block);
	idmap_done(&t->index);
}

static int make_lanes(struct timeline *t)
{
	const struct evindex_view *v = t->v;
	size_t per_lane = t->buckets * (2 * sizeof(uint32_t) + sizeof(uint64_t));
	uint8_t *at;
	int r = 0;

	t->lane = os_calloc(TIMELINE_LANES_MAX, sizeof(*t->lane));
	if (!t->lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_threads && r >= 0; i++) {
		const struct evindex_thread *thread = &v->thread[i];

		if (thread->start_ns >= t->to || (thread->ended && thread->end_ns < t->from))
			continue;
		t->lanes_total++;
		if (t->n_lanes == TIMELINE_LANES_MAX || !thread->number)
			continue;
		r = idmap_put(&t->index, thread->number, t->n_lanes);
		t->lane[t->n_lanes++].thread = thread;
	}
	t->block = r < 0 ? NULL : os_calloc(MAX(t->n_lanes, 1u), per_lane);
	if (!t->block)
		return r < 0 ? r : -ENOMEM;
	at = t->block;
	for (uint32_t i = 0; i < t->n_lanes; i++, at += per_lane) {
		t->lane[i].blocked = (uint64_t *)at;
		t->lane[i].counts = (uint32_t *)(t->lane[i].blocked + t->buckets);
		t->lane[i].errors = t->lane[i].counts + t->buckets;
	}
	return 0;
}

static struct lane *lane_of(struct timeline *t, uint32_t thread)
{
	uint32_t *at = idmap_find(&t->index, thread);

	return at ? &t->lane[*at] : NULL;
}

static unsigned bucket_of(const struct timeline *t, uint64_t time)
{
	uint64_t b = time <= t->from ? 0 : (time - t->from) / t->bucket_ns;

	return (unsigned)MIN(b, (uint64_t)t->buckets - 1);
}

/* The thread is blocked from `from` to `to`. */
static void add_blocked(struct timeline *t, struct lane *lane, uint64_t from, uint64_t to)
{
	from = MAX(from, t->from);
	to = MIN(to, t->to);
	if (from >= to)
		return;
	for (unsigned b = bucket_of(t, from); b < t->buckets; b++) {
		uint64_t start = MAX(from, t->from + b * t->bucket_ns), end = MIN(to, t->from + (b + 1) * t->bucket_ns);

		if (start >= end)
			break;
		lane->blocked[b] += end - start;
	}
}

static bool is_entry(const struct evindex_record *rec)
{
	return rec->kind == EVENT_SYSCALL_ENTER;
}

/* Time of the number-th event, `none` when there is no such one. */
static uint64_t time_of(const struct timeline *t, uint32_t number, uint64_t none)
{
	const struct evindex_record *rec = evindex_at(t->v, number);

	return rec ? rec->time_ns : none;
}

/* A thread that has entered a call is blocked until its next event, whatever that is: a call that becomes an exec, or the thread's end, has
 * no other half. */
static void count_blocked(struct timeline *t, struct lane *lane, const struct evindex_record *rec)
{
	if (lane->in_call)
		add_blocked(t, lane, lane->entered_ns, rec->time_ns);
	else if (!lane->seen && rec->kind == EVENT_SYSCALL_EXIT)
		add_blocked(t, lane, time_of(t, rec->partner, t->from), rec->time_ns);
	lane->in_call = is_entry(rec);
	lane->entered_ns = rec->time_ns;
}

/* Those whose next event, if any, lies behind the window. */
static void blocked_at_the_end(struct timeline *t)
{
	for (uint32_t i = 0; i < t->n_lanes; i++)
		if (t->lane[i].in_call)
			add_blocked(t, &t->lane[i], t->lane[i].entered_ns, t->v->end_ns);
}

int timeline_mark(const struct evindex_record *rec)
{
	switch (rec->kind) {
	case EVENT_EXEC:
		return MARK_EXEC;
	case EVENT_BIRTH:
		return MARK_BIRTH;
	case EVENT_EXIT:
		return MARK_EXIT;
	case EVENT_NOTE:
		return MARK_NOTE;
	case EVENT_SIGNAL:
		return rec->flags & EVENT_F_FATAL ? MARK_FATAL : MARK_SIGNAL;
	default:
		return -1;
	}
}

static void count(struct timeline *t, uint64_t i)
{
	const struct evindex_record *rec = &t->v->record[i];
	struct lane *lane = lane_of(t, rec->thread);
	int mark = timeline_mark(rec);

	if (mark >= 0 && t->n_marks[mark] < TIMELINE_MARKS_MAX)
		t->mark[mark][t->n_marks[mark]++] = (uint32_t)(i + 1);
	if (!lane)
		return;
	count_blocked(t, lane, rec);
	lane->seen = true;
	lane->counts[bucket_of(t, rec->time_ns)]++;
	lane->errors[bucket_of(t, rec->time_ns)] += rec->bits & EVINDEX_FAILED;
}

/* Threads that are quiet in the window: were they in a call when it began? */
static void look_back(struct timeline *t)
{
	uint32_t quiet = 0;

	for (uint32_t i = 0; i < t->n_lanes; i++)
		quiet += !t->lane[i].seen;
	for (uint64_t i = t->first, n = 0; quiet && i > 0 && n < LOOK_BACK_MAX; i--, n++) {
		const struct evindex_record *rec = &t->v->record[i - 1];
		struct lane *lane = lane_of(t, rec->thread);

		if (!lane || lane->seen)
			continue;
		lane->seen = true;
		quiet--;
		lane->in_call = is_entry(rec);
		lane->entered_ns = rec->time_ns;
	}
}

/* --- JSON --- */

static void put_string(struct buf *out, const char *s)
{
	row_put_json_string(out, s, strlen(s));
}

static void put_counts(struct buf *out, const char *name, const uint32_t *v, unsigned n)
{
	buf_printf(out, ",\"%s\":[", name);
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_put_u8(out, ',');
		if (v[i] < 10)
			buf_put_u8(out, (uint8_t)('0' + v[i]));
		else
			buf_printf(out, "%u", v[i]);
	}
	buf_put_u8(out, ']');
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path ? path : "";
}

static void put_lane(struct timeline *t, const struct lane *lane, struct buf *out)
{
	const struct evindex_thread *thread = lane->thread;

	/* the share of each bucket in 255ths, in place of the counts: they are out already */
	for (unsigned i = 0; i < t->buckets; i++)
		lane->errors[i] = (uint32_t)MIN(lane->blocked[i] * 255 / t->bucket_ns, (uint64_t)255);
	put_counts(out, "blocked", lane->errors, t->buckets);
	buf_printf(out, ",\"thread\":%u,\"process\":%u,\"tid\":%d,\"pid\":%d,\"name\":", thread->number, thread->process, thread->tid, thread->pid);
	put_string(out, base_name(evindex_name(t->v, thread->name)));
	buf_printf(out, ",\"start_ns\":\"%" PRIu64 "\",\"end_ns\":", thread->start_ns);
	if (thread->ended)
		buf_printf(out, "\"%" PRIu64 "\"}", thread->end_ns);
	else
		buf_printf(out, "null}");
}

static void put_lanes(struct timeline *t, struct buf *out)
{
	buf_printf(out, ",\"lanes_total\":%u,\"lanes\":[", t->lanes_total);
	for (uint32_t i = 0; i < t->n_lanes; i++) {
		uint64_t sum = 0;

		for (unsigned b = 0; b < t->buckets; b++)
			sum += t->lane[i].counts[b];
		buf_printf(out, "%s{\"total\":%" PRIu64, i ? "," : "", sum);
		put_counts(out, "counts", t->lane[i].counts, t->buckets);
		put_counts(out, "errors", t->lane[i].errors, t->buckets);
		put_lane(t, &t->lane[i], out);
	}
	buf_put_u8(out, ']');
}

void timeline_mark_text(const struct evindex_view *v, const struct evindex_record *rec, struct buf *text)
{
	char name[24];
	const char *s;
	int status = (int)rec->result;

	switch (timeline_mark(rec)) {
	case MARK_EXEC:
	case MARK_NOTE:
		s = evindex_name(v, rec->name[0]);
		buf_printf(text, "%s", s ? s : "");
		break;
	case MARK_BIRTH:
		buf_printf(text, "new thread %" PRId64, rec->result);
		break;
	case MARK_EXIT:
		if (status & 0x7f)
			buf_printf(text, "killed by %s", sysprint_signal(status & 0x7f, name));
		else
			buf_printf(text, "exited with %d", status >> 8 & 0xff);
		break;
	default:
		buf_printf(text, "%s", sysprint_signal(rec->sysno, name));
	}
}

static void put_marks(const struct timeline *t, struct buf *out)
{
	static const char *const names[MARK_MAX_] = { "fatal", "exec", "exit", "birth", "note", "signal" };
	struct buf text CLEANUP(buf_done) = { 0 };
	unsigned n = 0;

	buf_printf(out, ",\"marks\":[");
	for (int m = 0; m < MARK_MAX_; m++) {
		for (uint32_t i = 0; i < t->n_marks[m] && n < TIMELINE_MARKS_MAX; i++, n++) {
			const struct evindex_record *rec = evindex_at(t->v, t->mark[m][i]);

			buf_clear(&text);
			timeline_mark_text(t->v, rec, &text);
			buf_printf(out, "%s{\"event\":%u,\"time_ns\":\"%" PRIu64 "\",\"thread\":%u,\"kind\":\"%s\",\"text\":", n ? "," : "",
				   t->mark[m][i], rec->time_ns, rec->thread, names[m]);
			put_string(out, buf_cstr(&text));
			buf_put_u8(out, '}');
		}
	}
	buf_put_u8(out, ']');
}

static void put_events(const struct timeline *t, struct buf *out)
{
	if (t->last - t->first > (uint64_t)t->buckets * TIMELINE_EVENTS_PER_BUCKET) {
		buf_printf(out, ",\"events\":null");
		return;
	}
	buf_printf(out, ",\"events\":[");
	for (uint64_t i = t->first; i < t->last; i++) {
		const struct evindex_record *rec = &t->v->record[i];
		const struct evindex_record *end = is_entry(rec) ? evindex_at(t->v, rec->partner) : NULL;

		buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%" PRIu64 "]", i > t->first ? "," : "", i + 1,
			   rec->time_ns > t->from ? rec->time_ns - t->from : 0, rec->thread, rec->kind, rec->sysno, rec->bits & EVINDEX_FAILED,
			   end && end->time_ns > t->from ? end->time_ns - t->from : 0);
	}
	buf_put_u8(out, ']');
}

static void put_all(struct timeline *t, bool complete, struct buf *out)
{
	buf_printf(out, "{\"from_ns\":\"%" PRIu64 "\",\"to_ns\":\"%" PRIu64 "\",\"bucket_ns\":\"%" PRIu64 "\",\"buckets\":%u,\"end_ns\":\"%" PRIu64
			"\",\"last\":%" PRIu64 ",\"complete\":%s",
		   t->from, t->to, t->bucket_ns, t->buckets, t->v->end_ns, t->v->n, complete ? "true" : "false");
	put_lanes(t, out);
	put_marks(t, out);
	put_events(t, out);
	buf_put_u8(out, '}');
}

int timeline_put(const struct evindex_view *v, const struct timeline_window *w, bool complete, struct buf *out)
{
	uint64_t end = v->end_ns < UINT64_MAX ? v->end_ns + 1 : v->end_ns;
	struct timeline *t = os_calloc(1, sizeof(*t));
	uint64_t width;
	int r;

	if (!t)
		return -ENOMEM;
	t->v = v;
	t->to = MAX(MIN(w->to_ns, end), (uint64_t)1);
	t->from = MIN(w->from_ns, t->to - 1);
	width = t->to - t->from;
	t->bucket_ns = MAX(width / w->buckets + (width % w->buckets != 0), (uint64_t)1);
	t->buckets = (unsigned)(width / t->bucket_ns + (width % t->bucket_ns != 0));
	t->first = timeline_find(v, t->from);
	t->last = MAX(timeline_find(v, t->to), t->first);
	r = make_lanes(t);
	for (uint64_t i = t->first; i < t->last && r >= 0; i++)
		count(t, i);
	if (r >= 0) {
		look_back(t);
		blocked_at_the_end(t);
		put_all(t, complete, out);
		r = buf_error(out);
	}
	timeline_done(t);
	free(t);
	return r;
}
