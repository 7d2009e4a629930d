/* web/url.c, web/route.c, web/cursor.c: targets, the table of routes, cursors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"
#include "web/cursor_priv.h"
#include "web/route_priv.h"

#define ID "0123456789abcdef0123456789abcdef"

START_TEST(url)
{
	struct url u;

	ck_assert_int_eq(url_parse("/a/b%20c/%2F?x=1&y=a+b%26&x=2&z&=v", &u), 0);
	ck_assert_str_eq(u.path, "/a/b%20c/%2F");
	ck_assert_uint_eq(u.n_segments, 3);
	ck_assert_str_eq(u.segment[1], "b c");
	ck_assert_str_eq(u.segment[2], "/");
	ck_assert_str_eq(url_query(&u, "x", 0), "1");
	ck_assert_str_eq(url_query(&u, "x", 1), "2");
	ck_assert_ptr_null(url_query(&u, "x", 2));
	ck_assert_str_eq(url_query(&u, "y", 0), "a b&");
	ck_assert_str_eq(url_query(&u, "z", 0), "");
	ck_assert_str_eq(url_query(&u, "", 0), "v");
	url_done(&u);
	ck_assert_int_eq(url_parse("/", &u), 0);
	ck_assert_uint_eq(u.n_segments, 0);
	url_done(&u);
	ck_assert_int_eq(url_parse("/a/?", &u), 0);
	ck_assert_uint_eq(u.n_segments, 2);
	ck_assert_str_eq(u.segment[1], "");
	ck_assert_uint_eq(u.n_pairs, 0);
	url_done(&u);
	/* a plus is a blank in queries alone */
	ck_assert_int_eq(url_parse("/a+b", &u), 0);
	ck_assert_str_eq(u.segment[0], "a+b");
	url_done(&u);
}
END_TEST

START_TEST(bad_url)
{
	static const char *const bad[] = { "", "a", "*", "http://h/", "/a b", "/a\tb", "/\x80", "/a#b", "/%", "/%1", "/%gg", "/%00", "/a?%00", "/a?b=%0", "/a?%zz=1",
					   "/..", "/a/..", "/../a", "/%2e%2E", "/.%2e/x", "/.", "/a/./b" };
	char many[4 * URL_PAIRS_MAX + 16] = "/a?";
	struct url u;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(url_parse(bad[i], &u) == -EINVAL, "%s", bad[i]);
	for (size_t i = 0; i < URL_PAIRS_MAX; i++)
		memcpy(many + 3 + 2 * i, "a&", 3);
	ck_assert_int_eq(url_parse(many, &u), 0);
	ck_assert_uint_eq(u.n_pairs, URL_PAIRS_MAX);
	url_done(&u);
	memcpy(many + 3 + 2 * URL_PAIRS_MAX, "a", 2);
	ck_assert_int_eq(url_parse(many, &u), ERR_LIMIT);
	for (size_t i = 0; i <= URL_SEGMENTS_MAX; i++)
		memcpy(many + 2 * i, "/a", 3);
	ck_assert_int_eq(url_parse(many, &u), ERR_LIMIT);
}
END_TEST

static const struct route *find(const char *method, const char *path, unsigned *allow)
{
	const struct route *r;
	struct url u;

	*allow = 0;
	ck_assert_int_eq(url_parse(path, &u), 0);
	r = route_find(&u, route_method(method), allow);
	url_done(&u);
	return r;
}

START_TEST(routes)
{
	unsigned allow;

	ck_assert_str_eq(find("GET", "/api/v1/recordings", &allow)->path, "/recordings");
	ck_assert_str_eq(find("HEAD", "/api/v1/recordings", &allow)->path, "/recordings");
	ck_assert_int_eq(find("POST", "/api/v1/recordings", &allow)->method, WEB_POST);
	ck_assert_str_eq(find("GET", "/api/v1/recordings/" ID, &allow)->path, "/recordings/{id}");
	ck_assert_str_eq(find("GET", "/api/v1/recordings/" ID "/export", &allow)->path, "/recordings/{id}/export");
	ck_assert_str_eq(find("POST", "/api/v1/recordings/import", &allow)->path, "/recordings/import");
	ck_assert_str_eq(find("GET", "/healthz", &allow)->path, "//healthz");
	ck_assert_str_eq(find("GET", "/%68ealthz", &allow)->path, "//healthz");
	ck_assert_ptr_null(find("PUT", "/api/v1/recordings", &allow));
	ck_assert_uint_eq(allow, WEB_GET | WEB_POST);
	ck_assert_ptr_null(find("BREW", "/healthz", &allow));
	ck_assert_uint_eq(allow, WEB_GET);
	static const char *const nowhere[] = { "/", "/api", "/api/v1", "/api/v1/", "/recordings", "/api/v1/healthz", "/api/v1/recordings/", "/api/v1/recordings//export",
					       "/api/v1/recordings/" ID "/export/", "/healthz/x", "/api/v2/recordings", "/api%2Fv1/recordings", "//healthz" };
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		ck_assert_msg(!find("GET", nowhere[i], &allow), "%s", nowhere[i]);
		ck_assert_msg(allow == 0, "%s: %x", nowhere[i], allow);
	}
}
END_TEST

