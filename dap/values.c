/* What is shown of a value, told from its type and its text in gdb's words. Pure. See stack_priv.h. */
#include "dap/stack_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"

/* Longer ones are cut: editors show one line. */
#define TEXT_SHOWN 1024u

/* --- types --- */

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

/* The length of the type without qualifiers at its end: "char *const" gives that of "char *". */
static size_t bare_len(const char *type, size_t n)
{
	static const char *const words[] = { "const", "volatile", "restrict", "__restrict", " " };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t m = strlen(words[i]);

		if (n > m && memcmp(type + n - m, words[i], m) == 0) {
			n -= m;
			i = (size_t)-1;
		}
	}
	return n;
}

/* "T *" and "T *&" of C; "*mut T", "*T" and "&T" of Rust and Go. */
static bool is_pointer(const char *type)
{
	size_t n = type ? bare_len(type, strlen(type)) : 0;

	if (n && (*type == '*' || *type == '&'))
		return true;
	while (n && type[n - 1] == '&')
		n = bare_len(type, n - 1);
	return n && type[n - 1] == '*';
}

static bool is_prefix_pointer(const char *type)
{
	return type && (*type == '*' || *type == '&');
}

static bool is_class_member(const char *type)
{
	return strstr(type, "::*") != NULL;
}

/* A pointer that leads to what is worth showing: not void, not characters, which are shown as a string. */
static bool leads_somewhere(const char *type)
{
	static const char *const leaves[] = { "void *", "char *", "unsigned char *", "signed char *", "wchar_t *", "char16_t *", "char32_t *", "char8_t *" };
	const char *p = type;

	for (const char *c = p; str_has_prefix(p, "const ") || str_has_prefix(p, "volatile "); p = c + 1)
		c = strchr(p, ' ');
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++)
		if (strncmp(p, leaves[i], strlen(leaves[i])) == 0 && !strchr(p + strlen(leaves[i]), '*'))
			return false;
	return true;
}

/* The text behind "@0x7ffe1234: " of a reference. */
static const char *behind_reference(const char *text)
{
	const char *colon = *text == '@' ? strstr(text, ": ") : NULL;

	return colon ? colon + 2 : text;
}

bool value_too_large(const char *text)
{
	return text && strstr(text, "more than max-value-size") != NULL;
}

bool value_missing(const char *text)
{
	return text && !value_too_large(text) && (*text == '<' && (str_has_prefix(text, "<error") || str_has_prefix(text, "<optimized out>") || str_has_prefix(text, "<not saved>") ||
					 str_has_prefix(text, "<unavailable>") || str_has_prefix(text, "<synthetic pointer>")));
}

bool value_expands(const char *type, const char *text)
{
	const char *t;

	if (!text || value_too_large(text))
		return true;
	if (value_missing(text))
		return false;
	t = behind_reference(text);
	if (value_elements(type, NULL) > 0)
		return true;
	if (has_suffix(t, "}"))
		return strcmp(t, "{}") && strcmp(t, "{<No data fields>}");
	if (*t == '[' && t[strcspn(t, "]")] == ']' && t[strcspn(t, "]") + 1] == '\0') /* "[10]" */
		return true;
	if (has_suffix(t, ")") && type && (*type == '(' || strstr(type, "::")) && !is_pointer(type)) /* tuples and enums of Rust */
		return true;
	if (!is_pointer(type) || is_class_member(type) || !leads_somewhere(type))
		return false;
	t = *t == '(' && strstr(t, ") 0x") ? strstr(t, ") 0x") + 2 : t;
	return str_has_prefix(t, "0x") && strtoull(t, NULL, 16) != 0;
}

/* "12 elements", "12, capacity 16": the number at p. */
static int64_t number_at(const char *p)
{
	return isdigit((unsigned char)*p) ? (int64_t)strtoll(p, NULL, 10) : -1;
}

