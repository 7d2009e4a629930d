/* dap: hit conditions in both directions, messages of log points, causes of signals. */
#include "dap/breaks_priv.h"
#include "dap/except_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include "tests/unit/test.h"

static struct hit_cond cond(const char *text)
{
	struct hit_cond c = { HIT_ALWAYS, 0 };
	struct errinfo ei = { 0 };

	ck_assert_int_eq(hit_parse(text, &c, &ei), 0);
	return c;
}

START_TEST(conditions)
{
	static const char *const wrong[] = { "x", "5x", ">", "=>5", "-1", "%0", "0", "<0", "<=0", "5 6", "99999999999", "!", "%-3", "1e3" };
	static const struct {
		const char *text;
		enum hit_op op;
		uint64_t n;
	} right[] = {
		{ "", HIT_ALWAYS, 0 },      { "  ", HIT_ALWAYS, 0 }, { "5", HIT_EQ, 5 },        { " == 5 ", HIT_EQ, 5 }, { "===5", HIT_EQ, 5 },
		{ "=5", HIT_EQ, 5 },        { ">=5", HIT_GE, 5 },    { ">5", HIT_GT, 5 },       { "<=5", HIT_LE, 5 },    { "<5", HIT_LT, 5 },
		{ "!= 5", HIT_NE, 5 },      { "%5", HIT_EVERY, 5 },  { "% 0x10", HIT_EVERY, 16 }, { ">0", HIT_GT, 0 },
	};
	struct hit_cond c;

	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		c = cond(right[i].text);
		ck_assert_msg(c.op == right[i].op && c.n == right[i].n, "%s", right[i].text);
	}
	ck_assert_int_eq(hit_parse(NULL, &c, NULL), 0);
	ck_assert_int_eq(c.op, HIT_ALWAYS);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct errinfo ei = { 0 };

		ck_assert_msg(hit_parse(wrong[i], &c, &ei) == -EINVAL, "%s", wrong[i]);
		ck_assert_msg(ei.text[0], "%s", wrong[i]);
	}
}
END_TEST

#define HITS 40

/* What hit_skip() says, found by walking from hit to hit. */
static uint64_t walk(const struct hit_cond *c, uint64_t at, bool reverse)
{
	uint64_t n = 0;

	for (uint64_t k = reverse ? (at - 1) / 2 : at / 2 + 1; k >= 1 && k <= 4 * HITS; k += reverse ? UINT64_MAX : 1, n++)
		if (hit_matches(c, k))
			return n;
	return HIT_NEVER;
}

START_TEST(skips)
{
	static const char *const texts[] = { "", "1", "7", "39", ">=1", ">=7", ">0", ">7", "<1", "<7", "<=1", "<=7", "!=1", "!=7", "%1", "%2", "%7", "%39", ">=0", "!=0" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct hit_cond c = cond(texts[i]);

		for (uint64_t at = HIT_AT_START; at < 2 * HITS; at++)
			for (int reverse = 0; reverse < 2; reverse++) {
				uint64_t is = hit_skip(&c, at, reverse), want = walk(&c, at, reverse);

				ck_assert_msg(is == want, "%s from %ju, %s: %ju, wanted %ju", texts[i], (uintmax_t)at, reverse ? "back" : "forth", (uintmax_t)is,
					      (uintmax_t)want);
			}
	}
}
END_TEST

START_TEST(last_hits)
{
	/* from the start: the first one is 1 */
	ck_assert_uint_eq(hit_last(HIT_AT_START, 1, false), 1);
	ck_assert_uint_eq(hit_last(HIT_AT_START, 5, false), 5);
	/* on hit 5; behind it */
	ck_assert_uint_eq(hit_last(10, 1, false), 6);
	ck_assert_uint_eq(hit_last(10, 1, true), 4);
	ck_assert_uint_eq(hit_last(11, 1, false), 6);
	ck_assert_uint_eq(hit_last(11, 1, true), 5);
	ck_assert_uint_eq(hit_last(11, 3, true), 3);
	/* gdb's count was wrong: no number below 1 */
	ck_assert_uint_eq(hit_last(5, 9, true), 1);
}
END_TEST

