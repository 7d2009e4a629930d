/* Conditions in the guest: see cond_priv.h. */
#define LOG_AREA "replayer.cond"
#include "replayer/cond_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "replayer/site_priv.h"

/* A copy is a few instructions: out of it, or at the next, by then. */
#define STEPS_MAX 16

struct rep_cond {
	struct rep_site site; /* plan, trampoline and room of it are used; its thread, while room is made */
	struct code_hidden hidden[CODE_HIDDEN_MAX]; /* where patches are, or may be */
	unsigned n_hidden;
};

uint64_t rep_cond_at(const struct rep_cond *c)
{
	return c->site.at;
}

uint64_t rep_cond_len(const struct rep_cond *c)
{
	return c->site.plan.len;
}

bool rep_cond_covers(const struct rep_cond *c, uint64_t addr, uint64_t len)
{
	return c->site.room && len && addr < c->site.room + REP_ROOM && len > c->site.room - MIN(addr, c->site.room);
}

bool rep_cond_meets(const struct rep_cond *c, uint64_t addr, uint64_t len)
{
	return addr - c->site.at < c->site.plan.len || c->site.at - addr < len;
}

void rep_cond_forget(struct rep_cond *c)
{
	free(c);
}

/* --- planting --- */

/* Code of a file that nobody writes: all that a jump and its copies rest on. */
static bool is_lasting(const struct eng_mm *mm, const struct code_plan *plan)
{
	return aspace_code_own(&mm->as, plan->at) && aspace_code_own(&mm->as, plan->at + plan->len - 1);
}

/* Does a thread stand where the jump's bytes come to lie, behind the first? */
static int is_occupied(struct rep_session *s, const struct eng_mm *mm, uint64_t at)
{
	for (uint32_t i = 0; i < s->cap_tasks; i++) {
		struct user_regs_struct *r;
		int rc = s->tasks[i] && s->tasks[i]->t.mm == mm && !s->tasks[i]->t.gone ? eng_regs(&s->tasks[i]->t, &r) : 1;

		if (rc == ERR_GUEST_GONE || rc == 1)
			continue;
		if (rc < 0)
			return rc;
		if (r->rip - (at + 1) < CODE_JUMP_LEN - 1)
			return 1;
	}
	return 0;
}

static bool is_hidden(const struct rep_cond *c, uint64_t addr)
{
	for (unsigned i = 0; i < c->n_hidden; i++)
		if (addr - c->hidden[i].addr < c->hidden[i].len)
			return true;
	return false;
}

static bool are_hidden(const struct rep_cond *c, const struct eng_mm *mm)
{
	for (size_t i = 0; i < mm->patches.n; i++)
		if (mm->patches.p[i].planted && !is_hidden(c, mm->patches.p[i].addr))
			return false;
	return true;
}

/* Reads of the code's own mapping are left to others, and so is what lies between the patches of any other one. */
static int hide_patches(struct rep_cond *c, const struct eng_mm *mm)
{
	const struct mapping *m = aspace_find(&mm->as, c->site.at), *last = m;

	c->hidden[0] = (struct code_hidden){ m->start, m->end - m->start };
	c->n_hidden = 1;
	for (size_t i = 0; i < mm->patches.n; i++) {
		uint64_t addr = mm->patches.p[i].addr;
		struct code_hidden *h = &c->hidden[c->n_hidden - 1];

		m = mm->patches.p[i].planted && !is_hidden(c, addr) ? aspace_find(&mm->as, addr) : NULL;
		if (!m)
			continue;
		if (m != last) {
			if (c->n_hidden == CODE_HIDDEN_MAX)
				return -ERANGE;
			h = &c->hidden[c->n_hidden++];
			h->addr = addr;
		}
		h->len = addr + CODE_JUMP_LEN - h->addr; /* an int3 may become a jump */
		last = m;
	}
	return 0;
}

static int build(struct rep_cond *c, const struct code_expr *condition)
{
	struct rep_site *site = &c->site;
	int r = hide_patches(c, site->t->t.mm);

	if (r >= 0)
		r = code_tramp_build_expr(&site->plan, site->entry - CODE_TRAMP_ENTRY, site->room + REP_ROOM_DATA, condition, c->hidden, c->n_hidden,
					  &site->tramp);
	return r < 0 ? r : eng_write(&site->t->t, site->tramp.code, site->tramp.bytes, site->tramp.n);
}

/* At the entry of a call that is still to be made. Its instruction is run again: no breakpoint there. */
static int unmap_at_entry(struct rep_task *t, const uint64_t args[6], uint64_t entry, int64_t *ret)
{
	int r = eng_patch_lift(&t->t, entry, 2), back;

	if (r >= 0)
		r = eng_remote_at_entry(&t->t, SYS_munmap, args, ret);
	back = eng_patch_lower(&t->t, entry, 2);
	return MIN(r, back);
}

