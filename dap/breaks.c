/* What all points have in common: a new list is compared with the old one, and only the difference reaches gdb, so that ids stay and breakpoints that the user
 * did not touch are not taken out of a running replay; and what the client is told of them. */
#define LOG_AREA "dap.breaks"
#include "dap/breaks_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

int breaks_new(struct dap_breaks **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void point_free(struct point *p)
{
	if (!p)
		return;
	freep(&p->group);
	freep(&p->message);
	jsonx_unrefp(&p->spec);
	jsonx_unrefp(&p->bkpt);
	jsonx_unrefp(&p->shown);
	free(p);
}

void breaks_free(struct dap_breaks *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++)
		point_free(b->points[i]);
	free(b->points);
	buf_done(&b->line);
	jsonx_unrefp(&b->lines);
	free(b);
}

struct point *point_of_number(struct dap *d, int64_t number)
{
	for (size_t i = 0; number > 0 && i < d->breaks->n; i++)
		if (d->breaks->points[i]->number == number)
			return d->breaks->points[i];
	return NULL;
}

/* "3", "3-5", "3.1" at *s, which moves behind it and the blanks. */
static bool range_reaches(struct dap *d, const char **s)
{
	char *end;
	int64_t from = strtoll(*s, &end, 10), to = *end == '-' ? strtoll(end + 1, NULL, 10) : from;

	*s += strcspn(*s, " \t");
	*s += strspn(*s, " \t");
	for (size_t i = 0; i < d->breaks->n; i++)
		if (d->breaks->points[i]->number >= MAX(from, 1) && d->breaks->points[i]->number <= to)
			return true;
	for (int64_t n = MAX(from, 1); n <= to && n - from < POINTS_MAX; n++)
		if (except_has(d, n))
			return true;
	return false;
}

bool breaks_reaches(struct dap *d, const char *command, const char *args)
{
	/* the command, and whether all its arguments are breakpoints */
	static const struct {
		const char *name;
		bool list;
	} commands[] = { { "delete", true }, { "enable", true }, { "disable", true }, { "condition", false }, { "ignore", false } };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, command))
			continue;
		while (*args) {
			/* gdb's variables may be any number */
			if ((commands[i].list && *args == '$') || range_reaches(d, &args))
				return true;
			if (!commands[i].list)
				return false;
		}
	}
	return false;
}

/* --- how the client sees one --- */

/* The first place of several, else the breakpoint itself. */
static const json_t *first_place(const json_t *bkpt)
{
	const json_t *place = json_array_get(json_object_get(bkpt, "locations"), 0);

	return place ? place : bkpt;
}

/* One of its places has an address. */
static bool is_placed(const json_t *place)
{
	const char *addr = mi_str(place, "addr");

	return addr && str_has_prefix(addr, "0x");
}

/* gdb knows no place of it, now. */
static bool is_pending(const json_t *bkpt)
{
	const json_t *places = json_object_get(bkpt, "locations");

	for (size_t i = 0; i < json_array_size(places); i++)
		if (is_placed(json_array_get(places, i)))
			return false;
	return json_array_size(places) || !is_placed(bkpt);
}

/* gdb has disabled all places: the condition, which it could not check before, names something that is not there. */
static bool is_unfit(const json_t *bkpt)
{
	const json_t *places = json_object_get(bkpt, "locations");

	for (size_t i = 0; i < json_array_size(places); i++)
		if (strncmp(mi_str(json_array_get(places, i), "enabled") ?: "", "N", 1))
			return false;
	return json_array_size(places);
}

