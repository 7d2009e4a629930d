/* cli/text: strings from strangers do not reach a terminal raw; wrapping. */
#include "cli/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

static const char *safe(struct buf *b, const char *s)
{
	buf_clear(b);
	text_safe(b, s);
	return buf_cstr(b);
}

START_TEST(harmless)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	ck_assert_str_eq(safe(&b, "plain"), "plain");
	ck_assert_str_eq(safe(&b, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	ck_assert_str_eq(safe(&b, "\033[31m"), "\\x1b[31m");
	ck_assert_str_eq(safe(&b, "a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f");
	/* C1: U+009B is an escape sequence of one character, raw 0x9b is no UTF-8 */
	ck_assert_str_eq(safe(&b, "\xc2\x9b"), "\\xc2\\x9b");
	ck_assert_str_eq(safe(&b, "\x9b"), "\\x9b");
	/* overlong, surrogate, too large, cut */
	ck_assert_str_eq(safe(&b, "\xc0\xaf"), "\\xc0\\xaf");
	ck_assert_str_eq(safe(&b, "\xed\xa0\x80"), "\\xed\\xa0\\x80");
	ck_assert_str_eq(safe(&b, "\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	ck_assert_str_eq(safe(&b, "\xe2\x82"), "\\xe2\\x82");
	/* right-to-left override */
	ck_assert_str_eq(safe(&b, "\xe2\x80\xae"), "\\xe2\\x80\\xae");
}
END_TEST

START_TEST(commands)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "echo '\033'" }, NULL };

	text_command(&b, argv);
	ck_assert_str_eq(buf_cstr(&b), "sh -c 'echo '\\''\\x1b'\\'''");
	buf_clear(&b);
	text_command(&b, NULL);
	ck_assert_str_eq(buf_cstr(&b), "");
}
END_TEST

START_TEST(statuses)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	text_status(&b, 3 << 8);
	buf_printf(&b, "|");
	text_status(&b, SIGSEGV);
	buf_printf(&b, "|");
	text_status(&b, SIGABRT | 0x80);
	buf_printf(&b, "|");
	text_status(&b, -1);
	ck_assert_str_eq(buf_cstr(&b), "exit 3|SIGSEGV|SIGABRT|?");
}
END_TEST

START_TEST(times)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	text_when_utc(&b, 1764432000123456789u);
	ck_assert_str_eq(buf_cstr(&b), "2025-11-29T16:00:00.123456Z");
	buf_clear(&b);
	text_when(&b, 0);
	ck_assert_str_eq(buf_cstr(&b), "-");
}
END_TEST

START_TEST(wrapping)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(f);
	text_wrap(f, "aaa bbb ccc ddd\neee", 2, 10);
	text_wrap(f, "muchtoolongforaline x", 0, 10);
	text_wrap(f, "", 4, 10);
	fclose(f);
	ck_assert_str_eq(text, "aaa bbb\n  ccc ddd\n  eee\nmuchtoolongforaline\nx\n\n");
	free(text);
}
END_TEST

TEST_MAIN("cli_text", harmless, commands, statuses, times, wrapping)
