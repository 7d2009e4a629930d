/* base/json: typed members, refusals, bytes that are no UTF-8. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

static json_t *parsed(const char *text)
{
	struct errinfo ei = { 0 };
	json_t *j = NULL;

	ck_assert_int_eq(jsonx_parse(text, strlen(text), &j, &ei), 0);
	return j;
}

START_TEST(members)
{
	CLEANUP(jsonx_unrefp) json_t *j = parsed("{\"s\":\"x\",\"n\":5,\"neg\":-5,\"b\":true,\"f\":false,\"a\":[],\"o\":{},"
						 "\"null\":null}");
	const char *s = "old";
	uint64_t u = 9;
	int64_t i;
	bool b;
	json_t *v;

	ck_assert_int_eq(jsonx_get_str(j, "missing", &s), -ENOENT);
	ck_assert_int_eq(jsonx_get_str(j, "null", &s), -ENOENT);
	ck_assert_int_eq(jsonx_get_str(j, "n", &s), ERR_CORRUPT);
	ck_assert_str_eq(s, "old");
	ck_assert_int_eq(jsonx_get_str(j, "s", &s), 0);
	ck_assert_str_eq(s, "x");
	ck_assert_int_eq(jsonx_get_u64(j, "neg", &u), ERR_CORRUPT);
	ck_assert_int_eq(jsonx_get_u64(j, "n", &u), 0);
	ck_assert_uint_eq(u, 5);
	ck_assert_int_eq(jsonx_get_i64(j, "neg", &i), 0);
	ck_assert_int_eq(i, -5);
	ck_assert_int_eq(jsonx_get_bool(j, "b", &b), 0);
	ck_assert(b);
	ck_assert_int_eq(jsonx_get_bool(j, "f", &b), 0);
	ck_assert(!b);
	ck_assert_int_eq(jsonx_get_bool(j, "n", &b), ERR_CORRUPT);
	ck_assert_int_eq(jsonx_get_array(j, "a", &v), 0);
	ck_assert_int_eq(jsonx_get_array(j, "o", &v), ERR_CORRUPT);
	ck_assert_int_eq(jsonx_get_object(j, "o", &v), 0);
	ck_assert_int_eq(jsonx_get_str(v, "s", &s), -ENOENT);
	ck_assert_int_eq(jsonx_get_str(NULL, "s", &s), ERR_CORRUPT);
}
END_TEST

START_TEST(embedded_nul_is_refused)
{
	static const char text[] = "{\"s\":\"a\\u0000b\"}";
	struct errinfo ei = { 0 };
	json_t *j = NULL;

	ck_assert_int_eq(jsonx_parse(text, strlen(text), &j, &ei), ERR_CORRUPT);
	ck_assert_ptr_null(j);
	ck_assert_int_eq(jsonx_parse_nul(text, strlen(text), &j, &ei), 0);
	ck_assert_uint_eq(json_string_length(json_object_get(j, "s")), 3);
	jsonx_unrefp(&j);
}
END_TEST

START_TEST(bad_text)
{
	static const char *const bad[] = { "", "{", "{} x", "{\"a\":1,\"a\":2}", "[1,]", "\xff" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct errinfo ei = { 0 };
		json_t *j = NULL;

		ck_assert_int_eq(jsonx_parse(bad[i], strlen(bad[i]), &j, &ei), ERR_CORRUPT);
		ck_assert_ptr_null(j);
		ck_assert_ptr_nonnull(strstr(ei.text, "line"));
	}
}
END_TEST

START_TEST(setters)
{
	CLEANUP(jsonx_unrefp) json_t *j = json_object();
	CLEANUP(freep) char *text = NULL;
	size_t len;

	ck_assert_int_eq(jsonx_set_str(j, "s", "\xc3\xa4"), 0);
	ck_assert_int_eq(jsonx_set_str(j, "s2", "\xff"), -EINVAL);
	ck_assert_int_eq(jsonx_set_u64(j, "u", INT64_MAX), 0);
	ck_assert_int_eq(jsonx_set_u64(j, "u2", UINT64_MAX), -EINVAL);
	ck_assert_int_eq(jsonx_set_bool(j, "b", true), 0);
	ck_assert_int_eq(jsonx_set_new(j, "x", NULL), -ENOMEM);
	ck_assert_int_eq(jsonx_dump(j, JSON_COMPACT | JSON_SORT_KEYS, &text, &len), 0);
	ck_assert_str_eq(text, "{\"b\":true,\"s\":\"\xc3\xa4\",\"u\":9223372036854775807}");
	ck_assert_uint_eq(len, strlen(text));
}
END_TEST

START_TEST(lossy)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "" },
		{ "a\xff" "b", "a\xef\xbf\xbd" "b" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* beyond the last */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(jsonx_unrefp) json_t *j = jsonx_string_lossy(cases[i].in, strlen(cases[i].in));

		ck_assert_ptr_nonnull(j);
		ck_assert_str_eq(json_string_value(j), cases[i].out);
	}
}
END_TEST

