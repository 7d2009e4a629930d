/* Log points: gdb's dprintf with an argument that prints (gdb.py), and a log point over the whole recording at once. */
#define LOG_AREA "dap.log"
#include "dap/breaks_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

#define MARK "\001hermit-log"
#define LOG_LINES_MAX 100000
#define LOG_LINE_BYTES_MAX (1u << 20)

static const char script[] =
#include "dap/gdb.inc"
	;

static void put_hex(struct buf *b, const char *s)
{
	for (; *s; s++)
		buf_printf(b, "%02x", (unsigned char)*s);
}

int breaks_python(struct dap *d)
{
	struct dap_breaks *b = d->breaks;
	struct buf hex CLEANUP(buf_done) = { 0 };
	struct errinfo why = { 0 };
	int r = 0;

	if (b->python == PYTHON_UNKNOWN) {
		put_hex(&hex, script);
		r = mi_console(d->mi, NULL, &why, "python exec(bytes.fromhex('%s').decode())", buf_cstr(&hex));
		if (r < 0 && r != -EREMOTEIO)
			return errinfo_set(&d->ei, r, "%s", why.text);
		b->python = r < 0 ? PYTHON_NONE : PYTHON_THERE;
		if (r < 0)
			log_debug("log points: %s", why.text);
	}
	if (b->python == PYTHON_NONE)
		return errinfo_set(&d->ei, -EREMOTEIO, "this needs a gdb with Python");
	return 0;
}

int log_define(struct dap *d, int64_t id, const json_t *parts, bool positions)
{
	json_t *point CLEANUP(jsonx_unrefp) = json_pack("{sO sb}", "parts", parts, "positions", positions);
	struct buf hex CLEANUP(buf_done) = { 0 };
	char *text CLEANUP(freep) = NULL;
	int r = point ? jsonx_dump(point, JSON_COMPACT, &text, NULL) : -ENOMEM;

	if (r < 0)
		return r;
	put_hex(&hex, text);
	return mi_console(d->mi, NULL, &d->ei, "python hermit.define(%" PRId64 ", '%s')", id, buf_cstr(&hex));
}

/* --- lines --- */

static struct point *point_of_id(struct dap *d, int64_t id)
{
	for (size_t i = 0; i < d->breaks->n; i++)
		if (d->breaks->points[i]->id == id)
			return d->breaks->points[i];
	return NULL;
}

static int put_source(struct dap *d, const struct point *p, json_t *event)
{
	const json_t *places = json_object_get(p->bkpt, "locations"), *place = json_array_size(places) ? json_array_get(places, 0) : p->bkpt;
	int64_t line = mi_int(place, "line", 0);
	json_t *source = line > 0 ? sources_of(d, mi_str(place, "file"), mi_str(place, "fullname")) : NULL;
	int r;

	if (!source || json_is_null(source)) {
		json_decref(source);
		return 0;
	}
	r = jsonx_set_new(event, "source", source);
	return r >= 0 ? jsonx_set_i64(event, "line", sources_line_out(d, line)) : r;
}

/* p: NULL for a log point of log_all(). */
static void say_line(struct dap *d, const struct point *p, const char *text)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *event = json_pack("{ss}", "category", "console");
	int r = event ? 0 : -ENOMEM;

	buf_printf(&b, "%s%s\n", p && d->breaks->reverse ? "(backwards) " : "", text);
	if (r >= 0)
		r = jsonx_set_new(event, "output", jsonx_string_lossy(buf_cstr(&b), b.len));
	if (r >= 0 && p)
		r = put_source(d, p, event);
	if (r < 0) {
		json_decref(event);
		event = NULL;
	}
	dap_event(d, "output", event);
}

static bool gather(struct dap *d, json_t *told)
{
	json_t *line;

	if (d->breaks->full)
		return false;
	line = json_pack("{sO sO* sO*}", "text", json_object_get(told, "t"), "event", json_object_get(told, "event"), "position",
				 json_object_get(told, "position"));

	if (!line || json_array_append_new(d->breaks->lines, line) < 0)
		log_debug("a line of a log point is lost: out of memory");
	d->breaks->full = json_array_size(d->breaks->lines) >= d->breaks->limit;
	if (d->breaks->full)
		run_pause(d);
	return true;
}

/* The line of a log point with a hit condition is shown when its number is wanted. */
static bool is_wanted(struct dap *d, struct point *p)
{
	bool reverse = d->breaks->reverse;

	if (p->hit.op == HIT_ALWAYS)
		return true;
	return p->at && hit_matches(&p->hit, hit_last(p->at, (uint64_t)(p->times - p->base), reverse));
}

static void take_line(struct dap *d, const char *text, size_t n)
{
	json_t *told CLEANUP(jsonx_unrefp) = NULL;
	struct point *p;
	int64_t id;
	const char *said;

	if (jsonx_parse(text, n, &told, NULL) < 0)
		return;
	id = json_integer_value(json_object_get(told, "n"));
	said = mi_str(told, "t");
	p = point_of_id(d, id);
	if (d->breaks->lines && id == d->breaks->gathering) {
		if (gather(d, told))
			say_line(d, NULL, said ? said : "");
	} else if (p && is_wanted(d, p) && !d->breaks->own) {
		say_line(d, p, said ? said : "");
	}
}

bool log_record(struct dap *d, const struct mi_record *rec)
{
	struct buf *line = &d->breaks->line;
	const char *text = (const char *)rec->text.data;
	size_t mark = strlen(MARK);

	if (!line->len && (rec->text.len < mark || memcmp(text, MARK, mark)))
		return false;
	if (line->len > LOG_LINE_BYTES_MAX)
		buf_clear(line);
	buf_put(line, text, rec->text.len);
	if (buf_error(line) || line->data[line->len - 1] != '\n')
		return true;
	take_line(d, (const char *)line->data + mark, line->len - mark);
	buf_clear(line);
	return true;
}

