/* Hardware watchpoints of traced threads: the debug registers, as ptrace(2) PTRACE_POKEUSER lets them be set
 * (Intel SDM vol. 3, 17.2). */
#include "engine/engine.h"

#include <stddef.h>
#include <sys/user.h>

#include "engine/ptrace_priv.h"

/* In DR7, for watchpoint i: bit 2i enables it; from bit 16 + 4i on: two bits of access, two of length. */
#define ENABLE(i) (1ul << 2 * (i))
#define FIELD(i, bits) ((uint64_t)(bits) << (16 + 4 * (i)))
enum { WRITES = 1, READS_AND_WRITES = 3 };
enum { STATUS = 6, CONTROL = 7 };

static void *debug_register(unsigned reg)
{
	return (void *)(offsetof(struct user, u_debugreg) + reg * sizeof(long));
}

static int poke(struct eng_task *t, unsigned reg, uint64_t v)
{
	return ptrace_call(PTRACE_POKEUSER, t->tid, debug_register(reg), (void *)v);
}

/* Only these lengths, at their multiples. */
static int length_bits(const struct eng_watch *w)
{
	static const int8_t bits[] = { -1, 0, 1, -1, 3, -1, -1, -1, 2 };

	return w->len < ARRAY_SIZE(bits) && bits[w->len] >= 0 && w->addr % w->len == 0 ? bits[w->len] : -EINVAL;
}

int eng_watch(struct eng_task *t, const struct eng_watch *w, unsigned n)
{
	uint64_t control = 0;
	int r = 0;

	for (unsigned i = 0; i < n && r >= 0; i++) {
		r = i < ENG_WATCH_MAX ? length_bits(&w[i]) : -ERANGE;
		if (r >= 0)
			control |= ENABLE(i) | FIELD(i, (unsigned)r << 2 | (w[i].writes_only ? WRITES : READS_AND_WRITES));
	}
	if (r >= 0)
		r = poke(t, CONTROL, 0);
	for (unsigned i = 0; i < n && r >= 0; i++)
		r = poke(t, i, w[i].addr);
	return r >= 0 && n ? poke(t, CONTROL, control) : r;
}

int eng_watch_hits(struct eng_task *t, unsigned *ret_mask)
{
	unsigned mask;
	long v;
	int r;

	errno = 0;
	v = ptrace(PTRACE_PEEKUSER, t->tid, debug_register(STATUS), NULL);
	if (v == -1 && errno)
		return errno == ESRCH ? ERR_GUEST_GONE : -errno;
	mask = (unsigned)v & ((1u << ENG_WATCH_MAX) - 1);
	/* the processor only ever adds bits */
	r = poke(t, STATUS, 0);
	if (r >= 0)
		*ret_mask = mask;
	return r;
}

int eng_watch_split(uint64_t addr, uint64_t len, struct eng_watch *ret, unsigned max)
{
	uint64_t end;
	unsigned n = 0;

	if (__builtin_add_overflow(addr, len, &end))
		return -ERANGE;
	for (; addr < end; n++) {
		uint64_t piece = 8;

		while (addr % piece || piece > end - addr)
			piece /= 2;
		if (n == max)
			return -ERANGE;
		ret[n] = (struct eng_watch){ .addr = addr, .len = (uint8_t)piece };
		addr += piece;
	}
	return (int)n;
}
