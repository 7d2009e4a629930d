/* dap/: places kept as a browser does, lines of the debug console, output as text, frames that wrote it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "dap/history_priv.h"
#include "dap/output_priv.h"
#include "dap/words_priv.h"
#include "tests/unit/test.h"

/* --- history --- */

static void leave(struct history *h, uint64_t event)
{
	struct place p = { .event = event };

	history_leave(h, &p);
}

/* Where it leads to, after it was gone there; 0: nowhere. */
static uint64_t move(struct history *h, bool forward, uint64_t here)
{
	const struct place *to = history_look(h, forward);
	uint64_t event = to ? to->event : 0;
	struct place p = { .event = here, .position = strdup("p") };

	if (to)
		history_move(h, forward, &p);
	place_done(&p);
	return event;
}

START_TEST(back_and_forward)
{
	CLEANUP(history_done) struct history h = { 0 };

	ck_assert(!history_look(&h, false) && !history_look(&h, true));
	leave(&h, 1);
	leave(&h, 2);
	leave(&h, 3);
	/* at 4 now */
	ck_assert_uint_eq(move(&h, false, 4), 3);
	ck_assert_uint_eq(move(&h, false, 3), 2);
	ck_assert_uint_eq(move(&h, true, 2), 3);
	ck_assert_uint_eq(move(&h, true, 3), 4);
	ck_assert_uint_eq(move(&h, true, 4), 0);
	ck_assert_uint_eq(move(&h, false, 4), 3);
	/* elsewhere from there: 4 is forgotten */
	leave(&h, 3);
	ck_assert_ptr_null(history_look(&h, true));
	ck_assert_uint_eq(move(&h, false, 9), 3);
	ck_assert_uint_eq(move(&h, false, 3), 2);
	ck_assert_uint_eq(move(&h, false, 2), 1);
	ck_assert_uint_eq(move(&h, false, 1), 0);
	ck_assert_uint_eq(move(&h, true, 1), 2);
}
END_TEST

START_TEST(bounded_and_once)
{
	CLEANUP(history_done) struct history h = { 0 };
	unsigned n = 0;

	for (uint64_t i = 1; i <= HISTORY_MAX + 20; i++) {
		leave(&h, i);
		leave(&h, i); /* the same place twice */
	}
	ck_assert_uint_eq(h.n, HISTORY_MAX);
	for (uint64_t at = HISTORY_MAX + 21; move(&h, false, at); at--)
		n++;
	ck_assert_uint_eq(n, HISTORY_MAX);
	ck_assert_uint_eq(history_look(&h, true)->event, 22);
}
END_TEST

START_TEST(positions_differ)
{
	CLEANUP(history_done) struct history h = { 0 };
	struct place a = { .event = 1, .position = strdup("1+2") }, b = { .event = 1, .position = strdup("1+3") }, c = { .event = 1 };

	history_leave(&h, &a);
	history_leave(&h, &b);
	history_leave(&h, &c);
	ck_assert_uint_eq(h.n, 3);
	ck_assert(!a.position && !b.position);
	ck_assert_str_eq(h.v[1].position, "1+3");
}
END_TEST

/* --- words --- */

static const char *found(const char *line, char args[100])
{
	CLEANUP(freep) char *rest = NULL;
	const struct word *w;
	int r = words_find(line, &w, &rest);

	ck_assert_int_ge(r, 0);
	snprintf(args, 100, "%s", r ? rest : "");
	return r ? w->name : "";
}

START_TEST(lines)
{
	static const struct {
		const char *line, *word, *args;
	} cases[] = {
		{ "when", "when", "" },
		{ "  seek   5 \n", "seek", "5" },
		{ "goto a b\tc ", "seek", "a b\tc" },
		{ "goto-start", "start", "" },
		{ "rc", "reverse-continue", "" },
		{ "reverse-step-out", "reverse-finish", "" },
		{ "s 3", "step", "3" },
		{ "whenever", "", "" },
		{ "steps", "", "" },
		{ "sto", "", "" },
		{ "", "", "" },
		{ "print when", "", "" },
		{ "WHEN", "", "" },
		{ "info breakpoints", "", "" },
	};
	char args[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_str_eq(found(cases[i].line, args), cases[i].word);
		ck_assert_str_eq(args, cases[i].args);
	}
}
END_TEST

