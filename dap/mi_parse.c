/* The grammar of gdb's output lines, see mi_priv.h. Strict about what would be guesswork, lenient where gdb is known to be:
 *
 *     script={"a","b"}                     a tuple of values, an array here (mi3)
 *     +download,{section=".text",...}      a tuple without a name: its members belong to the record
 *     body=[bkpt={},bkpt={}]               a list of results: the names say nothing
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"
#include "dap/mi_priv.h"

#define MI_DEPTH_MAX 64u
#define MI_NAME_MAX 128u

void mi_record_done(struct mi_record *rec)
{
	free(rec->name);
	json_decref(rec->values);
	buf_done(&rec->text);
	*rec = (struct mi_record){ 0 };
}

/* --- characters --- */

static bool at(const struct view *v, char c)
{
	return v->p < v->end && *v->p == (uint8_t)c;
}

static bool take(struct view *v, char c)
{
	bool is = at(v, c);

	v->p += is;
	return is;
}

/* One to three octal digits, the first is there. More than a byte holds is cut, as C compilers do. */
static uint8_t take_octal(struct view *v)
{
	unsigned int c = 0;

	for (unsigned int i = 0; i < 3 && v->p < v->end && *v->p >= '0' && *v->p <= '7'; i++)
		c = c * 8 + (unsigned int)(*v->p++ - '0');
	return (uint8_t)c;
}

/* Behind a backslash. A letter that means nothing stands for itself. */
static int take_escape(struct view *v, uint8_t *ret)
{
	static const char names[] = "abefnrtv", values[] = "\a\b\033\f\n\r\t\v";
	const char *known;

	if (v->p == v->end)
		return ERR_PROTOCOL;
	if (*v->p >= '0' && *v->p <= '7') {
		*ret = take_octal(v);
		return 0;
	}
	known = *v->p ? strchr(names, *v->p) : NULL;
	*ret = known ? (uint8_t)values[known - names] : *v->p;
	v->p++;
	return 0;
}

/* A string in quotes, its bytes appended to b. */
static int take_string(struct view *v, struct buf *b)
{
	if (!take(v, '"'))
		return ERR_PROTOCOL;
	while (v->p < v->end) {
		const uint8_t *from = v->p;
		uint8_t c;
		int r;

		while (v->p < v->end && *v->p != '"' && *v->p != '\\')
			v->p++;
		buf_put(b, from, (size_t)(v->p - from));
		if (take(v, '"'))
			return buf_error(b);
		if (!take(v, '\\'))
			break;
		r = take_escape(v, &c);
		if (r < 0)
			return r;
		buf_put_u8(b, c);
	}
	return ERR_PROTOCOL;
}

/* A word of letters, digits and what gdb has between them. */
static int take_name(struct view *v, char *ret, size_t size)
{
	size_t n = 0;

	while (v->p + n < v->end && v->p[n] > ' ' && v->p[n] <= '~' && !strchr(",=\"{}[]\\", v->p[n]))
		n++;
	if (n == 0 || n >= size)
		return ERR_PROTOCOL;
	memcpy(ret, v->p, n);
	ret[n] = '\0';
	v->p += n;
	return 0;
}

/* --- values --- */

static int take_value(struct view *v, unsigned int depth, json_t **ret);

static int take_const(struct view *v, json_t **ret)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	int r = take_string(v, &b);
	json_t *j;

	if (r < 0)
		return r;
	j = jsonx_string_lossy(buf_cstr(&b), b.len);
	if (!j)
		return -ENOMEM;
	*ret = j;
	return 0;
}

/* Begins a value; what else may stand there begins a name. */
static bool at_value(const struct view *v)
{
	return at(v, '"') || at(v, '{') || at(v, '[');
}

/* name=value or value: the name is "" then. */
static int take_item(struct view *v, unsigned int depth, char name[MI_NAME_MAX], json_t **ret)
{
	int r;

	name[0] = '\0';
	if (!at_value(v)) {
		r = take_name(v, name, MI_NAME_MAX);
		if (r < 0)
			return r;
		if (!take(v, '='))
			return ERR_PROTOCOL;
	}
	return take_value(v, depth, ret);
}

/* The first value of a name stays. Takes over value. */
static int add_member(json_t *obj, const char *name, json_t *value)
{
	if (json_object_get(obj, name)) {
		json_decref(value);
		return 0;
	}
	return jsonx_set_new(obj, name, value);
}

static int add_item(json_t *to, const char *name, json_t *value)
{
	if (json_is_array(to))
		return json_array_append_new(to, value) < 0 ? -ENOMEM : 0;
	if (name[0])
		return add_member(to, name, value);
	json_decref(value);
	return ERR_PROTOCOL;
}