static int put_place(struct dap *d, const json_t *place, json_t *body)
{
	const char *file = mi_str(place, "file"), *fullname = mi_str(place, "fullname"), *addr = mi_str(place, "addr");
	int64_t line = mi_int(place, "line", 0);
	int r = 0;

	if (line > 0)
		r = jsonx_set_i64(body, "line", sources_line_out(d, line));
	if (r >= 0 && (file || fullname)) {
		json_t *source = sources_of(d, file, fullname);

		if (json_is_null(source))
			json_decref(source);
		else
			r = jsonx_set_new(body, "source", source);
	}
	if (r >= 0 && addr && str_has_prefix(addr, "0x"))
		r = jsonx_set_str(body, "instructionReference", addr);
	return r;
}

static int put_message(const struct point *p, bool verified, json_t *body)
{
	bool unfit = p->number && !p->pending && is_unfit(p->bkpt);
	size_t places = json_array_size(json_object_get(p->bkpt, "locations"));
	struct buf b CLEANUP(buf_done) = { 0 };
	int r = 0;

	if (unfit) {
		buf_printf(&b, "the condition '%.100s' cannot be evaluated here", mi_str(p->spec, "condition") ?: "");
		r = jsonx_set_str(body, "reason", "failed");
	} else if (!verified) {
		size_t n = p->message ? strlen(p->message) : 0;

		buf_printf(&b, "%.*s", (int)(p->pending && n && p->message[n - 1] == '.' ? n - 1 : n), p->message ? p->message : "");
		if (p->pending)
			buf_printf(&b, "%sit is looked for again whenever the program loads a library", p->message ? "; " : "");
		r = jsonx_set_str(body, "reason", p->pending ? "pending" : "failed");
	} else if (places > 1) {
		buf_printf(&b, "%zu places", places);
	}
	if (r >= 0 && b.len)
		r = jsonx_set_new(body, "message", jsonx_string_lossy(buf_cstr(&b), b.len));
	return r;
}

/* DAP's Breakpoint: new reference, NULL = no memory. */
static json_t *point_body(struct dap *d, const struct point *p)
{
	bool verified = p->number > 0 && !p->pending && !is_unfit(p->bkpt);
	json_t *body = json_pack("{sI sb}", "id", (json_int_t)p->id, "verified", verified);
	int r = body ? put_message(p, verified, body) : -ENOMEM;

	if (r >= 0 && verified && p->bkpt)
		r = put_place(d, first_place(p->bkpt), body);
	if (r >= 0)
		return body;
	json_decref(body);
	return NULL;
}

/* --- gdb's words --- */

static void take_bkpt(struct point *p, json_t *bkpt)
{
	jsonx_unrefp(&p->bkpt);
	p->bkpt = json_incref(bkpt);
	p->number = mi_int(bkpt, "number", p->number);
	p->times = mi_int(bkpt, "times", p->times);
	p->pending = is_pending(bkpt);
}

/* Tells the client of a change, if it is one for it. */
static void tell_changed(struct dap *d, struct point *p)
{
	json_t *body = point_body(d, p);

	if (!body || json_equal(body, p->shown)) {
		jsonx_unrefp(&body);
		return;
	}
	jsonx_unrefp(&p->shown);
	p->shown = json_incref(body);
	dap_event(d, "breakpoint", json_pack("{ss so}", "reason", "changed", "breakpoint", body));
}

void points_tell(struct dap *d)
{
	for (size_t i = 0; i < d->breaks->n; i++)
		if (d->breaks->points[i]->shown)
			tell_changed(d, d->breaks->points[i]);
}

/* gdb, or a line in its console, has deleted it. */
static void lose(struct dap *d, struct point *p)
{
	p->number = 0;
	jsonx_unrefp(&p->bkpt);
	p->bkpt = NULL;
	if (!p->message)
		p->message = os_strdup("gdb has deleted it");
	p->pending = false;
	tell_changed(d, p);
}

