/* Structures of the kernel ABI as they lie in guest memory, and sizes by the length rules. For outs.c, inputs.c and the printer. */
#ifndef ENGINE_GUESTMEM_PRIV_H
#define ENGINE_GUESTMEM_PRIV_H

#include <assert.h>
#include <errno.h>
#include "engine/syscall_priv.h"

#define PAGE 4096u
#define IOV_COUNT_MAX 1024u /* UIO_MAXIOV: more is EINVAL, for iovecs and for messages of recvmmsg() */

struct iovec64 {
	uint64_t base, len;
};

struct msghdr64 {
	uint64_t name;
	int32_t namelen;
	uint32_t pad;
	uint64_t iov, iovlen, control, controllen;
	uint32_t flags, pad2;
};

struct mmsghdr64 {
	struct msghdr64 hdr;
	uint32_t len, pad;
};

static_assert(sizeof(struct msghdr64) == 56, "struct msghdr of x86-64");
static_assert(sizeof(struct mmsghdr64) == 64, "struct mmsghdr of x86-64");

/* Reads user memory only: 0 or a negative errno. */
static inline int sys_mem_read(const struct sys_mem *mem, uint64_t addr, void *buf, size_t n)
{
	if (addr >= SYS_USER_END || n > SYS_USER_END - addr)
		return -EFAULT;
	return mem->read(mem->ctx, addr, buf, n);
}

/* UINT64_MAX instead of an overflow. */
static inline uint64_t sys_mul_clamped(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* A count or size argument. The kernel takes int and unsigned int ones from 32 bits, whatever the rest of the register holds. */
uint64_t sys_count_arg(const struct sys_call *c, const struct sys_row *row, unsigned int i);
/* Room in bytes by the argument's length rule, as known at entry; 0 when memory needed for it cannot be read. */
uint64_t sys_room(const struct sys_call *c, const struct sys_row *row, const struct sys_arg *a, const struct sys_mem *mem);
/* Length of the string at addr with its NUL, at most max; 0 when its first byte cannot be read. A string that runs into unreadable memory ends there. */
size_t sys_string_length(const struct sys_mem *mem, uint64_t addr, size_t max);

#endif