/* The items up to the closing bracket, the opening one is taken. A tuple that begins with a value is an array. */
static int take_items(struct view *v, unsigned int depth, char close, json_t **ret)
{
	bool array = close == ']' || at_value(v);
	CLEANUP(jsonx_unrefp) json_t *to = array ? json_array() : json_object();

	if (!to)
		return -ENOMEM;
	if (!take(v, close)) {
		do {
			char name[MI_NAME_MAX];
			json_t *value;
			int r = take_item(v, depth, name, &value);

			if (r == 0)
				r = add_item(to, name, value);
			if (r < 0)
				return r;
		} while (take(v, ','));
		if (!take(v, close))
			return ERR_PROTOCOL;
	}
	*ret = TAKE(to);
	return 0;
}

static int take_value(struct view *v, unsigned int depth, json_t **ret)
{
	if (at(v, '"'))
		return take_const(v, ret);
	if (depth == MI_DEPTH_MAX)
		return ERR_LIMIT;
	if (take(v, '{'))
		return take_items(v, depth + 1, '}', ret);
	if (take(v, '['))
		return take_items(v, depth + 1, ']', ret);
	return ERR_PROTOCOL;
}

/* --- records --- */

/* Members of a tuple without a name. */
static int add_members(json_t *obj, json_t *tuple)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(tuple, name, value) {
		if (r == 0)
			r = add_member(obj, name, json_incref(value));
	}
	return r;
}

/* ,name=value... up to the end of the line. */
static int take_results(struct view *v, json_t *obj)
{
	while (take(v, ',')) {
		char name[MI_NAME_MAX];
		json_t *value;
		int r = take_item(v, 0, name, &value);

		if (r < 0)
			return r;
		if (name[0]) {
			r = add_member(obj, name, value);
		} else {
			r = json_is_object(value) ? add_members(obj, value) : ERR_PROTOCOL;
			json_decref(value);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_named(struct view *v, struct mi_record *rec)
{
	char name[MI_NAME_MAX];
	int r = take_name(v, name, sizeof(name));

	if (r < 0)
		return r;
	rec->name = os_strdup(name);
	rec->values = json_object();
	if (!rec->name || !rec->values)
		return -ENOMEM;
	return take_results(v, rec->values);
}

static int take_stream(struct view *v, struct mi_record *rec)
{
	return take_string(v, &rec->text);
}

static const struct form {
	char sign;
	enum mi_kind kind;
	int (*take)(struct view *v, struct mi_record *rec);
} forms[] = {
	{ '^', MI_RESULT, take_named },
	{ '*', MI_EXEC, take_named },
	{ '+', MI_STATUS, take_named },
	{ '=', MI_NOTIFY, take_named },
	{ '~', MI_CONSOLE, take_stream },
	{ '@', MI_TARGET, take_stream },
	{ '&', MI_LOG, take_stream },
};

static int take_token(struct view *v, uint64_t *ret)
{
	uint64_t n = 0;

	for (; v->p < v->end && *v->p >= '0' && *v->p <= '9'; v->p++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(*v->p - '0'), &n))
			return ERR_PROTOCOL;
	*ret = n;
	return 0;
}

static bool is_prompt(const char *line, size_t n)
{
	static const char prompt[] = "(gdb)";

	while (n > 0 && line[n - 1] == ' ')
		n--;
	return n == sizeof(prompt) - 1 && memcmp(line, prompt, n) == 0;
}

int mi_parse(const char *line, size_t n, struct mi_record *ret)
{
	CLEANUP(mi_record_done) struct mi_record rec = { 0 };
	struct view v = view_of(line, n);
	const struct form *form = NULL;
	int r;

	if (is_prompt(line, n)) {
		*ret = (struct mi_record){ .kind = MI_PROMPT };
		return 0;
	}
	r = take_token(&v, &rec.token);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (take(&v, forms[i].sign)) {
			form = &forms[i];
			break;
		}
	if (!form)
		return ERR_PROTOCOL;
	rec.kind = form->kind;
	r = form->take(&v, &rec);
	if (r < 0)
		return r;
	if (v.p != v.end)
		return ERR_PROTOCOL;
	*ret = rec;
	rec = (struct mi_record){ 0 };
	return 0;
}

void mi_quote(struct buf *b, const char *s)
{
	buf_put_u8(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_put_u8(b, '\\');
		if ((uint8_t)*s < ' ' || *s == 0x7f)
			buf_printf(b, "\\%03o", (unsigned int)(uint8_t)*s);
		else
			buf_put_u8(b, (uint8_t)*s);
	}
	buf_put_u8(b, '"');
}

/* --- members --- */

const char *mi_str(const json_t *obj, const char *key)
{
	return json_string_value(json_object_get(obj, key));
}

int64_t mi_int(const json_t *obj, const char *key, int64_t def)
{
	const json_t *v = json_object_get(obj, key);
	int64_t n;

	if (json_is_integer(v)) /* the server's own answers */
		return json_integer_value(v);
	return json_is_string(v) && str_parse_i64(json_string_value(v), &n) == 0 ? n : def;
}

uint64_t mi_addr(const json_t *obj, const char *key)
{
	const char *s = mi_str(obj, key);
	uint64_t n;

	return s && str_parse_u64(s, &n) == 0 ? n : 0;
}
