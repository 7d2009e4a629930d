/* cli/guestenv: bases, -e words, and what stays out. */
#include "cli/guestenv.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

static char *host[] = {
	(char[]){ "A=1" }, (char[]){ "HERMIT_DATA_DIR=/x" }, (char[]){ "B=2" }, (char[]){ "HERMIT_OTHER=y" }, (char[]){ "odd" }, NULL,
};

static char **build(enum guestenv_base base, size_t n, const char **words)
{
	struct opt_list list = { words, n };
	char **env = NULL;

	ck_assert_int_eq(guestenv_new(base, host, &list, &env, NULL), 0);
	return env;
}

static void expect(char **env, const char *const *want)
{
	size_t n = 0;

	for (; want[n]; n++) {
		ck_assert_ptr_nonnull(env[n]);
		ck_assert_str_eq(env[n], want[n]);
	}
	ck_assert_ptr_null(env[n]);
	guestenv_free(env);
}

#define WANT(...) ((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(host_base)
{
	/* what steers hermit is left out, everything else is passed on as it is */
	expect(build(GUESTENV_HOST, 0, NULL), WANT("A=1", "B=2", "HERMIT_OTHER=y", "odd"));
	expect(build(GUESTENV_HOST, 3, (const char *[]){ "A=9", "C=3", "A=10" }), WANT("A=10", "B=2", "HERMIT_OTHER=y", "odd", "C=3"));
	expect(build(GUESTENV_HOST, 1, (const char *[]){ "HERMIT_DATA_DIR" }),
	       WANT("A=1", "B=2", "HERMIT_OTHER=y", "odd", "HERMIT_DATA_DIR=/x"));
}
END_TEST

START_TEST(other_bases)
{
	char **env = build(GUESTENV_EMPTY, 0, NULL);

	ck_assert_ptr_null(env[0]);
	guestenv_free(env);
	expect(build(GUESTENV_EMPTY, 2, (const char *[]){ "B", "X=" }), WANT("B=2", "X="));
	env = build(GUESTENV_MINIMAL, 1, (const char *[]){ "HOME=/h" });
	ck_assert_str_eq(guestenv_get(env, "HOME"), "/h");
	ck_assert_str_eq(guestenv_get(env, "PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	ck_assert_str_eq(guestenv_get(env, "HOSTNAME"), "hermetic-container.local");
	ck_assert_ptr_null(guestenv_get(env, "A"));
	ck_assert_ptr_null(guestenv_get(env, "PAT"));
	guestenv_free(env);
}
END_TEST

START_TEST(faults)
{
	struct errinfo ei = { 0 };
	const char *word = "NOT_THERE";
	struct opt_list list = { &word, 1 };
	char **env = NULL;

	ck_assert_int_eq(guestenv_new(GUESTENV_HOST, host, &list, &env, &ei), -ENOENT);
	ck_assert_str_eq(ei.text, "Attempt to pass through env var NOT_THERE, but it is not set in the host environment");
	word = "=x";
	ck_assert_int_eq(guestenv_new(GUESTENV_HOST, host, &list, &env, NULL), -EINVAL);
	word = "";
	ck_assert_int_eq(guestenv_new(GUESTENV_HOST, host, &list, &env, NULL), -EINVAL);
	ck_assert_ptr_null(env);
}
END_TEST

TEST_MAIN("cli_guestenv", host_base, other_bases, faults)