static char *parsed(const char *text)
{
	json_t *parts = NULL;
	struct errinfo ei = { 0 };
	char *dump = NULL;
	int r = log_parse(text, &parts, &ei);

	if (r < 0)
		return strdup(ei.text);
	ck_assert_int_eq(jsonx_dump(parts, JSON_COMPACT, &dump, NULL), 0);
	json_decref(parts);
	return dump;
}

START_TEST(messages)
{
	static const char *const t[][2] = {
		{ "", "[]" },
		{ "plain", "[\"plain\"]" },
		{ "a {n} b", "[\"a \",{\"e\":\"n\",\"f\":\"\"},\" b\"]" },
		{ "{a}{b}", "[{\"e\":\"a\",\"f\":\"\"},{\"e\":\"b\",\"f\":\"\"}]" },
		{ "{ n , x }", "[{\"e\":\"n\",\"f\":\"x\"}]" },
		{ "{f(a,x)}", "[{\"e\":\"f(a,x)\",\"f\":\"\"}]" },
		{ "{a,q}", "[{\"e\":\"a,q\",\"f\":\"\"}]" },
		{ "{a,xx}", "[{\"e\":\"a,xx\",\"f\":\"\"}]" },
		{ "{S{1, 2}.x}", "[{\"e\":\"S{1, 2}.x\",\"f\":\"\"}]" },
		{ "{m[\"}\"]}", "[{\"e\":\"m[\\\"}\\\"]\",\"f\":\"\"}]" },
		{ "{c == '}'}", "[{\"e\":\"c == '}'\",\"f\":\"\"}]" },
		{ "{c == '\\''}", "[{\"e\":\"c == '\\\\''\",\"f\":\"\"}]" },
		{ "{{n}} \\{n\\}", "[\"{n} {n}\"]" },
		{ "a\\tb\\\\\\q\\n", "[\"a\\tb\\\\\\\\q\\n\"]" },
		{ "100%", "[\"100%\"]" },
		{ "}", "[\"}\"]" },
		{ "x {n", "log message: '{n' has no closing brace" },
		{ "{}", "log message: there is nothing between { and }" },
		{ "{ }", "log message: there is nothing between { and }" },
		{ "{,x}", "log message: there is nothing between { and }" },
		{ "{\"a}", "log message: '{\"a}' has no closing brace" },
		{ "\\", "[\"\\\\\"]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		CLEANUP(freep) char *is = parsed(t[i][0]);

		ck_assert_str_eq(is, t[i][1]);
	}
}
END_TEST

START_TEST(many_parts)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	json_t *parts = NULL;
	struct errinfo ei = { 0 };

	for (unsigned i = 0; i < LOG_PARTS_MAX + 2; i++)
		buf_printf(&b, "{n}");
	ck_assert_int_eq(log_parse(buf_cstr(&b), &parts, &ei), ERR_LIMIT);
}
END_TEST

START_TEST(signal_codes)
{
	ck_assert_str_eq(siginfo_code(SIGSEGV, SEGV_MAPERR), "nothing is mapped at the address");
	ck_assert_str_eq(siginfo_code(SIGBUS, BUS_ADRERR), "the address is behind the end of the mapped file");
	ck_assert_str_eq(siginfo_code(SIGUSR1, SI_USER), "sent by kill()");
	ck_assert_str_eq(siginfo_code(SIGABRT, SI_TKILL), "sent by tgkill() (raise, abort, pthread_kill)");
	ck_assert_str_eq(siginfo_code(SIGUSR1, SEGV_MAPERR), "");
	ck_assert_str_eq(siginfo_code(SIGSEGV, 77), "");
}
END_TEST

TEST_MAIN("dap_breaks", conditions, skips, last_hits, messages, many_parts, signal_codes)
