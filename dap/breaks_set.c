/* Requests that set breakpoints of lines, functions and instructions. */
#include "dap/breaks_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* --- into gdb --- */

/* gdb looks at a place that it does not know again later; the reason of now is kept. */
static int insert_pending(struct dap *d, struct point *p, const char *where)
{
	struct buf options CLEANUP(buf_done) = { 0 };
	const char *cond = point_str(p, "condition");

	buf_printf(&options, "-f");
	if (cond) {
		buf_printf(&options, " -c ");
		mi_quote(&options, cond);
	}
	freep(&p->message);
	p->message = os_strdup(d->ei.text);
	d->ei = (struct errinfo){ 0 };
	return p->message ? point_insert_code(d, p, buf_cstr(&options), where) : -ENOMEM;
}

/* gdb takes any address. where: "*0x401136". */
static int check_address(struct dap *d, const char *where)
{
	struct errinfo why = { 0 };
	int r = mi_command(d->mi, NULL, &why, "-data-read-memory-bytes %s 1", where + 1);

	if (r == -EREMOTEIO)
		return errinfo_set(&d->ei, r, "nothing is mapped at %s now", where + 1);
	return r < 0 ? errinfo_set(&d->ei, r, "%s", why.text) : 0;
}

static int insert_code(struct dap *d, struct point *p)
{
	const char *where = point_str(p, "where");
	int r = p->kind == POINT_ADDRESS ? check_address(d, where) : 0;

	if (r >= 0)
		r = point_insert_code(d, p, "", where);

	return r == -EREMOTEIO && p->kind != POINT_ADDRESS ? insert_pending(d, p, where) : r;
}

/* --- requests --- */

struct wanted {
	const char *condition, *hit, *log, *name, *reference;
	int64_t line, offset;
};

static const struct arg wanted_line[] = {
	ARG(INT, struct wanted, line, "line", .required = true),
	ARG(STR, struct wanted, condition, "condition"),
	ARG(STR, struct wanted, hit, "hitCondition"),
	ARG(STR, struct wanted, log, "logMessage"),
	{ .name = NULL },
};

static const struct arg wanted_function[] = {
	ARG(STR, struct wanted, name, "name", .required = true),
	ARG(STR, struct wanted, condition, "condition"),
	ARG(STR, struct wanted, hit, "hitCondition"),
	{ .name = NULL },
};

static const struct arg wanted_instruction[] = {
	ARG(STR, struct wanted, reference, "instructionReference", .required = true),
	ARG(INT, struct wanted, offset, "offset"),
	ARG(STR, struct wanted, condition, "condition"),
	ARG(STR, struct wanted, hit, "hitCondition"),
	{ .name = NULL },
};

/* Appends where gdb puts w, as arguments of -break-insert. */
static int line_where(struct dap *d, const struct wanted *w, const char *path, struct buf *b)
{
	buf_printf(b, "--source ");
	mi_quote(b, path);
	buf_printf(b, " --line %" PRId64, sources_line_in(d, w->line));
	return 0;
}

static int function_where(struct dap *d, const struct wanted *w, const char *path, struct buf *b)
{
	(void)path;
	if (!w->name[strspn(w->name, " \t")])
		return errinfo_set(&d->ei, -EINVAL, "a function breakpoint without a name");
	buf_printf(b, "--function ");
	mi_quote(b, w->name);
	return 0;
}

static int instruction_where(struct dap *d, const struct wanted *w, const char *path, struct buf *b)
{
	uint64_t addr;

	(void)path;
	if (str_parse_u64(w->reference, &addr) < 0)
		return errinfo_set(&d->ei, -EINVAL, "'%.80s' is no address of an instruction", w->reference);
	buf_printf(b, "*0x%" PRIx64, addr + (uint64_t)w->offset);
	return 0;
}

struct want {
	const struct arg *table;
	int (*where)(struct dap *d, const struct wanted *w, const char *path, struct buf *b);
};

static int make_spec(struct dap *d, const struct want *want, const json_t *item, const char *path, json_t *specs)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct wanted w = { 0 };
	json_t *spec;
	int r = args_decode(want->table, item, &w, &d->ei);

	if (r < 0)
		return r;
	r = want->where(d, &w, path, &b);
	if (r < 0 && r != -EINVAL)
		return r;
	spec = json_pack("{ss ss* ss* ss* ss*}", "where", buf_cstr(&b), "condition", w.condition, "hitCondition", w.hit, "logMessage", w.log, "error",
			 r < 0 ? d->ei.text : NULL);
	if (r < 0)
		d->ei = (struct errinfo){ 0 };
	return spec && json_array_append_new(specs, spec) == 0 ? 0 : -ENOMEM;
}

