/* Children of values, by gdb's variable objects. See stack_priv.h.
 *
 * gdb's C++ objects have children "public", "private" and "protected" that hold the members: these are put in their place, with a visibility. A plain array
 * of many elements would become as many objects at once; of those only a slice is made, from the expression (array)[from]@count. */
#include "dap/stack_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* Children that are shown when the client does not say how many; the rest lies behind one more variable. */
#define AT_ONCE 1000
/* So many children get a text of their own where gdb's objects have but "{...}": each is a question. */
#define TEXTS_MAX 100

/* --- variable objects --- */

static int create(struct dap *d, const struct ref *ref, const char *expr, char **ret_name, json_t **ret)
{
	CLEANUP(buf_done) struct buf quoted = { 0 };
	CLEANUP(freep) char *name = NULL;
	int r;

	mi_quote(&quoted, expr);
	if (buf_error(&quoted) || asprintf(&name, "hermit%" PRIu64, ++d->stack->varobjs) < 0)
		return -ENOMEM;
	r = mi_command(d->mi, ret, &d->ei, "-var-create --thread %d --frame %d %s * %s", ref->thread, ref->level, name, buf_cstr(&quoted));
	if (r >= 0)
		*ret_name = TAKE(name);
	return r;
}

static bool flag(const json_t *mi, const char *key)
{
	return mi_int(mi, key, 0) != 0;
}

static bool is_map(const json_t *mi)
{
	const char *hint = mi_str(mi, "displayhint");

	return hint && strcmp(hint, "map") == 0;
}

/* The type that an object has, where it was declared as a base of that. */
static int keep_type(struct ref *ref, const char *type)
{
	char *copy = type ? os_strdup(type) : NULL;

	if (type && !copy)
		return -ENOMEM;
	free(ref->type);
	ref->type = copy;
	return 0;
}

/* The object of a reference; made anew when numbers are to be shown in the other way. */
static int ensure(struct dap *d, struct ref *ref, bool hex)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	char *name = NULL;
	int r;

	if (ref->varobj && (ref->hex == hex || !ref->expr))
		return 0;
	r = create(d, ref, ref->expr, &name, &mi);
	if (r < 0)
		return r;
	if (ref->ours && mi_command(d->mi, NULL, NULL, "-var-delete %s", ref->varobj) == ERR_GUEST_GONE)
		r = ERR_GUEST_GONE;
	free(ref->varobj);
	ref->varobj = name;
	ref->ours = true;
	ref->hex = hex;
	ref->dynamic = flag(mi, "dynamic");
	ref->map = is_map(mi);
	return r < 0 ? r : keep_type(ref, mi_str(mi, "type"));
}

/* Objects have to have an owner that deletes them: a reference that no client knows. */
static int keep_object(struct dap *d, const struct ref *ref, char *name)
{
	struct ref r = { .kind = REF_VALUE, .thread = ref->thread, .level = ref->level, .varobj = name, .ours = true };
	int64_t id;

	return stack_ref_new(d, &r, &id);
}

static int list(struct dap *d, const char *varobj, int64_t from, int64_t to, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	CLEANUP(buf_done) struct buf line = { 0 };
	const json_t *kids;
	int r;

	buf_printf(&line, "-var-list-children --all-values ");
	mi_quote(&line, varobj);
	if (to >= 0)
		buf_printf(&line, " %" PRId64 " %" PRId64, from, to);
	r = buf_error(&line) ? buf_error(&line) : mi_command(d->mi, &mi, &d->ei, "%s", buf_cstr(&line));
	kids = json_object_get(mi, "children");
	return r < 0 ? r : json_array_extend(ret, (json_t *)kids ?: json_array()) < 0 && kids ? -ENOMEM : 0;
}

/* --- members of C++ objects --- */

static const char *visibility(const json_t *kid)
{
	static const char *const names[] = { "public", "private", "protected" };
	const char *exp = mi_str(kid, "exp");

	for (size_t i = 0; i < ARRAY_SIZE(names) && exp && !mi_str(kid, "type"); i++)
		if (strcmp(exp, names[i]) == 0)
			return names[i];
	return NULL;
}

