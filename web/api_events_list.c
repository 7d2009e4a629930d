/* Lists of events: pages as JSON, whole lists as streams of CSV, lines of JSON or text; and where an event is in a list. */
#define LOG_AREA "web.events"
#include "web/events_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/search.h"
#include "base/json.h"
#include "base/os.h"
#include "web/answers_priv.h"

#define PAGE_DEFAULT 100u
#define PAGE_MAX 1000u
#define NUMBER_MAX ((1ull << 53) - 1) /* what JSON numbers hold */
#define NS_PER_MS 1000000ull
/* A filter is given so long to find all; then so long to find what the page needs. */
#define ALL_MS 60u
#define PAGE_MS 350u
/* One piece of a stream. */
#define PIECE_BYTES (64u << 10)
#define PIECE_MS 100u

enum form { FORM_JSON, FORM_CSV, FORM_NDJSON, FORM_TEXT };
static const char *const forms[] = { "application/json", "text/csv", "application/x-ndjson", "text/plain", NULL };

/* --- the filter of a request --- */

static int bad_filter(struct web_request *q, const struct filter_error *err, const char *name)
{
	json_t *members = json_pack("{s:I,s:I,s:s}", "offset", (json_int_t)err->offset, "length", (json_int_t)err->length, "parameter", name);

	web_problem_with(q, 422, "bad-filter", members, "%s", err->text);
	return -EINVAL;
}

/* Parameters that are terms of the same name. */
static int add_terms(struct web_request *q, struct filter *f)
{
	static const char *const names[] = { "syscall", "thread", "pid", "tid", "fd", "path", "errno", "failed", "signal", "kind", "class", "text" };
	struct filter_error err = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
		const char *value = web_query(q, names[i]);

		/* an empty one is a field of a form that was left empty */
		if (!value || !*value)
			continue;
		r = filter_add(f, strcmp(names[i], "text") ? names[i] : NULL, value, &err);
		if (r == -EINVAL)
			return bad_filter(q, &err, names[i]);
	}
	return r;
}

static int add_ranges(struct web_request *q, struct filter *f)
{
	uint64_t lo = 0, hi = UINT64_MAX;
	int r = web_query_u64(q, "from_ns", 0, UINT64_MAX, 0, &lo);

	if (r >= 0)
		r = web_query_u64(q, "to_ns", 0, UINT64_MAX, UINT64_MAX, &hi);
	if (r >= 0 && (lo || hi != UINT64_MAX))
		r = filter_add_times(f, lo, hi);
	if (r >= 0)
		r = web_query_u64(q, "first", 0, UINT64_MAX, 0, &lo);
	if (r >= 0)
		r = web_query_u64(q, "last", 0, UINT64_MAX, UINT64_MAX, &hi);
	if (r >= 0 && (lo || hi != UINT64_MAX))
		r = filter_add_numbers(f, lo, hi);
	return r;
}

/* -EINVAL: it has been answered. */
static int take_filter(struct web_request *q, struct filter **ret)
{
	const char *text = web_query(q, "q");
	struct filter_error err = { 0 };
	int r = filter_parse(text ? text : "", ret, &err);

	if (r == -EINVAL)
		return bad_filter(q, &err, "q");
	if (r >= 0)
		r = add_terms(q, *ret);
	if (r >= 0)
		r = add_ranges(q, *ret);
	return r;
}

/* --- a list: of all events, or of those that a search has found --- */

struct list {
	struct events_view v;
	struct buf key;        /* of the page in web->answers; empty: is not to be kept */
	struct filter *f;      /* owned */
	struct search *search; /* NULL: all events */
	struct search_state state;
};

static void list_end(struct list *l)
{
	search_unref(TAKE(l->search));
	filter_free(TAKE(l->f));
	events_end(&l->v);
	buf_done(&l->key);
}

/* Goes on with the search: for all that there is for a while, then for so many matches, or up to an event. */
static int search_on(struct web_request *q, struct list *l, uint64_t enough, uint64_t event)
{
	struct searches *s = q->web->searches;
	uint64_t until = os_mono_ns() + PAGE_MS * NS_PER_MS;
	int r = searches_find(s, &l->v.id, l->f, ALL_MS * NS_PER_MS, UINT64_MAX, &l->search, &l->state, web_errinfo(q));

	while (r >= 0 && !l->state.complete && (l->state.found < enough || l->state.scanned < event) && os_mono_ns() < until) {
		search_unref(TAKE(l->search));
		r = searches_find(s, &l->v.id, l->f, 20 * NS_PER_MS, MAX(enough, l->state.found + 1), &l->search, &l->state, web_errinfo(q));
	}
	return r;
}

