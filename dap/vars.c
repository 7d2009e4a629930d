/* Requests scopes, variables, and those that would change variables. See stack_priv.h. */
#include "dap/stack_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

/* --- scopes --- */

struct scopes_args {
	int64_t frame;
};

static const struct arg scopes_table[] = {
	ARG(INT, struct scopes_args, frame, "frameId", .required = true),
	{ .name = NULL },
};

/* Editors open the first one by themselves, and some no other. */
/* clang-format off */
static const struct {
	enum ref_kind kind;
	const char *name, *hint;
	bool expensive;
} all_scopes[] = {
	{ REF_RETURNED, "Return value", "returnValue", false },
	{ REF_LOCALS, "Locals", "locals", false },
	{ REF_GLOBALS, "Globals of the file", "globals", true },
	{ REF_REGISTERS, "Registers", "registers", true },
};
/* clang-format on */

static int add_scope(struct dap *d, size_t i, int thread, int level, json_t *ret)
{
	struct ref ref = { .kind = all_scopes[i].kind, .thread = thread, .level = level, .elements = -1 };
	json_t *scope = json_object();
	int64_t id = 0;
	int r = json_array_append_new(ret, scope) < 0 ? -ENOMEM : stack_ref_new(d, &ref, &id);

	if (r >= 0)
		r = jsonx_set_str(scope, "name", all_scopes[i].name);
	if (r >= 0)
		r = jsonx_set_str(scope, "presentationHint", all_scopes[i].hint);
	if (r >= 0)
		r = jsonx_set_i64(scope, "variablesReference", id);
	return r < 0 ? r : jsonx_set_bool(scope, "expensive", all_scopes[i].expensive);
}

static int scopes(struct dap *d, const void *args, json_t *body)
{
	const struct scopes_args *a = args;
	json_t *list = json_array();
	int thread, level;
	int r = jsonx_set_new(body, "scopes", list);

	if (r >= 0)
		r = stack_frame(d, a->frame, &thread, &level);
	for (size_t i = 0; i < ARRAY_SIZE(all_scopes) && r >= 0; i++) {
		if (all_scopes[i].kind == REF_RETURNED && (!d->stack->returned || thread != d->stack->returned_thread || level != 0))
			continue;
		r = add_scope(d, i, thread, level, list);
	}
	return r;
}
DAP_METHOD(scopes, scopes_table, struct scopes_args);

/* --- variables --- */

struct variables_args {
	int64_t ref, start, count;
	const char *filter;
	json_t *format;
};

static const struct arg variables_table[] = {
	ARG(INT, struct variables_args, ref, "variablesReference", .required = true),
	ARG(INT, struct variables_args, start, "start"),
	ARG(INT, struct variables_args, count, "count"),
	ARG(STR, struct variables_args, filter, "filter"),
	ARG(OBJECT, struct variables_args, format, "format"),
	{ .name = NULL },
};

static int list(struct dap *d, struct ref *ref, const struct range *range, bool hex, json_t *ret)
{
	static int (*const whole[])(struct dap *d, const struct ref *ref, bool hex, json_t *ret) = {
		[REF_RETURNED] = list_returned,	    [REF_LOCALS] = list_frame,	 [REF_GLOBALS] = list_globals,
		[REF_REGISTERS] = registers_groups, [REF_GROUP] = registers_list,
	};

	return ref->kind == REF_VALUE ? varobj_children(d, ref, range, hex, ret) : whole[ref->kind](d, ref, hex, ret);
}

/* What was listed whole is cut to what was asked for; values do that by themselves. */
static int cut(const struct ref *ref, const struct range *range, json_t *list)
{
	int64_t n = (int64_t)json_array_size(list), from = MIN(MAX(range->start, 0), n), to = range->count > 0 ? MIN(from + range->count, n) : n;

	if (ref->kind == REF_VALUE || (from == 0 && to == n))
		return 0;
	while ((int64_t)json_array_size(list) > to)
		(void)json_array_remove(list, json_array_size(list) - 1);
	while (from-- > 0)
		(void)json_array_remove(list, 0);
	return 0;
}

/* The client asks for named and for indexed children apart: a value has one kind, the one that was told with it. */
static bool filtered_out(const struct ref *ref, const char *filter)
{
	bool indexed = ref->kind == REF_VALUE && ref->elements >= 0;

	return filter && ((strcmp(filter, "indexed") == 0 && !indexed) || (strcmp(filter, "named") == 0 && indexed));
}

static int variables(struct dap *d, const void *args, json_t *body)
{
	const struct variables_args *a = args;
	struct range range = { .start = a->start, .count = a->count };
	bool hex = json_is_true(json_object_get(a->format, "hex"));
	json_t *ret = json_array();
	struct ref *ref;
	int r = jsonx_set_new(body, "variables", ret);

	if (r >= 0)
		r = stack_ref(d, a->ref, &ref);
	if (r < 0 || filtered_out(ref, a->filter))
		return r;
	stack_quiet(d);
	stack_hex(d, hex);
	r = list(d, ref, &range, hex, ret);
	stack_plain(d, hex);
	stack_loud(d);
	return r < 0 ? r : cut(ref, &range, ret);
}
DAP_METHOD(variables, variables_table, struct variables_args);

/* --- the variable of a name, for others --- */

static int frame_id_of(struct dap *d, const struct ref *ref, int64_t *ret)
{
	const struct dap_stack *s = d->stack;

	for (size_t i = s->n_pages; i-- > 0;) {
		const struct frame_page *p = &s->pages[i];

		if (p->thread == ref->thread && ref->level >= p->low && ref->level < p->low + p->n) {
			*ret = p->first_id + (ref->level - p->low);
			return 0;
		}
	}
	*ret = 0; /* evaluated without a frame */
	return 0;
}

/* Scopes: the name is the expression, but for registers. */
static void put_scope_expr(struct buf *b, const struct ref *ref, const char *name)
{
	if (ref->kind != REF_RETURNED)
		buf_printf(b, "%s%s", ref->kind == REF_GROUP || ref->kind == REF_REGISTERS ? "$" : "", name);
}

int stack_variable(struct dap *d, int64_t variables_reference, const char *name, int64_t *ret_frame, char **ret_expr)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct ref *ref;
	int r = stack_ref(d, variables_reference, &ref);

	if (r < 0)
		return r;
	if (ref->kind != REF_VALUE)
		put_scope_expr(&b, ref, name);
	else if (ref->expr && *name == '[' && name[1] >= '0' && name[1] <= '9' && !ref->map)
		value_element_expr(&b, ref->expr, strtoll(name + 1, NULL, 10));
	else if (!ref->dynamic)
		(void)value_child_expr(&b, ref->expr, ref->type, name, NULL);
	if (b.len == 0 || strstr(name, " ("))
		return errinfo_set(&d->ei, -EINVAL, "'%.200s' has no expression in the program's language", name);
	r = frame_id_of(d, ref, ret_frame);
	if (r < 0)
		return r;
	*ret_expr = os_strdup(buf_cstr(&b));
	return *ret_expr ? 0 : -ENOMEM;
}

/* --- refusals --- */

static int set_variable(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return dap_refuse_write(d, "setting a variable");
}
DAP_METHOD_PLAIN(set_variable);

static int set_expression(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return dap_refuse_write(d, "setting a value");
}
DAP_METHOD_PLAIN(set_expression);