/* The children of an object that is no array, all of them. */
static int members(struct dap *d, const struct ref *ref, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *kids = json_array();
	int r = kids ? list(d, ref->varobj, 0, -1, kids) : -ENOMEM;

	for (size_t i = 0; i < json_array_size(kids) && r >= 0; i++) {
		json_t *kid = json_array_get(kids, i);
		const char *seen = visibility(kid);
		size_t from = json_array_size(ret);

		if (!seen) {
			r = json_array_append(ret, kid) < 0 ? -ENOMEM : 0;
			continue;
		}
		r = list(d, mi_str(kid, "name") ?: "", 0, -1, ret);
		for (size_t k = from; k < json_array_size(ret) && r >= 0; k++)
			r = jsonx_set_str(json_array_get(ret, k), "visibility", seen);
	}
	return r;
}

/* --- children as the client sees them --- */

/* A child on its way. */
struct child {
	const json_t *mi, *key; /* key: of a map's pair, NULL = none */
	int64_t index;          /* its number in an array, -1 = it has a name */
};

/* Containers of C++ whose elements are lvalues: gdb knows their operator[] by itself. So it does of Rust's slices. */
static bool indexable(const char *type)
{
	static const char *const names[] = { "std::vector<", "std::deque<", "std::array<", "&[", "&mut [" };

	if (!type || str_has_prefix(type, "std::vector<bool"))
		return false;
	type += str_has_prefix(type, "const ") ? strlen("const ") : 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_has_prefix(type, names[i]))
			return type[strlen(type) - 1] != '*';
	return false;
}

static bool put_expr(struct buf *b, const struct ref *ref, const struct child *c)
{
	const char *type = mi_str(c->mi, "type");

	if (!ref->expr || c->key)
		return false;
	if (c->index >= 0 && (!ref->dynamic || indexable(ref->type))) {
		value_element_expr(b, ref->expr, c->index);
		return true;
	}
	return !ref->dynamic && value_child_expr(b, ref->expr, ref->type, mi_str(c->mi, "exp") ?: "", type);
}

static void put_name(struct buf *b, const struct child *c)
{
	const char *exp = mi_str(c->mi, "exp"), *key = mi_str(c->key, "value");

	if (key) {
		buf_printf(b, "[%s", key);
		value_cut(b, 100);
		buf_printf(b, "]");
	} else if (c->index >= 0) {
		buf_printf(b, "[%" PRId64 "]", c->index);
	} else {
		buf_printf(b, "%s", exp && *exp ? exp : "?");
	}
}

static const char *kind_of(const struct ref *ref, const json_t *kid)
{
	const char *exp = mi_str(kid, "exp"), *type = mi_str(kid, "type");

	return !ref->dynamic && exp && type && strcmp(exp, type) == 0 ? "baseClass" : "property";
}

/* Objects tell of structures and arrays just that they are ones. */
static bool says_nothing(const char *text)
{
	return text && (strcmp(text, "{...}") == 0 || (*text == '[' && strspn(text + 1, "0123456789") + 2 == strlen(text)));
}

/* What tells the variants of Rust's enums apart; the variant's name is shown. */
static bool is_discriminant(const json_t *kid)
{
	const char *exp = mi_str(kid, "exp");

	return exp && *exp == '<' && mi_int(kid, "numchild", 0) == 0 && !flag(kid, "dynamic");
}