int64_t value_elements(const char *type, const char *text)
{
	const char *p = text ? strstr(text, " of length ") : NULL, *brace = text ? strchr(text, '{') : NULL;
	size_t n;

	if (p && (!brace || p < brace))
		return number_at(p + strlen(" of length "));
	p = text ? strstr(text, " with ") : NULL;
	if (p && (!brace || p < brace) && strstr(p, " element"))
		return number_at(p + strlen(" with "));
	p = text ? strstr(text, "(size=") : NULL; /* Rust's printers: Vec(size=3) */
	if (p && (!brace || p < brace))
		return number_at(p + strlen("(size="));
	n = type ? strlen(type) : 0;
	if (n == 0 || is_pointer(type))
		return -1;
	if (type[n - 1] == ']') { /* C: the first dimension is the one of the children; Rust: "[i32; 5]" */
		p = *type == '[' ? strrchr(type, ';') : strchr(type, '[');
		return p ? number_at(p + 1 + strspn(p + 1, " ")) : -1;
	}
	return *type == '[' ? number_at(type + 1) : -1; /* Go: "[5]int" */
}

uint64_t value_pointer(const char *type, const char *text)
{
	const char *t = text ? text : "";

	if (*t == '@')
		return strtoull(t + 1, NULL, 16);
	if (!is_pointer(type))
		return 0;
	t = *t == '(' && strstr(t, ") 0x") ? strstr(t, ") 0x") + 2 : t;
	return str_has_prefix(t, "0x") ? strtoull(t, NULL, 16) : 0;
}

uint64_t value_function(const char *type, const char *text)
{
	static const char *const signs[] = { "(*)(", "(*const)(", "*mut fn (", "*const fn (" };
	const char *t = text && *text == '(' && strstr(text, ") 0x") ? strstr(text, ") 0x") + 2 : text;

	for (size_t i = 0; type && t && i < ARRAY_SIZE(signs); i++)
		if (strstr(type, signs[i]))
			return str_has_prefix(t, "0x") ? strtoull(t, NULL, 16) : 0;
	return 0;
}

/* --- expressions --- */

/* It binds at least as strongly as the postfix operators. */
static bool is_primary(const char *expr)
{
	for (const char *p = expr; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_$.:[]", *p) && !(*p == '-' && p[1] == '>') && !(*p == '>' && p > expr && p[-1] == '-') && !(*p & 0x80))
			return false;
	return *expr != '\0' && *expr != ':';
}

static void put_operand(struct buf *b, const char *expr)
{
	buf_printf(b, is_primary(expr) ? "%s" : "(%s)", expr);
}

static bool is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '$' && !(*p & 0x80))
			return false;
	return *name != '\0';
}

void value_element_expr(struct buf *b, const char *parent, int64_t i)
{
	put_operand(b, parent);
	buf_printf(b, "[%" PRId64 "]", i);
}

/* "main.T *": C has no dots in the names of types, and Go no arrows. */
static bool of_go(const char *type)
{
	const char *dot = strchr(type, '.');

	return dot && dot[1] != '.' && (dot == type || dot[-1] != '.');
}

/* The parent may be declared as another base of what it is (gdb shows objects as what they are): first it is cast to that. */
static void put_base(struct buf *b, const char *parent, const char *type, const char *name, bool pointer)
{
	size_t n = type ? bare_len(type, strlen(type)) : 0;

	while (n && !pointer && type[n - 1] == '&')
		n = bare_len(type, n - 1);
	buf_printf(b, "*(%s *)", name);
	if (n)
		buf_printf(b, pointer ? "(%.*s)" : "(%.*s *)&", (int)n, type);
	else if (!pointer)
		buf_printf(b, "&");
	put_operand(b, parent);
}