/* Opens the list up to so many rows, or up to an event. */
static int list_open(struct web_request *q, struct list *l, uint64_t enough, uint64_t event)
{
	struct evindex_view now;
	int r;

	if (filter_terms(l->f)) {
		/* it has readers of its own, and others may read meanwhile */
		web_reader_put(q, TAKE(l->v.reader));
		r = search_on(q, l, enough, event);
		/* what was found is in the index */
		return r < 0 ? r : events_index(q, &l->v, 0, 0);
	}
	r = events_index(q, &l->v, MAX(enough, event), EVENTS_INDEX_MS);
	if (r < 0)
		return r;
	evindex_view(l->v.index, &now);
	l->state = (struct search_state){ .found = l->v.count, .scanned = l->v.count, .last = l->v.count, .complete = true };
	evindex_release(&now);
	return 0;
}

static uint64_t place_of(const struct list *l, uint64_t event)
{
	return l->search ? search_place(l->search, event) : MIN(event ? event - 1 : 0, l->state.found);
}

static size_t numbers_at(const struct list *l, uint64_t offset, size_t n, uint32_t *ret)
{
	if (l->search)
		return search_get(l->search, offset, n, ret);
	n = offset < l->state.found ? (size_t)MIN((uint64_t)n, l->state.found - offset) : 0;
	for (size_t i = 0; i < n; i++)
		ret[i] = (uint32_t)(offset + i + 1);
	return n;
}

/* --- pages --- */

static void put_row(const struct row_maker *m, enum form form, struct buf *out)
{
	if (form == FORM_CSV)
		row_put_csv(m, out);
	else if (form == FORM_TEXT)
		row_put_text(m, out);
	else
		row_put_json(m, out);
	if (form == FORM_NDJSON)
		buf_put_u8(out, '\n');
}

static int put_rows(struct web_request *q, struct list *l, const uint32_t *numbers, size_t n, enum form form, struct buf *out)
{
	struct evindex_view now;
	struct row_maker m;
	int r = 0;

	evindex_view(l->v.index, &now);
	row_init(&m, l->v.reader, &now, EVENTS_ROW_STRING);
	if (form == FORM_CSV)
		row_put_csv_head(out);
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = row_make(&m, numbers[i], web_errinfo(q));
		if (r >= 0 && i && form == FORM_JSON)
			buf_put_u8(out, ',');
		if (r >= 0)
			put_row(&m, form, out);
	}
	row_done(&m);
	evindex_release(&now);
	return r < 0 ? r : buf_error(out);
}

/* text: what was parsed. A term that came as a parameter of its own is shown as it would be written. */
static void put_chips(const struct filter *f, const char *text, struct buf *out)
{
	struct filter_chip c;

	buf_printf(out, "\"filter\":[");
	for (size_t i = 0; filter_chip(f, i, &c); i++) {
		struct buf made CLEANUP(buf_done) = { 0 };

		buf_printf(&made, "%s%s%s", c.key, *c.key ? ":" : "", c.value);
		buf_printf(out, "%s{\"text\":", i ? "," : "");
		if (c.length)
			row_put_json_string(out, text + c.offset, c.length);
		else
			row_put_json_string(out, buf_cstr(&made), made.len);
		buf_printf(out, ",\"offset\":%zu,\"length\":%zu,\"key\":\"%s\",\"value\":", c.offset, c.length, c.key);
		row_put_json_string(out, c.value, strlen(c.value));
		buf_printf(out, ",\"negated\":%s}", c.negated ? "true" : "false");
	}
	buf_put_u8(out, ']');
}

