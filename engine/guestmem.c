/* Reading guest memory by the table's rules. */
#include "engine/guestmem_priv.h"

#include <string.h>

uint64_t sys_count_arg(const struct sys_call *c, const struct sys_row *row, unsigned int i)
{
	uint64_t v = c->args[i];

	switch (row->arg[i].kind) {
	case SYS_ARG_INT:
		return (int32_t)v < 0 ? 0 : (uint32_t)v;
	case SYS_ARG_UINT:
		return (uint32_t)v;
	default:
		return v;
	}
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

uint64_t sys_room(const struct sys_call *c, const struct sys_row *row, const struct sys_arg *a, const struct sys_mem *mem)
{
	int32_t len;

	switch ((enum sys_len)a->len) {
	case SYS_LEN_FIXED:
		return a->size;
	case SYS_LEN_ARG:
	case SYS_LEN_RET:
		return sys_mul_clamped(sys_count_arg(c, row, a->len_arg), a->size);
	case SYS_LEN_PTR:
		if (sys_mem_read(mem, c->args[a->len_arg], &len, sizeof(len)) < 0 || len < 0)
			return 0;
		return sys_mul_clamped((uint32_t)len, a->size);
	case SYS_LEN_BITS:
		return div_up(sys_count_arg(c, row, a->len_arg), 64) * 8;
	case SYS_LEN_PAGES:
		return div_up(sys_count_arg(c, row, a->len_arg), PAGE);
	case SYS_LEN_NONE:
	case SYS_LEN_STR:
		break;
	}
	return 0;
}

size_t sys_string_length(const struct sys_mem *mem, uint64_t addr, size_t max)
{
	char chunk[256];
	size_t n = 0;

	/* chunks are aligned, so that none reaches into a page that the string does not touch */
	while (n < max) {
		size_t part = MIN(max - n, sizeof(chunk) - (addr + n) % sizeof(chunk));
		const char *end;

		/* the memory of a recorded event has only the string itself: then byte by byte */
		if (part > 1 && sys_mem_read(mem, addr + n, chunk, part) < 0)
			part = 1;
		if (part == 1 && sys_mem_read(mem, addr + n, chunk, 1) < 0)
			return n;
		end = memchr(chunk, 0, part);
		if (end)
			return n + (size_t)(end - chunk) + 1;
		n += part;
	}
	return max;
}