START_TEST(table)
{
	char args[100];

	for (size_t i = 0; words_at(i); i++) {
		const struct word *w = words_at(i);

		if (w->same) {
			ck_assert_msg(strcmp(found(w->name, args), w->same) == 0, "%s is another name of %s, which there is not", w->name, w->same);
			continue;
		}
		ck_assert_msg(w->fn && w->what && w->args, "%s", w->name);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(w->name, words_at(k)->name);
	}
}
END_TEST

static bool fits(const char *line)
{
	CLEANUP(freep) char *rest = NULL;
	const struct word *w;

	ck_assert_int_eq(words_find(line, &w, &rest), 1);
	return words_fits(w, rest);
}

START_TEST(arguments)
{
	ck_assert(fits("when") && !fits("when now"));
	ck_assert(!fits("seek") && fits("seek a b"));
	ck_assert(fits("step") && fits("step 12") && !fits("step x") && !fits("step 1 2") && !fits("step 99999999") && !fits("step -1"));
	ck_assert(fits("until") && fits("until a.c:3") && !fits("advance") && fits("advance a.c:3"));
	ck_assert(!fits("continue 3") && fits("finish"));
}
END_TEST

static void log_all(const char *line, const char *location, const char *text, const char *condition)
{
	CLEANUP(freep) char *s = strdup(line);
	const char *l, *t, *c;

	ck_assert(words_log_all(s, &l, &t, &c));
	ck_assert_str_eq(l, location);
	ck_assert_str_eq(t, text);
	ck_assert_pstr_eq(c, condition);
}

START_TEST(log_all_lines)
{
	char none[] = "a.c:3", blank[] = "a.c:3  ";
	const char *l;

	log_all("a.c:3 x is {x}", "a.c:3", "x is {x}", NULL);
	log_all("a.c:3 \"x is {x}\" if x > 3", "a.c:3", "x is {x}", "x > 3");
	log_all("f wonder if it works if x", "f", "wonder if it works", "x");
	log_all("f {a if b}", "f", "{a if b}", NULL);
	log_all("f \"what if not\"", "f", "what if not", NULL);
	log_all("f if x", "f", "if x", NULL);
	ck_assert(!words_log_all(none, &l, &l, &l) && !words_log_all(blank, &l, &l, &l));
}
END_TEST

START_TEST(ranges)
{
	uint64_t from, to;

	ck_assert(words_range("", 100, &from, &to) && from == 90 && to == 110);
	ck_assert(words_range("", 3, &from, &to) && from == 1 && to == 13);
	ck_assert(words_range("7", 0, &from, &to) && from == 7 && to == 7);
	ck_assert(words_range("7-9", 0, &from, &to) && from == 7 && to == 9);
	ck_assert(words_range("7-", 0, &from, &to) && from == 7 && to == UINT64_MAX);
	ck_assert(!words_range("9-7", 0, &from, &to) && !words_range("0", 0, &from, &to) && !words_range("-3", 0, &from, &to));
	ck_assert(!words_range("x", 0, &from, &to) && !words_range("1-x", 0, &from, &to) && !words_range("1-2-3", 0, &from, &to));
	ck_assert(!words_range("11111111111111111111111111111111111111111111", 0, &from, &to));
}
END_TEST

/* --- output --- */

static void text_is(struct output_rest *rest, const char *bytes, bool last, const char *text)
{
	CLEANUP(jsonx_unrefp) json_t *j = output_string(rest, bytes, strlen(bytes), last);

	ck_assert_ptr_nonnull(j);
	ck_assert_str_eq(json_string_value(j), text);
}

