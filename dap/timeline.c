/* What a recording tells without being replayed: requests hermit/events and hermit/timeline. */
#include "dap/places_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/filter.h"
#include "analysis/row.h"
#include "analysis/timeline.h"
#include "base/os.h"
#include "base/str.h"

#define EVENTS_MAX 1000
#define EVENTS_AROUND 10
#define STRING_SHOWN 120u
/* Of the index while an answer does not need all of it: what is not in it is read from the recording itself. */
#define INDEX_NS UINT64_C(30000000)
#define ROUND 4096u

/* --- events --- */

struct listing {
	struct dap *d;
	struct recorded *rec;
	struct evindex_view view;
	struct row_maker rows;
	struct filter *filter;   /* NULL: all pass */
	struct filter_run *run;
	json_t *list;            /* rows are put there, or */
	struct buf *text;        /* lines there */
	uint64_t next;           /* to be looked at, 0: there are no more */
};

static void listing_done(struct listing *l)
{
	row_done(&l->rows);
	filter_run_free(l->run);
	evindex_release(&l->view);
	if (l->filter)
		evindex_trim(l->rec->evindex);
	filter_free(l->filter);
}

static int set_filter(struct listing *l, const char *text)
{
	struct filter_error err;
	int r = filter_parse(text, &l->filter, &err);

	if (r == -EINVAL)
		return errinfo_set(&l->d->ei, r, "filter: %s", err.text);
	if (r >= 0)
		r = filter_run_new(l->filter, &l->run);
	/* filters look at records: all that are there are needed */
	return r < 0 ? r : recorded_index(l->d, l->rec, UINT64_MAX);
}

/* l is zeroed; to be ended by listing_done() in every case. */
static int listing_open(struct listing *l, struct dap *d, const char *filter)
{
	int r = recorded_get(d, &l->rec);

	l->d = d;
	if (r >= 0 && filter && *filter)
		r = set_filter(l, filter);
	else if (r >= 0)
		r = recorded_extend(l->rec, UINT64_MAX, os_mono_ns() + INDEX_NS, &d->ei);
	if (r < 0)
		return r;
	evindex_view(l->rec->evindex, &l->view);
	row_init(&l->rows, l->rec->reader, &l->view, STRING_SHOWN);
	return 0;
}

static int put_row(struct listing *l)
{
	const struct row_maker *m = &l->rows;
	const struct event *ev = m->ev;
	const struct evindex_thread *t = ev->thread ? evindex_thread(&l->view, ev->thread) : NULL;
	json_t *j;

	if (l->text) {
		row_put_text(&l->rows, l->text);
		return buf_error(l->text);
	}
	j = json_pack("{sI sI sI sI ss so so sb}", "event", (json_int_t)ev->number, "timeNs", (json_int_t)ev->time_ns, "pid", (json_int_t)(t ? t->pid : 0), "thread",
		      (json_int_t)(t ? t->tid : 0), "kind", event_kind_name(ev->kind), "name", jsonx_text(m->row.name), "text",
		      jsonx_string_lossy((const char *)m->row.line.data, m->row.line.len), "failed", evprint_errno(ev) != 0);
	return json_array_append_new(l->list, j) < 0 ? -ENOMEM : 0;
}

/* 1: it was put, 0: it does not pass; -ERANGE: there is no such event. */
static int show(struct listing *l, uint64_t number)
{
	int verdict = FILTER_YES, r;

	if (l->filter && number > l->view.n)
		return -ERANGE;
	if (l->filter)
		verdict = filter_record(l->run, &l->view, number);
	if (verdict <= FILTER_NO)
		return verdict;
	r = row_make(&l->rows, number, &l->d->ei);
	if (r < 0)
		return r;
	if (verdict == FILTER_LINE && !filter_line(l->run, &l->view, number, (const char *)l->rows.row.line.data, l->rows.row.line.len))
		return 0;
	r = put_row(l);
	return r < 0 ? r : 1;
}

