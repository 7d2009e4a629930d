/* daemon/logins and daemon/token: links that work once, and the secret in a file. */
#include "daemon/logins_priv.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "daemon/limits_priv.h"
#include "daemon/token.h"
#include "tests/unit/store_help.h"

START_TEST(once)
{
	struct logins *l;
	char a[65], b[65];

	OK(logins_new(NULL, &l));
	OK(logins_add(l, 5, a));
	OK(logins_add(l, 5, b));
	ck_assert_uint_eq(strlen(a), 64);
	ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 64);
	ck_assert_str_ne(a, b);
	ck_assert(!logins_take(l, 6, ""));
	ck_assert(!logins_take(l, 6, "x"));
	ck_assert(logins_take(l, 6, a));
	ck_assert(!logins_take(l, 6, a));
	ck_assert(logins_take(l, 5 + LOGIN_LIFE_NS - 1, b));
	OK(logins_add(l, 5, a));
	ck_assert(!logins_take(l, 5 + LOGIN_LIFE_NS, a));
	ck_assert(!logins_take(l, 6, a));
	logins_free(l);
	logins_free(NULL);
}
END_TEST

/* Nobody can make it remember more and more: the oldest goes. */
START_TEST(many)
{
	char first[65], second[65], t[65];
	struct logins *l;

	OK(logins_new(NULL, &l));
	OK(logins_add(l, 1, first));
	OK(logins_add(l, 2, second));
	for (uint64_t i = 0; i < LOGINS_MAX - 1; i++)
		OK(logins_add(l, 3 + i, t));
	ck_assert(!logins_take(l, 100, first));
	ck_assert(logins_take(l, 100, second));
	ck_assert(logins_take(l, 100, t));
	logins_free(l);
}
END_TEST

struct race {
	struct logins *l;
	const char *token;
	unsigned wins;
};

static void *grab(void *arg)
{
	struct race *r = arg;

	if (logins_take(r->l, 1, r->token))
		__atomic_add_fetch(&r->wins, 1, __ATOMIC_RELAXED);
	return NULL;
}

START_TEST(threads)
{
	struct race race = { 0 };
	pthread_t t[8];
	char a[65];

	OK(logins_new(NULL, &race.l));
	for (int round = 0; round < 50; round++) {
		OK(logins_add(race.l, 0, a));
		race.token = a;
		race.wins = 0;
		for (size_t i = 0; i < ARRAY_SIZE(t); i++)
			ck_assert_int_eq(pthread_create(&t[i], NULL, grab, &race), 0);
		for (size_t i = 0; i < ARRAY_SIZE(t); i++)
			pthread_join(t[i], NULL);
		ck_assert_uint_eq(race.wins, 1);
	}
	logins_free(race.l);
}
END_TEST

START_TEST(equal)
{
	ck_assert(token_equal("abc", "abc"));
	ck_assert(!token_equal("abc", "abd"));
	ck_assert(!token_equal("abc", "ab"));
	ck_assert(!token_equal("abc", "abca"));
	ck_assert(!token_equal("abc", "abcabc"));
	ck_assert(!token_equal("abc", ""));
	ck_assert(!token_equal("", ""));
	ck_assert(!token_equal(NULL, ""));
	ck_assert(!token_equal("abc", NULL));
	ck_assert(!token_equal(NULL, NULL));
}
END_TEST

START_TEST(made)
{
	char *dir = help_tmp_dir(), *path = os_asprintf("%s/token", dir), *a, *b;
	struct stat st;

	OK(token_load(path, &a, NULL));
	ck_assert_uint_eq(strlen(a), 64);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	OK(token_load(path, &b, NULL));
	ck_assert_str_eq(a, b);
	ck_assert_uint_eq(help_count_names(dir), 1);
	free(a);
	free(b);
	free(path);
	help_remove(dir);
	free(dir);
}
END_TEST

START_TEST(refused)
{
	static const struct {
		const char *text;
		mode_t mode;
		int r;
	} cases[] = {
		{ "0123456789abcdef\r\n", 0600, 0 },
		{ "0123456789abcdef", 0400, 0 },
		{ "0123456789abcdef", 0640, -EPERM },
		{ "0123456789abcdef", 0602, -EPERM },
		{ "0123456789abcde\n", 0600, -EINVAL },
		{ "", 0600, -EINVAL },
		{ "0123456789abcdef\n0123456789abcdef\n", 0600, -EINVAL },
		{ "0123456789abcde\xc3\xa9", 0600, -EINVAL },
	};
	char *dir = help_tmp_dir(), *path = os_asprintf("%s/token", dir), *t;
	char big[TOKEN_BYTES_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct errinfo ei = { 0 };
		int r;

		help_spill(path, cases[i].text, strlen(cases[i].text));
		ck_assert_int_eq(chmod(path, cases[i].mode), 0);
		r = token_load(path, &t, &ei);
		ck_assert_msg(r == cases[i].r, "%zu: %d %s", i, r, ei.text);
		if (r == 0) {
			ck_assert_str_eq(t, "0123456789abcdef");
			free(t);
		} else {
			ck_assert_ptr_nonnull(strstr(ei.text, path));
		}
		ck_assert_int_eq(unlink(path), 0);
	}
	memset(big, 'x', sizeof(big));
	help_spill(path, big, TOKEN_BYTES_MAX);
	OK(token_load(path, &t, NULL));
	free(t);
	help_spill(path, big, TOKEN_BYTES_MAX + 1);
	FAILS(-EINVAL, token_load(path, &t, NULL));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	FAILS(-EINVAL, token_load(path, &t, NULL));
	help_remove(dir);
	FAILS(-ENOENT, token_load(path, &t, NULL));
	free(path);
	free(dir);
}
END_TEST

TEST_MAIN("daemon_logins", once, many, threads, equal, made, refused)