static int add_child(struct dap *d, const struct ref *ref, const struct child *c, bool ask, bool hex, json_t *ret)
{
	CLEANUP(buf_done) struct buf name = { 0 };
	CLEANUP(buf_done) struct buf expr = { 0 };
	CLEANUP(buf_done) struct buf text = { 0 };
	struct errinfo why = { 0 };
	struct value v = { .text = mi_str(c->mi, "value"), .type = mi_str(c->mi, "type"), .kind = kind_of(ref, c->mi), .visibility = mi_str(c->mi, "visibility") };
	bool dull = says_nothing(v.text);
	struct ref *made;
	int r;

	if (is_discriminant(c->mi))
		return 0;
	put_name(&name, c);
	v.name = buf_cstr(&name);
	v.expr = put_expr(&expr, ref, c) ? buf_cstr(&expr) : NULL;
	if (dull && v.expr && ask && *v.name != '<') { /* the expression of an anonymous one is its parent's */
		r = ask_text(d, ref->thread, ref->level, v.expr, 0, false, &text, &why);
		if (r == -EREMOTEIO && value_too_large(why.text))
			ask_large(d, ref->thread, ref->level, v.expr, v.type ?: "", false, &text);
		else if (r < 0 && r != -EREMOTEIO)
			return errinfo_set(&d->ei, r, "%s", why.text);
		v.text = text.len ? buf_cstr(&text) : v.text;
	}
	list_leads(d, &v);
	if (!flag(c->mi, "dynamic") && mi_int(c->mi, "numchild", 0) == 0 && !dull)
		return json_array_append_new(ret, value_variable(&v)) < 0 ? -ENOMEM : 0;
	r = list_children(d, ref, &v, mi_str(c->mi, "name"), hex);
	if (r >= 0 && v.ref && stack_ref(d, v.ref, &made) >= 0) {
		made->dynamic = flag(c->mi, "dynamic");
		made->map = is_map(c->mi);
	}
	return r < 0 ? r : json_array_append_new(ret, value_variable(&v)) < 0 ? -ENOMEM : 0;
}

/* first: the index of the first of kids, -1 = they have names. */
static int add_children(struct dap *d, const struct ref *ref, const json_t *kids, size_t from, size_t to, int64_t first, bool hex, json_t *ret)
{
	int r = 0;

	for (size_t i = from; i < to && i < json_array_size(kids) && r >= 0; i++) {
		struct child c = { .mi = json_array_get(kids, i), .index = first < 0 ? -1 : first + (int64_t)(i - from) };

		if (ref->map && i + 1 < json_array_size(kids) && !says_nothing(mi_str(c.mi, "value")))
			c = (struct child){ .mi = json_array_get(kids, i + 1), .key = c.mi, .index = -1 };
		i += c.key != NULL;
		r = add_child(d, ref, &c, to - from <= TEXTS_MAX, hex, ret);
	}
	return r;
}

/* The children that were not shown, behind one variable. */
static int add_more(struct dap *d, const struct ref *ref, int64_t from, int64_t n, json_t *ret)
{
	CLEANUP(buf_done) struct buf name = { 0 };
	struct ref more = *ref;
	struct value v = { .text = "", .kind = "virtual" };
	int r;

	more.from = from;
	more.elements = -1;
	more.ours = false; /* the first one deletes it */
	buf_printf(&name, "[%" PRId64 "...", from);
	if (n > from)
		buf_printf(&name, "%" PRId64, n - 1);
	buf_printf(&name, "]");
	v.name = buf_cstr(&name);
	r = stack_ref_new(d, &more, &v.ref);
	return r < 0 ? r : json_array_append_new(ret, value_variable(&v)) < 0 ? -ENOMEM : 0;
}

/* --- the kinds of values --- */

static int array_children(struct dap *d, struct ref *ref, int64_t from, int64_t count, bool hex, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *kids = json_array();
	int r = kids ? ensure(d, ref, hex) : -ENOMEM;

	if (r >= 0)
		r = list(d, ref->varobj, from, from + count, kids);
	return r < 0 ? r : add_children(d, ref, kids, 0, (size_t)count, from, hex, ret);
}

/* Of many elements only those that are wanted become objects. first: an expression of the first of all. -EREMOTEIO: it is none. */
static int slice_children(struct dap *d, struct ref *ref, const char *first, int64_t from, int64_t count, bool hex, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *kids = json_array();
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	CLEANUP(buf_done) struct buf slice = { 0 };
	CLEANUP(freep) char *name = NULL;
	int r = kids ? 0 : -ENOMEM;

	buf_printf(&slice, "%s[%" PRId64 "]@%" PRId64, first, from, count);
	if (r >= 0)
		r = create(d, ref, buf_cstr(&slice), &name, &mi);
	if (r >= 0)
		r = keep_object(d, ref, name);
	if (r >= 0)
		r = list(d, name, 0, count, kids);
	return r < 0 ? r : add_children(d, ref, kids, 0, (size_t)count, from, hex, ret);
}