static int reply_page(struct web_request *q, struct list *l, uint64_t offset, size_t limit, enum form form)
{
	uint32_t numbers[PAGE_MAX];
	struct buf b CLEANUP(buf_done) = { 0 };
	size_t n = numbers_at(l, offset, limit, numbers);
	int r;

	if (form == FORM_JSON)
		buf_printf(&b, "{\"items\":[");
	r = put_rows(q, l, numbers, n, form, &b);
	if (r < 0)
		return r;
	if (form == FORM_JSON) {
		buf_printf(&b, "],\"offset\":%" PRIu64 ",\"total\":%" PRIu64 ",\"complete\":%s,\"scanned\":%" PRIu64 ",\"last\":%" PRIu64 ",", offset,
			   l->state.found, l->state.complete ? "true" : "false", l->state.scanned, l->v.count);
		put_chips(l->f, web_query(q, "q"), &b);
		buf_put_u8(&b, '}');
	}
	if (l->state.complete && !l->v.live) {
		events_tag(q, &l->v);
		if (form == FORM_JSON && l->key.len && !buf_error(&b))
			answers_put(q->web->answers, (const char *)l->key.data, &b);
	}
	return buf_error(&b) ? buf_error(&b) : web_reply_buf(q, 200, forms[form], &b);
}

/* --- streams of whole lists --- */

struct export {
	struct web_request *q; /* outlives the stream */
	struct list l;
	enum form form;
	struct filter_run *run;
	struct row_maker rows;
	struct evindex_view now;
	uint64_t next; /* event */
	bool begun;
};

/* One event: in the list or not. */
static int export_event(struct export *x, struct buf *out)
{
	int verdict = filter_record(x->run, &x->now, x->next);
	int r;

	if (verdict <= FILTER_NO)
		return verdict;
	r = row_make(&x->rows, x->next, NULL);
	if (r < 0)
		return r;
	if (verdict == FILTER_YES || filter_line(x->run, &x->now, x->next, (const char *)x->rows.row.line.data, x->rows.row.line.len))
		put_row(&x->rows, x->form, out);
	return 0;
}

static int export_piece(struct export *x, struct buf *out)
{
	uint64_t until = os_mono_ns() + PIECE_MS * NS_PER_MS;
	unsigned n = 0;
	int r = 0;

	while (r >= 0 && x->next <= MIN(x->now.n, x->l.v.count) && out->len < PIECE_BYTES) {
		r = export_event(x, out);
		x->next++;
		if (++n % 256 == 0 && os_mono_ns() > until)
			break;
	}
	return r;
}

static int export_next(void *ctx, struct buf *out)
{
	struct export *x = ctx;
	int r = events_index(x->q, &x->l.v, x->next, PIECE_MS);
	bool end;

	if (r < 0)
		return r;
	if (!x->begun && x->form == FORM_CSV)
		row_put_csv_head(out);
	x->begun = true;
	evindex_view(x->l.v.index, &x->now);
	r = export_piece(x, out);
	end = x->next > x->l.v.count || (x->now.finished && x->next > x->now.n);
	evindex_release(&x->now);
	x->now = (struct evindex_view){ 0 };
	return r < 0 ? r : buf_error(out) ? buf_error(out) : !end || out->len > 0;
}

static void export_done(void *ctx)
{
	struct export *x = ctx;

	row_done(&x->rows);
	filter_run_free(x->run);
	list_end(&x->l);
	free(x);
}

static int reply_export(struct web_request *q, struct list *l, enum form form)
{
	static const char *const endings[] = { [FORM_CSV] = "csv", [FORM_NDJSON] = "ndjson", [FORM_TEXT] = "txt" };
	struct export *x = os_calloc(1, sizeof(*x));
	struct web_stream s = { export_next, export_done, x };
	char name[64];
	int r;

	if (!x)
		return -ENOMEM;
	x->q = q;
	x->form = form;
	x->next = 1;
	x->l = *l;
	*l = (struct list){ 0 };
	row_init(&x->rows, x->l.v.reader, &x->now, EVENTS_DETAIL_STRING);
	r = filter_run_new(x->l.f, &x->run);
	if (r < 0) {
		export_done(x);
		return r;
	}
	snprintf(name, sizeof(name), "events-%.8s.%s", x->l.v.id.hex, endings[form]);
	return web_reply_stream(q, forms[form], name, &s);
}

/* --- handlers --- */

/* The page may have been kept. 1: the request is answered; 0: it is not. */
static int kept_page(struct web_request *q, struct list *l, uint64_t offset, uint64_t limit, uint64_t event)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	const char *text = web_query(q, "q");
	int r = web_recording(q, &l->v.id);

	if (r < 0) {
		r = web_replied(q);
		return r < 0 ? r : 1;
	}
	buf_printf(&l->key, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s ", l->v.id.hex, offset, limit, event, text ? text : "");
	filter_put_key(l->f, &l->key);
	if (!answers_get(q->web->answers, buf_cstr(&l->key), &b))
		return 0;
	events_tag(q, &l->v);
	r = web_not_modified(q) ? 0 : web_reply_buf(q, 200, forms[FORM_JSON], &b);
	return r < 0 ? r : 1;
}

