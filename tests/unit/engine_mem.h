/* Guest memory for tests of the table and the printer: a few ranges that can be read, nothing else. */
#ifndef TESTS_UNIT_ENGINE_MEM_H
#define TESTS_UNIT_ENGINE_MEM_H

#include <errno.h>
#include <string.h>
#include "engine/syscall.h"

struct mem_range {
	uint64_t addr;
	const void *data; /* NULL: zeros */
	uint64_t len;
};

struct mem {
	struct mem_range range[64];
	size_t n;
	unsigned long reads;
};

static inline int mem_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct mem *m = ctx;

	m->reads++;
	for (size_t i = 0; i < m->n; i++) {
		const struct mem_range *r = &m->range[i];

		if (addr < r->addr || addr - r->addr > r->len || n > r->len - (addr - r->addr))
			continue;
		if (r->data)
			memcpy(buf, (const uint8_t *)r->data + (addr - r->addr), n);
		else
			memset(buf, 0, n);
		return 0;
	}
	return -EFAULT;
}

/* Gives the address back, for use as an argument. */
static inline uint64_t mem_put(struct mem *m, uint64_t addr, const void *data, uint64_t len)
{
	m->range[m->n++] = (struct mem_range){ addr, data, len };
	return addr;
}

#endif