/* At most n of them, up to event `last`. */
static int show_some(struct listing *l, uint64_t from, uint64_t last, uint64_t n)
{
	for (l->next = from; n && l->next <= last; l->next++) {
		int r = show(l, l->next);

		if (r == -ERANGE) {
			l->next = 0;
			return 0;
		}
		if (r >= 0 && l->next % ROUND == 0) {
			int r2 = dap_pump(l->d, 0);

			r = r2 < 0 ? r2 : l->d->cancelled ? ERR_INTERRUPTED : r;
		}
		if (r < 0)
			return r;
		n -= (uint64_t)r;
	}
	return 0;
}

int events_text(struct dap *d, uint64_t from, uint64_t to, struct buf *out)
{
	struct listing l CLEANUP(listing_done) = { .text = out };
	int r = listing_open(&l, d, NULL);

	return r < 0 ? r : show_some(&l, MAX(from, UINT64_C(1)), to, EVENTS_MAX);
}

/* Rows of events from number `from` on (0: around here) that pass the filter (NULL: all), at most n. */
static int events_list(struct dap *d, int64_t from, int64_t n, const char *filter, json_t *body)
{
	struct listing l CLEANUP(listing_done) = { .list = json_array() };
	uint64_t here = run_where(d)->event;
	int r;

	if (jsonx_set_new(body, "events", l.list) < 0)
		return -ENOMEM;
	if (from < 0 || n < 1)
		return errinfo_set(&d->ei, -EINVAL, "from and count: numbers from 1 on are needed");
	if (!from)
		from = here > EVENTS_AROUND ? (int64_t)here - EVENTS_AROUND : 1;
	r = listing_open(&l, d, filter);
	if (r >= 0)
		r = show_some(&l, (uint64_t)from, INT64_MAX, (uint64_t)MIN(n, (int64_t)EVENTS_MAX));
	if (r >= 0)
		r = jsonx_set_new(body, "next", l.next ? jsonx_count(l.next) : json_null());
	if (r >= 0)
		r = jsonx_set_u64(body, "total", store_reader_manifest(l.rec->reader)->events);
	return r < 0 ? r : jsonx_set_u64(body, "current", here);
}

/* Of a server whose recording is not known here: it tells less of an event. */
static int put_served_row(json_t *list, const json_t *event)
{
	const char *kind = mi_str(event, "kind") ?: "", *name = mi_str(event, "call") ?: mi_str(event, "signal") ?: kind, *more = mi_str(event, "text");
	const json_t *result = json_object_get(event, "result");
	struct buf text CLEANUP(buf_done) = { 0 };
	json_t *j;

	buf_printf(&text, "%s", name);
	if (result)
		buf_printf(&text, " = %" JSON_INTEGER_FORMAT, json_integer_value(result));
	if (more)
		buf_printf(&text, " %s", more);
	j = json_pack("{sI sI sI sI ss ss so sb}", "event", (json_int_t)mi_int(event, "number", 0), "timeNs", (json_int_t)mi_int(event, "time_ns", 0), "pid", (json_int_t)0,
		      "thread", (json_int_t)0, "kind", kind, "name", name, "text", jsonx_text(buf_cstr(&text)), "failed",
		      result && json_integer_value(result) < 0 && json_integer_value(result) >= -4095);
	return json_array_append_new(list, j) < 0 ? -ENOMEM : 0;
}

static int events_of_server(struct dap *d, int64_t from, int64_t n, json_t *body)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL, *list = json_array(), *one;
	uint64_t here = run_where(d)->event;
	size_t i;
	int r = jsonx_set_new(body, "events", list);

	if (r < 0)
		return r;
	if (d->state == DAP_RUNNING)
		return errinfo_set(&d->ei, -EBUSY, "the server can be asked for events when the session is paused");
	if (from < 1)
		from = here > EVENTS_AROUND ? (int64_t)here - EVENTS_AROUND : 1;
	n = MAX(MIN(n, (int64_t)EVENTS_MAX), (int64_t)1);
	r = mi_monitor(d->mi, &j, &d->ei, "events %" PRId64 "-%" PRId64, from, from + n - 1);
	json_array_foreach(json_object_get(j, "events"), i, one)
		if (r >= 0)
			r = put_served_row(list, one);
	if (r >= 0)
		r = jsonx_set_u64(body, "total", run_where(d)->events);
	return r < 0 ? r : jsonx_set_u64(body, "current", here);
}

