/* Agent expressions: each operation, and code that means harm. */
#include "gdbstub/agent_priv.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

static int reg(void *ctx, unsigned number, uint64_t *ret)
{
	(void)ctx;
	if (number > 3)
		return -ENOENT;
	*ret = 0x1000 + number;
	return 0;
}

static int mem(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	if (addr < 0x1000)
		return -EFAULT;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buf)[i] = (uint8_t)(addr + i);
	return 0;
}

static const struct agent_target target = { reg, mem, NULL };

static uint64_t value(const char *code, size_t n)
{
	uint64_t v = 0xdead;
	int r = agent_eval((const uint8_t *)code, n, &target, &v);

	ck_assert_msg(r == 0, "%s", err_str(r));
	return v;
}

static int error(const char *code, size_t n)
{
	uint64_t v = 0xdead;
	int r = agent_eval((const uint8_t *)code, n, &target, &v);

	ck_assert_uint_eq(v, 0xdead);
	return r;
}

#define VALUE(code) value(code, sizeof(code) - 1)
#define ERROR(code) error(code, sizeof(code) - 1)
#define C8(x) "\x22" x
#define MINUS(x) C8("\0") C8(x) "\x03" /* 0 - x */
#define END "\x27"

START_TEST(arithmetic)
{
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x03") "\x02" END), 8);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x03") "\x03" END), 2);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x03") "\x04" END), 15);
	ck_assert_int_eq((int64_t)VALUE(MINUS("\x07") C8("\x02") "\x05" END), -3);
	ck_assert_uint_eq(VALUE(C8("\x07") C8("\x02") "\x06" END), 3);
	ck_assert_int_eq((int64_t)VALUE(MINUS("\x07") C8("\x02") "\x07" END), -1);
	ck_assert_uint_eq(VALUE(C8("\x07") C8("\x04") "\x08" END), 3);
	/* INT64_MIN / -1 and % -1 */
	ck_assert_uint_eq(VALUE("\x25\x80\0\0\0\0\0\0\0" MINUS("\x01") "\x05" END), 1ull << 63);
	ck_assert_uint_eq(VALUE("\x25\x80\0\0\0\0\0\0\0" MINUS("\x01") "\x07" END), 0);
	ck_assert_int_eq(ERROR(C8("\x07") C8("\0") "\x05" END), -EDOM);
	ck_assert_int_eq(ERROR(C8("\x07") C8("\0") "\x08" END), -EDOM);
}
END_TEST

START_TEST(bits)
{
	ck_assert_uint_eq(VALUE(C8("\x01") C8("\x04") "\x09" END), 16);
	ck_assert_uint_eq(VALUE(C8("\x01") C8("\x40") "\x09" END), 0);
	ck_assert_int_eq((int64_t)VALUE(MINUS("\x10") C8("\x02") "\x0a" END), -4);
	ck_assert_int_eq((int64_t)VALUE(MINUS("\x10") C8("\x80") "\x0a" END), -1);
	ck_assert_uint_eq(VALUE(MINUS("\x01") C8("\x3c") "\x0b" END), 15);
	ck_assert_uint_eq(VALUE(C8("\x05") "\x0e" END), 0);
	ck_assert_uint_eq(VALUE(C8("\0") "\x0e" END), 1);
	ck_assert_uint_eq(VALUE(C8("\x0c") C8("\x0a") "\x0f" END), 8);
	ck_assert_uint_eq(VALUE(C8("\x0c") C8("\x0a") "\x10" END), 14);
	ck_assert_uint_eq(VALUE(C8("\x0c") C8("\x0a") "\x11" END), 6);
	ck_assert_uint_eq(VALUE(C8("\0") "\x12" END), UINT64_MAX);
	ck_assert_int_eq((int64_t)VALUE(C8("\x80") "\x16\x08" END), -128);
	ck_assert_uint_eq(VALUE(MINUS("\x01") "\x2a\x0c" END), 0xfff);
	ck_assert_uint_eq(VALUE(MINUS("\x01") "\x2a\x40" END), UINT64_MAX);
	ck_assert_int_eq(ERROR(C8("\x01") "\x2a\x41" END), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR(C8("\x01") "\x16\0" END), ERR_PROTOCOL);
}
END_TEST

