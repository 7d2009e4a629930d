/* Hardware watchpoints of traced threads: the debug registers, as ptrace(2) PTRACE_POKEUSER lets them be set
 * (Intel SDM vol. 3, 17.2). */
#include "engine/engine.h"

#include <stddef.h>
#include <sys/user.h>

#include "engine/ptrace_priv.h"

/* In DR7, for watchpoint i: bit 2i enables it; from bit 16 + 4i on: 3 = reads and writes, then 2 = eight bytes. */
#define ENABLE(i) (1ul << 2 * (i))
#define READ_WRITE_8(i) (11ul << (16 + 4 * (i)))

static int poke(struct eng_task *t, unsigned reg, uint64_t v)
{
	return ptrace_call(PTRACE_POKEUSER, t->tid, (void *)(offsetof(struct user, u_debugreg) + reg * sizeof(long)), (void *)v);
}

int eng_watch(struct eng_task *t, const uint64_t *addr, unsigned n)
{
	uint64_t control = 0;
	int r = poke(t, 7, 0);

	for (unsigned i = 0; i < n && r >= 0; i++) {
		r = poke(t, i, addr[i] & ~7ull);
		control |= ENABLE(i) | READ_WRITE_8(i);
	}
	return r >= 0 && n ? poke(t, 7, control) : r;
}
