/* analysis/filter: what is understood, which faults are told and where, and which events a filter lets pass. */
#include "analysis/filter.h"

#include "tests/unit/analysis_help.h"

/* clang-format off */
static const struct a_event events[] = {
	/*  1 */ { A_EXEC(1, "/usr/bin/x", 100) },
	/*  2 */ { A_CALL(1, SYS_openat, 3, (uint64_t)-100, A_PATH_AT), "/etc/passwd" },
	/*  3 */ { A_CALL(1, SYS_openat, -2, (uint64_t)-100, A_PATH_AT), "/usr/lib/gone.so" },
	/*  4 */ { A_CALL(1, SYS_read, 5, 3, A_BUF_AT, 100), .out = "Hello", .out_len = 5 },
	/*  5 */ { A_BIRTH(1, SYS_fork, 2, 101, 101, 0) },
	/*  6 */ { A_EXIT(1, SYS_fork, 101) },
	/*  7 */ { A_ENTER(2, SYS_read, 3, A_BUF_AT, 100) },
	/*  8 */ { A_CALL(1, SYS_write, -32, 4, A_PATH_AT, 3), "abc" },
	/*  9 */ { { .kind = EVENT_SIGNAL, .thread = 1, .signo = 13, .flags = EVENT_F_HANDLER } },
	/* 10 */ { { .kind = EVENT_SYSCALL_EXIT, .thread = 2, .sysno = SYS_read, .result = 2, .time_ns = 5000000 }, .out = "hi", .out_len = 2 },
	/* 11 */ { { .kind = EVENT_SYSCALL, .thread = 2, .sysno = SYS_socket, .result = 40000, .args = { 2, 1 }, .time_ns = 5001000 } },
	/* 12 */ { { .kind = EVENT_SYSCALL, .thread = 2, .sysno = SYS_poll, .result = 1, .args = { A_PATH_AT, 1 }, .time_ns = 5002000 }, .path = "\x07\0\0\0\1\0\0", .path_len = 8 },
	/* 13 */ { { .kind = EVENT_NOTE, .text = "note of passwd", .time_ns = 5003000 } },
	/* 14 */ { { .kind = EVENT_EXIT, .thread = 2, .time_ns = 5004000 } },
	/* 15 */ { { .kind = EVENT_EXIT, .thread = 1, .flags = EVENT_F_GROUP, .time_ns = 5005000 } },
	/* 16 */ { { .kind = EVENT_END, .time_ns = 5005000 } },
};