/* Each route is found by its own path, so none hides behind one before it. */
START_TEST(all_routes)
{
	for (size_t i = 0; i < web_routes_count; i++) {
		const struct route *r = &web_routes[i], *found;
		char path[256] = "";
		size_t n = 0, top = r->path[1] == '/';
		unsigned allow = 0;
		struct url u;

		n += (size_t)snprintf(path, sizeof(path), "%s", top ? "" : WEB_API_PREFIX);
		for (const char *p = r->path + top; *p; p++) {
			if (*p == '{') {
				n += (size_t)snprintf(path + n, sizeof(path) - n, "%s", ID);
				p = strchr(p, '}');
			} else {
				path[n++] = *p;
				path[n] = '\0';
			}
		}
		ck_assert_int_eq(url_parse(path, &u), 0);
		found = route_find(&u, r->method, &allow);
		ck_assert_msg(found == r, "%s %s leads to %s", route_method_name(r->method), path, found ? found->path : "nothing");
		ck_assert(r->method != WEB_GET || !(r->flags & ROUTE_WRITE));
		if (strstr(r->path, "{id}"))
			ck_assert_str_eq(route_param(r, &u, "id"), ID);
		else
			ck_assert_ptr_null(route_param(r, &u, "id"));
		url_done(&u);
	}
}
END_TEST

START_TEST(params)
{
	struct url u;
	unsigned allow;
	const struct route *r;

	ck_assert_int_eq(url_parse("/api/v1/recordings/a%2Fb/export", &u), 0);
	r = route_find(&u, WEB_GET, &allow);
	ck_assert_str_eq(route_param(r, &u, "id"), "a/b");
	ck_assert_ptr_null(route_param(r, &u, "i"));
	ck_assert_ptr_null(route_param(r, &u, "export"));
	url_done(&u);
}
END_TEST

START_TEST(cursors)
{
	struct cursor c = { .offset = 300, .id = ID }, got;
	char text[CURSOR_BYTES], other[CURSOR_BYTES + 1];
	struct url a, b;

	ck_assert_int_eq(url_parse("/list?q=x&cursor=1&limit=5", &a), 0);
	ck_assert_int_eq(url_parse("/list?limit=7&q=x", &b), 0);
	ck_assert_uint_eq(cursor_filter(&a), cursor_filter(&b));
	url_done(&b);
	ck_assert_int_eq(url_parse("/list?q=y", &b), 0);
	ck_assert_uint_ne(cursor_filter(&a), cursor_filter(&b));
	cursor_print(&c, cursor_filter(&a), text);
	ck_assert_int_eq(cursor_parse(text, cursor_filter(&a), &got), 0);
	ck_assert_uint_eq(got.offset, 300);
	ck_assert_str_eq(got.id, ID);
	ck_assert_int_eq(cursor_parse(text, cursor_filter(&b), &got), -EINVAL);
	for (size_t n = 0; n < strlen(text); n++) {
		memcpy(other, text, n);
		other[n] = '\0';
		ck_assert_int_eq(cursor_parse(other, cursor_filter(&a), &got), -EINVAL);
	}
	(void)snprintf(other, sizeof(other), "%s0", text);
	ck_assert_int_eq(cursor_parse(other, cursor_filter(&a), &got), -EINVAL);
	url_done(&a);
	url_done(&b);
}
END_TEST

TEST_MAIN("web_route", url, bad_url, routes, all_routes, params, cursors)