START_TEST(files)
{
	struct errinfo ei = { 0 };
	json_t *j = NULL;

	ck_assert_int_eq(jsonx_load_file("/nonexistent/x.json", 100, &j, &ei), -ENOENT);
	ck_assert_ptr_nonnull(strstr(ei.text, "/nonexistent/x.json"));
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(jsonx_load_file("/proc/self/status", 100000, &j, &ei), ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(ei.text, "/proc/self/status"));
}
END_TEST

START_TEST(bytes_come_back)
{
	char accent[] = "caf\xc3\xa9", raw[] = "\xff\x01raw", empty[] = "";
	char *const v[] = { accent, empty, raw, raw + 2, NULL };
	CLEANUP(jsonx_unrefp) json_t *a = jsonx_strings(v);
	CLEANUP(jsonx_unrefp) json_t *bad = parsed("[\"x\", {\"hex\":\"00\"}]");
	char **got, *one;

	ck_assert_int_eq(jsonx_strings_value(a, 4, &got), 0);
	for (int i = 0; v[i]; i++)
		ck_assert_str_eq(got[i], v[i]);
	ck_assert_ptr_null(got[4]);
	jsonx_strings_free(got);
	ck_assert_int_eq(jsonx_strings_value(a, 3, &got), ERR_LIMIT);
	ck_assert_int_eq(jsonx_strings_value(bad, 9, &got), ERR_CORRUPT); /* a NUL inside */
	ck_assert_int_eq(jsonx_strings_value(NULL, 9, &got), ERR_CORRUPT);
	ck_assert_int_eq(jsonx_bytes_value(a, &one), ERR_CORRUPT);
}
END_TEST

static int parse_nested(size_t depth, const char *inner)
{
	CLEANUP(jsonx_unrefp) json_t *j = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };

	for (size_t i = 0; i < depth; i++)
		buf_printf(&b, "%s", i % 2 ? "[" : "{\"a\":");
	buf_printf(&b, "%s", inner);
	for (size_t i = depth; i > 0; i--)
		buf_put_u8(&b, i % 2 ? '}' : ']');
	return jsonx_parse(buf_cstr(&b), b.len, &j, NULL);
}

START_TEST(nesting)
{
	ck_assert_int_eq(parse_nested(JSON_DEPTH_MAX, "1"), 0);
	ck_assert_int_eq(parse_nested(JSON_DEPTH_MAX + 1, "1"), ERR_CORRUPT);
	ck_assert_int_eq(parse_nested(2000, "1"), ERR_CORRUPT);
	/* neither in strings nor one after the other */
	ck_assert_int_eq(parse_nested(JSON_DEPTH_MAX, "\"[[[{{{\\\"[[[\""), 0);
	ck_assert_int_eq(parse_nested(1, "[[],[],[[]],{},{}]"), 0);
}
END_TEST

START_TEST(values)
{
	json_t *a CLEANUP(jsonx_unrefp) = json_pack("[o,o,o,o,o,o]", jsonx_text(NULL), jsonx_text("a\xff"), jsonx_count(7), jsonx_count(UINT64_MAX), jsonx_time(0),
						    jsonx_time(1796078093347000000));
	char *text CLEANUP(freep) = NULL;

	ck_assert_int_eq(jsonx_dump(a, JSON_COMPACT, &text, NULL), 0);
	ck_assert_str_eq(text, "[null,\"a\xef\xbf\xbd\",7,9007199254740991,null,\"2026-11-30T22:34:53.347Z\"]");
}
END_TEST

TEST_MAIN("json", values, nesting, bytes_come_back, members, embedded_nul_is_refused, bad_text, setters, lossy, files)