/* Numbers of the events that pass, in a string. */
static const struct {
	const char *filter, *pass;
} rows[] = {
	{ "", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16" },
	{ "syscall:openat", "2 3" },
	{ "syscall:read,write", "4 7 8 10" },
	{ "syscall:open*", "2 3" },
	{ "-syscall:*", "9 13 14 15 16" },
	{ "syscall:execve", "1" },
	{ "thread:2", "7 10 11 12 14" },
	{ "thread:2..9 kind:syscall", "11 12" },
	{ "pid:101", "7 10 11 12 14" },
	{ "tid:100 failed", "3 8" },
	{ "failed", "3 8" },
	{ "-failed kind:syscall", "2 4 11 12" },
	{ "failed:0 syscall:openat", "2" },
	{ "errno:ENOENT", "3" },
	{ "errno:2,epipe", "3 8" },
	{ "errno:EACCES", "" },
	{ "fd:3", "2 4 7 10" },
	{ "fd:4", "8" },
	{ "fd:40000", "11" },
	{ "fd:7", "12" },
	{ "path:/etc/*", "2 4 7 10" },
	{ "path:passwd", "2 4 7 10" },
	{ "path:*.so", "3" },
	{ "path:/usr/bin/?", "1" },
	{ "path:asswd", "" },
	{ "signal:SIGPIPE", "9" },
	{ "signal:pipe", "9" },
	{ "signal:SIGSEGV", "" },
	{ "kind:exit,signal", "9 14 15" },
	{ "kind:call thread:2", "7 10 11 12" },
	{ "#3", "3" },
	{ "#3..#5", "3 4 5" },
	{ "#14..", "14 15 16" },
	{ "-#2.. ", "1" },
	{ "time:5001us..5003us", "11 12 13" },
	{ "time:..3us", "1 2 3" },
	{ "dur:>1ms", "10" },
	{ "dur:<1ms", "6" },
	{ "dur:1s..2s", "" },
	{ "class:net", "11" },
	{ "class:file syscall:openat", "2 3" },
	{ "class:mem,proc", "1 5 6" },
	{ "hello", "4" },
	{ "PASSWD", "2 13" },
	{ "\"gone.so\\\"\"", "3" },
	{ "passwd -kind:note", "2" },
	{ "-passwd #1..#4", "1 3 4" },
	{ "hi resumed", "10" },
	{ "read( #7..", "7 10" },
	{ "failed passwd", "" },
};

static const struct {
	const char *filter;
	size_t offset, length;
} faults[] = {
	{ "foo:bar", 0, 3 },
	{ "a -foo:bar", 3, 3 },
	{ "syscall:nothing", 8, 7 },
	{ "x syscall:read,", 10, 5 },
	{ "thread:x", 7, 1 },
	{ "thread:5..3", 7, 4 },
	{ "fd:", 3, 0 },
	{ "errno:ENOTHING", 6, 8 },
	{ "signal:SIGNOT", 7, 6 },
	{ "kind:what", 5, 4 },
	{ "class:what", 6, 4 },
	{ "time:1s", 5, 2 },
	{ "dur:>", 4, 1 },
	{ "a \"b c", 2, 4 },
	{ "a - b", 2, 1 },
	{ "#7..#3", 0, 6 },
	{ "path:", 5, 0 },
	{ "\"\"", 0, 2 },
};
/* clang-format on */

/* Texts that look like keys and are none. */
static const struct {
	const char *filter, *key, *value;
	bool negated;
} texts[] = {
	{ "127.0.0.1:8080", "", "127.0.0.1:8080", false }, { "http://x", "", "http://x", false }, { "-\"failed\"", "", "failed", true },
	{ "path:\"a b\"", "path", "a b", false },	   { "-failed", "failed", "failed", true },   { "#1..#2", "#", "#1..#2", false },
	{ "\"foo:bar\"", "", "foo:bar", false },	   { "#tag", "", "#tag", false },	      { "\xc3\xa9t\xc3\xa9", "", "\xc3\xa9t\xc3\xa9", false },
};

/* Numbers of the events that pass, printing what has to be. */
static void run(struct store_reader *r, const struct evindex_view *v, const struct filter *f, struct buf *out)
{
	struct evprint p CLEANUP(evprint_done) = { 0 };
	struct filter_run *run;
	const struct event *ev;

	evprint_init(&p, r, 0);
	OK(filter_run_new(f, &run));
	OK(store_reader_seek(r, 1, NULL));
	while (store_reader_next(r, &ev, NULL) == 1) {
		struct buf line CLEANUP(buf_done) = { 0 };
		int verdict = filter_record(run, v, ev->number);

		OK(verdict);
		evprint_text(&p, ev, &line);
		if (verdict == FILTER_YES || (verdict == FILTER_LINE && filter_line(run, v, ev->number, (const char *)line.data, line.len)))
			buf_printf(out, "%s%d", out->len ? " " : "", (int)ev->number);
	}
	filter_run_free(run);
}

START_TEST(pass)
{
	struct help_store h = help_open();
	struct store_id id = a_recording(h.s, "/", events, ARRAY_SIZE(events));
	struct store_reader *r;
	struct evindex_view v;
	struct evindex *index;

	OK(evindex_open(h.dir, &id, &index, NULL));
	ck_assert_int_eq(evindex_extend(index, UINT64_MAX, NULL), 1);
	OK(store_reader_open(h.s, &id, &r, NULL));
	evindex_view(index, &v);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct filter *f CLEANUP(filter_freep) = NULL, *copy CLEANUP(filter_freep) = NULL;
		struct buf passed CLEANUP(buf_done) = { 0 }, again CLEANUP(buf_done) = { 0 };
		struct filter_error err = { 0 };

		ck_assert_msg(filter_parse(rows[i].filter, &f, &err) == 0, "%s: %s", rows[i].filter, err.text);
		run(r, &v, f, &passed);
		ck_assert_msg(strcmp(buf_cstr(&passed), rows[i].pass) == 0, "%s: passed %s, want %s", rows[i].filter, buf_cstr(&passed), rows[i].pass);
		OK(filter_copy(f, &copy));
		run(r, &v, copy, &again);
		ck_assert_str_eq(buf_cstr(&again), rows[i].pass);
	}
	evindex_release(&v);
	store_reader_free(r);
	evindex_unref(index);
	help_close(&h);
}
END_TEST

