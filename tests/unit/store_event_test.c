/* store/event: every kind there and back, one encoding only, strictness, JSON. */
#include "store/event.h"

#include "store/event_json.h"
#include "store/event_priv.h"
#include "store/limits_priv.h"
#include "tests/unit/store_help.h"

/* event_put_data_fn: only gives places. */
static int place_data(void *ctx, UNUSED const void *p, size_t n, uint64_t *ret_off)
{
	uint64_t *at = ctx;

	*ret_off = *at;
	*at += n;
	return 0;
}

static void encode(const struct event *ev, struct buf *out)
{
	uint64_t at = 12345;

	buf_clear(out);
	OK(event_encode_at(ev, 1000000, INLINE_MAX, place_data, &at, out));
}

static void both_ways(struct event_memory *mem, const struct event *ev)
{
	struct buf a, b;
	struct event got;
	struct view v;

	buf_init(&a);
	buf_init(&b);
	encode(ev, &a);
	v = view_of(a.data, a.len);
	OK(event_decode_at(&v, 1000000, mem, &got));
	ck_assert_uint_eq(view_left(&v), 0);
	help_same_event(NULL, &got, ev);
	ck_assert_ptr_nonnull(got.text);
	/* what lies in the data stream is not at hand for a second encoding */
	for (uint32_t i = 0; i < got.n_effects; i++)
		if (ev->effects[i].data && !got.effects[i].data)
			got.effects[i].data = ev->effects[i].data;
	encode(&got, &b);
	ck_assert_uint_eq(a.len, b.len);
	ck_assert_mem_eq(a.data, b.data, a.len);
	buf_done(&a);
	buf_done(&b);
}

START_TEST(round_trips)
{
	static struct help_event h;
	struct event_memory *mem;

	OK(event_memory_new(&mem));
	for (uint64_t n = 0; n < 30000; n++) {
		help_event(1, n, n < 400 ? (enum event_kind)(n % (EVENT_MAX_ - 1) + 1) : EVENT_INVALID, &h);
		both_ways(mem, &h.ev);
	}
	event_memory_free(mem);
}
END_TEST

START_TEST(extremes)
{
	struct effect e = { .kind = EFFECT_ZERO, .thread = UINT32_MAX, .addr = UINT64_MAX, .len = 0, .name = "" };
	struct event ev = { .kind = EVENT_BIRTH, .thread = UINT32_MAX, .time_ns = UINT64_MAX, .flags = EVENT_F_ALL_, .sysno = UINT32_MAX,
			    .result = INT64_MIN, .rip = UINT64_MAX, .regs_hash = UINT64_MAX, .child = UINT32_MAX,
			    .pid = INT32_MIN, .tid = INT32_MAX, .text = "", .effects = &e, .n_effects = 1 };
	struct event_memory *mem;

	OK(event_memory_new(&mem));
	memset(ev.args, 0xff, sizeof(ev.args));
	both_ways(mem, &ev);
	ev.kind = EVENT_SYSCALL;
	both_ways(mem, &ev);
	ev.time_ns = 0;
	ev.result = INT64_MAX;
	both_ways(mem, &ev);
	event_memory_free(mem);
}
END_TEST

/* Whatever decodes must encode to the bytes it came from: there is only one form. */
static void must_be_canonical(struct event_memory *mem, const uint8_t *p, size_t n)
{
	struct view v = view_of(p, n);
	uint64_t before = 12345;
	struct buf again;
	struct event ev;
	json_t *j;
	int r = event_decode_at(&v, 1000000, mem, &ev);

	if (r < 0) {
		ck_assert(r == ERR_CORRUPT || r == ERR_TRUNCATED);
		ck_assert_ptr_eq(v.p, p);
		return;
	}
	OK(event_to_json(&ev, 16, &j));
	json_decref(j);
	for (uint32_t i = 0; i < ev.n_effects; i++)
		if (effect_has_data(ev.effects[i].kind) && !ev.effects[i].data)
			return; /* place and data cannot be made up */
	buf_init(&again);
	OK(event_encode_at(&ev, 1000000, SIZE_MAX, place_data, &before, &again));
	ck_assert_uint_eq(again.len, (size_t)(v.p - p));
	ck_assert_mem_eq(again.data, p, again.len);
	buf_done(&again);
}

