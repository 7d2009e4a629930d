/* base/buf: what is put is got back, views never read past their end nor move on failure. */
#include "base/buf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/limits.h"
#include "tests/unit/test.h"

START_TEST(integers)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct view v;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	buf_put_u8(&b, 0xab);
	buf_put_u16(&b, 0x1234);
	buf_put_u32(&b, 0xdeadbeef);
	buf_put_u64(&b, 0x0102030405060708);
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_uint_eq(b.len, 15);
	ck_assert_uint_eq(b.data[1], 0x34); /* little-endian */
	v = view_of(b.data, b.len);
	ck_assert_int_eq(view_get_u8(&v, &u8), 0);
	ck_assert_int_eq(view_get_u16(&v, &u16), 0);
	ck_assert_int_eq(view_get_u32(&v, &u32), 0);
	ck_assert_int_eq(view_get_u64(&v, &u64), 0);
	ck_assert_uint_eq(u8, 0xab);
	ck_assert_uint_eq(u16, 0x1234);
	ck_assert_uint_eq(u32, 0xdeadbeef);
	ck_assert_uint_eq(u64, 0x0102030405060708);
	ck_assert_uint_eq(view_left(&v), 0);
}
END_TEST

START_TEST(varints)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		CLEANUP(buf_done) struct buf b = { 0 };
		struct view v;
		uint64_t u = 0;
		int64_t s = 0;

		buf_put_varint(&b, values[i]);
		buf_put_svarint(&b, (int64_t)values[i]);
		v = view_of(b.data, b.len);
		ck_assert_int_eq(view_get_varint(&v, &u), 0);
		ck_assert_uint_eq(u, values[i]);
		ck_assert_int_eq(view_get_svarint(&v, &s), 0);
		ck_assert_int_eq(s, (int64_t)values[i]);
		ck_assert_uint_eq(view_left(&v), 0);
	}
}
END_TEST

START_TEST(svarint_small)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_put_svarint(&b, -1);
	ck_assert_uint_eq(b.len, 1);
	ck_assert_uint_eq(b.data[0], 1);
}
END_TEST

START_TEST(bad_varints)
{
	static const struct {
		const char *bytes;
		size_t n;
		int result;
	} cases[] = {
		{ "", 0, ERR_TRUNCATED },
		{ "\x80", 1, ERR_TRUNCATED },
		{ "\x80\x00", 2, ERR_CORRUPT }, /* overlong zero */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, ERR_CORRUPT }, /* 65 bits */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, ERR_CORRUPT },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct view v = view_of(cases[i].bytes, cases[i].n);
		uint64_t u;

		ck_assert_int_eq(view_get_varint(&v, &u), cases[i].result);
		ck_assert_uint_eq(view_left(&v), cases[i].result ? cases[i].n : 0);
	}
}
END_TEST

START_TEST(byte_strings)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct view v, sub;
	uint8_t byte;

	buf_put_str(&b, "hello");
	buf_put_bytes(&b, NULL, 0);
	v = view_of(b.data, b.len);
	ck_assert_int_eq(view_get_bytes(&v, &sub), 0);
	ck_assert_uint_eq(view_left(&sub), 5);
	ck_assert_int_eq(memcmp(sub.p, "hello", 5), 0);
	ck_assert_int_eq(view_get_bytes(&v, &sub), 0);
	ck_assert_uint_eq(view_left(&sub), 0);
	ck_assert_int_eq(view_get_u8(&v, &byte), ERR_TRUNCATED);
}
END_TEST

START_TEST(lengths_from_strangers)
{
	/* says 2^62 bytes, has one */
	CLEANUP(buf_done) struct buf b = { 0 };
	struct view v, sub;

	buf_put_varint(&b, 1ull << 62);
	buf_put_u8(&b, 7);
	v = view_of(b.data, b.len);
	ck_assert_int_eq(view_get_bytes(&v, &sub), ERR_TRUNCATED);
	ck_assert_uint_eq(view_left(&v), b.len);
	ck_assert_int_eq(view_take(&v, SIZE_MAX, &sub), ERR_TRUNCATED);
	ck_assert_uint_eq(view_left(&v), b.len);
}
END_TEST

START_TEST(end_of_page)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct view v;
	uint64_t u;

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect(p + page, page, PROT_NONE), 0);
	for (size_t n = 0; n < 10; n++) {
		memset(p + page - n, 0xff, n);
		v = view_of(p + page - n, n);
		ck_assert_int_lt(view_get_varint(&v, &u), 0);
		if (n < 8)
			ck_assert_int_eq(view_get_u64(&v, &u), ERR_TRUNCATED);
	}
	ck_assert_int_eq(munmap(p, 2 * page), 0);
}
END_TEST

START_TEST(sticky_error)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_put_u8(&b, 1);
	ck_assert_ptr_null(buf_extend(&b, BUF_LEN_MAX));
	ck_assert_int_eq(buf_error(&b), ERR_LIMIT);
	buf_put_u8(&b, 2);
	ck_assert_uint_eq(b.len, 1);
	ck_assert_str_eq(buf_cstr(&b), "");
	buf_clear(&b);
	ck_assert_int_eq(buf_error(&b), 0);
	buf_put_u8(&b, 3);
	ck_assert_uint_eq(b.len, 1);
}
END_TEST

START_TEST(text)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	ck_assert_str_eq(buf_cstr(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_uint_eq(strlen(buf_cstr(&b)), b.len);
	ck_assert_uint_eq(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	ck_assert_int_eq(strncmp(buf_cstr(&b), "0,1,2,", 6), 0);
}
END_TEST

TEST_MAIN("buf", integers, varints, svarint_small, bad_varints, byte_strings, lengths_from_strangers, end_of_page,
	  sticky_error, text)
