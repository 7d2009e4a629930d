/* The table and the printer with calls and guest memory made of the fuzzer's bytes.
 *
 * Input: number (2 bytes), result selector (1), options (1), six arguments (8 each), then guest memory at MEM. Arguments that are small when
 * taken as an offset point into that memory, so that structures are found. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "engine/sysprint.h"

#define MEM 0x10000ull
#define HEAD (4 + 6 * 8)

struct input {
	const uint8_t *mem;
	size_t n;
};

static int input_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct input *in = ctx;

	if (addr < MEM || addr - MEM > in->n || n > in->n - (addr - MEM))
		return -EFAULT;
	memcpy(buf, in->mem + (addr - MEM), n);
	return 0;
}

static int check_range(void *ctx, uint64_t addr, uint64_t len)
{
	(void)ctx;
	if (!addr || !len || addr + len < addr)
		abort();
	return 0;
}

static int64_t result_of(uint8_t selector)
{
	static const int64_t results[] = { 0, -EFAULT, -EINTR, -EINVAL, INT64_MAX, INT64_MIN, -4096, -512 };

	return selector < 128 ? selector : results[selector % (sizeof(results) / sizeof(results[0]))];
}

static void walk(const struct sys_call *c, const struct sys_mem *mem, int64_t result)
{
	struct sys_outs o;

	sys_outs_init(&o);
	if (sys_outs_enter(&o, c, mem) == 0) {
		(void)!sys_inputs(&o, mem, check_range, NULL);
		(void)!sys_outs_leave(&o, result, mem, check_range, NULL);
	}
	sys_outs_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sys_call c = { .nr = 0 };
	struct buf out;
	size_t at = HEAD;

	if (size < HEAD)
		return 0;
	c.nr = (data[0] | (uint32_t)data[1] << 8) % (SYS_TABLE_MAX + 2);
	memcpy(c.args, data + 4, sizeof(c.args));
	for (size_t i = 0; i < 6; i++)
		if (c.args[i] >= 0x100 && c.args[i] < 0x10000)
			c.args[i] = MEM + c.args[i] - 0x100;

	struct input in = { data + at, size - at };
	const struct sys_mem mem = { input_read, &in };
	struct sysprint_options opt = { data[3] & 0xf, data[3] >> 4, NULL };

	walk(&c, &mem, result_of(data[2]));
	buf_init(&out);
	sysprint_call(&out, &c, data[2] != 255, result_of(data[2]), &mem, &mem, &opt);
	if (buf_error(&out) || !memchr(out.data, '(', out.len))
		abort();
	buf_done(&out);
	return 0;
}