static int list_page(struct web_request *q, struct list *l, enum form form)
{
	uint64_t offset = 0, limit = PAGE_DEFAULT, event = 0;
	bool ready;
	int r = web_query_u64(q, "offset", 0, NUMBER_MAX, 0, &offset);

	if (r >= 0)
		r = web_query_u64(q, "limit", 0, PAGE_MAX, PAGE_DEFAULT, &limit);
	if (r >= 0)
		r = web_query_u64(q, "event", 0, NUMBER_MAX, 0, &event);
	if (r < 0)
		return web_replied(q);
	r = form == FORM_JSON ? kept_page(q, l, offset, limit, event) : 0;
	if (r)
		return MIN(r, 0);
	r = events_begin(q, &l->v, &ready);
	if (!ready)
		return r;
	r = list_open(q, l, offset + limit, event ? event + limit : 0);
	if (r < 0)
		return r;
	if (event)
		offset = place_of(l, event);
	return reply_page(q, l, offset, (size_t)limit, form);
}

int web_events_list(struct web_request *q)
{
	struct list l = { 0 };
	int form = FORM_JSON, r = web_accept(q, forms, &form);
	bool ready;

	if (r < 0)
		return web_replied(q);
	r = take_filter(q, &l.f);
	if (r < 0) {
		filter_free(l.f);
		return r == -EINVAL ? web_replied(q) : r;
	}
	if (form == FORM_JSON || web_query(q, "limit")) {
		r = list_page(q, &l, (enum form)form);
	} else {
		r = events_begin(q, &l.v, &ready);
		if (ready)
			r = reply_export(q, &l, (enum form)form);
	}
	list_end(&l);
	return r;
}

enum dir { DIR_NEXT, DIR_PREVIOUS, DIR_NEAREST };
static const char *const dirs[] = { "next", "previous", "nearest", NULL };

/* The place in the list, or -1. */
static int64_t locate(const struct list *l, uint64_t event, enum dir dir)
{
	uint64_t at = place_of(l, dir == DIR_NEXT ? event + 1 : event);
	uint32_t pair[2];

	if (dir == DIR_PREVIOUS)
		return (int64_t)at - 1;
	if (dir == DIR_NEXT || !at)
		return at < l->state.found ? (int64_t)at : -1;
	/* nearest: this one, or the one before */
	if (at >= l->state.found || numbers_at(l, at - 1, 2, pair) < 2)
		return (int64_t)at - 1;
	return pair[1] - event <= event - pair[0] ? (int64_t)at : (int64_t)at - 1;
}

static int reply_place(struct web_request *q, struct list *l, int64_t place)
{
	uint32_t number = 0;
	json_t *j;

	if (place >= 0 && !numbers_at(l, (uint64_t)place, 1, &number))
		place = -1;
	j = json_pack("{s:o,s:o,s:b,s:I}", "event", place >= 0 ? json_integer(number) : json_null(), "offset",
		      place >= 0 ? json_integer(place) : json_null(), "complete", l->state.complete, "total", (json_int_t)l->state.found);
	return web_reply_json(q, 200, j);
}

int web_events_locate(struct web_request *q)
{
	struct list l = { 0 };
	uint64_t event = 0;
	bool ready;
	int dir = DIR_NEXT, r = web_query_u64(q, "event", 0, NUMBER_MAX, 0, &event);

	if (r >= 0)
		r = web_query_enum(q, "dir", dirs, DIR_NEXT, &dir);
	if (r < 0)
		return web_replied(q);
	r = take_filter(q, &l.f);
	if (r < 0) {
		filter_free(l.f);
		return r == -EINVAL ? web_replied(q) : r;
	}
	r = events_begin(q, &l.v, &ready);
	if (ready) {
		/* the next one may be anywhere behind the event: all that the time allows is looked through */
		r = list_open(q, &l, dir == DIR_PREVIOUS ? 0 : NUMBER_MAX, event + 1);
		if (r >= 0)
			r = reply_place(q, &l, locate(&l, event, (enum dir)dir));
	}
	list_end(&l);
	return r;
}
