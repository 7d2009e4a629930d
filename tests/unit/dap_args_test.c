/* dap/args: each kind with what it takes and what it refuses, absent and null members. */
#include "dap/args_priv.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

struct all {
	const char *str;
	int64_t num, dflt;
	bool flag, on;
	json_t *list, *obj, *any;
	char canary;
};

static const struct arg table[] = {
	ARG(STR, struct all, str, "str"),
	ARG(INT, struct all, num, "num", .required = true),
	ARG(INT, struct all, dflt, "dflt", .def = -7),
	ARG(BOOL, struct all, flag, "flag"),
	ARG(BOOL, struct all, on, "on", .def = true),
	ARG(ARRAY, struct all, list, "list"),
	ARG(OBJECT, struct all, obj, "obj"),
	ARG(ANY, struct all, any, "any"),
	{ 0 },
};

static const struct arg optional[] = {
	ARG(STR, struct all, str, "str"),
	{ 0 },
};

static json_t *parse(const char *text)
{
	json_t *j = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	ck_assert_msg(j != NULL, "%s", text);
	return j;
}

START_TEST(all_kinds)
{
	CLEANUP(jsonx_unrefp) json_t *j = parse("{\"str\":\"s\",\"num\":-9223372036854775808,\"dflt\":3,\"flag\":true,\"on\":false,"
						"\"list\":[1],\"obj\":{\"a\":1},\"any\":\"x\",\"unknown\":[]}");
	struct all a = { .canary = 'c' };
	struct errinfo ei = { 0 };

	ck_assert_int_eq(args_decode(table, j, &a, &ei), 0);
	ck_assert_str_eq(a.str, "s");
	ck_assert_ptr_eq(a.str, json_string_value(json_object_get(j, "str"))); /* borrowed */
	ck_assert(a.num == INT64_MIN && a.dflt == 3 && a.flag && !a.on);
	ck_assert_ptr_eq(a.list, json_object_get(j, "list"));
	ck_assert_ptr_eq(a.obj, json_object_get(j, "obj"));
	ck_assert_ptr_eq(a.any, json_object_get(j, "any"));
	ck_assert_int_eq(a.canary, 'c');
	ck_assert_uint_eq(j->refcount, 1);
	ck_assert_uint_eq(a.list->refcount, 1);
}
END_TEST

START_TEST(absent)
{
	static const char *const texts[] = { "{\"num\":1}", "{\"num\":1,\"str\":null,\"dflt\":null,\"flag\":null,\"on\":null,\"list\":null,\"obj\":null,\"any\":null}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(jsonx_unrefp) json_t *j = parse(texts[i]);
		struct all a = { 0 };

		ck_assert_int_eq(args_decode(table, j, &a, NULL), 0);
		ck_assert(!a.str && a.num == 1 && a.dflt == -7 && !a.flag && a.on && !a.list && !a.obj && !a.any);
	}
}
END_TEST

START_TEST(no_arguments)
{
	CLEANUP(jsonx_unrefp) json_t *null = json_null();
	struct errinfo ei = { 0 };
	struct all a = { 0 };

	ck_assert_int_eq(args_decode(optional, NULL, &a, &ei), 0);
	ck_assert_int_eq(args_decode(optional, null, &a, &ei), 0);
	ck_assert_int_eq(args_decode(table, NULL, &a, &ei), -EINVAL);
	ck_assert_str_eq(ei.text, "num: missing");
}
END_TEST

START_TEST(refused)
{
	static const struct {
		const char *args, *error;
	} rows[] = {
		{ "[]", "arguments: not an object" },
		{ "\"x\"", "arguments: not an object" },
		{ "{}", "num: missing" },
		{ "{\"num\":null}", "num: missing" },
		{ "{\"num\":\"1\"}", "num: not an integer" },
		{ "{\"num\":1.5}", "num: not an integer" },
		{ "{\"num\":1e300}", "num: not an integer" },
		{ "{\"num\":-1e300}", "num: not an integer" },
		{ "{\"num\":true}", "num: not an integer" },
		{ "{\"num\":[]}", "num: not an integer" },
		{ "{\"num\":1,\"str\":1}", "str: not a string" },
		{ "{\"num\":1,\"str\":\"a\\u0000b\"}", "str: not a string" },
		{ "{\"num\":1,\"flag\":1}", "flag: not true or false" },
		{ "{\"num\":1,\"flag\":\"true\"}", "flag: not true or false" },
		{ "{\"num\":1,\"list\":{}}", "list: not an array" },
		{ "{\"num\":1,\"obj\":[]}", "obj: not an object" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(jsonx_unrefp) json_t *j = parse(rows[i].args);
		struct errinfo ei = { 0 };
		struct all a = { 0 };

		ck_assert_msg(args_decode(table, j, &a, &ei) == -EINVAL, "%s", rows[i].args);
		ck_assert_str_eq(ei.text, rows[i].error);
		ck_assert_int_eq(args_decode(table, j, &a, NULL), -EINVAL);
	}
}
END_TEST

START_TEST(whole_reals)
{
	CLEANUP(jsonx_unrefp) json_t *j = parse("{\"num\":-3.0,\"dflt\":9007199254740992.0,\"any\":false}");
	struct all a = { 0 };

	ck_assert_int_eq(args_decode(table, j, &a, NULL), 0);
	ck_assert(a.num == -3 && a.dflt == 9007199254740992 && json_is_false(a.any));
}
END_TEST

TEST_MAIN("dap_args", all_kinds, absent, no_arguments, refused, whole_reals)
