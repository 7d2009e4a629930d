/* Calls that replay runs again: those that change what user code sees of its address space and registers.
 *
 * A recording is data from strangers, and the guest's code is part of it. So only calls of this table are run, with the arguments that
 * recorders let pass; none may touch the gate page. */
#include "replayer/rep_priv.h"

#include <asm/prctl.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "engine/patch.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif

#define LENGTH_MAX (1ull << 47)

static bool any(const uint64_t *a, int64_t result)
{
	(void)a;
	return result >= 0;
}

static bool range(const uint64_t *a, int64_t result)
{
	(void)result;
	return a[1] <= LENGTH_MAX && !rep_touches_gate(a[0], a[1]);
}

static bool mremap_args(const uint64_t *a, int64_t result)
{
	uint64_t to = (uint64_t)result;

	if (result < 0 || to & 4095 || a[1] > LENGTH_MAX || a[2] > LENGTH_MAX || (a[3] & MREMAP_FIXED && a[4] != to))
		return false;
	return !rep_touches_gate(a[0], MAX(a[1], 1ull)) && !rep_touches_gate(to, a[2]);
}

static bool madvise_args(const uint64_t *a, int64_t result)
{
	switch (a[2]) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
	case MADV_GUARD_INSTALL:
	case MADV_GUARD_REMOVE:
		return range(a, result);
	}
	return false;
}

static bool arch_prctl_args(const uint64_t *a, int64_t result)
{
	return result == 0 && (a[0] == ARCH_SET_FS || a[0] == ARCH_SET_GS || a[0] == ARCH_REQ_XCOMP_PERM);
}

static bool modify_ldt_args(const uint64_t *a, int64_t result)
{
	return result >= 0 && (a[0] <= 2 || a[0] == 0x11); /* read, write old, read default, write */
}

static const struct reexec {
	uint32_t nr;
	bool (*allowed)(const uint64_t *a, int64_t result);
} table[] = {
	{ SYS_mprotect, range },     { SYS_pkey_mprotect, range },        { SYS_pkey_alloc, any },
	{ SYS_pkey_free, any },      { SYS_mremap, mremap_args },         { SYS_madvise, madvise_args },
	{ SYS_modify_ldt, modify_ldt_args }, { SYS_arch_prctl, arch_prctl_args },
};

static bool allowed(uint32_t nr, const uint64_t *a, int64_t result)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].nr == nr)
			return table[i].allowed(a, result);
	return false;
}

/* What children get of a mapping. */
static int follow_advice(struct aspace *as, const uint64_t *a)
{
	uint64_t end = a[0] + ALIGN_UP(a[1], 4096ull);

	switch (a[2]) {
	case MADV_DONTFORK:
		return aspace_mark(as, a[0], end, ASPACE_DONTFORK, 0);
	case MADV_DOFORK:
		return aspace_mark(as, a[0], end, 0, ASPACE_DONTFORK);
	case MADV_WIPEONFORK:
		return aspace_mark(as, a[0], end, ASPACE_WIPEONFORK, 0);
	case MADV_KEEPONFORK:
		return aspace_mark(as, a[0], end, 0, ASPACE_WIPEONFORK);
	}
	return 0;
}

/* The model follows. */
static int follow(struct rep_task *t, const uint64_t *a, uint64_t result)
{
	struct aspace *as = &t->t.mm->as;

	switch (t->sysno) {
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return aspace_protect(as, a[0], a[0] + ALIGN_UP(a[1], 4096ull), (uint32_t)a[2] & 7);
	case SYS_mremap:
		return aspace_remap(as, a[0], ALIGN_UP(a[1], 4096ull), result, ALIGN_UP(a[2], 4096ull),
				    !a[1] || (a[3] & MREMAP_DONTUNMAP));
	case SYS_madvise:
		return follow_advice(as, a);
	case SYS_arch_prctl: /* it changed what the entry registers hold; where the call was made at the gate, the thread's own do not tell */
		if (a[0] == ARCH_SET_FS) {
			t->entry.fs_base = a[1];
			t->entry.fs = 0;
		} else if (a[0] == ARCH_SET_GS) {
			t->entry.gs_base = a[1];
			t->entry.gs = 0;
		}
	}
	return 0;
}

int rep_reexec(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	uint64_t a[6];
	int64_t result;
	int r;

	if (!allowed(t->sysno, t->args, ev->result))
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": %s is not a call that replay runs again with these arguments", ev->number,
				   sys_row(t->sysno)->name);
	memcpy(a, t->args, sizeof(a));
	/* What can move is told where to go. */
	if (t->sysno == SYS_mremap && (uint64_t)ev->result != a[0]) {
		a[3] |= MREMAP_MAYMOVE | MREMAP_FIXED;
		a[4] = (uint64_t)ev->result;
	}
	if (t->sysno == SYS_madvise && a[2] == MADV_FREE)
		a[2] = MADV_DONTNEED;
	r = eng_patch_lift(&t->t, 0, UINT64_MAX); /* what moves would take them along */
	if (r >= 0)
		r = rep_remote(t, t->sysno, a, &result);
	if (r >= 0)
		r = eng_patch_lower(&t->t, 0, UINT64_MAX);
	if (r < 0)
		return r;
	if (result != ev->result)
		return rep_diverged(s, t, ev, ei, "%s gave %" PRId64 " instead of %" PRId64 " when it was run again", sys_row(t->sysno)->name,
				    result, ev->result);
	/* madvise says ENOMEM when part of the range was not mapped, and has done its work on the rest. */
	return result < 0 && (t->sysno != SYS_madvise || result != -ENOMEM) ? 0 : follow(t, t->args, (uint64_t)result);
}