bool value_child_expr(struct buf *b, const char *parent, const char *parent_type, const char *name, const char *child_type)
{
	bool pointer = is_pointer(parent_type), prefix = is_prefix_pointer(parent_type);

	if (!parent || *name == '\0')
		return false;
	if (*name == '<') { /* <anonymous union>: its members belong to the parent */
		buf_printf(b, "%s", parent);
		return true;
	}
	if (*name == '*') { /* what a pointer points to */
		buf_printf(b, "*");
		put_operand(b, parent);
		return true;
	}
	if (isdigit((unsigned char)*name) && is_name(name)) {
		value_element_expr(b, parent, strtoll(name, NULL, 10));
		return true;
	}
	if (str_has_prefix(name, "__") && name[2] && name[2 + strspn(name + 2, "0123456789")] == '\0') { /* of a tuple of Rust */
		put_operand(b, parent);
		buf_printf(b, ".%s", name + 2);
		return true;
	}
	if (child_type && strcmp(child_type, name) == 0) { /* a base class */
		put_base(b, parent, parent_type, name, pointer);
		return true;
	}
	if (!is_name(name))
		return false;
	if (prefix)
		buf_printf(b, "(*%s)", parent);
	else
		put_operand(b, parent);
	buf_printf(b, pointer && !prefix && !of_go(parent_type) ? "->%s" : ".%s", name);
	return true;
}

/* --- DAP --- */

void value_cut(struct buf *b, size_t n)
{
	if (b->len <= n)
		return;
	while (n > 0 && (b->data[n] & 0xc0) == 0x80)
		n--;
	b->len = n;
	buf_printf(b, "...");
}

static int put_hint(const struct value *v, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *hint = json_object();
	int r = hint ? 0 : -ENOMEM;

	if (r >= 0 && v->kind)
		r = jsonx_set_str(hint, "kind", v->kind);
	if (r >= 0 && v->visibility)
		r = jsonx_set_str(hint, "visibility", v->visibility);
	if (r >= 0 && v->attributes) {
		json_t *a = json_array();

		r = jsonx_set_new(hint, "attributes", a);
		for (size_t i = 0; r >= 0 && v->attributes[i]; i++)
			r = json_array_append_new(a, json_string(v->attributes[i])) < 0 ? -ENOMEM : 0;
	}
	return r < 0 || json_object_size(hint) == 0 ? r : jsonx_set_new(ret, "presentationHint", TAKE(hint));
}

static int put_value(const struct value *v, json_t *ret)
{
	int r = jsonx_set_i64(ret, "variablesReference", v->ref);

	if (r >= 0 && v->type)
		r = jsonx_set_new(ret, "type", jsonx_text(v->type));
	if (r >= 0 && v->indexed > 0)
		r = jsonx_set_i64(ret, "indexedVariables", MIN(v->indexed, INT32_MAX));
	if (r >= 0 && v->named > 0)
		r = jsonx_set_i64(ret, "namedVariables", v->named);
	if (r >= 0 && v->memory)
		r = jsonx_set_new(ret, "memoryReference", json_sprintf("0x%" PRIx64, v->memory));
	if (r >= 0 && v->location)
		r = jsonx_set_i64(ret, "valueLocationReference", v->location);
	return r < 0 ? r : put_hint(v, ret);
}

json_t *value_variable(const struct value *v)
{
	CLEANUP(jsonx_unrefp) json_t *ret = json_object();
	CLEANUP(buf_done) struct buf text = { 0 };
	int r = ret ? put_value(v, ret) : -ENOMEM;

	buf_printf(&text, "%s", v->text ? v->text : "");
	value_cut(&text, TEXT_SHOWN);
	if (r >= 0)
		r = jsonx_set_new(ret, "name", jsonx_text(v->name));
	if (r >= 0)
		r = jsonx_set_new(ret, "value", jsonx_text(buf_cstr(&text)));
	if (r >= 0 && v->expr)
		r = jsonx_set_new(ret, "evaluateName", jsonx_text(v->expr));
	return r < 0 ? NULL : TAKE(ret);
}

int value_result(const struct value *v, json_t *body)
{
	int r = put_value(v, body);

	return r < 0 ? r : jsonx_set_new(body, "result", jsonx_text(v->text ? v->text : ""));
}