static int unmap(const struct rep_site *site, struct rep_task *t, int64_t *ret)
{
	const uint64_t args[6] = { site->room, REP_ROOM };
	struct user_regs_struct *r, saved;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	saved = *r;
	if (t->place == REP_ENTRY && !t->in_call && saved.orig_rax != UINT64_MAX)
		return unmap_at_entry(t, args, saved.rip - 2, ret);
	rc = rep_remote_quiet(t, SYS_munmap, args, ret);
	if (rc >= 0 && t->in_call) /* debuggers look at all of them */
		eng_regs_set(&t->t, &saved);
	return rc;
}

static int give_back(struct rep_site *site, struct rep_task *t)
{
	int64_t result = 0;
	int r = site->room ? unmap(site, t, &result) : 0;

	site->room = 0;
	return r < 0 ? r : (int)MIN(result, 0);
}

/* 1: done. 0: not possible here. */
static int plant(struct rep_cond *c, const struct code_expr *condition)
{
	struct rep_site *site = &c->site;
	struct sys_mem mem = eng_sys_mem(&site->t->t);
	struct eng_mm *mm = site->t->t.mm;
	int r;

	if (!code_plan_cached(site->s->code, aspace_code_key(&mm->as, site->at), &mem, site->at, &site->plan) || !is_lasting(mm, &site->plan))
		return 0;
	r = is_occupied(site->s, mm, site->at);
	if (r)
		return MIN(r, 0);
	r = rep_room_map(site);
	if (r <= 0)
		return r;
	r = build(c, condition);
	if (r < 0)
		return r == -ERANGE ? 0 : r;
	code_jump(&site->plan, &site->tramp, site->bytes);
	r = eng_patch_put(&site->t->t, site->at, site->bytes, CODE_JUMP_LEN);
	return r == -EEXIST || r == -EBUSY || r == -EFAULT ? 0 : r < 0 ? r : 1;
}

int rep_cond_open(struct rep_session *s, struct rep_task *t, uint64_t at, const struct code_expr *condition, struct rep_cond **ret)
{
	struct rep_cond *c = calloc(1, sizeof(*c));
	int r, e;

	if (!c)
		return -ENOMEM;
	c->site = (struct rep_site){ .s = s, .t = t, .at = at, .jump = true };
	r = plant(c, condition);
	c->site.t = NULL;
	if (r > 0) {
		*ret = c;
		return 1;
	}
	e = give_back(&c->site, t);
	free(c);
	log_debug("no condition in the guest at %#" PRIx64 ": %s", at, r < 0 ? err_str(r) : "no place for a jump");
	return r < 0 ? r : e;
}

int rep_cond_copy(const struct rep_cond *c, struct rep_cond **ret)
{
	struct rep_cond *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, c, sizeof(*copy));
	*ret = copy;
	return 0;
}

/* Has the room become somebody's? */
static bool is_room_lost(const struct rep_site *site, const struct eng_mm *mm)
{
	const struct mapping *m = aspace_next(&mm->as, site->room);

	return m && m->start < site->room + REP_ROOM;
}

int rep_cond_check(struct rep_cond *c, struct rep_task *t)
{
	const struct rep_site *site = &c->site;
	uint8_t bytes[sizeof(site->plan.bytes)];
	int r;

	if (!eng_patch_stands(t->t.mm, site->at) || !are_hidden(c, t->t.mm) || !is_lasting(t->t.mm, &site->plan) || is_room_lost(site, t->t.mm))
		return 0;
	r = eng_read(&t->t, site->at, bytes, site->plan.len);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	return !memcmp(bytes, site->plan.bytes, site->plan.len);
}

/* --- stops --- */

static bool is_fault(const struct eng_stop *st)
{
	return st->kind == ENG_STOP_SIGNAL && (st->signo == SIGSEGV || st->signo == SIGBUS || st->signo == SIGFPE);
}

/* Its registers as the guest would have them: enum code_where. */
static int rescue(struct rep_cond *c, struct rep_task *t)
{
	uint8_t data[CODE_DATA_MAX];
	struct user_regs_struct *r;
	enum code_where where;
	int rc = eng_regs(&t->t, &r);

	if (rc >= 0 && r->rip - c->site.tramp.code >= c->site.tramp.n)
		return CODE_OUTSIDE;
	if (rc >= 0)
		rc = eng_read(&t->t, c->site.tramp.data, data, sizeof(data));
	if (rc < 0)
		return rc;
	where = code_tramp_rescue(&c->site.plan, &c->site.tramp, data, r);
	if (where != CODE_MIXED)
		eng_regs_changed(&t->t);
	return (int)where;
}