START_TEST(flips_and_cuts)
{
	static struct help_event h;
	struct event_memory *mem;
	struct buf b;

	OK(event_memory_new(&mem));
	buf_init(&b);
	for (uint64_t n = 0; n < 200; n++) {
		help_event(2, n, (enum event_kind)(n % (EVENT_MAX_ - 1) + 1), &h);
		encode(&h.ev, &b);
		for (size_t cut = 0; cut < b.len; cut++) {
			struct view v = view_of(b.data, cut);
			struct event ev;

			ck_assert_int_lt(event_decode_at(&v, 1000000, mem, &ev), 0);
		}
		for (size_t bit = 0; bit < b.len * 8; bit++) {
			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			must_be_canonical(mem, b.data, b.len);
			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	buf_done(&b);
	event_memory_free(mem);
}
END_TEST

START_TEST(random_bytes)
{
	struct event_memory *mem;
	struct rng r = { 3 };
	uint8_t p[200];

	OK(event_memory_new(&mem));
	for (int n = 0; n < 200000; n++) {
		size_t len = rng_below(&r, sizeof(p)) + 1;

		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)(rng_below(&r, 2) ? rng_next(&r) & 15 : rng_next(&r));
		must_be_canonical(mem, p, len);
	}
	event_memory_free(mem);
}
END_TEST

static int decode_bytes(const char *hex)
{
	struct event_memory *mem;
	uint8_t p[64];
	struct event ev;
	struct view v;
	size_t n = 0;
	int r;

	for (; hex[2 * n]; n++) {
		unsigned b;

		ck_assert_int_eq(sscanf(hex + 2 * n, "%2x", &b), 1);
		p[n] = (uint8_t)b;
	}
	OK(event_memory_new(&mem));
	v = view_of(p, n);
	r = event_decode(&v, mem, &ev);
	event_memory_free(mem);
	return r;
}

START_TEST(strictness)
{
	OK(decode_bytes("11010000"));                    /* END of thread 1 */
	FAILS(ERR_CORRUPT, decode_bytes("00010000"));    /* kind 0 */
	FAILS(ERR_CORRUPT, decode_bytes("13010000"));    /* kind 19 */
	FAILS(ERR_CORRUPT, decode_bytes("1181000000"));  /* overlong varint 1 */
	FAILS(ERR_CORRUPT, decode_bytes("11010080808000")); /* overlong 0 */
	FAILS(ERR_CORRUPT, decode_bytes("1101008010"));  /* flag bit 11 */
	FAILS(ERR_CORRUPT, decode_bytes("11ffffffff1f0000")); /* thread of 33 bits */
	FAILS(ERR_CORRUPT, decode_bytes("910100000000000000000000")); /* regs_hash that is 0 */
	FAILS(ERR_CORRUPT, decode_bytes("5101000000"));  /* effects, none */
	FAILS(ERR_CORRUPT, decode_bytes("510100000100"));  /* effect kind 0 */
	FAILS(ERR_CORRUPT, decode_bytes("51010000010b"));  /* effect kind 11 */
	FAILS(ERR_CORRUPT, decode_bytes("5101000001440000")); /* unknown bit in an effect */
	FAILS(ERR_CORRUPT, decode_bytes("5101000001240000")); /* UNMAP with data in the stream */
	FAILS(ERR_CORRUPT, decode_bytes("510100000114000000")); /* thread 0 written out */
	FAILS(ERR_CORRUPT, decode_bytes("510100000105017f")); /* REGS of 1 byte */
	FAILS(ERR_TRUNCATED, decode_bytes("1101"));
	OK(decode_bytes("0f010000026162" "00"));         /* NOTE "ab" */
	FAILS(ERR_CORRUPT, decode_bytes("0f01000002610000")); /* NUL inside */
	FAILS(ERR_CORRUPT, decode_bytes("0f0100000261" "6263")); /* NUL missing */
	/* 0xffffffffffffffff fits into a varint, one more bit does not */
	OK(decode_bytes("0c010000" "00" "ffffffffffffffffff01"));
	FAILS(ERR_CORRUPT, decode_bytes("0c010000" "00" "ffffffffffffffffff03"));
	FAILS(ERR_CORRUPT, decode_bytes("0c010000" "00" "ffffffffffffffffffff01"));
}
END_TEST

START_TEST(encoder_refuses)
{
	struct effect e = { .kind = EFFECT_MEM, .addr = 1, .len = 1, .data = "x" };
	struct event ev = { .kind = EVENT_SYSCALL, .effects = &e, .n_effects = 1 };
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, 7);
	OK(event_encode(&ev, 0, NULL, NULL, &b));
	b.len = 1;
	ev.flags = EVENT_F_ALL_ + 1;
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	ev.flags = 0;
	ev.kind = EVENT_MAX_;
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	ev.kind = EVENT_INVALID;
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	ev.kind = EVENT_SYSCALL;
	e.addr = UINT64_MAX;
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	e.addr = 0;
	e.data = NULL;
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	e.kind = EFFECT_REGS;
	e.data = "x";
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	e = (struct effect){ .kind = EFFECT_MAP, .source = MAP_SOURCE_MAX_ };
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	e = (struct effect){ .kind = EFFECT_MAP, .flags = MAP_F_ALL_ + 1 };
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	e = (struct effect){ .kind = EFFECT_MEM, .len = EFFECT_DATA_MAX + 1, .data = "x" };
	FAILS(ERR_LIMIT, event_encode(&ev, 0, place_data, NULL, &b));
	ev.n_effects = EVENT_EFFECTS_MAX + 1;
	FAILS(ERR_LIMIT, event_encode(&ev, 0, NULL, NULL, &b));
	ev = (struct event){ .kind = EVENT_EXEC, .text = "x", .blob = "ab", .blob_len = 2 };
	FAILS(-EINVAL, event_encode(&ev, 0, NULL, NULL, &b));
	/* nothing of all that is left in the buffer */
	ck_assert_uint_eq(b.len, 1);
	buf_done(&b);
}
END_TEST