struct events_args {
	int64_t from, count;
	const char *filter;
};

static const struct arg events_table[] = {
	ARG(INT, struct events_args, from, "from"),
	ARG(INT, struct events_args, count, "count", .def = 2 * EVENTS_AROUND + 1),
	ARG(STR, struct events_args, filter, "filter"),
	{ .name = NULL },
};

static int events(struct dap *d, const void *args, json_t *body)
{
	const struct events_args *a = args;

	if (!d->recording && !a->filter)
		return events_of_server(d, a->from, a->count, body);
	return events_list(d, a->from, a->count, a->filter, body);
}
DAP_METHOD(events, events_table, struct events_args);

/* --- the timeline --- */

static int put_mark(json_t *list, uint64_t event, uint64_t time_ns, const char *kind, const char *text, int64_t pid)
{
	json_t *j = json_pack("{sI sI ss so sI}", "event", (json_int_t)event, "timeNs", (json_int_t)time_ns, "kind", kind, "text", jsonx_text(text), "pid", (json_int_t)pid);

	return json_array_append_new(list, j) < 0 ? -ENOMEM : 0;
}

static const char *kind_of(const struct evindex_view *v, const struct evindex_record *rec, enum timeline_mark mark)
{
	static const char *const kinds[MARK_MAX_] = {
		[MARK_FATAL] = "crash", [MARK_EXEC] = "exec", [MARK_EXIT] = "exit", [MARK_BIRTH] = "thread", [MARK_NOTE] = "note", [MARK_SIGNAL] = "signal",
	};
	const struct evindex_thread *born = mark == MARK_BIRTH && rec->result > 0 ? evindex_thread(v, (uint32_t)rec->result) : NULL;

	return born && born->process == born->number ? "fork" : kinds[mark];
}

static int put_event_mark(json_t *list, const struct evindex_view *v, uint64_t number, enum timeline_mark mark)
{
	const struct evindex_record *rec = &v->record[number - 1];
	const struct evindex_thread *t = rec->thread ? evindex_thread(v, rec->thread) : NULL;
	struct buf text CLEANUP(buf_done) = { 0 }, shown CLEANUP(buf_done) = { 0 };
	const char *kind = kind_of(v, rec, mark);

	timeline_mark_text(v, rec, &text);
	if (strcmp(kind, "fork") == 0)
		buf_printf(&shown, "new process %d", evindex_thread(v, (uint32_t)rec->result)->pid);
	else
		buf_put_safe(&shown, buf_cstr(&text));
	return put_mark(list, number, rec->time_ns, kind, buf_cstr(&shown), t ? t->pid : 0);
}

/* One pass over the records; of more than can be shown the most interesting kinds are, in the order of events. */
struct marks {
	uint32_t at[MARK_MAX_][TIMELINE_MARKS_MAX];
	uint32_t n[MARK_MAX_];
	uint32_t chosen[TIMELINE_MARKS_MAX];
	size_t n_chosen;
};

