/* See url_priv.h. */
#include "web/url_priv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes s in place. plus: '+' is a blank, as in queries. */
static int decode(char *s, bool plus)
{
	char *out = s;

	for (; *s; s++) {
		int hi, lo;

		if (*s != '%') {
			*out++ = plus && *s == '+' ? ' ' : *s;
			continue;
		}
		hi = hex_digit(s[1]);
		lo = hi >= 0 ? hex_digit(s[2]) : -1;
		if (lo < 0 || (hi == 0 && lo == 0))
			return -EINVAL;
		*out++ = (char)(hi << 4 | lo);
		s += 2;
	}
	*out = '\0';
	return 0;
}

static int add_segment(struct url *u, char *s)
{
	int r = u->n_segments < URL_SEGMENTS_MAX ? decode(s, false) : ERR_LIMIT;

	if (r == 0 && (strcmp(s, ".") == 0 || strcmp(s, "..") == 0))
		r = -EINVAL;
	if (r == 0)
		u->segment[u->n_segments++] = s;
	return r;
}

static int add_pair(struct url *u, char *s)
{
	char *value = strchr(s, '=');
	int r = 0;

	if (!*s)
		return 0;
	if (u->n_pairs == URL_PAIRS_MAX)
		return ERR_LIMIT;
	if (value)
		*value++ = '\0';
	else
		value = s + strlen(s);
	if (decode(s, true) < 0 || (value != s + strlen(s) && decode(value, true) < 0))
		r = -EINVAL;
	if (r == 0)
		u->pair[u->n_pairs++] = (struct url_pair){ s, value };
	return r;
}

/* Calls add for each piece of s between separators. */
static int split(struct url *u, char *s, char separator, int (*add)(struct url *, char *))
{
	int r = 0;

	while (r == 0 && s) {
		char *end = strchr(s, separator);

		if (end)
			*end++ = '\0';
		r = add(u, s);
		s = end;
	}
	return r;
}

static bool printable(const char *s)
{
	for (; *s; s++) {
		if (*s < 0x21 || *s > 0x7e || *s == '#')
			return false;
	}
	return true;
}

int url_parse(const char *target, struct url *ret)
{
	struct url u = { 0 };
	char *query;
	int r = 0;

	if (target[0] != '/' || !printable(target))
		return -EINVAL;
	u.text = os_strdup(target);
	u.path = os_strdup(target);
	u.target = os_strdup(target);
	if (!u.text || !u.path || !u.target) {
		url_done(&u);
		return -ENOMEM;
	}
	query = strchr(u.text, '?');
	if (query) {
		u.path[query - u.text] = '\0';
		*query++ = '\0';
	}
	/* "/" has no segments, "/a/" has an empty one at the end */
	if (u.text[1])
		r = split(&u, u.text + 1, '/', add_segment);
	if (r == 0 && query)
		r = split(&u, query, '&', add_pair);
	if (r < 0) {
		url_done(&u);
		return r;
	}
	*ret = u;
	return 0;
}

void url_done(struct url *u)
{
	free(u->text);
	free(u->path);
	free(u->target);
	*u = (struct url){ 0 };
}

const char *url_query(const struct url *u, const char *name, size_t n)
{
	for (size_t i = 0; i < u->n_pairs; i++) {
		if (strcmp(u->pair[i].name, name) == 0 && n-- == 0)
			return u->pair[i].value;
	}
	return NULL;
}