/* --- over the whole recording --- */

/* From the start to the end, and back to home. */
static int gather_lines(struct dap *d, int64_t number)
{
	json_t *keep CLEANUP(jsonx_unrefp) = json_pack("[I]", (json_int_t)number), *disabled CLEANUP(jsonx_unrefp) = NULL;
	char *home CLEANUP(freep) = NULL;
	int r = keep ? breaks_home(d, &home) : -ENOMEM, r2;

	if (r >= 0)
		r = breaks_disable(d, keep, &disabled);
	if (r < 0)
		return r;
	r = run_quietly_to(d, "start");
	if (r >= 0)
		r = breaks_run_to_end(d, "Log point over the whole recording", &d->breaks->full);
	if (r == ERR_GUEST_GONE)
		return r;
	r2 = breaks_return(d, home, disabled);
	return r < 0 ? r : r2;
}

/* p: the log point, for this time only. */
static int log_over_all(struct dap *d, const char *location, struct point *p, const json_t *parts)
{
	enum dap_state state = d->state;
	struct errinfo ignored = { 0 };
	int r = log_define(d, p->id, parts, true);

	if (r >= 0)
		r = point_insert_code(d, p, "", location);
	if (r >= 0)
		r = point_set_condition(d, p);
	if (r >= 0)
		r = gather_lines(d, p->number);
	if (r == ERR_GUEST_GONE)
		return r;
	d->state = state;
	if (p->number && mi_command(d->mi, NULL, &ignored, "-break-delete %" PRId64, p->number) < 0)
		log_debug("log point: %s", ignored.text);
	dap_progress_end(d);
	return r;
}

/* What was gathered before the user had enough of it is an answer. r: of log_over_all(). */
static int put_lines(struct dap *d, int r, json_t *body)
{
	const struct dap_breaks *b = d->breaks;
	size_t n = json_array_size(b->lines);
	bool complete = r >= 0 && !b->full;

	if (r < 0 && (r != ERR_INTERRUPTED || !n))
		return r;
	if (!complete)
		dap_say(d, "console", "hermit-dap: %s after %zu lines\n", r < 0 ? "cancelled" : "stopped", n);
	d->ei = (struct errinfo){ 0 };
	r = jsonx_set_bool(body, "complete", complete);
	return r >= 0 ? json_object_set(body, "lines", b->lines) : r;
}

static void free_point(struct point **p)
{
	point_free(*p);
}

/* location: as arguments of -break-insert. */
static int log_at(struct dap *d, const char *location, const char *condition, const char *text, uint64_t limit, json_t *body)
{
	struct dap_breaks *b = d->breaks;
	json_t *parts CLEANUP(jsonx_unrefp) = NULL;
	struct point *p CLEANUP(free_point) = os_calloc(1, sizeof(*p));
	int r = p ? log_parse(text, &parts, &d->ei) : -ENOMEM;

	if (r >= 0)
		r = breaks_python(d);
	if (r < 0)
		return r;
	p->id = b->gathering = ++b->last_id;
	p->logs = true;
	p->spec = json_pack("{ss*}", "condition", condition);
	b->lines = json_array();
	b->limit = limit;
	b->full = false;
	b->own = true;
	r = p->spec && b->lines ? log_over_all(d, location, p, parts) : -ENOMEM;
	b->own = false;
	r = put_lines(d, r, body);
	jsonx_unrefp(&b->lines);
	b->lines = NULL;
	return r;
}

int breaks_log_all(struct dap *d, const char *location, const char *condition, const char *text, json_t *body)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	buf_printf(&b, "-- ");
	mi_quote(&b, location);
	return log_at(d, buf_cstr(&b), condition, text, LOG_LINES_MAX, body);
}

struct log_all_args {
	const char *location, *condition, *text, *message;
	json_t *source;
	int64_t line, limit;
};

static const struct arg log_all_table[] = {
	ARG(STR, struct log_all_args, location, "location"),
	ARG(OBJECT, struct log_all_args, source, "source"),
	ARG(INT, struct log_all_args, line, "line"),
	ARG(STR, struct log_all_args, condition, "condition"),
	ARG(STR, struct log_all_args, text, "text"),
	ARG(STR, struct log_all_args, message, "logMessage"),
	ARG(INT, struct log_all_args, limit, "limit", .def = LOG_LINES_MAX),
	{ .name = NULL },
};

static int log_all(struct dap *d, const void *args, json_t *body)
{
	const struct log_all_args *a = args;
	const char *text = a->text ? a->text : a->message;
	struct buf b CLEANUP(buf_done) = { 0 };
	char *path CLEANUP(freep) = NULL;
	int r;

	if (!text || !(a->location || (a->source && a->line > 0)))
		return errinfo_set(&d->ei, -EINVAL, "wanted are \"logMessage\", and \"location\" or \"source\" and \"line\"");
	if (a->limit < 1 || a->limit > LOG_LINES_MAX)
		return errinfo_set(&d->ei, -EINVAL, "\"limit\" is 1 to %d", LOG_LINES_MAX);
	if (a->location) {
		buf_printf(&b, "-- ");
		mi_quote(&b, a->location);
	} else {
		r = sources_to_gdb(d, a->source, &path);
		if (r < 0)
			return r;
		buf_printf(&b, "--source ");
		mi_quote(&b, path);
		buf_printf(&b, " --line %" PRId64, sources_line_in(d, a->line));
	}
	return log_at(d, buf_cstr(&b), a->condition, text, (uint64_t)a->limit, body);
}
DAP_METHOD(log_all, log_all_table, struct log_all_args);
