/* Who may ask what. Everything here is decided before a body is read or a handler runs, in this order: is the request one at all, is it for us (Host),
 * is there such a thing, does a foreign page ask (Origin, Sec-Fetch-Site), who asks (token, cookie), may it be done. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "web/text_priv.h"

void refuse(struct web_request *q, unsigned status, const char *code, const char *fmt, ...)
{
	struct refusal *f = &q->refusal;
	va_list ap;

	if (f->status)
		return;
	f->status = status;
	f->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

static void refuse_header(struct web_request *q, const char *name, const char *value)
{
	(void)snprintf(q->refusal.header, sizeof(q->refusal.header), "%s", name);
	(void)snprintf(q->refusal.value, sizeof(q->refusal.value), "%s", value);
}

static bool head_too_large(struct web_request *q)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(q->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info && info->header_size > WEB_HEAD_BYTES_MAX;
}

static void check_request(struct web_request *q)
{
	if (q->conn->excess)
		refuse(q, 503, "unavailable", "there are %llu connections already", (unsigned long long)q->web->cfg->max_connections);
	else if (head_too_large(q))
		refuse(q, 431, "headers-too-large", "request line and headers have more than %u bytes", WEB_HEAD_BYTES_MAX);
	else if (q->url_error == -ENOMEM)
		refuse(q, 503, "unavailable", "out of memory");
	else if (q->url_error < 0)
		refuse(q, 400, "bad-request", "the address is not understood: %s", err_str(q->url_error));
	else if (q->web->stopping)
		refuse(q, 503, "unavailable", "hermitd is about to stop");
}

/* A page whose name was made to lead here (DNS rebinding) shows its own name. */
static void check_host(struct web_request *q)
{
	const char *host = web_header(q, "Host");

	if (!host || !text_host_allowed(host, q->web->hosts))
		refuse(q, 421, "wrong-host", "this server is not called that (hosts in hermitd.conf lists further names)");
}

/* What browsers say about who sends this. A link on a foreign page may open our page, which holds no secrets; nothing else. */
static void check_site(struct web_request *q)
{
	const char *origin = web_header(q, "Origin"), *site = web_header(q, "Sec-Fetch-Site"), *host = web_header(q, "Host");
	const char *mode = web_header(q, "Sec-Fetch-Mode");
	const bool page = q->method == WEB_GET && !q->route && mode && strcmp(mode, "navigate") == 0;

	if (origin && (q->method != WEB_GET || (q->route && q->route->flags & ROUTE_SSE)) && !text_same_origin(origin, host ? host : ""))
		refuse(q, 403, "forbidden", "pages of other sites may not do this");
	if (site && !page && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		refuse(q, 403, "forbidden", "a page of another site asks (Sec-Fetch-Site)");
}

static void put_allow(unsigned allow, char *ret, size_t size)
{
	size_t n = 0;

	*ret = '\0';
	for (unsigned bit = WEB_GET; bit <= WEB_DELETE; bit <<= 1) {
		if (allow & bit && n < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s%s", n ? ", " : "", route_method_name(bit), bit == WEB_GET ? ", HEAD" : "");
	}
}

static bool is_recording_id(const char *s)
{
	return strlen(s) == STORE_ID_LEN && strspn(s, "0123456789abcdef") == STORE_ID_LEN;
}

/* Finds the route, or the file of the page (q->route stays NULL). */
static void check_path(struct web_request *q)
{
	unsigned allow = 0;
	char methods[64];
	const char *id;

	q->route = route_find(&q->url, q->method, &allow);
	if (!q->route && !allow && assets_have(q)) {
		allow = WEB_GET;
		if (q->method == WEB_GET)
			return;
	}
	if (!q->route && allow) {
		put_allow(allow, methods, sizeof(methods));
		refuse(q, 405, "method-not-allowed", "this takes %s", methods);
		refuse_header(q, "Allow", methods);
	} else if (!q->route) {
		refuse(q, 404, "not-found", "there is nothing at this address");
	} else if ((id = route_param(q->route, &q->url, "id")) && !is_recording_id(id)) {
		refuse(q, 404, "no-such-recording", "that is no id of a recording: they have 32 hexadecimal digits");
	}
}

static void check_who(struct web_request *q)
{
	if (!q->route || q->route->flags & ROUTE_OPEN || q->conn->listener->local)
		return;
	if (!auth_ok(q)) {
		refuse(q, 401, "unauthorized", "show the token (Authorization: Bearer ...), or log in with the link of 'hermit open'");
		refuse_header(q, "WWW-Authenticate", "Bearer realm=\"hermit\"");
		return;
	}
	/* browsers name the origin of what changes something: without, the cookie alone does not do */
	if (q->by_cookie && q->method != WEB_GET && !web_header(q, "Origin"))
		refuse(q, 403, "forbidden", "a request with a cookie must have an Origin");
}

static void check_content(struct web_request *q)
{
	const char *length = web_header(q, "Content-Length"), *type = web_header(q, "Content-Type");
	const bool body = web_header(q, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);

	if (!q->route)
		return;
	if (q->route->flags & ROUTE_WRITE && q->web->cfg->read_only)
		refuse(q, 403, "read-only", "this server was started with --read-only");
	if (q->route->flags & ROUTE_UPLOAD) {
		if (!text_is_type(type, "application/x-tar") && !text_is_type(type, "application/octet-stream"))
			refuse(q, 415, "unsupported-media-type", "an upload is application/x-tar or application/octet-stream");
	} else if (body && !text_is_type(type, "application/json") && !text_is_type(type, "application/merge-patch+json")) {
		refuse(q, 415, "unsupported-media-type", "the body must be application/json");
	}
}

void guard_check(struct web_request *q)
{
	static void (*const checks[])(struct web_request *) = { check_request, check_host, check_path, check_site, check_who, check_content };

	for (size_t i = 0; i < ARRAY_SIZE(checks) && !q->refusal.status; i++)
		checks[i](q);
}
