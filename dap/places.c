/* Where the session stands and was: requests hermit/where, seek, lastWrite, navigate; the history behind back and forward.
 *
 * To name a place inside of a long computation takes the server up to seconds, so a place that is left is named within WITHIN or not at all: then
 * going back there leads to the event before it. */
#define LOG_AREA "dap.places"
#include "dap/places_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

#define WITHIN "100ms"
#define PLACE_TEXT_MAX 300u

int places_new(struct dap_places **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void places_free(struct dap_places *p)
{
	if (!p)
		return;
	recorded_free(p->recorded);
	history_done(&p->history);
	jsonx_unrefp(&p->marks);
	free(p);
}

/* --- the history --- */

static int here(struct dap *d, struct place *ret, struct errinfo *ei)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const char *position;
	int r = mi_monitor(d->mi, &j, ei, "where " WITHIN);

	if (r < 0)
		return r;
	position = mi_str(j, "position");
	ret->position = position ? os_strdup(position) : NULL;
	ret->event = (uint64_t)mi_int(j, "event", 0);
	ret->time_ns = (uint64_t)mi_int(j, "time_ns", 0);
	return position && !ret->position ? -ENOMEM : 0;
}

void places_leaving(struct dap *d, enum run_kind kind)
{
	struct dap_places *p = d->places;
	struct place from CLEANUP(place_done) = { 0 };
	struct errinfo ei = { 0 };
	int r;

	/* steps in a row are one entry: the place behind them, when that is left */
	if (kind == RUN_STEP || kind == RUN_ENTRY || p->navigating || d->state == DAP_RUNNING || !d->mi)
		return;
	r = here(d, &from, &ei);
	if (r >= 0)
		history_leave(&p->history, &from);
	else
		log_debug("the place that is left is not known: %s", ei.text);
}

void places_forget(struct dap *d)
{
	recorded_free(d->places->recorded);
	d->places->recorded = NULL;
}

void places_stopped(struct dap *d)
{
	d->places->navigating = false;
}

static int go_to(struct dap *d, const struct place *to)
{
	char event[32];

	if (to->position)
		return run_to_place(d, to->position, NULL);
	snprintf(event, sizeof(event), "%" PRIu64, to->event);
	return run_to_place(d, event, "Event before the place that was left, which is inside of a long computation");
}

int places_navigate(struct dap *d, bool forward)
{
	struct dap_places *p = d->places;
	const struct place *to = history_look(&p->history, forward);
	struct place from CLEANUP(place_done) = { 0 };
	int r;

	if (!to)
		return errinfo_set(&d->ei, -ENOENT, forward ? "there is no place to go forward to" : "there is no place to go back to");
	r = here(d, &from, &d->ei);
	if (r < 0)
		return r;
	p->navigating = true;
	r = go_to(d, to);
	if (r < 0)
		p->navigating = false;
	else
		history_move(&p->history, forward, &from);
	return r;
}

/* --- where --- */

struct where_args {
	bool brief;
};

static const struct arg where_table[] = {
	ARG(BOOL, struct where_args, brief, "brief"),
	{ .name = NULL },
};

static int put_where(const struct dap *d, json_t *body)
{
	const struct run_where *w = run_where(d);
	const struct history *h = &d->places->history;
	json_t *j CLEANUP(jsonx_unrefp) =
		json_pack("{sI sI sI sI sI sb sb sI sb sb}", "event", (json_int_t)w->event, "events", (json_int_t)w->events, "timeNs", (json_int_t)w->time_ns, "pid",
			  (json_int_t)d->pid, "thread", (json_int_t)w->thread, "atStart", w->at_start, "atEnd", w->at_end, "status", (json_int_t)w->status,
			  "canGoBack", history_look(h, false) != NULL, "canGoForward", history_look(h, true) != NULL);

	return j && json_object_update(body, j) == 0 ? 0 : -ENOMEM;
}

static int where(struct dap *d, const void *args, json_t *body)
{
	const struct where_args *a = args;
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = put_where(d, body);

	if (r < 0 || a->brief || d->state == DAP_RUNNING)
		return r;
	r = mi_monitor(d->mi, &j, &d->ei, "where");
	if (r < 0)
		return r;
	/* nothing has stopped yet: run_where() knows nothing */
	r = jsonx_set_i64(body, "event", mi_int(j, "event", 0));
	if (r >= 0)
		r = jsonx_set_i64(body, "events", mi_int(j, "events", 0));
	if (r >= 0)
		r = jsonx_set_i64(body, "timeNs", mi_int(j, "time_ns", 0));
	return r < 0 ? r : jsonx_set_str(body, "position", mi_str(j, "position") ?: "");
}
DAP_METHOD(where, where_table, struct where_args);

/* --- going places --- */

/* What the server understands by itself, without knowing bookmarks: a number, a position, a time, start, end. */
static bool is_plain(const char *text)
{
	uint64_t ns;

	if (strcmp(text, "start") == 0 || strcmp(text, "end") == 0)
		return true;
	if (!isdigit((unsigned char)*text))
		return false;
	return text[strspn(text, "0123456789!+:*xabcdefABCDEF")] == '\0' || str_parse_duration(text, &ns) >= 0;
}

