/* dap/frame: whole messages out of pieces of any size, and what strangers send instead. */
#include "dap/frame_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

static void put(struct frame_in *f, const char *s)
{
	frame_put(f, s, strlen(s));
}

/* What frame_next() gives, message by message and error by error, as one text. */
static void put_all(struct frame_in *f, struct buf *text)
{
	for (;;) {
		CLEANUP(jsonx_unrefp) json_t *j = NULL;
		CLEANUP(freep) char *dump = NULL;
		struct errinfo ei = { 0 };
		int r = frame_next(f, &j, &ei);

		if (r == 0)
			return;
		if (r == 1) {
			ck_assert_int_eq(jsonx_dump(j, JSON_COMPACT | JSON_SORT_KEYS, &dump, NULL), 0);
			buf_printf(text, "%s\n", dump);
			continue;
		}
		ck_assert_ptr_null(j);
		ck_assert_str_ne(ei.text, "");
		buf_printf(text, "%s\n", err_name(r));
		if (r != ERR_CORRUPT)
			return;
	}
}

static const struct {
	const char *in, *out;
} rows[] = {
	{ "", "" },
	{ "Content-Length: 2\r\n\r\n{}", "{}\n" },
	{ "Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 2\r\n\r\n{}", "{\"a\":1}\n{}\n" },
	{ "content-LENGTH:2 \t\r\n\r\n{}", "{}\n" },
	{ "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", "{}\n" },
	{ "Content-Length: 2\n\n{}", "{}\n" },
	{ "Content-Length: 0002\r\n\r\n{}", "{}\n" },
	{ "Content-Length: 4\r\n\r\n {} ", "{}\n" },
	{ "Content-Length: 10\r\n\r\n{\"a\":\"\xc3\xa4\"}", "{\"a\":\"\xc3\xa4\"}\n" },
	/* not whole */
	{ "Content-Length: 2\r\n\r\n{", "" },
	{ "Content-Length: 2\r\n\r", "" },
	{ "Content-Len", "" },
	/* no object: passed over */
	{ "Content-Length: 2\r\n\r\n[]Content-Length: 2\r\n\r\n{}", "CORRUPT\n{}\n" },
	{ "Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", "CORRUPT\n{}\n" },
	{ "Content-Length: 3\r\n\r\n{\"aContent-Length: 2\r\n\r\n{}", "CORRUPT\n{}\n" },
	{ "Content-Length: 4\r\n\r\n{} x", "CORRUPT\n" },
	{ "Content-Length: 13\r\n\r\n{\"a\":1,\"a\":2}", "CORRUPT\n" },
	{ "Content-Length: 8\r\n\r\n{\"a\":\"\xff\"", "CORRUPT\n" },
	/* no framing */
	{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PROTOCOL\n" },
	{ "{\"seq\":1}\n", "PROTOCOL\n" },
	{ "\r\n", "PROTOCOL\n" },
	{ "Content-Type: x\r\n\r\n", "PROTOCOL\n" },
	{ "Content-Length: \r\n\r\n", "PROTOCOL\n" },
	{ "Content-Length: -1\r\n\r\n", "PROTOCOL\n" },
	{ "Content-Length: 0x10\r\n\r\n", "PROTOCOL\n" },
	{ "Content-Length: 2 2\r\n\r\n{}", "PROTOCOL\n" },
	{ "Content-Length: 18446744073709551618\r\n\r\n{}", "PROTOCOL\n" },
	{ "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "PROTOCOL\n" },
	{ "Content Length: 2\r\n\r\n{}", "PROTOCOL\n" },
	{ ": 2\r\n\r\n{}", "PROTOCOL\n" },
	{ "Content-Length: 16777217\r\n\r\n", "LIMIT\n" },
};

START_TEST(messages)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(frame_in_done) struct frame_in f = { 0 };
		CLEANUP(buf_done) struct buf text = { 0 };

		put(&f, rows[i].in);
		put_all(&f, &text);
		ck_assert_msg(strcmp(buf_cstr(&text), rows[i].out) == 0, "%s: got %s", rows[i].in, buf_cstr(&text));
	}
}
END_TEST

/* An error that ends the stream may come with fewer bytes, but all that comes is the same. */
static void check_split(const char *in, size_t first, size_t second, const char *out)
{
	CLEANUP(frame_in_done) struct frame_in f = { 0 };
	CLEANUP(buf_done) struct buf text = { 0 };
	size_t n = strlen(in);
	const size_t ends[] = { first, second, n };

	for (size_t i = 0, from = 0; i < 3; from = ends[i++]) {
		frame_put(&f, in + from, ends[i] - from);
		put_all(&f, &text);
		if (strstr(buf_cstr(&text), "PROTOCOL") || strstr(buf_cstr(&text), "LIMIT"))
			break;
	}
	ck_assert_msg(strcmp(buf_cstr(&text), out) == 0, "%s at %zu and %zu: got %s", in, first, second, buf_cstr(&text));
}

