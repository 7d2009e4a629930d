/* The table of routes (routes.def) and finding one. Pure. */
#ifndef WEB_ROUTE_PRIV_H
#define WEB_ROUTE_PRIV_H

#include "web/http_priv.h"
#include "web/url_priv.h"

#define WEB_API_PREFIX "/api/v1"

enum web_method { WEB_GET = 1 << 0, WEB_POST = 1 << 1, WEB_PUT = 1 << 2, WEB_PATCH = 1 << 3, WEB_DELETE = 1 << 4 };

enum route_flag {
	ROUTE_OPEN = 1 << 0,   /* no token */
	ROUTE_WRITE = 1 << 1,  /* changes something */
	ROUTE_UPLOAD = 1 << 2, /* the body goes to a file */
	ROUTE_SSE = 1 << 3,    /* an event stream */
};

struct route {
	enum web_method method;
	const char *path; /* as in routes.def */
	int (*handler)(struct web_request *q);
	unsigned flags;
};

extern const struct route web_routes[];
extern const size_t web_routes_count;

/* Bit of "GET" ...; HEAD counts as GET. 0 = one that no route has. */
unsigned route_method(const char *name);
const char *route_method_name(unsigned method);
/* The first route of that path and method, or NULL; then *ret_allow has the methods that the path takes (0: there is no such path). */
const struct route *route_find(const struct url *u, unsigned method, unsigned *ret_allow);
/* Value of the parameter {name}, NULL when the route has none of that name. Borrowed from u. */
const char *route_param(const struct route *r, const struct url *u, const char *name);

#endif