static bool take_notice(struct dap *d, const struct mi_record *rec)
{
	json_t *bkpt = json_object_get(rec->values, "bkpt");
	struct point *p;

	if (strcmp(rec->name, "breakpoint-modified") == 0) {
		p = point_of_number(d, mi_int(bkpt, "number", 0));
		if (p) {
			take_bkpt(p, bkpt);
			if (p->shown && !d->breaks->own)
				tell_changed(d, p);
		}
		return p;
	}
	if (strcmp(rec->name, "breakpoint-deleted") == 0) {
		p = point_of_number(d, mi_int(rec->values, "id", 0));
		if (p)
			lose(d, p);
		return p;
	}
	return false;
}

/* The client is told by events. */
#define UNLOADED "warning: Temporarily disabling breakpoints for unloaded shared library"

bool breaks_record(struct dap *d, const struct mi_record *rec)
{
	if (!d->breaks)
		return false;
	if (rec->kind == MI_NOTIFY && rec->name)
		return take_notice(d, rec);
	if (rec->kind == MI_CONSOLE && log_record(d, rec))
		return true;
	if (rec->kind != MI_CONSOLE && rec->kind != MI_TARGET && rec->kind != MI_LOG)
		return false;
	if (rec->text.len > strlen(UNLOADED) && memcmp(rec->text.data, UNLOADED, strlen(UNLOADED)) == 0)
		return true;
	/* of a run that the client does not see */
	return d->breaks->own && rec->kind != MI_LOG;
}

const char *point_str(const struct point *p, const char *key)
{
	const char *s = json_string_value(json_object_get(p->spec, key));

	return s && s[strspn(s, " \t")] ? s : NULL;
}

int point_set_condition(struct dap *d, const struct point *p)
{
	const char *cond = point_str(p, "condition");
	struct buf q CLEANUP(buf_done) = { 0 };

	if (!cond)
		return 0;
	mi_quote(&q, cond);
	return mi_command(d->mi, NULL, &d->ei, "-break-condition %" PRId64 " %s", p->number, buf_cstr(&q));
}

/* --- one point --- */

static void delete_number(struct dap *d, struct point *p)
{
	struct errinfo ignored = { 0 };
	int64_t number = p->number;

	p->number = 0; /* first: what gdb tells of it is no news */
	if (number && mi_command(d->mi, NULL, &ignored, "-break-delete %" PRId64, number) < 0)
		log_debug("delete breakpoint %" PRId64 ": %s", number, ignored.text);
}

/* Why a point does not work, in gdb's or our words of d->ei, which are used up. */
static int fail_point(struct dap *d, struct point *p, int r)
{
	if (r != -EREMOTEIO && r != -EINVAL && r != -ENOENT && r != ERR_LIMIT)
		return r;
	delete_number(d, p);
	freep(&p->message);
	p->message = os_strdup(d->ei.text);
	p->pending = false;
	d->ei = (struct errinfo){ 0 };
	return p->message ? 0 : -ENOMEM;
}

static int parse_spec(struct dap *d, struct point *p)
{
	json_t *parts CLEANUP(jsonx_unrefp) = NULL;
	const char *log = point_str(p, "logMessage");
	int r = hit_parse(point_str(p, "hitCondition"), &p->hit, &d->ei);

	if (r < 0 || !log)
		return r;
	p->logs = true;
	r = log_parse(log, &parts, &d->ei);
	if (r >= 0)
		r = python_check(d);
	return r >= 0 ? log_define(d, p->id, parts, false) : r;
}

static int make_point(struct dap *d, struct point *p, point_insert insert)
{
	const char *error = point_str(p, "error");
	int r = error ? errinfo_set(&d->ei, -EINVAL, "%s", error) : parse_spec(d, p);

	if (r >= 0)
		r = insert(d, p);
	if (r >= 0 && !p->pending)
		r = point_set_condition(d, p);
	return r < 0 ? fail_point(d, p, r) : 0;
}

/* A log point prints by an argument of its printf, so that its condition is evaluated where those of breakpoints are; the format shows nothing. */
int point_insert_code(struct dap *d, struct point *p, const char *options, const char *where)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = p->logs ? mi_command(d->mi, &j, &d->ei, "-dprintf-insert %s %s \"%%.0d\" $_hermit_log(%" PRId64 ")", options, where, p->id)
			: mi_command(d->mi, &j, &d->ei, "-break-insert %s %s", options, where);

	if (r >= 0)
		take_bkpt(p, json_object_get(j, "bkpt"));
	return r;
}