START_TEST(comparisons)
{
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x05") "\x13" END), 1);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x06") "\x13" END), 0);
	ck_assert_uint_eq(VALUE(MINUS("\x01") C8("\x01") "\x14" END), 1);
	ck_assert_uint_eq(VALUE(MINUS("\x01") C8("\x01") "\x15" END), 0);
	ck_assert_uint_eq(VALUE(C8("\x01") C8("\x02") "\x15" END), 1);
}
END_TEST

START_TEST(memory_and_registers)
{
	ck_assert_uint_eq(VALUE("\x26\0\x03" END), 0x1003);
	ck_assert_int_eq(ERROR("\x26\0\x04" END), -ENOENT);
	ck_assert_uint_eq(VALUE("\x26\0\x03\x17" END), 0x03);
	ck_assert_uint_eq(VALUE("\x26\0\x03\x18" END), 0x0403);
	ck_assert_uint_eq(VALUE("\x26\0\x03\x19" END), 0x06050403);
	ck_assert_uint_eq(VALUE("\x26\0\x03\x1a" END), 0x0a09080706050403ull);
	ck_assert_int_eq(ERROR(C8("\x01") "\x17" END), -EFAULT);
	ck_assert_uint_eq(VALUE("\x23\x12\x34" END), 0x1234);
	ck_assert_uint_eq(VALUE("\x24\x12\x34\x56\x78" END), 0x12345678);
	ck_assert_uint_eq(VALUE("\x25\x12\x34\x56\x78\x9a\xbc\xde\xf0" END), 0x123456789abcdef0ull);
}
END_TEST

START_TEST(stack_and_jumps)
{
	ck_assert_uint_eq(VALUE(C8("\x05") "\x28\x04" END), 25);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x07") "\x29" END), 5);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x07") "\x2b\x03" END), 2);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x07") "\x32\x01" END), 5);
	ck_assert_uint_eq(VALUE(C8("\x05") C8("\x07") "\x32\0" END), 7);
	ck_assert_int_eq(ERROR(C8("\x05") "\x32\x01" END), ERR_PROTOCOL);
	/* 1 2 3 rot => 3 1 2 */
	ck_assert_uint_eq(VALUE(C8("\x01") C8("\x02") C8("\x03") "\x33" END), 2);
	ck_assert_uint_eq(VALUE(C8("\x01") C8("\x02") C8("\x03") "\x33\x29\x29" END), 3);
	ck_assert_uint_eq(VALUE("\x21\0\x05\x22\x09" C8("\x08") END), 8);
	ck_assert_uint_eq(VALUE(C8("\x01") "\x20\0\x07\x22\x09" C8("\x08") END), 8);
	ck_assert_uint_eq(VALUE(C8("\0") "\x20\0\x08" C8("\x09") END C8("\x08") END), 9);
}
END_TEST

START_TEST(hostile)
{
	uint8_t deep[2 * (AGENT_STACK_MAX + 1) + 1];

	ck_assert_int_eq(ERROR(""), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR(END), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\x02"), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\x22"), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\x22\x01"), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\x21\xff\xff"), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\x21\0\0"), ERR_LIMIT);
	ck_assert_int_eq(ERROR("\x0c"), ERR_PROTOCOL); /* trace */
	ck_assert_int_eq(ERROR("\xff"), ERR_PROTOCOL);
	ck_assert_int_eq(ERROR("\0"), ERR_PROTOCOL);
	memset(deep, 0x22, sizeof(deep));
	deep[sizeof(deep) - 1] = 0x27;
	ck_assert_int_eq(error((const char *)deep, sizeof(deep)), ERR_PROTOCOL);
	ck_assert_uint_eq(value((const char *)deep + 2, sizeof(deep) - 2), 0x22);
	ck_assert_int_eq(ERROR(C8("\x01") "\x28\x21\0\x02"), ERR_PROTOCOL); /* grows for ever */
}
END_TEST

TEST_MAIN("gdbstub_agent", arithmetic, bits, comparisons, memory_and_registers, stack_and_jumps, hostile)