/* Behind an access to watched memory. */
static bool is_watch(struct rep_task *t, const struct eng_stop *st)
{
	siginfo_t si;

	return st->kind == ENG_STOP_SIGNAL && st->signo == SIGTRAP && eng_siginfo(&t->t, &si) >= 0 && si.si_code == TRAP_HWBKPT;
}

/* In the middle of what was one instruction of the guest's. */
static int leave_copy(struct rep_cond *c, struct rep_task *t, struct eng_stop *st)
{
	struct user_regs_struct *r;
	struct eng_stop step;
	int where = CODE_MIXED, rc = 0;

	for (unsigned i = 0; i < STEPS_MAX && rc >= 0 && where == CODE_MIXED && !is_fault(st); i++) {
		rc = rep_step(t, &step);
		if (rc >= 0 && (step.kind != ENG_STOP_SIGNAL || step.signo != SIGTRAP || is_watch(t, &step)))
			*st = step;
		where = rc < 0 ? rc : rescue(c, t);
	}
	if (where != CODE_MIXED)
		return where == CODE_OUTSIDE ? CODE_AT : where; /* wherever: it has not been decided again */
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	if (!code_tramp_faulted(&c->site.plan, &c->site.tramp, r))
		return ERR_GUEST;
	eng_regs_changed(&t->t);
	return CODE_BEHIND;
}

/* From an instruction that the jump covers (from the first-th one on) to its copy: 1. 0: it stands elsewhere. */
static int enter_copy(struct rep_cond *c, struct rep_task *t, unsigned first)
{
	const struct code_plan *plan = &c->site.plan;
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0 || !eng_patch_stands(t->t.mm, plan->at))
		return MIN(rc, 0);
	for (unsigned i = first; i < plan->n && plan->off[i] < CODE_JUMP_LEN; i++)
		if (r->rip == plan->at + plan->off[i]) {
			r->rip = c->site.tramp.copy[i];
			eng_regs_changed(&t->t);
			return 1;
		}
	return 0;
}

int rep_cond_stop(struct rep_cond *c, struct rep_task *t, struct eng_stop *st)
{
	uint64_t undecided = c->site.tramp.undecided;
	struct user_regs_struct *r;
	unsigned met;
	bool asks, watch;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	if (st->kind == ENG_STOP_SIGNAL && st->signo == SIGILL) {
		/* it jumped into the middle: the byte there is no instruction (room.c) */
		rc = enter_copy(c, t, 1);
		return rc > 0 ? REP_COND_ON : rc;
	}
	asks = is_fault(st) || (undecided && r->rip == undecided + 1);
	watch = is_watch(t, st);
	rc = rescue(c, t);
	/* the condition itself has read watched memory */
	if (rc == CODE_AT && watch && eng_watch_hits(&t->t, &met) >= 0)
		return REP_COND_ASK;
	if (rc == CODE_MIXED)
		rc = leave_copy(c, t, st);
	if (rc < 0)
		return rc;
	switch ((enum code_where)rc) {
	case CODE_OUTSIDE:
		return REP_COND_NONE;
	case CODE_MATCHED:
		return REP_COND_TRUE;
	case CODE_AT:
		return asks ? REP_COND_ASK : REP_COND_MOVED;
	default:
		return r->rip == c->site.at && !is_fault(st) ? REP_COND_PAST : REP_COND_MOVED;
	}
}

int rep_cond_go_on(struct rep_cond *c, struct rep_task *t)
{
	return MIN(enter_copy(c, t, 0), 0);
}

/* --- the end --- */

static int rescue_all(struct rep_cond *c, const struct eng_mm *mm)
{
	struct rep_session *s = c->site.s;
	int r = 0;

	for (uint32_t i = 0; i < s->cap_tasks && r >= 0; i++)
		if (s->tasks[i] && s->tasks[i]->t.mm == mm && !s->tasks[i]->t.gone)
			r = rescue(c, s->tasks[i]);
	return MIN(r, 0);
}

int rep_cond_close(struct rep_cond *c, struct rep_task *t)
{
	int r = eng_patch_take(&t->t, c->site.at), e;

	if (r == ERR_NOT_FOUND)
		r = 0;
	if (is_room_lost(&c->site, t->t.mm)) {
		c->site.room = 0;
	} else {
		e = rescue_all(c, t->t.mm);
		r = MIN(r, e);
	}
	e = give_back(&c->site, t);
	free(c);
	return MIN(r, e);
}