/* A number of events, or a position, behind the end? The server would find that out by going there. */
static bool is_behind(const struct dap *d, const char *text)
{
	uint64_t events = run_where(d)->events, ns;

	return events && isdigit((unsigned char)*text) && !(isalpha((unsigned char)text[strlen(text) - 1]) && str_parse_duration(text, &ns) >= 0) &&
	       strtoull(text, NULL, 10) > events;
}

int places_find(struct dap *d, const char *text, char **ret)
{
	int r;

	*ret = NULL;
	if (!*text || strlen(text) > PLACE_TEXT_MAX)
		return errinfo_set(&d->ei, -EINVAL, "a place is a number of events, a time like 1.5s, start, end, a position or a bookmark");
	if (is_plain(text) && is_behind(d, text))
		return errinfo_set(&d->ei, -EINVAL, "the recording has %" PRIu64 " events", run_where(d)->events);
	if (is_plain(text))
		return 0;
	r = bookmarks_find(d, text, ret);
	if (r == -ENOENT)
		return errinfo_set(&d->ei, r, "'%.80s' is no place: use a number of events, a time like 1.5s, start, end, a position or a bookmark", text);
	return r;
}

int places_seek(struct dap *d, const char *text)
{
	char *position CLEANUP(freep) = NULL, *describe CLEANUP(freep) = NULL;
	int r = places_find(d, text, &position);

	if (r < 0)
		return r;
	if (!position)
		return run_to_place(d, text, NULL);
	describe = os_asprintf("Bookmark %s", text);
	return describe ? run_to_place(d, position, describe) : -ENOMEM;
}

struct seek_args {
	json_t *place;
};

static const struct arg seek_table[] = {
	ARG(ANY, struct seek_args, place, "place", .required = true),
	{ .name = NULL },
};

static int seek(struct dap *d, const void *args, json_t *body)
{
	const struct seek_args *a = args;
	char number[32];

	(void)body;
	if (json_is_integer(a->place) && json_integer_value(a->place) >= 0) {
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(a->place));
		return places_seek(d, number);
	}
	if (!json_is_string(a->place))
		return errinfo_set(&d->ei, -EINVAL, "place: a text or a number of events is needed");
	return places_seek(d, json_string_value(a->place));
}
DAP_METHOD(seek, seek_table, struct seek_args);

int places_last_write(struct dap *d, int64_t frame_id, const char *expr)
{
	char *describe CLEANUP(freep) = NULL;
	uint64_t addr, len;
	int r = stack_lvalue(d, frame_id, expr, &addr, &len);

	if (r < 0)
		return r;
	describe = os_asprintf("Last write of %.200s", expr);
	return describe ? run_to_last_write(d, addr, len, describe) : -ENOMEM;
}

struct last_write_args {
	const char *expression, *address, *name;
	int64_t frame, length, reference;
};

static const struct arg last_write_table[] = {
	ARG(STR, struct last_write_args, expression, "expression"),
	ARG(STR, struct last_write_args, address, "address"),
	ARG(INT, struct last_write_args, reference, "variablesReference"),
	ARG(STR, struct last_write_args, name, "name"),
	ARG(INT, struct last_write_args, frame, "frameId"),
	ARG(INT, struct last_write_args, length, "length", .def = 1),
	{ .name = NULL },
};

static int last_write_of_variable(struct dap *d, int64_t reference, const char *name)
{
	char *expr CLEANUP(freep) = NULL;
	int64_t frame;
	int r = stack_variable(d, reference, name, &frame, &expr);

	return r < 0 ? r : places_last_write(d, frame, expr);
}

static int last_write_of_range(struct dap *d, const char *address, int64_t length)
{
	char *describe CLEANUP(freep) = NULL;
	uint64_t addr;

	if (str_parse_u64(address, &addr) < 0 || length < 1)
		return errinfo_set(&d->ei, -EINVAL, "address and length have to be numbers");
	describe = os_asprintf("Last write of %" PRId64 " bytes at 0x%" PRIx64, length, addr);
	return describe ? run_to_last_write(d, addr, (uint64_t)length, describe) : -ENOMEM;
}

static int last_write(struct dap *d, const void *args, json_t *body)
{
	const struct last_write_args *a = args;

	(void)body;
	if ((a->expression != NULL) + (a->address != NULL) + (a->name != NULL) != 1)
		return errinfo_set(&d->ei, -EINVAL, "one of expression, address, or variablesReference with name is needed");
	if (a->expression)
		return places_last_write(d, a->frame, a->expression);
	return a->name ? last_write_of_variable(d, a->reference, a->name) : last_write_of_range(d, a->address, a->length);
}
DAP_METHOD(last_write, last_write_table, struct last_write_args);

struct navigate_args {
	const char *direction;
};

static const struct arg navigate_table[] = {
	ARG(STR, struct navigate_args, direction, "direction", .required = true),
	{ .name = NULL },
};

static int navigate(struct dap *d, const void *args, json_t *body)
{
	const struct navigate_args *a = args;
	bool forward = strcmp(a->direction, "forward") == 0;

	(void)body;
	if (!forward && strcmp(a->direction, "back") != 0)
		return errinfo_set(&d->ei, -EINVAL, "direction: it is back or forward");
	return places_navigate(d, forward);
}
DAP_METHOD(navigate, navigate_table, struct navigate_args);