/* --- lists --- */

static struct point *find_same(struct dap *d, enum point_kind kind, const char *group, const json_t *spec)
{
	for (size_t i = 0; i < d->breaks->n; i++) {
		struct point *p = d->breaks->points[i];

		if (!p->seen && p->kind == kind && strcmp(p->group, group) == 0 && json_equal(p->spec, spec))
			return p;
	}
	return NULL;
}

static int add_point(struct dap *d, enum point_kind kind, const char *group, const json_t *spec, struct point **ret)
{
	struct dap_breaks *b = d->breaks;
	struct point *p;

	if (b->n == POINTS_MAX)
		return errinfo_set(&d->ei, ERR_LIMIT, "more than %u breakpoints", POINTS_MAX);
	if (b->n == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 16;
		struct point **more = reallocarray(b->points, cap, sizeof(struct point *));

		if (!more)
			return -ENOMEM;
		b->points = more;
		b->cap = cap;
	}
	p = os_calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct point){ .id = ++b->last_id, .kind = kind, .group = os_strdup(group), .spec = json_deep_copy(spec), .is_new = true };
	b->points[b->n++] = p;
	*ret = p;
	return p->group && p->spec ? 0 : -ENOMEM;
}

static void drop_unseen(struct dap *d, enum point_kind kind, const char *group)
{
	struct dap_breaks *b = d->breaks;
	size_t kept = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct point *p = b->points[i];

		if (p->kind == kind && strcmp(p->group, group) == 0 && !p->seen) {
			delete_number(d, p);
			point_free(p);
		} else {
			b->points[kept++] = p;
		}
	}
	b->n = kept;
}

static int append_body(struct dap *d, struct point *p, json_t *list)
{
	jsonx_unrefp(&p->shown);
	p->shown = point_body(d, p);
	return p->shown && json_array_append(list, p->shown) == 0 ? 0 : -ENOMEM;
}

/* In the order of specs: the old point or a new one, new ones without breakpoint yet. */
static int match_points(struct dap *d, enum point_kind kind, const char *group, const json_t *specs, struct point **ret)
{
	int r = 0;

	for (size_t i = 0; i < d->breaks->n; i++)
		d->breaks->points[i]->seen = d->breaks->points[i]->is_new = false;
	for (size_t i = 0; i < json_array_size(specs) && r >= 0; i++) {
		const json_t *spec = json_array_get(specs, i);

		ret[i] = find_same(d, kind, group, spec);
		if (!ret[i])
			r = add_point(d, kind, group, spec, &ret[i]);
		if (r >= 0)
			ret[i]->seen = true;
	}
	return r;
}

int points_set(struct dap *d, enum point_kind kind, const char *group, const json_t *specs, point_insert insert, json_t *body)
{
	size_t n = json_array_size(specs);
	struct point **list CLEANUP(freep) = os_calloc(n + 1, sizeof(struct point *));
	json_t *out CLEANUP(jsonx_unrefp) = json_array();
	int r = list && out ? match_points(d, kind, group, specs, list) : -ENOMEM;

	if (r >= 0)
		drop_unseen(d, kind, group);
	for (size_t i = 0; i < n && r >= 0; i++) {
		/* one that failed may work now: its program may have been loaded */
		if (list[i]->is_new || (!list[i]->number && !list[i]->pending)) {
			freep(&list[i]->message);
			list[i]->message = NULL;
			r = make_point(d, list[i], insert);
		}
		if (r >= 0)
			r = append_body(d, list[i], out);
	}
	return r >= 0 ? jsonx_set_new(body, "breakpoints", TAKE(out)) : r;
}