static void find_marks(struct marks *m, const struct dap *d, const struct evindex_view *v, bool all)
{
	for (uint64_t i = 0; i < v->n && i < UINT32_MAX; i++) {
		int mark = timeline_mark(&v->record[i]);

		if (mark >= 0 && m->n[mark] < TIMELINE_MARKS_MAX && (all || recorded_ours(d, v, v->record[i].thread)))
			m->at[mark][m->n[mark]++] = (uint32_t)(i + 1);
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void choose_marks(struct marks *m)
{
	for (int k = 0; k < MARK_MAX_; k++)
		for (uint32_t i = 0; i < m->n[k] && m->n_chosen < TIMELINE_MARKS_MAX; i++)
			m->chosen[m->n_chosen++] = m->at[k][i];
	qsort(m->chosen, m->n_chosen, sizeof(m->chosen[0]), by_number);
}

static int make_marks(const struct dap *d, const struct evindex_view *v, bool all, json_t **ret)
{
	struct marks *m CLEANUP(freep) = os_calloc(1, sizeof(*m));
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	int r = m && list ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	find_marks(m, d, v, all);
	choose_marks(m);
	for (size_t i = 0; i < m->n_chosen && r >= 0; i++)
		r = put_event_mark(list, v, m->chosen[i], (enum timeline_mark)timeline_mark(&v->record[m->chosen[i] - 1]));
	if (r >= 0)
		*ret = TAKE(list);
	return r;
}

/* They change only when there are more events. */
static int event_marks(struct dap *d, const struct evindex_view *v, bool all)
{
	struct dap_places *p = d->places;
	json_t *made;
	int r;

	if (p->marks && p->marks_n == v->n && p->marks_all == all)
		return 0;
	r = make_marks(d, v, all, &made);
	evindex_trim(p->recorded->evindex);
	if (r < 0)
		return r;
	jsonx_unrefp(&p->marks);
	p->marks = made;
	p->marks_n = v->n;
	p->marks_all = all;
	return 0;
}

static int bookmark_marks(struct dap *d, const struct evindex_view *v, json_t *list)
{
	json_t *notes CLEANUP(jsonx_unrefp) = NULL, *one;
	size_t i;
	int r = bookmarks_list(d, &notes);

	json_array_foreach(notes, i, one) {
		uint64_t event = (uint64_t)mi_int(one, "event", 0);
		const struct evindex_record *rec = evindex_at(v, event);

		if (event && json_array_size(list) < TIMELINE_MARKS_MAX && r >= 0)
			r = put_mark(list, event, rec ? rec->time_ns : 0, "bookmark", mi_str(one, "text"), d->pid);
	}
	return r;
}

static int fill_timeline(struct dap *d, bool all, json_t *body)
{
	struct evindex_view v CLEANUP(evindex_release) = { 0 };
	const struct run_where *w = run_where(d);
	json_t *list = json_array();
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	if (jsonx_set_new(body, "marks", list) < 0)
		return -ENOMEM;
	if (r >= 0)
		r = recorded_index(d, rec, UINT64_MAX);
	if (r < 0)
		return r;
	evindex_view(rec->evindex, &v);
	r = event_marks(d, &v, all);
	if (r >= 0)
		r = bookmark_marks(d, &v, list);
	for (size_t i = 0; r >= 0 && i < json_array_size(d->places->marks) && json_array_size(list) < TIMELINE_MARKS_MAX; i++)
		r = json_array_append(list, json_array_get(d->places->marks, i)) < 0 ? -ENOMEM : 0;
	if (r >= 0)
		r = jsonx_set_u64(body, "events", MAX(w->events, v.n));
	return r < 0 ? r : jsonx_set_u64(body, "durationNs", v.end_ns);
}

struct timeline_args {
	bool all;
};

static const struct arg timeline_table[] = {
	ARG(BOOL, struct timeline_args, all, "allProcesses"),
	{ .name = NULL },
};

static int timeline(struct dap *d, const void *args, json_t *body)
{
	const struct timeline_args *a = args;
	const struct run_where *w = run_where(d);
	json_t *j CLEANUP(jsonx_unrefp) =
		json_pack("{sI sI sI sI sb sb sI}", "event", (json_int_t)w->event, "events", (json_int_t)w->events, "timeNs", (json_int_t)w->time_ns, "durationNs",
			  (json_int_t)w->time_ns, "atStart", w->at_start, "atEnd", w->at_end, "status", (json_int_t)w->status);

	if (!j || json_object_update(body, j) < 0)
		return -ENOMEM;
	/* of an unknown recording there is only where the session stands */
	return d->recording ? fill_timeline(d, a->all, body) : jsonx_set_new(body, "marks", json_array());
}
DAP_METHOD(timeline, timeline_table, struct timeline_args);
