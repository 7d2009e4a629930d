/* What every unit test shares: one main() that runs a suite of one file.
 *
 *     START_TEST(name) { ... } END_TEST
 *     TEST_MAIN("buf", name, other_name)
 *
 * Run one case with CK_RUN_CASE=..., under gdb with CK_FORK=no. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <check.h>
#include <stdlib.h>
#include "base/macros.h"

static inline int test_run(const char *suite_name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(suite_name);
	TCase *tc = tcase_create(suite_name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define TEST_MAIN(suite, ...) \
	int main(void) \
	{ \
		const TTest *const tests[] = { __VA_ARGS__ }; \
\
		return test_run(suite, tests, ARRAY_SIZE(tests)); \
	}

#endif
