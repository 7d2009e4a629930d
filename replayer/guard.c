/* Watchpoints beyond what the debug registers hold: the pages are taken away from the guest while it computes, so that an access faults; the
 * instruction is made with the pages given back, and what is watched compared.
 *
 * The pages are away only while a thread of the process runs towards an event's place (forward.c). Whatever else is done with the guest - events, snapshots, calls of ours - finds
 * its mappings as they are in the model. */
#define LOG_AREA "replayer.guard"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/log.h"

#define PAGE 4096ull

static bool is_guarded(const struct dbg_point *p)
{
	return p->guarded;
}

/* The part of the watched pages that lies in m. */
static bool part_of(const struct dbg_point *p, const struct mapping *m, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = MAX(ALIGN_DOWN(p->b.addr, PAGE), m->start);
	*ret_end = MIN(ALIGN_UP(p->b.addr + p->b.len, PAGE), m->end);
	return *ret_start < *ret_end;
}

/* What the guest may do there meanwhile. */
static uint32_t allowed(const struct dbg_point *p, const struct mapping *m)
{
	return p->b.kind == DBG_WATCH_WRITE ? m->prot & ~(uint32_t)PROT_WRITE : m->prot & PROT_EXEC;
}

static int protect(struct rep_task *t, uint64_t start, uint64_t end, uint32_t prot)
{
	const uint64_t args[6] = { start, end - start, prot };
	struct user_regs_struct *regs;
	int64_t result;
	int r = eng_regs(&t->t, &regs);

	if (r < 0)
		return r;
	/* it may have come to a call: that stays the next thing that it does */
	if (t->t.stop.kind == ENG_STOP_SECCOMP && regs->orig_rax != UINT64_MAX)
		r = eng_remote_at_entry(&t->t, SYS_mprotect, args, &result);
	else
		r = rep_remote_quiet(t, SYS_mprotect, args, &result);
	return r < 0 ? r : (int)result;
}

static int protect_point(const struct dbg_point *p, struct rep_task *t, bool away)
{
	const struct aspace *as = &t->t.mm->as;
	int r = 0;

	for (size_t i = 0; i < as->n && r >= 0; i++) {
		const struct mapping *m = &as->m[i];
		uint64_t start, end;

		if (part_of(p, m, &start, &end))
			r = protect(t, start, end, away ? allowed(p, m) : m->prot);
	}
	return r;
}

static int protect_all(struct dbg *d, struct rep_task *t, bool away)
{
	int r = 0;

	for (size_t i = 0; i < d->n_points && r >= 0; i++)
		if (is_guarded(&d->points[i]))
			r = protect_point(&d->points[i], t, away);
	return r;
}

int dbg_guard_on(struct dbg *d, struct rep_task *t)
{
	int r;

	if (!d->watch_guards || d->guards == t)
		return 0;
	r = dbg_guard_off(d);
	if (r < 0)
		return r;
	d->guards = t;
	return protect_all(d, t, true);
}

int dbg_guard_off(struct dbg *d)
{
	struct rep_task *t = d->guards;

	d->guards = NULL;
	return t ? protect_all(d, t, false) : 0;
}

bool dbg_guard_fault(struct dbg *d, struct rep_task *t, const struct eng_stop *st)
{
	siginfo_t si;

	if (d->guards != t || st->kind != ENG_STOP_SIGNAL || st->signo != SIGSEGV || eng_siginfo(&t->t, &si) < 0)
		return false;
	for (size_t i = 0; i < d->n_points; i++) {
		const struct dbg_point *p = &d->points[i];
		uint64_t first = ALIGN_DOWN(p->b.addr, PAGE);

		if (is_guarded(p) && (uint64_t)si.si_addr - first < ALIGN_UP(p->b.addr + p->b.len, PAGE) - first) {
			d->fault_at = (uint64_t)si.si_addr;
			return true;
		}
	}
	return false;
}
