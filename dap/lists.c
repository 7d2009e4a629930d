/* The variables of a scope: arguments and locals, the globals of the frame's file, what a function returned. See stack_priv.h.
 *
 * All arguments and locals of a frame cost three questions to gdb: types, texts, addresses. A variable object is made when one is opened. */
#include "dap/stack_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

#define GLOBALS_MAX 1000
#define SINGLY_MAX 200u
/* What is left of a command that met a bug of gdb. */
#define ABORTED "Command aborted."

/* --- what every variable needs --- */

int list_children(struct dap *d, const struct ref *in, struct value *v, const char *varobj, bool hex)
{
	struct ref r = { .kind = REF_VALUE, .thread = in->thread, .level = in->level, .hex = hex, .elements = value_elements(v->type, v->text) };

	if ((!v->expr && !varobj) || !value_expands(v->type, v->text))
		return 0;
	r.expr = (char *)v->expr; /* copied */
	r.varobj = (char *)varobj;
	r.type = (char *)v->type;
	v->indexed = MAX(r.elements, 0);
	return stack_ref_new(d, &r, &v->ref);
}

static int append(json_t *list, const struct value *v)
{
	return json_array_append_new(list, value_variable(v)) < 0 ? -ENOMEM : 0;
}

/* --- arguments and locals --- */

static bool lacks_texts(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!mi_str(json_array_get(list, i), "value"))
			return true;
	return false;
}

static int ask_list(struct dap *d, const struct ref *ref, const char *what, json_t **ret)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	int r = mi_command(d->mi, &mi, &d->ei, "-stack-list-variables --thread %d --frame %d --%s-values", ref->thread, ref->level, what);

	if (r >= 0)
		*ret = json_incref(json_object_get(mi, "variables"));
	return r < 0 || *ret ? r : -ENOMEM;
}

/* gdb gives up the whole list for one variable that it cannot show. */
static int ask_singly(struct dap *d, const struct ref *ref, json_t *list)
{
	int r = 0;

	for (size_t i = 0; i < json_array_size(list) && r >= 0; i++) {
		json_t *mi = json_array_get(list, i);
		CLEANUP(buf_done) struct buf text = { 0 };
		struct errinfo why = { 0 };

		if (mi_str(mi, "value") || !mi_str(mi, "name"))
			continue;
		if (i < SINGLY_MAX)
			r = ask_text(d, ref->thread, ref->level, mi_str(mi, "name"), 0, false, &text, &why);
		if (r < 0 && r != -EREMOTEIO)
			return errinfo_set(&d->ei, r, "%s", why.text);
		if (r < 0 && strcmp(why.text, ABORTED) == 0)
			buf_printf(&text, "{...}"); /* its children can be looked at */
		else if (r < 0 || i >= SINGLY_MAX)
			buf_printf(&text, "<error: %s>", why.text);
		r = jsonx_set_new(mi, "value", jsonx_text(buf_cstr(&text)));
	}
	return r;
}

/* gdb gives types of all but texts of simple ones, or texts of all without types: in the same order. */
static int look_frame(struct dap *d, const struct ref *ref, bool hex)
{
	struct dap_stack *s = d->stack;
	CLEANUP(jsonx_unrefp) json_t *list = NULL;
	CLEANUP(jsonx_unrefp) json_t *texts = NULL;
	int r;

	if (s->listed && s->listed_thread == ref->thread && s->listed_level == ref->level && s->listed_hex == hex)
		return 0;
	r = ask_list(d, ref, "simple", &list);
	if (r >= 0 && lacks_texts(list))
		r = ask_list(d, ref, "all", &texts);
	if (r == -EREMOTEIO && list) {
		d->ei = (struct errinfo){ 0 };
		r = ask_singly(d, ref, list);
	}
	for (size_t i = 0; r >= 0 && i < json_array_size(texts); i++) {
		json_t *to = json_array_get(list, i), *from = json_array_get(texts, i), *value = json_object_get(from, "value");

		if (to && value && json_equal(json_object_get(to, "name"), json_object_get(from, "name")) && json_object_set(to, "value", value) < 0)
			r = -ENOMEM;
	}
	if (r < 0)
		return r;
	jsonx_unrefp(&s->listed);
	s->listed = TAKE(list);
	s->listed_thread = ref->thread;
	s->listed_level = ref->level;
	s->listed_hex = hex;
	return 0;
}