START_TEST(refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct filter *f = NULL;
		struct filter_error err = { 0 };

		ck_assert_msg(filter_parse(faults[i].filter, &f, &err) == -EINVAL, "%s is taken", faults[i].filter);
		ck_assert_msg(err.offset == faults[i].offset && err.length == faults[i].length, "%s: fault at %zu, %zu: %s", faults[i].filter, err.offset,
			      err.length, err.text);
		ck_assert_uint_gt(strlen(err.text), 0);
	}
}
END_TEST

START_TEST(chips)
{
	struct filter_chip c;
	struct filter *f;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		OK(filter_parse(texts[i].filter, &f, NULL));
		ck_assert_uint_eq(filter_terms(f), 1);
		ck_assert(filter_chip(f, 0, &c) && !filter_chip(f, 1, &c));
		ck_assert_str_eq(c.key, texts[i].key);
		ck_assert_str_eq(c.value, texts[i].value);
		ck_assert(c.negated == texts[i].negated && c.offset == 0 && c.length == strlen(texts[i].filter));
		filter_free(f);
	}
}
END_TEST

START_TEST(added)
{
	struct buf a CLEANUP(buf_done) = { 0 }, b CLEANUP(buf_done) = { 0 };
	struct filter_error err = { 0 };
	struct filter *f, *g;

	OK(filter_parse("", &f, NULL));
	OK(filter_add(f, "syscall", "read", NULL));
	OK(filter_add(f, NULL, "a \"b", NULL));
	OK(filter_parse("syscall:read \"A \\\"b\"", &g, NULL));
	filter_put_key(f, &a);
	filter_put_key(g, &b);
	ck_assert_str_eq(buf_cstr(&a), buf_cstr(&b));
	ck_assert_int_eq(filter_add(f, "thread", "x", &err), -EINVAL);
	ck_assert_int_eq(filter_add(f, "what", "x", &err), -EINVAL);
	ck_assert_uint_eq(filter_terms(f), 2);
	filter_free(f);
	filter_free(g);
}
END_TEST

START_TEST(limits)
{
	char text[FILTER_TEXT_MAX + 2];
	struct filter *f;

	memset(text, 'a', sizeof(text));
	text[FILTER_TEXT_MAX + 1] = '\0';
	ck_assert_int_eq(filter_parse(text, &f, NULL), -EINVAL);
	for (size_t i = 0; i < 2 * (FILTER_TERMS_MAX + 1); i++)
		text[i] = i % 2 ? ' ' : 'a';
	text[2 * (FILTER_TERMS_MAX + 1)] = '\0';
	ck_assert_int_eq(filter_parse(text, &f, NULL), -EINVAL);
	text[2 * FILTER_TERMS_MAX] = '\0';
	OK(filter_parse(text, &f, NULL));
	filter_free(f);
}
END_TEST

HELP_MAIN("analysis_filter", { pass }, { refused }, { chips }, { added }, { limits })