/* A count that promises a million effects must not take the memory of a million. */
START_TEST(bad_counts_cost_nothing)
{
	FAILS(ERR_TRUNCATED, decode_bytes("51010000ffff3f" "0400"));
	FAILS(ERR_CORRUPT, decode_bytes("51010000ffff7f" "0400"));
}
END_TEST

/* The bytes of docs/FORMAT.md. If this fails the format has changed: its version must, too. */
START_TEST(golden)
{
	struct effect e[] = {
		{ .kind = EFFECT_MEM, .addr = 0x1000, .len = 3, .data = "abc" },
		{ .kind = EFFECT_INPUT, .thread = 5, .addr = 0x2000, .len = 300, .data = help_big() },
		{ .kind = EFFECT_MAP, .addr = 0x3000, .len = 0x1000, .prot = 3, .flags = MAP_F_HEAP, .source = MAP_SOURCE_SHARED, .object = 2,
		  .offset = 0x80, .name = "/x" },
		{ .kind = EFFECT_ZERO, .addr = 1, .len = 2 },
	};
	struct event ev = { .kind = EVENT_SYSCALL, .thread = 1, .time_ns = 1000005, .flags = EVENT_F_STDOUT, .sysno = 300,
			    .args = { 0, 1, 127, 128, UINT64_MAX, 6 }, .result = -2, .rip = 0x400000,
			    .regs_hash = 0x1122334455667788, .effects = e, .n_effects = 4 };
	static const char want[] = "c2" "01" "0a" "01" "ac02" "00017f8001ffffffffffffffffff0106" "03" "80808002" "8877665544332211" "04"
				   "01802003616263" "32058040ac02b960" "0380608020" "0308" "0202" "8001" "022f7800" "090102";
	struct buf b, hex;

	buf_init(&b);
	buf_init(&hex);
	encode(&ev, &b);
	for (size_t i = 0; i < b.len; i++)
		buf_printf(&hex, "%02x", b.data[i]);
	ck_assert_str_eq(buf_cstr(&hex), want);
	buf_done(&b);
	buf_done(&hex);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(event_kind_name(EVENT_SYSCALL_ENTER), "syscall-enter");
	ck_assert_str_eq(event_kind_name(EVENT_MAX_), "?");
	ck_assert_str_eq(effect_kind_name(EFFECT_XSTATE), "xstate");
	ck_assert_str_eq(effect_kind_name(EFFECT_INVALID), "?");
	for (int k = 1; k < EVENT_MAX_; k++)
		ck_assert_str_ne(event_kind_name((enum event_kind)k), "?");
	for (int k = 1; k < EFFECT_MAX_; k++)
		ck_assert_str_ne(effect_kind_name((enum effect_kind)k), "?");
}
END_TEST