START_TEST(tails)
{
	static const struct {
		const char *bytes;
		size_t tail;
	} cases[] = {
		{ "", 0 }, { "a", 0 }, { "\xc3", 1 }, { "a\xc3", 1 }, { "\xc3\xbc", 0 }, { "\xe2", 1 }, { "\xe2\x82", 2 }, { "\xe2\x82\xac", 0 },
		{ "\xf0\x9f\x98", 3 }, { "\xf0\x9f\x98\x80", 0 }, { "\xff", 0 }, { "\xc0", 0 }, { "\x80", 0 }, { "\x80\x80\x80\x80", 0 }, { "\xc3\xbc\x80", 0 },
		{ "x\xf4\x8f", 2 }, { "\xf5\x8f", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(output_tail((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)), cases[i].tail);
}
END_TEST

START_TEST(split_characters)
{
	struct output_rest rest = { 0 };

	text_is(&rest, "gr\xc3", false, "gr");
	text_is(&rest, "\xbc\xc3\x9f" "e \xe2\x82", false, "\xc3\xbc\xc3\x9f" "e ");
	text_is(&rest, "\xac\n", false, "\xe2\x82\xac\n");
	ck_assert_uint_eq(rest.n, 0);
	/* one byte at a time */
	text_is(&rest, "\xf0", false, "");
	text_is(&rest, "\x9f", false, "");
	text_is(&rest, "\x98", false, "");
	text_is(&rest, "\x80", false, "\xf0\x9f\x98\x80");
	/* what comes is no rest of it */
	text_is(&rest, "\xe2", false, "");
	text_is(&rest, "abc", false, "\xef\xbf\xbd" "abc");
	/* cut off by the end */
	text_is(&rest, "x\xe2\x82", false, "x");
	text_is(&rest, "", true, "\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert_uint_eq(rest.n, 0);
	text_is(&rest, "a\xff" "b", false, "a\xef\xbf\xbd" "b");
}
END_TEST

/* However bytes are cut, the same text comes out. */
START_TEST(cut_anywhere)
{
	static const char text[] = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80z";
	size_t n = sizeof(text) - 1;

	for (size_t cut = 0; cut <= n; cut++) {
		struct output_rest rest = { 0 };
		CLEANUP(jsonx_unrefp) json_t *a = output_string(&rest, text, cut, false), *b = output_string(&rest, text + cut, n - cut, true);
		char all[64];

		snprintf(all, sizeof(all), "%s%s", json_string_value(a), json_string_value(b));
		ck_assert_str_eq(all, text);
	}
}
END_TEST

static json_int_t chosen(const char *frames, const char *program)
{
	CLEANUP(jsonx_unrefp) json_t *j = json_loads(frames, 0, NULL);
	const json_t *f;

	ck_assert_ptr_nonnull(j);
	f = origins_choose(j, program);
	return f ? json_integer_value(json_object_get(f, "line")) : 0;
}

#define FRAME(module, file, line, source) "{\"module\":" module ",\"file\":" file ",\"line\":" line ",\"source\":" source "}"

START_TEST(own_source)
{
	const char *libs = "[" FRAME("\"/lib/libc.so\"", "\"write.c\"", "26", "false") "," FRAME("\"/lib/libx.so\"", "\"/src/x.c\"", "7", "true") ","
		FRAME("\"/bin/prog\"", "\"/src/main.c\"", "13", "false") "]";
	const char *bare = "[" FRAME("\"/bin/prog\"", "null", "null", "false") "," FRAME("null", "\"a.c\"", "3", "false") ",{},7]";

	ck_assert_int_eq(chosen(libs, "/bin/prog"), 13);
	ck_assert_int_eq(chosen(libs, "/bin/other"), 7);
	ck_assert_int_eq(chosen(libs, NULL), 7);
	ck_assert_int_eq(chosen(bare, "/bin/prog"), 0);
	ck_assert_int_eq(chosen("[]", "/bin/prog"), 0);
	ck_assert_ptr_null(origins_choose(NULL, "/bin/prog"));
}
END_TEST

TEST_MAIN("dap_places", back_and_forward, bounded_and_once, positions_differ, lines, table, arguments, log_all_lines, ranges, tails, split_characters, cut_anywhere, own_source)