START_TEST(any_split)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t a = 0, n = strlen(rows[i].in); a <= n; a++)
			for (size_t b = a; b <= n; b++)
				check_split(rows[i].in, a, b, rows[i].out);
}
END_TEST

/* The end of the stream stays the end: nothing behind it is ever given. */
START_TEST(errors_stay)
{
	CLEANUP(frame_in_done) struct frame_in f = { 0 };
	struct errinfo ei = { 0 };
	json_t *j;

	put(&f, "x\r\n\r\nContent-Length: 2\r\n\r\n{}");
	ck_assert_int_eq(frame_next(&f, &j, NULL), ERR_PROTOCOL);
	ck_assert_int_eq(frame_next(&f, &j, &ei), ERR_PROTOCOL);
	put(&f, "Content-Length: 2\r\n\r\n{}");
	ck_assert_int_eq(frame_next(&f, &j, &ei), ERR_PROTOCOL);
}
END_TEST

/* Heads up to the limit, with their end wherever; beyond it no byte more is waited for. */
START_TEST(long_heads)
{
	static const char tail[] = "Content-Length: 2\r\n\r\n{}";

	for (size_t pad = FRAME_HEAD_MAX - 60; pad < FRAME_HEAD_MAX + 4; pad++) {
		CLEANUP(frame_in_done) struct frame_in f = { 0 };
		CLEANUP(buf_done) struct buf in = { 0 };
		CLEANUP(jsonx_unrefp) json_t *j = NULL;
		size_t head = pad + strlen(tail) - 2;

		buf_printf(&in, "X: %0*d\r\n", (int)pad - 5, 0);
		ck_assert_uint_eq(in.len, pad);
		buf_put(&in, tail, strlen(tail));
		frame_put(&f, in.data, in.len);
		ck_assert_int_eq(frame_next(&f, &j, NULL), head <= FRAME_HEAD_MAX ? 1 : ERR_PROTOCOL);
	}
}
END_TEST

START_TEST(endless_line)
{
	CLEANUP(frame_in_done) struct frame_in f = { 0 };
	json_t *j;

	for (size_t i = 0; i < FRAME_HEAD_MAX - 1; i++)
		frame_put(&f, "x", 1);
	ck_assert_int_eq(frame_next(&f, &j, NULL), 0);
	frame_put(&f, "x", 1);
	ck_assert_int_eq(frame_next(&f, &j, NULL), ERR_PROTOCOL);
}
END_TEST

/* Many messages through one buffer: it does not grow with what went through it. */
START_TEST(long_session)
{
	CLEANUP(frame_in_done) struct frame_in f = { 0 };
	CLEANUP(buf_done) struct buf wire = { 0 };
	CLEANUP(jsonx_unrefp) json_t *msg = json_pack("{si ss}", "seq", 1, "command", "threads");
	int64_t got = 0;

	for (int i = 0; i < 1000; i++) {
		buf_clear(&wire);
		ck_assert_int_eq(json_object_set_new(msg, "seq", json_integer(i)), 0);
		ck_assert_int_eq(frame_write(msg, &wire), 0);
		for (size_t at = 0, n; at < wire.len; at += n) {
			CLEANUP(jsonx_unrefp) json_t *j = NULL;

			n = MIN(wire.len - at, (size_t)(i % 40 + 1));
			frame_put(&f, wire.data + at, n);
			if (frame_next(&f, &j, NULL) == 1) {
				ck_assert_int_eq(json_integer_value(json_object_get(j, "seq")), got);
				got++;
			}
		}
	}
	ck_assert_int_eq(got, 1000);
	ck_assert_uint_lt(f.b.cap, 4096);
}
END_TEST

START_TEST(largest_body)
{
	CLEANUP(frame_in_done) struct frame_in f = { 0 };
	CLEANUP(jsonx_unrefp) json_t *j = NULL;
	char head[64];
	uint8_t *body;

	snprintf(head, sizeof(head), "Content-Length: %u\r\n\r\n", FRAME_BODY_MAX);
	put(&f, head);
	body = buf_extend(&f.b, FRAME_BODY_MAX);
	memset(body, ' ', FRAME_BODY_MAX);
	memcpy(body + FRAME_BODY_MAX - 2, "{}", 2);
	ck_assert_int_eq(frame_next(&f, &j, NULL), 1);
	ck_assert_int_eq(frame_next(&f, &j, NULL), 0);
}
END_TEST

START_TEST(writes)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(jsonx_unrefp) json_t *msg = json_pack("{ss}", "a", "\xc3\xa4\n");

	ck_assert_int_eq(frame_write(msg, &out), 0);
	ck_assert_str_eq(buf_cstr(&out), "Content-Length: 12\r\n\r\n{\"a\":\"\xc3\xa4\\n\"}");
	out.error = -ENOMEM;
	ck_assert_int_eq(frame_write(msg, &out), -ENOMEM);
}
END_TEST

TEST_MAIN("dap_frame", messages, any_split, errors_stay, long_heads, endless_line, long_session, largest_body, writes)
