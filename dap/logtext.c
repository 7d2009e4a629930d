/* Messages of log points: see breaks_priv.h. Pure. */
#include "dap/breaks_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* What gdb's x and print know, and 's': a string without quotes. */
#define FORMATS "xduotzcafs"

struct message {
	const char *text, *at;
	json_t *parts;
	struct buf plain; /* not in parts yet */
	struct errinfo *ei;
};

static int end_plain(struct message *m)
{
	int r = buf_error(&m->plain);

	if (r >= 0 && m->plain.len && json_array_append_new(m->parts, jsonx_string_lossy((const char *)m->plain.data, m->plain.len)) < 0)
		r = -ENOMEM;
	buf_clear(&m->plain);
	return r;
}

/* Length of the expression at s up to its closing brace; -1: there is none. *ret_comma: its last comma outside of brackets, NULL = none. */
static ptrdiff_t expression_end(const char *s, const char **ret_comma)
{
	int depth = 0;
	char quote = 0;

	*ret_comma = NULL;
	for (const char *p = s; *p; p++) {
		if (quote) {
			if (*p == '\\' && p[1])
				p++;
			else if (*p == quote)
				quote = 0;
		} else if (*p == '"' || (*p == '\'' && p[1] && (p[2] == '\'' || p[1] == '\\'))) {
			quote = *p;
		} else if (*p == '}' && depth == 0) {
			return p - s;
		} else if (strchr("([{", *p)) {
			depth++;
		} else if (strchr(")]}", *p)) {
			depth--;
		} else if (*p == ',' && depth == 0) {
			*ret_comma = p;
		}
	}
	return -1;
}

static void trim(const char **s, size_t *n)
{
	while (*n && isspace((unsigned char)**s)) {
		(*s)++;
		(*n)--;
	}
	while (*n && isspace((unsigned char)(*s)[*n - 1]))
		(*n)--;
}

/* ",x" behind the expression of n bytes: the letter; 0 = none, and then the comma belongs to the expression. */
static char format_of(const char *s, size_t n, const char *comma)
{
	const char *f = comma ? comma + 1 : s;
	size_t left = comma ? (size_t)(s + n - f) : 0;

	trim(&f, &left);
	return left == 1 && strchr(FORMATS, *f) ? *f : 0;
}

/* m->at is behind the opening brace. */
static int take_expression(struct message *m)
{
	const char *comma, *s = m->at;
	ptrdiff_t end = expression_end(s, &comma);
	char format[2] = { 0 };
	size_t n;
	json_t *part;
	int r = end_plain(m);

	if (end < 0)
		return errinfo_set(m->ei, -EINVAL, "log message: '{%.40s' has no closing brace", s);
	format[0] = format_of(s, (size_t)end, comma);
	n = format[0] ? (size_t)(comma - s) : (size_t)end;
	m->at = s + end + 1;
	trim(&s, &n);
	if (!n)
		return errinfo_set(m->ei, -EINVAL, "log message: there is nothing between { and }");
	part = json_pack("{so ss}", "e", jsonx_string_lossy(s, n), "f", format);
	if (r >= 0 && (!part || json_array_append_new(m->parts, part) < 0))
		return -ENOMEM;
	return r;
}

/* A character of the text, or an escape for one. */
static void take_plain(struct message *m)
{
	static const char from[] = "nt\\{}", to[] = "\n\t\\{}";
	const char *s = m->at;
	const char *escape = *s == '\\' && s[1] ? strchr(from, s[1]) : NULL;

	if (escape)
		buf_put_u8(&m->plain, (uint8_t)to[escape - from]);
	else
		buf_put_u8(&m->plain, (uint8_t)*s);
	m->at += escape || ((*s == '{' || *s == '}') && s[1] == *s) ? 2 : 1;
}

static int parse(struct message *m)
{
	int r = 0;

	while (*m->at && r >= 0) {
		if (json_array_size(m->parts) > LOG_PARTS_MAX)
			return errinfo_set(m->ei, ERR_LIMIT, "log message: more than %u expressions", LOG_PARTS_MAX / 2);
		if (*m->at == '{' && m->at[1] != '{') {
			m->at++;
			r = take_expression(m);
		} else {
			take_plain(m);
		}
	}
	return r < 0 ? r : end_plain(m);
}

int log_parse(const char *text, json_t **ret, struct errinfo *ei)
{
	struct message m = { .text = text, .at = text, .parts = json_array(), .ei = ei };
	int r = m.parts ? parse(&m) : -ENOMEM;

	buf_done(&m.plain);
	if (r >= 0)
		*ret = m.parts;
	else
		json_decref(m.parts);
	return r;
}
