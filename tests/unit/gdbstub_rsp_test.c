/* Framing: every frame whole and cut anywhere, junk, escapes, limits. */
#include "gdbstub/rsp_priv.h"

#include <string.h>
#include "tests/unit/test.h"

static struct rsp_frame scan(const char *text, size_t n)
{
	struct rsp_frame f;

	rsp_scan((const uint8_t *)text, n, 100, &f);
	return f;
}

static void expect_body(const struct rsp_frame *f, const char *want)
{
	ck_assert_int_eq(f->kind, RSP_PACKET);
	ck_assert(rsp_is(&f->body, want));
}

START_TEST(frames)
{
	static const struct {
		const char *text;
		enum rsp_kind kind;
		size_t taken;
	} rows[] = {
		{ "", RSP_MORE, 0 },	      { "+", RSP_ACK, 1 },	   { "-", RSP_NAK, 1 },	       { "\003", RSP_INTERRUPT, 1 },
		{ "xyz+", RSP_ACK, 4 },	      { "xyz", RSP_MORE, 3 },	   { "zz$g#67", RSP_PACKET, 7 }, { "$g#67$g#67", RSP_PACKET, 5 },
		{ "$g#68", RSP_BAD, 5 },      { "$g#zz", RSP_BAD, 5 },	   { "$#00", RSP_PACKET, 4 },	 { "$g#6", RSP_MORE, 0 },
		{ "$qC#B4", RSP_PACKET, 6 },  { "+$g#67", RSP_ACK, 1 },	   { "$g", RSP_MORE, 0 },	 { "x$g", RSP_MORE, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rsp_frame f = scan(rows[i].text, strlen(rows[i].text));

		ck_assert_msg(f.kind == rows[i].kind && f.taken == rows[i].taken, "%s: kind %d taken %zu", rows[i].text, f.kind, f.taken);
	}
}
END_TEST

START_TEST(cut_anywhere)
{
	static const char text[] = "$qSupported:a+;b+#c5";
	struct rsp_frame f = scan(text, strlen(text));

	expect_body(&f, "qSupported:a+;b+");
	for (size_t n = 0; n < strlen(text); n++) {
		f = scan(text, n);
		ck_assert_int_eq(f.kind, RSP_MORE);
		ck_assert_uint_eq(f.taken, 0);
	}
}
END_TEST

START_TEST(restarted_and_too_long)
{
	char big[300];
	struct rsp_frame f = scan("$qSup$g#67", 10);

	expect_body(&f, "g");
	ck_assert_uint_eq(f.taken, 10);
	memset(big, 'a', sizeof(big));
	big[0] = '$';
	f = scan(big, 101);
	ck_assert_int_eq(f.kind, RSP_MORE);
	f = scan(big, 102);
	ck_assert_int_eq(f.kind, RSP_TOO_LONG);
	ck_assert_uint_eq(f.taken, 102);
	/* exactly the limit is fine */
	memcpy(big + 101, "#00", 3);
	f = scan(big, 104);
	ck_assert_int_eq(f.kind, RSP_BAD);
	memcpy(big + 102, "#00", 3);
	big[101] = 'a';
	f = scan(big, 105);
	ck_assert_int_eq(f.kind, RSP_TOO_LONG);
}
END_TEST

START_TEST(all_bytes_come_back)
{
	uint8_t data[256];
	struct buf wire = { 0 }, back = { 0 };
	struct rsp_frame f;

	for (int i = 0; i < 256; i++)
		data[i] = (uint8_t)i;
	rsp_put_packet(&wire, data, sizeof(data));
	for (size_t i = 1; i < wire.len - 3; i++)
		ck_assert(wire.data[i] != '$' && wire.data[i] != '#' && wire.data[i] != '*');
	rsp_scan(wire.data, wire.len, 1000, &f);
	ck_assert_int_eq(f.kind, RSP_PACKET);
	ck_assert_int_eq(rsp_unescape(&f.body, &back), 0);
	ck_assert_uint_eq(back.len, sizeof(data));
	ck_assert_mem_eq(back.data, data, sizeof(data));
	f.body = view_of("ab}", 3);
	ck_assert_int_eq(rsp_unescape(&f.body, &back), ERR_PROTOCOL);
	buf_done(&wire);
	buf_done(&back);
}
END_TEST

START_TEST(pieces)
{
	struct view v = view_of("12aF,rest;of:it", 15), part;
	struct buf b = { 0 };
	uint64_t n;

	ck_assert_int_eq(rsp_get_hex(&v, &n), 0);
	ck_assert_uint_eq(n, 0x12af);
	ck_assert(!rsp_get_char(&v, ';'));
	ck_assert(rsp_get_char(&v, ','));
	ck_assert_int_eq(rsp_get_hex(&v, &n), ERR_PROTOCOL);
	part = rsp_get_until(&v, ';');
	ck_assert(rsp_is(&part, "rest"));
	ck_assert(rsp_get_word(&v, "of:"));
	ck_assert(!rsp_get_word(&v, "itx"));
	part = rsp_get_until(&v, ';');
	ck_assert(rsp_is(&part, "it"));
	ck_assert_uint_eq(view_left(&v), 0);
	v = view_of("ffffffffffffffff", 16);
	ck_assert_int_eq(rsp_get_hex(&v, &n), 0);
	ck_assert_uint_eq(n, UINT64_MAX);
	v = view_of("10000000000000000", 17);
	ck_assert_int_eq(rsp_get_hex(&v, &n), ERR_PROTOCOL);
	v = view_of("4aF0", 4);
	ck_assert_int_eq(rsp_get_bytes(&v, &b), 0);
	ck_assert_uint_eq(b.len, 2);
	ck_assert_mem_eq(b.data, "J\xf0", 2);
	v = view_of("4aF", 3);
	ck_assert_int_eq(rsp_get_bytes(&v, &b), ERR_PROTOCOL);
	v = view_of("4g", 2);
	ck_assert_int_eq(rsp_get_bytes(&v, &b), ERR_PROTOCOL);
	buf_clear(&b);
	rsp_put_text(&b, "a#$}*\n\x7f" "b");
	ck_assert_str_eq(buf_cstr(&b), "a......b");
	buf_done(&b);
}
END_TEST

TEST_MAIN("gdbstub_rsp", frames, cut_anywhere, restarted_and_too_long, all_bytes_come_back, pieces)