/* An inner block's variable of the same name comes before it: expressions mean that one. */
static bool shadowed(const json_t *list, size_t i)
{
	const char *name = mi_str(json_array_get(list, i), "name");

	for (size_t k = 0; k < i; k++)
		if (strcmp(mi_str(json_array_get(list, k), "name") ?: "", name) == 0)
			return true;
	return false;
}

static int add_local(struct dap *d, const struct ref *ref, const json_t *mi, uint64_t address, bool hidden, bool hex, json_t *ret)
{
	CLEANUP(buf_done) struct buf name = { 0 };
	CLEANUP(buf_done) struct buf large = { 0 };
	struct value v = { .text = mi_str(mi, "value"), .type = mi_str(mi, "type"), .kind = "data", .memory = address };
	int r;

	buf_printf(&name, "%s%s", mi_str(mi, "name"), hidden ? " (of an outer block)" : "");
	v.name = buf_cstr(&name);
	v.expr = hidden ? NULL : mi_str(mi, "name");
	if (value_too_large(v.text)) {
		ask_large(d, ref->thread, ref->level, v.expr, v.type ?: "", false, &large);
		v.text = buf_cstr(&large);
	}
	if (!v.memory)
		v.memory = value_pointer(v.type, v.text);
	v.location = sources_location_of_addr(d, value_function(v.type, v.text));
	r = list_children(d, ref, &v, NULL, hex);
	return r < 0 ? r : append(ret, &v);
}

/* Of which the address is asked: what lies in memory and is no pointer, which leads elsewhere. */
static const char *addressed(const json_t *mi)
{
	const char *text = mi_str(mi, "value"), *name = mi_str(mi, "name");

	if (!name || strchr(name, '@') || value_missing(text) || value_pointer(mi_str(mi, "type"), text))
		return NULL;
	return name;
}

/* An expression whose address is asked for the i-th; NULL = none. */
static const char *asked(const json_t *list, size_t i)
{
	return shadowed(list, i) ? NULL : addressed(json_array_get(list, i));
}

/* Where in the list the arguments are, and then the others: gdb gives inner blocks first. How many there are. */
static size_t put_order(const json_t *list, size_t *order)
{
	size_t n = 0;

	for (int locals = 0; locals < 2; locals++)
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *mi = json_array_get(list, i);

			if (mi_str(mi, "name") && (mi_str(mi, "arg") ? 0 : 1) == locals)
				order[n++] = i;
		}
	return n;
}

static int add_locals(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	const json_t *list = d->stack->listed;
	size_t n = json_array_size(list), n_asked = 0;
	CLEANUP(freep) size_t *order = os_calloc(n + 1, sizeof(*order));
	CLEANUP(freep) const char **exprs = os_calloc(n + 1, sizeof(*exprs));
	CLEANUP(freep) uint64_t *found = os_calloc(n + 1, sizeof(*found));
	int r = 0;

	if (!order || !exprs || !found)
		return -ENOMEM;
	n = put_order(list, order);
	for (size_t i = 0; i < n; i++) {
		const char *expr = asked(list, order[i]);

		if (expr)
			exprs[n_asked++] = expr;
	}
	ask_addresses(d, ref->thread, ref->level, exprs, n_asked, found);
	for (size_t i = 0, at = 0; i < n && r >= 0; i++) {
		uint64_t address = asked(list, order[i]) ? found[at++] : 0;

		r = add_local(d, ref, json_array_get(list, order[i]), address, shadowed(list, order[i]), hex, ret);
	}
	return r;
}

int list_frame(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	int r = look_frame(d, ref, hex);

	/* a frame without debugging information has no variables that are known */
	if (r == -EREMOTEIO && strstr(d->ei.text, "No symbol table")) {
		d->ei = (struct errinfo){ 0 };
		return 0;
	}
	return r < 0 ? r : add_locals(d, ref, hex, ret);
}