static int plain_children(struct dap *d, struct ref *ref, int64_t n, int64_t from, int64_t count, bool hex, json_t *ret)
{
	CLEANUP(buf_done) struct buf array = { 0 };

	if (n <= AT_ONCE || !ref->expr)
		return array_children(d, ref, from, count, hex, ret);
	buf_printf(&array, "(%s)", ref->expr);
	return slice_children(d, ref, buf_cstr(&array), from, count, hex, ret);
}

/* gdb goes through the elements before the first that is wanted; those of a vector lie in a row. True: they were added, or *r has an error. */
static bool vector_children(struct dap *d, struct ref *ref, int64_t from, int64_t count, bool hex, json_t *ret, int *r)
{
	CLEANUP(buf_done) struct buf first = { 0 };

	count = MIN(count, ref->elements - from);
	if (count <= 0 || from + count <= AT_ONCE || !ref->expr || !indexable(ref->type) || !strstr(ref->type, "std::vector<"))
		return false;
	buf_printf(&first, "(%s)._M_impl._M_start", ref->expr);
	*r = slice_children(d, ref, buf_cstr(&first), from, count, hex, ret);
	if (*r != -EREMOTEIO)
		return true;
	d->ei = (struct errinfo){ 0 }; /* another library than GNU's */
	return false;
}

static bool named_by_number(const json_t *kids)
{
	const char *exp = mi_str(json_array_get(kids, 0), "exp");

	return exp && *exp == '[' && exp[1] >= '0' && exp[1] <= '9';
}

/* One more than wanted tells whether there are more. */
static int printed_children(struct dap *d, struct ref *ref, int64_t from, int64_t count, bool hex, json_t *ret, bool *more)
{
	CLEANUP(jsonx_unrefp) json_t *kids = json_array();
	int64_t each = ref->map ? 2 : 1, first;
	int r;

	if (vector_children(d, ref, from, count, hex, ret, &r)) {
		*more = from + count < ref->elements;
		return r;
	}
	r = kids ? list(d, ref->varobj, from * each, (from + count) * each + 1, kids) : -ENOMEM;
	if (r < 0)
		return r;
	*more = (int64_t)json_array_size(kids) > count * each;
	first = named_by_number(kids) && !ref->map ? from : -1;
	return add_children(d, ref, kids, 0, (size_t)MIN((int64_t)json_array_size(kids), count * each), first, hex, ret);
}

int varobj_children(struct dap *d, struct ref *ref, const struct range *range, bool hex, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *kids = json_array();
	int64_t from = ref->from + MAX(range->start, 0), n = ref->dynamic ? -1 : value_elements(ref->type, NULL);
	int64_t count = range->count > 0 ? range->count : AT_ONCE;
	bool more = false;
	int r = kids ? 0 : -ENOMEM;

	if (r >= 0 && n < 0)
		r = ensure(d, ref, hex);
	if (r < 0)
		return r;
	if (n >= 0) {
		count = MAX(MIN(count, n - from), 0);
		more = from + count < n;
		r = count ? plain_children(d, ref, n, from, count, hex, ret) : 0;
	} else if (ref->dynamic) {
		r = printed_children(d, ref, from, count, hex, ret, &more);
	} else {
		r = members(d, ref, kids);
		n = (int64_t)json_array_size(kids);
		more = from + count < n;
		if (r >= 0)
			r = add_children(d, ref, kids, (size_t)MIN(from, n), (size_t)MIN(from + count, n), -1, hex, ret);
	}
	return r >= 0 && more && range->count <= 0 ? add_more(d, ref, from + count, MAX(n, ref->elements), ret) : r;
}