static int set_points(struct dap *d, enum point_kind kind, const struct want *want, const json_t *items, const char *path, json_t *body)
{
	json_t *specs CLEANUP(jsonx_unrefp) = json_array();
	int r = specs ? 0 : -ENOMEM;

	for (size_t i = 0; i < json_array_size(items) && r >= 0; i++)
		r = make_spec(d, want, json_array_get(items, i), path, specs);
	return r >= 0 ? points_set(d, kind, path, specs, insert_code, body) : r;
}

struct set_args {
	json_t *source, *breakpoints, *lines;
};

static const struct arg set_lines[] = {
	ARG(OBJECT, struct set_args, source, "source", .required = true),
	ARG(ARRAY, struct set_args, breakpoints, "breakpoints"),
	ARG(ARRAY, struct set_args, lines, "lines"), /* of old clients */
	{ .name = NULL },
};

static json_t *items_of_lines(const json_t *lines)
{
	json_t *items = json_array();

	for (size_t i = 0; items && i < json_array_size(lines); i++)
		if (json_array_append_new(items, json_pack("{sO}", "line", json_array_get(lines, i))) < 0) {
			json_decref(items);
			return NULL;
		}
	return items;
}

/* Lines of a listing of machine code are its instructions. */
static json_t *items_of_code(struct dap *d, const json_t *source, const json_t *lines)
{
	json_t *items CLEANUP(jsonx_unrefp) = json_array();

	for (size_t i = 0; items && i < json_array_size(lines); i++) {
		json_t *item = json_copy(json_array_get(lines, i));
		json_int_t line = json_integer_value(json_object_get(item, "line"));
		uint64_t addr = sources_code_addr(d, source, line);
		json_t *where = addr ? json_sprintf("0x%" PRIx64, addr) : json_sprintf("line %" JSON_INTEGER_FORMAT, line);

		if (json_array_append_new(items, item) < 0 || jsonx_set_new(item, "instructionReference", where) < 0)
			return NULL;
	}
	return TAKE(items);
}

static int set_in_code(struct dap *d, const json_t *source, const json_t *lines, json_t *body)
{
	static const struct want want = { wanted_instruction, instruction_where };
	json_t *items CLEANUP(jsonx_unrefp) = items_of_code(d, source, lines);
	char *group CLEANUP(freep) =
		os_asprintf("machine code %" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(source, "sourceReference")));

	return items && group ? set_points(d, POINT_LINE, &want, items, group, body) : -ENOMEM;
}

static int set_breakpoints(struct dap *d, const void *args, json_t *body)
{
	static const struct want want = { wanted_line, line_where };
	const struct set_args *a = args;
	json_t *items CLEANUP(jsonx_unrefp) = a->breakpoints ? json_incref(a->breakpoints) : items_of_lines(a->lines);
	char *path CLEANUP(freep) = NULL;
	const char *given = mi_str(a->source, "path");
	int r;

	if (items && sources_is_code(a->source))
		return set_in_code(d, a->source, items, body);
	r = items ? sources_to_gdb(d, a->source, &path) : -ENOMEM;
	if (r == -ENOENT && given) { /* a file that no program here was made of: its breakpoints wait for one */
		d->ei = (struct errinfo){ 0 };
		path = os_strdup(given);
		r = path ? 0 : -ENOMEM;
	}
	return r >= 0 ? set_points(d, POINT_LINE, &want, items, path, body) : r;
}
DAP_METHOD(set_breakpoints, set_lines, struct set_args);

static const struct arg set_list[] = {
	ARG(ARRAY, struct set_args, breakpoints, "breakpoints", .required = true),
	{ .name = NULL },
};

static int set_function_breakpoints(struct dap *d, const void *args, json_t *body)
{
	static const struct want want = { wanted_function, function_where };

	return set_points(d, POINT_FUNCTION, &want, ((const struct set_args *)args)->breakpoints, "", body);
}
DAP_METHOD(set_function_breakpoints, set_list, struct set_args);

static int set_instruction_breakpoints(struct dap *d, const void *args, json_t *body)
{
	static const struct want want = { wanted_instruction, instruction_where };

	return set_points(d, POINT_ADDRESS, &want, ((const struct set_args *)args)->breakpoints, "", body);
}
DAP_METHOD(set_instruction_breakpoints, set_list, struct set_args);