static bool is_local(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(mi_str(json_array_get(list, i), "name") ?: "", name) == 0)
			return true;
	return false;
}

int list_has(struct dap *d, int thread, int level, const char *name)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	struct errinfo why = { 0 };
	int r = mi_command(d->mi, &mi, &why, "-stack-list-variables --thread %d --frame %d --no-values", thread, level);

	if (r == -EREMOTEIO) /* no frame, no symbols */
		return 0;
	return r < 0 ? errinfo_set(&d->ei, r, "%s", why.text) : is_local(json_object_get(mi, "variables"), name);
}

/* --- globals --- */

/* gdb's machine interface can only list the variables of all files; its Python knows those of one. */
static int ask_globals(struct dap *d, const struct ref *ref, bool hex, json_t **ret)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo why = { 0 };
	int r = mi_console_in(d->mi, ref->thread, ref->level, &out, &why,
			      "python import gdb, json; exec(\"\"\"def hermit(x):\\n try: v = x.value(); return [x.name, str(v.type), v.format_string(%s), int(v.address or 0)]\\n "
			      "except Exception as e: return [x.name, str(x.type), '<error: %%s>' %% e, int(x.value().address or 0) if 'max-value' in str(e) else 0]\"\"\"); "
			      "t = gdb.selected_frame().find_sal().symtab; "
			      "print(json.dumps([hermit(x) for b in ((t.static_block(), t.global_block()) if t else ()) for x in b if x.is_variable][:%d]))",
			      hex ? "format='x'" : "", GLOBALS_MAX);

	if (r == -EREMOTEIO)
		return errinfo_set(&d->ei, r, "this gdb cannot list global variables: %s", why.text);
	if (r >= 0)
		r = jsonx_parse((const char *)out.data, out.len, ret, &d->ei);
	return r;
}

static int add_global(struct dap *d, const struct ref *ref, const json_t *row, bool hex, json_t *ret)
{
	CLEANUP(buf_done) struct buf expr = { 0 };
	CLEANUP(buf_done) struct buf large = { 0 };
	struct value v = { .kind = "data", .memory = (uint64_t)json_integer_value(json_array_get(row, 3)) };
	int r;

	v.name = json_string_value(json_array_get(row, 0)) ?: "?";
	v.type = json_string_value(json_array_get(row, 1));
	v.text = json_string_value(json_array_get(row, 2));
	buf_printf(&expr, "%s%s", is_local(d->stack->listed, v.name) ? "::" : "", v.name);
	v.expr = buf_cstr(&expr);
	if (value_too_large(v.text)) {
		ask_large(d, ref->thread, ref->level, v.expr, v.type ?: "", false, &large);
		v.text = buf_cstr(&large);
	}
	v.memory = value_pointer(v.type, v.text) ?: v.memory;
	r = list_children(d, ref, &v, NULL, hex);
	return r < 0 ? r : append(ret, &v);
}

int list_globals(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *rows = NULL;
	int r = look_frame(d, ref, hex); /* whose names hide globals */

	if (r == -EREMOTEIO)
		d->ei = (struct errinfo){ 0 };
	if (r >= 0 || r == -EREMOTEIO)
		r = ask_globals(d, ref, hex, &rows);
	for (size_t i = 0; i < json_array_size(rows) && r >= 0; i++)
		r = add_global(d, ref, json_array_get(rows, i), hex, ret);
	return r;
}

/* --- what a function returned --- */

int list_returned(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	CLEANUP(buf_done) struct buf type = { 0 };
	struct value v = { .name = "return value", .expr = d->stack->returned, .kind = "data" };
	int r = v.expr ? ask_text(d, ref->thread, ref->level, v.expr, 0, false, &text, &d->ei) : -ENOENT;

	if (r >= 0)
		r = ask_type(d, ref->thread, ref->level, v.expr, &type, &d->ei);
	if (r < 0)
		return r;
	v.text = buf_cstr(&text);
	v.type = buf_cstr(&type);
	v.memory = value_pointer(v.type, v.text);
	v.location = sources_location_of_addr(d, value_function(v.type, v.text));
	r = list_children(d, ref, &v, NULL, hex);
	return r < 0 ? r : append(ret, &v);
}
