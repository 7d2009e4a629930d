/* See route_priv.h. A pattern is walked beside the segments of the URL; the table is short enough to be searched from its beginning. */
#include "web/route_priv.h"

#include <string.h>

#define OPEN ROUTE_OPEN
#define WRITE ROUTE_WRITE
#define UPLOAD ROUTE_UPLOAD
#define SSE ROUTE_SSE
#define ROUTE(method, path, handler, flags) { WEB_##method, path, handler, flags },
const struct route web_routes[] = {
#include "web/routes.def"
};
#undef ROUTE

const size_t web_routes_count = ARRAY_SIZE(web_routes);

static const struct {
	const char *name;
	unsigned method;
} methods[] = {
	/* the name that is shown comes first */
	{ "GET", WEB_GET }, { "HEAD", WEB_GET }, { "POST", WEB_POST }, { "PUT", WEB_PUT }, { "PATCH", WEB_PATCH }, { "DELETE", WEB_DELETE },
};

unsigned route_method(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].method;
	}
	return 0;
}

const char *route_method_name(unsigned method)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (methods[i].method == method)
			return methods[i].name;
	}
	return "?";
}

/* The next segment of a pattern: its length, 0 at the end. *p is left behind it. */
static size_t next_segment(const char **p, const char **ret)
{
	size_t n;

	if (**p != '/')
		return 0;
	*ret = ++*p;
	n = strcspn(*p, "/");
	*p += n;
	return n;
}

static bool segment_is(const char *segment, const char *pattern, size_t n)
{
	return pattern[0] == '{' ? *segment != '\0' : strlen(segment) == n && memcmp(segment, pattern, n) == 0;
}

/* Walks the segments of a pattern (after the prefix of the API, whose segments are counted in *i). */
static bool match(const char *pattern, const struct url *u, size_t *i)
{
	const char *part = NULL;
	size_t n;

	while ((n = next_segment(&pattern, &part))) {
		if (*i >= u->n_segments || !segment_is(u->segment[*i], part, n))
			return false;
		(*i)++;
	}
	return true;
}

static bool matches(const struct route *r, const struct url *u)
{
	const bool top = r->path[0] == '/' && r->path[1] == '/';
	size_t i = 0;

	return (top || match(WEB_API_PREFIX, u, &i)) && match(r->path + top, u, &i) && i == u->n_segments;
}

const struct route *route_find(const struct url *u, unsigned method, unsigned *ret_allow)
{
	unsigned allow = 0;

	for (size_t i = 0; i < web_routes_count; i++) {
		const struct route *r = &web_routes[i];

		if ((r->method == method || !(allow & r->method)) && matches(r, u)) {
			if (r->method == method)
				return r;
			allow |= r->method;
		}
	}
	*ret_allow = allow;
	return NULL;
}

const char *route_param(const struct route *r, const struct url *u, const char *name)
{
	const bool top = r->path[0] == '/' && r->path[1] == '/';
	const char *pattern = r->path + top, *part = NULL;
	size_t i = top ? 0 : 2, len = strlen(name), n;

	while ((n = next_segment(&pattern, &part))) {
		if (part[0] == '{' && n == len + 2 && memcmp(part + 1, name, len) == 0)
			return i < u->n_segments ? u->segment[i] : NULL;
		i++;
	}
	return NULL;
}