START_TEST(json)
{
	struct effect e[2] = {
		{ .kind = EFFECT_MEM, .addr = 0x7000, .len = 4, .data = "\1\2\3\xff" },
		{ .kind = EFFECT_MAP, .addr = 0x1000, .len = 4096, .prot = 5, .flags = MAP_F_EXE, .source = MAP_SOURCE_SHARED,
		  .object = 3, .offset = 4096, .name = "/bin/\xff" },
	};
	struct event ev = { .number = 7, .kind = EVENT_SYSCALL, .thread = 2, .flags = EVENT_F_STDOUT | EVENT_F_UNKNOWN, .sysno = 1,
			    .args = { 1, UINT64_MAX }, .result = -2, .rip = 0x400000, .regs_hash = 1, .text = "", .effects = e,
			    .n_effects = 2 };
	static const char want[] =
		"{\"number\":7,\"kind\":\"syscall\",\"thread\":2,\"time_ns\":0,\"flags\":[\"stdout\",\"unknown\"],\"sysno\":1,"
		"\"args\":[\"0x1\",\"0xffffffffffffffff\",\"0x0\",\"0x0\",\"0x0\",\"0x0\"],\"result\":-2,\"rip\":\"0x400000\","
		"\"regs_hash\":\"0x1\",\"effects\":[{\"kind\":\"mem\",\"addr\":\"0x7000\",\"len\":4,\"data\":\"010203\"},"
		"{\"kind\":\"map\",\"addr\":\"0x1000\",\"len\":4096,\"prot\":\"r-x\",\"map_flags\":[\"exe\"],\"source\":\"shared\","
		"\"object\":3,\"offset\":\"0x1000\",\"name\":\"/bin/\xef\xbf\xbd\"}]}";
	char *text;
	json_t *j;

	OK(event_to_json(&ev, 3, &j));
	text = json_dumps(j, JSON_COMPACT);
	ck_assert_str_eq(text, want);
	free(text);
	json_decref(j);
	ev = (struct event){ .kind = EVENT_EXEC, .text = "/bin/sh", .blob = "sh\0-c", .blob_len = 6 };
	OK(event_to_json(&ev, 3, &j));
	ck_assert_uint_eq(json_array_size(json_object_get(j, "argv")), 2);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(j, "argv"), 1)), "-c");
	json_decref(j);
}
END_TEST

HELP_MAIN("store_event",
	  { round_trips, 0 }, { extremes, 0 }, { flips_and_cuts, 0 }, { random_bytes, 0 }, { strictness, 0 },
	  { encoder_refuses, 0 }, { bad_counts_cost_nothing, 0 }, { golden, 0 }, { names, 0 }, { json, 0 })
