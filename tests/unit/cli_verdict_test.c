/* cli/verdict: the JSON of --verify-json keeps the rules of its schema. */
#include "cli/verdict.h"

#include <signal.h>
#include <string.h>
#include "tests/unit/test.h"

static const char *const members[] = {
	"verified", "bitwise_parity", "verdict", "no_result_reason", "infrastructure_error", "comparison", "compared_log_messages",
	"runtime", "guest_exit_code", "guest_signal", "first_divergent_scheduler_turn", "first_divergent_virtual_nanoseconds",
	"first_divergent_record", "first_divergent_syscall", "first_divergent_left_message", "first_divergent_right_message",
};

static json_t *make(const struct verdict *v)
{
	json_t *j = verdict_json(v);

	ck_assert_ptr_nonnull(j);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		ck_assert_msg(json_object_get(j, members[i]), "%s is missing", members[i]);
	ck_assert_uint_eq(json_object_size(j), ARRAY_SIZE(members));
	return j;
}

static const char *text(json_t *j, const char *member)
{
	const char *s = json_string_value(json_object_get(j, member));

	return s ? s : "(none)";
}

START_TEST(none_yet)
{
	struct verdict v;
	json_t *j;

	verdict_init(&v, false);
	j = make(&v);
	ck_assert_str_eq(text(j, "verdict"), "no_result");
	ck_assert_str_eq(text(json_object_get(j, "no_result_reason"), "kind"), "not_run");
	ck_assert(json_is_null(json_object_get(j, "comparison")));
	ck_assert(json_is_false(json_object_get(j, "verified")));
	ck_assert(json_is_null(json_object_get(j, "guest_exit_code")));
	json_decref(j);
}
END_TEST

START_TEST(match)
{
	struct verdict v;
	json_t *j, *comparison;

	verdict_init(&v, true);
	v.kind = VERDICT_MATCHED;
	v.status = 7 << 8;
	v.recorded = v.replayed = 100;
	j = make(&v);
	comparison = json_object_get(j, "comparison");
	ck_assert(json_is_true(json_object_get(j, "verified")));
	ck_assert(json_is_true(json_object_get(j, "bitwise_parity")));
	ck_assert(json_is_null(json_object_get(j, "no_result_reason")));
	ck_assert_str_eq(text(comparison, "strictness"), "canonical");
	ck_assert(json_is_false(json_object_get(comparison, "strip_lines")));
	ck_assert_int_eq(json_integer_value(json_object_get(j, "guest_exit_code")), 7);
	ck_assert(json_is_null(json_object_get(j, "guest_signal")));
	json_decref(j);
	/* not strict: verified, but no claim about every byte */
	v.strict = false;
	j = make(&v);
	ck_assert(json_is_false(json_object_get(j, "bitwise_parity")));
	ck_assert_str_eq(text(json_object_get(j, "comparison"), "strictness"), "stripped");
	json_decref(j);
	/* nothing compared is no parity either */
	v.strict = true;
	v.replayed = 0;
	j = make(&v);
	ck_assert(json_is_false(json_object_get(j, "bitwise_parity")));
	json_decref(j);
}
END_TEST

START_TEST(difference)
{
	struct verdict v;
	json_t *j;

	verdict_init(&v, false);
	v.kind = VERDICT_DIVERGED;
	v.status = SIGKILL;
	v.record = 12;
	v.syscall = 3;
	memcpy(v.left, "a\xff", 3);
	memcpy(v.right, "b", 2);
	j = make(&v);
	ck_assert(json_is_false(json_object_get(j, "verified")));
	ck_assert_int_eq(json_integer_value(json_object_get(j, "first_divergent_record")), 12);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "first_divergent_syscall")), 3);
	ck_assert_str_eq(text(j, "first_divergent_left_message"), "a\xef\xbf\xbd");
	ck_assert_str_eq(text(j, "first_divergent_right_message"), "b");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "guest_signal")), SIGKILL);
	json_decref(j);
}
END_TEST

TEST_MAIN("cli_verdict", none_yet, match, difference)
