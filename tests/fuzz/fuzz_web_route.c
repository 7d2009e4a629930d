/* The fuzzer's bytes as a request target, then as each of the headers that are taken apart: no crash, and what comes out keeps its promises. */
#include <stdlib.h>
#include <string.h>
#include "web/cursor_priv.h"
#include "web/route_priv.h"
#include "web/text_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void target(const char *s)
{
	unsigned allow = 0;
	struct cursor c;
	struct url u;

	if (url_parse(s, &u) < 0)
		return;
	check(u.n_segments <= URL_SEGMENTS_MAX && u.n_pairs <= URL_PAIRS_MAX);
	for (size_t i = 0; i < u.n_segments; i++)
		check(strcmp(u.segment[i], "..") != 0 && strcmp(u.segment[i], ".") != 0);
	for (unsigned m = WEB_GET; m <= WEB_DELETE; m <<= 1) {
		const struct route *r = route_find(&u, m, &allow);

		check(!r || r->method == m);
		if (r && strstr(r->path, "{id}"))
			check(route_param(r, &u, "id") && *route_param(r, &u, "id"));
	}
	for (size_t i = 0; i < u.n_pairs; i++)
		(void)!cursor_parse(u.pair[i].value, cursor_filter(&u), &c);
	url_done(&u);
}

static void headers(const char *s)
{
	static const char *const types[] = { "application/json", "text/csv", NULL };
	static const char *const names[] = { "localhost", "[::1]", NULL };
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t first, last;
	char value[16];

	if (text_range(s, 1000, &first, &last) == 1)
		check(first <= last && last < 1000);
	(void)text_etag_match(s, "\"a\"", true);
	check(text_accept(s, types) < 2);
	(void)text_accepts_coding(s, "gzip");
	if (text_cookie(s, "a", value, sizeof(value)))
		check(strlen(value) < sizeof(value));
	(void)text_host_allowed(s, names);
	(void)text_same_origin(s, "localhost");
	text_put_filename(&b, s);
	for (size_t i = 0; i < b.len; i++)
		check(b.data[i] >= ' ' && b.data[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	if (!s)
		abort();
	memcpy(s, data, size);
	s[size] = '\0';
	target(s);
	headers(s);
	free(s);
	return 0;
}
