/* The fuzzer's bytes as an agent expression: it ends, and touches nothing but its stack. */
#include <errno.h>
#include <string.h>
#include "gdbstub/agent_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int reg(void *ctx, unsigned number, uint64_t *ret)
{
	(void)ctx;
	*ret = number * 0x1234567ull;
	return number < 100 ? 0 : -ENOENT;
}

static int mem(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	memset(buf, (int)addr, n);
	return addr % 7 ? 0 : -EFAULT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct agent_target t = { reg, mem, NULL };
	uint64_t value;

	(void)!agent_eval(data, size, &t, &value);
	return 0;
}
