/* base/err: the numbers are part of interfaces and stay; every result has a text. */
#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "tests/unit/test.h"

START_TEST(numbers)
{
	ck_assert_int_eq(ERR_DIVERGED, -4097);
	ck_assert_int_eq(ERR_CORRUPT, -4098);
	ck_assert_int_eq(ERR_TRUNCATED, -4099);
}
END_TEST

START_TEST(texts)
{
	ck_assert_str_eq(err_str(ERR_CORRUPT), "data is corrupt");
	ck_assert_str_eq(err_name(ERR_CORRUPT), "CORRUPT");
	ck_assert_str_eq(err_str(-ENOENT), "No such file or directory");
	ck_assert_str_eq(err_name(-ENOENT), "ENOENT");
	ck_assert_str_eq(err_str(0), "success");
	ck_assert_str_eq(err_str(7), "success");
	ck_assert_str_eq(err_name(0), "?");
	for (int r = -5000; r < 0; r++) {
		ck_assert_ptr_nonnull(err_str(r));
		ck_assert_ptr_nonnull(err_name(r));
	}
	ck_assert_str_eq(err_str(-4096), "unknown error");
	ck_assert_str_eq(err_str(-5000), "unknown error");
	ck_assert_str_eq(err_name(INT_MIN), "?");
}
END_TEST

START_TEST(first_explanation_stays)
{
	struct errinfo ei = { 0 };

	ck_assert_int_eq(errinfo_set_r(&ei, -EIO, "read %s", "x.journal"), -EIO);
	ck_assert_str_eq(ei.text, "read x.journal: Input/output error");
	ck_assert_int_eq(errinfo_set(&ei, ERR_CORRUPT, "later"), ERR_CORRUPT);
	ck_assert_str_eq(ei.text, "read x.journal: Input/output error");
	ck_assert_int_eq(errinfo_set(NULL, -EIO, "nobody listens"), -EIO);
}
END_TEST

START_TEST(long_explanation_is_cut)
{
	char text[3000];
	struct errinfo ei = { 0 };

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(errinfo_set_r(&ei, -EIO, "%s", text), -EIO);
	ck_assert_uint_eq(strlen(ei.text), sizeof(ei.text) - 1);
}
END_TEST

TEST_MAIN("err", numbers, texts, first_explanation_stays, long_explanation_is_cut)
