/* base/str: quoting survives a real shell, sizes and durations both ways. */
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

START_TEST(quoting)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain-1.2/x_y", "plain-1.2/x_y" }, { "", "''" },     { "two words", "'two words'" },
		{ "it's", "'it'\\''s'" },             { "$x", "'$x'" }, { "~", "'~'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf b = { 0 };

		buf_put_shell_quoted(&b, cases[i].in);
		ck_assert_str_eq(buf_cstr(&b), cases[i].out);
	}
}
END_TEST

START_TEST(quoting_by_a_shell)
{
	/* every byte but NUL */
	CLEANUP(buf_done) struct buf command = { 0 };
	char all[256], got[300];
	size_t n;
	FILE *f;

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	buf_printf(&command, "printf %%s ");
	buf_put_shell_quoted(&command, all);
	f = popen(buf_cstr(&command), "r");
	ck_assert_ptr_nonnull(f);
	n = fread(got, 1, sizeof(got), f);
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(n, 255);
	ck_assert_int_eq(memcmp(got, all, 255), 0);
}
END_TEST

START_TEST(argv)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_put_shell_argv(&b, (const char *const[]){ "sh", "-c", "echo $1", NULL });
	ck_assert_str_eq(buf_cstr(&b), "sh -c 'echo $1'");
}
END_TEST

START_TEST(sizes)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },           { 999, "999 B" },           { 1000, "0.9 KiB" },    { 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },    { 12 << 20, "12 MiB" },     { UINT64_MAX, "15 EiB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf b = { 0 };

		buf_put_size(&b, cases[i].n);
		ck_assert_str_eq(buf_cstr(&b), cases[i].text);
	}
}
END_TEST

START_TEST(durations)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },           { 850, "850 ns" },       { 1200, "1.2 us" },
		{ 13000000, "13 ms" },   { 4100000000, "4.1 s" }, { 200000000000, "3 min 20 s" },
		{ 7500000000000, "2 h 5 min" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf b = { 0 };

		buf_put_duration(&b, cases[i].ns);
		ck_assert_str_eq(buf_cstr(&b), cases[i].text);
	}
}
END_TEST

START_TEST(printable)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_put_printable(&b, "a\nb\t\x1b[31m\x7f\xc3\xa4");
	ck_assert_str_eq(buf_cstr(&b), "a\\nb\\t\\x1b[31m\\x7f\xc3\xa4");
}
END_TEST

START_TEST(numbers)
{
	uint64_t u = 5;
	int64_t i = 5;

	ck_assert_int_eq(str_parse_u64("18446744073709551615", &u), 0);
	ck_assert_uint_eq(u, UINT64_MAX);
	ck_assert_int_eq(str_parse_u64("0x1F", &u), 0);
	ck_assert_uint_eq(u, 31);
	ck_assert_int_eq(str_parse_u64("18446744073709551616", &u), -ERANGE);
	ck_assert_int_eq(str_parse_u64("", &u), -EINVAL);
	ck_assert_int_eq(str_parse_u64("0x", &u), -EINVAL);
	ck_assert_int_eq(str_parse_u64("-1", &u), -EINVAL);
	ck_assert_int_eq(str_parse_u64(" 1", &u), -EINVAL);
	ck_assert_int_eq(str_parse_u64("1a", &u), -EINVAL);
	ck_assert_uint_eq(u, 31);
	ck_assert_int_eq(str_parse_i64("-9223372036854775808", &i), 0);
	ck_assert(i == INT64_MIN);
	ck_assert_int_eq(str_parse_i64("9223372036854775808", &i), -ERANGE);
	ck_assert_int_eq(str_parse_i64("--1", &i), -EINVAL);
}
END_TEST

START_TEST(typed_sizes)
{
	uint64_t n = 5;

	ck_assert_int_eq(str_parse_size("4096", &n), 0);
	ck_assert_uint_eq(n, 4096);
	ck_assert_int_eq(str_parse_size("64k", &n), 0);
	ck_assert_uint_eq(n, 65536);
	ck_assert_int_eq(str_parse_size("1.5GiB", &n), 0);
	ck_assert_uint_eq(n, 3ull << 29);
	ck_assert_int_eq(str_parse_size("1.", &n), -EINVAL);
	ck_assert_int_eq(str_parse_size(".5G", &n), -EINVAL);
	ck_assert_int_eq(str_parse_size("5X", &n), -EINVAL);
	ck_assert_int_eq(str_parse_size("99999999999T", &n), -ERANGE);
}
END_TEST

START_TEST(typed_durations)
{
	uint64_t n = 5;

	ck_assert_int_eq(str_parse_duration("10", &n), 0);
	ck_assert_uint_eq(n, 10000000000);
	ck_assert_int_eq(str_parse_duration("0.25s", &n), 0);
	ck_assert_uint_eq(n, 250000000);
	ck_assert_int_eq(str_parse_duration("2m", &n), 0);
	ck_assert_uint_eq(n, 120000000000);
	ck_assert_int_eq(str_parse_duration("20ms", &n), 0);
	ck_assert_uint_eq(n, 20000000);
	ck_assert_int_eq(str_parse_duration("1 s", &n), -EINVAL);
	ck_assert_int_eq(str_parse_duration("s", &n), -EINVAL);
}
END_TEST

START_TEST(wall_times)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1796078093347000000, "2026-11-30T22:34:53.347Z" },
		{ 951782399999999999, "2000-02-28T23:59:59.999Z" },
		{ UINT64_MAX, "2554-07-21T23:34:33.709Z" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b CLEANUP(buf_done) = { 0 };

		buf_put_rfc3339(&b, cases[i].ns);
		ck_assert_str_eq(buf_cstr(&b), cases[i].text);
	}
}
END_TEST

START_TEST(csv)
{
	static const struct {
		const char *field, *text;
	} cases[] = {
		{ "", "" }, { "plain text", "plain text" }, { "a,b", "\"a,b\"" }, { "say \"x\"", "\"say \"\"x\"\"\"" }, { "a\nb", "\"a\nb\"" },
		{ "-1 ENOENT", "-1 ENOENT" }, { "=1+1", "\"'=1+1\"" }, { "@x", "\"'@x\"" }, { "-x", "\"'-x\"" }, { "\tx", "\"'\tx\"" }, { "a=b", "a=b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b CLEANUP(buf_done) = { 0 };

		buf_put_csv(&b, cases[i].field, strlen(cases[i].field));
		ck_assert_str_eq(buf_cstr(&b), cases[i].text);
	}
}
END_TEST

START_TEST(percent)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	buf_put_percent(&b, "aZ0-._~ /%\xff\n");
	ck_assert_str_eq(buf_cstr(&b), "aZ0-._~%20%2F%25%FF%0A");
}
END_TEST

/* Values of the definition of FNV-1a. */
START_TEST(hash)
{
	ck_assert_uint_eq(str_hash(STR_HASH, "", 0), UINT64_C(0xcbf29ce484222325));
	ck_assert_uint_eq(str_hash(STR_HASH, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
	ck_assert_uint_eq(str_hash(str_hash(STR_HASH, "foo", 3), "bar", 3), UINT64_C(0x85944171f73967e8));
}
END_TEST

TEST_MAIN("str", csv, percent, hash, wall_times, quoting, quoting_by_a_shell, argv, sizes, durations, printable, numbers, typed_sizes, typed_durations)
