/* web/text.c: ranges, entity tags, accepted types, cookies, hosts, origins. */
#include <string.h>
#include "tests/unit/test.h"
#include "web/text_priv.h"

START_TEST(range)
{
	static const struct {
		const char *header;
		uint64_t n;
		int want;
		uint64_t first, last;
	} rows[] = {
		{ NULL, 10, 0, 0, 0 },
		{ "bytes=0-0", 10, 1, 0, 0 },
		{ "bytes=0-9", 10, 1, 0, 9 },
		{ "bytes=2-5", 10, 1, 2, 5 },
		{ "bytes=2-", 10, 1, 2, 9 },
		{ "bytes=-3", 10, 1, 7, 9 },
		{ "bytes=-30", 10, 1, 0, 9 },
		{ "Bytes=9-100", 10, 1, 9, 9 },
		{ "bytes= 1-2 ", 10, 1, 1, 2 },
		{ "bytes=1-99999999999999999999999", 10, 1, 1, 9 },
		{ "bytes=18446744073709551615-18446744073709551615", 10, ERR_LIMIT, 0, 0 },
		{ "bytes=99999999999999999999999-", 10, ERR_LIMIT, 0, 0 },
		{ "bytes=10-", 10, ERR_LIMIT, 0, 0 },
		{ "bytes=10-20", 10, ERR_LIMIT, 0, 0 },
		{ "bytes=-0", 10, ERR_LIMIT, 0, 0 },
		{ "bytes=0-", 0, ERR_LIMIT, 0, 0 },
		{ "bytes=-1", 0, ERR_LIMIT, 0, 0 },
		/* not understood: the whole */
		{ "bytes=5-2", 10, 0, 0, 0 },
		{ "bytes=0-1,3-4", 10, 0, 0, 0 },
		{ "bytes=-", 10, 0, 0, 0 },
		{ "bytes=", 10, 0, 0, 0 },
		{ "bytes=a-b", 10, 0, 0, 0 },
		{ "bytes=1-2x", 10, 0, 0, 0 },
		{ "bytes=1", 10, 0, 0, 0 },
		{ "bytes=+1-2", 10, 0, 0, 0 },
		{ "items=0-1", 10, 0, 0, 0 },
		{ "", 10, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t first = 77, last = 77;
		int r = text_range(rows[i].header, rows[i].n, &first, &last);

		ck_assert_msg(r == rows[i].want, "%s: %d", rows[i].header, r);
		if (r == 1)
			ck_assert_msg(first == rows[i].first && last == rows[i].last, "%s", rows[i].header);
		else
			ck_assert_msg(first == 77 && last == 77, "%s: untouched", rows[i].header);
	}
}
END_TEST

START_TEST(etag)
{
	ck_assert(text_etag_match("\"a\"", "\"a\"", true));
	ck_assert(text_etag_match("\"x\", \"a\"", "\"a\"", true));
	ck_assert(text_etag_match("\"x\",\"a\" , \"z\"", "\"a\"", true));
	ck_assert(text_etag_match("*", "\"a\"", true));
	ck_assert(text_etag_match("W/\"a\"", "\"a\"", false));
	ck_assert(text_etag_match("\"a,b\"", "\"a,b\"", true));
	ck_assert(!text_etag_match("W/\"a\"", "\"a\"", true));
	ck_assert(!text_etag_match("\"aa\"", "\"a\"", false));
	ck_assert(!text_etag_match("\"x, \"a\"", "\"a\"", false));
	ck_assert(!text_etag_match("a", "\"a\"", false));
	ck_assert(!text_etag_match("\"a", "\"a\"", false));
	ck_assert(!text_etag_match("", "\"a\"", false));
}
END_TEST

START_TEST(accept)
{
	static const char *const types[] = { "application/json", "text/csv", "text/plain; charset=utf-8", NULL };
	static const struct {
		const char *header;
		int want;
	} rows[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "*/*", 0 },
		{ "text/*", 1 },
		{ "text/plain", 2 },
		{ "TEXT/CSV", 1 },
		{ "text/csv;q=0.5, text/plain;q=0.6", 2 },
		{ "text/csv, application/json", 0 },
		{ "application/json;q=0.1, text/csv;q=0.2", 1 },
		{ "application/json;q=0, */*", 1 },
		{ "*/*;q=0.1, text/plain", 2 },
		{ "text/csv;level=1;q=0.3, text/plain;q=0.25", 1 },
		{ "image/png", -1 },
		{ "text/csv;q=0", -1 },
		{ "text/csv;q=0.000", -1 },
		{ "text", -1 },
		{ ",,,", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(text_accept(rows[i].header, types) == rows[i].want, "%s: %d", rows[i].header, text_accept(rows[i].header, types));
	ck_assert(text_accepts_coding("br, gzip", "gzip"));
	ck_assert(text_accepts_coding("gzip;q=0.001", "gzip"));
	ck_assert(!text_accepts_coding("gzip;q=0", "gzip"));
	ck_assert(!text_accepts_coding("gzipx", "gzip"));
	ck_assert(!text_accepts_coding(NULL, "gzip"));
	ck_assert(text_is_type("application/json; charset=utf-8", "application/json"));
	ck_assert(text_is_type("Application/JSON", "application/json"));
	ck_assert(!text_is_type("application/jsonx", "application/json"));
	ck_assert(!text_is_type(NULL, "application/json"));
}
END_TEST

START_TEST(cookie)
{
	char v[8];

	ck_assert(text_cookie("a=1; b=22; c=3", "b", v, sizeof(v)));
	ck_assert_str_eq(v, "22");
	ck_assert(text_cookie("b=22", "b", v, sizeof(v)));
	ck_assert(text_cookie("b=", "b", v, sizeof(v)));
	ck_assert_str_eq(v, "");
	ck_assert(text_cookie("b=1234567", "b", v, sizeof(v)));
	ck_assert(!text_cookie("b=12345678", "b", v, sizeof(v)));
	ck_assert(!text_cookie("bb=1", "b", v, sizeof(v)));
	ck_assert(!text_cookie("ab=1", "b", v, sizeof(v)));
	ck_assert(!text_cookie("b", "b", v, sizeof(v)));
	ck_assert(!text_cookie("", "b", v, sizeof(v)));
	ck_assert(!text_cookie(NULL, "b", v, sizeof(v)));
}
END_TEST

START_TEST(host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]", NULL };
	static const char *const good[] = { "localhost", "LocalHost", "localhost:7777", "127.0.0.1:1", "[::1]", "[::1]:80", "localhost:" };
	static const char *const bad[] = { "", ":80", "evil", "localhost.evil", "localhost:80:80", "localhost:x", "127.0.0.10", "[::1", "[::1]x", "[::1]:x", "::1",
					   "localhost/", "localhost@evil", "127.0.0.1:80/", "[", "[]" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(text_host_allowed(good[i], names), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!text_host_allowed(bad[i], names), "%s", bad[i]);
	ck_assert(text_same_origin("http://localhost:7777", "localhost:7777"));
	ck_assert(text_same_origin("https://Hermit.example", "hermit.example"));
	ck_assert(!text_same_origin("http://localhost:7778", "localhost:7777"));
	ck_assert(!text_same_origin("null", "null"));
	ck_assert(!text_same_origin("file://localhost", "localhost"));
	ck_assert(!text_same_origin("http://localhost", "localhost:7777"));
}
END_TEST

START_TEST(names)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	text_put_filename(&b, "a b\"\r\n\xc3\xa9.tar");
	ck_assert_str_eq(buf_cstr(&b), "filename=\"a_b_____.tar\"; filename*=UTF-8''a%20b%22%0D%0A%C3%A9.tar");
	ck_assert(text_is_request_id("aZ9-_."));
	ck_assert(!text_is_request_id(""));
	ck_assert(!text_is_request_id("a b"));
	ck_assert(!text_is_request_id("a\nb"));
	ck_assert(!text_is_request_id("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
END_TEST

TEST_MAIN("web_text", range, etag, accept, cookie, host, names)
