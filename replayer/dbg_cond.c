/* Conditions of a debugging session's breakpoints that the guest evaluates: where and when they stand in place of an int3.
 *
 * A breakpoint begins as an int3. When that was hit a few times for nothing, a jump to the condition takes its place (cond.c), if it is alone at its
 * address and a jump can stand there; it becomes an int3 again when
 *   - the run of the client's ends: everything else, like single steps, diversions and snapshots, knows of int3s only;
 *   - a search for a place looks at an address close by, for the computation that it looks through;
 *   - an event comes that jump or trampoline would not survive.
 * The stops are the same ones, whichever stands there: a hit of the jump asks the client as well. */
#define LOG_AREA "replayer.dbg_cond"
#include "replayer/dbg_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "engine/patch.h"
#include "replayer/cond_priv.h"

/* A jump costs as much as so many hits of an int3. */
#define PATIENCE 8u
#define PATIENCE_MAX (1u << 20)
/* Each has room of its own, and is asked at each stop. */
#define CONDS_MAX 64u
/* No search changes the guest's code farther behind the address that it looks at. */
#define SEARCH_LEN 20u

void dbg_cond_compile(struct dbg_point *p, const struct dbg_break *b)
{
	p->b.bytecode = NULL;
	p->b.bytecode_len = 0;
	p->patience = PATIENCE;
	if (b->kind != DBG_BREAK || !b->cond || !b->bytecode)
		return;
	p->expr = malloc(sizeof(*p->expr)); /* without it the client is asked */
	if (p->expr && code_expr_compile(b->bytecode, b->bytecode_len, p->expr) < 0)
		dbg_cond_done(p);
}

void dbg_cond_done(struct dbg_point *p)
{
	rep_cond_forget(p->cond);
	free(p->expr);
	p->cond = NULL;
	p->expr = NULL;
}

/* --- closing --- */

/* How well t serves for a call of ours. */
static unsigned fitness(const struct rep_task *t)
{
	return (t->in_call ? 1 : 3) + (t->place == REP_ENTRY ? 0 : 1);
}

/* NULL: nobody lives in the address space. */
static struct rep_task *helper(const struct dbg *d)
{
	struct rep_task *best = NULL;

	for (uint32_t i = 0; i < d->s->cap_tasks; i++) {
		struct rep_task *t = d->s->tasks[i];

		if (t && !t->t.gone && t->t.mm == d->cond_mm && (!best || fitness(t) > fitness(best)))
			best = t;
	}
	return best;
}

static int shut(struct dbg *d, struct dbg_point *p)
{
	struct rep_task *t = helper(d);
	struct rep_cond *c = p->cond;
	int r, patched;

	p->cond = NULL;
	p->falses = 0;
	d->n_conds--;
	if (!t) {
		rep_cond_forget(c);
		return 0;
	}
	r = rep_cond_close(c, t);
	patched = dbg_breaks_patch(d, t, p->b.addr);
	return MIN(r, patched);
}

int dbg_cond_close(struct dbg *d)
{
	int r = 0;

	for (size_t i = 0; i < d->n_points && d->n_conds; i++)
		if (d->points[i].cond) {
			int e = shut(d, &d->points[i]);

			r = MIN(r, e);
		}
	return r;
}

/* --- in the way of searches --- */

static bool is_close(uint64_t searched, uint64_t at, uint64_t len)
{
	return searched && (searched - at < len || at - searched < SEARCH_LEN);
}

/* Does a search in the computation that is on, or comes, look at the len bytes at `at`, or close before them? */
static bool is_searched(const struct dbg *d, const struct eng_mm *mm, uint64_t at, uint64_t len)
{
	const struct dbg_goal *g = d->goal;
	const struct event *ev;
	struct rep_task *t;

	if (g && g->events == d->s->event && (is_close(g->addr, at, len) || (g->state && is_close(g->state->point.regs.rip, at, len))))
		return true;
	if (rep_session_pending(d->s, &ev, NULL) <= 0 || ev->kind != EVENT_ASYNC_POINT)
		return false;
	t = rep_task(d->s, ev->thread);
	/* counted steps would count those of a trampoline */
	return t && t->t.mm == mm && (ev->args[EVENT_POINT_KIND] == EVENT_POINT_STEPS || is_close(ev->rip, at, len));
}

int dbg_cond_limit(struct dbg *d)
{
	int r = 0;

	for (size_t i = 0; i < d->n_points && d->n_conds && r >= 0; i++) {
		struct dbg_point *p = &d->points[i];

		if (p->cond && is_searched(d, d->cond_mm, p->b.addr, rep_cond_len(p->cond)))
			r = shut(d, p);
	}
	return r;
}

static bool plan_of(struct dbg *d, struct rep_task *t, uint64_t at, struct code_plan *ret)
{
	struct sys_mem mem = eng_sys_mem(&t->t);

	return code_plan_cached(d->s->code, aspace_code_key(&t->t.mm->as, at), &mem, at, ret);
}

bool dbg_cond_covers(struct dbg *d, struct rep_task *t, const struct dbg_point *p, uint64_t addr)
{
	struct code_plan plan;

	return p->expr && addr - p->b.addr < sizeof(plan.bytes) && plan_of(d, t, p->b.addr, &plan) && addr - p->b.addr < plan.len;
}

/* --- opening --- */

void dbg_cond_begin(struct dbg *d)
{
	d->conds_on = d->goal->user && !d->step_tid && !d->watch_guards && !d->diverted;
}

/* The only breakpoint at that address, and the guest can evaluate its condition. */
static struct dbg_point *lone_point(struct dbg *d, uint64_t addr)
{
	struct dbg_point *found = NULL;

	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];

		if (p->b.kind != DBG_BREAK || p->b.addr != addr)
			continue;
		if (found || !p->expr)
			return NULL;
		found = p;
	}
	return found;
}

/* 1: it stands. */
static int open_cond(struct dbg *d, struct dbg_point *p, struct rep_task *t)
{
	struct code_plan plan;
	int r, patched;

	if (d->n_conds == CONDS_MAX || !plan_of(d, t, p->b.addr, &plan) || is_searched(d, t->t.mm, p->b.addr, plan.len))
		return 0;
	r = eng_patch_clear(&t->t, p->b.addr);
	if (r < 0)
		return r == ERR_NOT_FOUND ? 0 : r;
	r = rep_cond_open(d->s, t, p->b.addr, p->expr, &p->cond);
	if (r > 0) {
		d->cond_mm = t->t.mm;
		d->n_conds++;
		log_debug("the guest evaluates the condition at %#" PRIx64, p->b.addr);
		return 1;
	}
	patched = dbg_breaks_patch(d, t, p->b.addr);
	return MIN(r, patched);
}

/* --- stops --- */

int dbg_cond_stopped(struct dbg *d, struct rep_task *t, struct eng_stop *st, uint64_t *ret_addr)
{
	if (!d->n_conds || t->t.mm != d->cond_mm || (st->kind != ENG_STOP_SIGNAL && st->kind != ENG_STOP_TRAP))
		return DBG_COND_NONE;
	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];
		int r = p->cond ? rep_cond_stop(p->cond, t, st) : REP_COND_NONE;

		if (r < 0)
			return r;
		*ret_addr = p->b.addr;
		switch ((enum rep_cond_hit)r) {
		case REP_COND_NONE:
			continue;
		case REP_COND_TRUE:
		case REP_COND_ASK:
			return DBG_COND_HIT;
		case REP_COND_ON:
			return DBG_COND_ON;
		case REP_COND_MOVED:
			return DBG_COND_NONE;
		case REP_COND_PAST:
			t->over = p->b.addr;
			return DBG_COND_NONE;
		}
	}
	return DBG_COND_NONE;
}

int dbg_cond_false(struct dbg *d, struct rep_task *t, uint64_t addr, bool tried)
{
	struct dbg_point *p = d->conds_on && t->t.mm == d->patched ? lone_point(d, addr) : NULL;
	int r = 0;

	if (!p)
		return 0;
	if (!tried && p->cond) {
		t->over = 0;
		return rep_cond_go_on(p->cond, t);
	}
	if (p->cond || ++p->falses < p->patience)
		return 0;
	r = open_cond(d, p, t);
	if (r <= 0) {
		p->falses = 0;
		p->patience = MIN(p->patience * 2, PATIENCE_MAX);
	}
	return MIN(r, 0);
}

/* --- events --- */

/* What the kernel of this machine does again: the room must not be in its way. */
static bool is_remapped(const struct rep_cond *c, const struct event *ev)
{
	uint64_t len = MAX(ev->args[1], ev->args[2]);

	if (ev->sysno != SYS_mremap || (ev->kind != EVENT_SYSCALL && ev->kind != EVENT_SYSCALL_EXIT))
		return false;
	return rep_cond_covers(c, ev->args[0], len) || rep_cond_meets(c, ev->args[0], len) || rep_cond_covers(c, (uint64_t)ev->result, len);
}

static bool is_endangered(const struct rep_cond *c, const struct event *ev)
{
	if (ev->kind == EVENT_EXEC || is_remapped(c, ev))
		return true;
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if ((e->kind == EFFECT_MAP || e->kind == EFFECT_UNMAP) && rep_cond_covers(c, e->addr, e->len))
			return true;
	}
	return false;
}

int dbg_cond_event(struct dbg *d, struct rep_task *t, const struct event *ev)
{
	int r = 0;

	if (t->t.mm != d->cond_mm)
		return 0;
	for (size_t i = 0; i < d->n_points && d->n_conds && r >= 0; i++)
		if (d->points[i].cond && is_endangered(d->points[i].cond, ev))
			r = shut(d, &d->points[i]);
	return r;
}

int dbg_cond_follow(struct dbg *d)
{
	struct rep_task *t = d->n_conds ? helper(d) : NULL;
	int r = 0;

	for (size_t i = 0; i < d->n_points && d->n_conds && r >= 0; i++) {
		struct dbg_point *p = &d->points[i];

		if (!p->cond)
			continue;
		r = t ? rep_cond_check(p->cond, t) : 0;
		if (r == 0)
			r = shut(d, p);
	}
	return MIN(r, 0);
}

int dbg_cond_forked(struct dbg *d, struct rep_task *t)
{
	struct rep_cond *copy;
	int r = 0;

	for (size_t i = 0; i < d->n_points && d->n_conds && r >= 0; i++) {
		const struct dbg_point *p = &d->points[i];

		if (!p->cond || !eng_patch_stands(t->t.mm, p->b.addr))
			continue;
		r = rep_cond_copy(p->cond, &copy);
		if (r >= 0)
			r = rep_cond_close(copy, t);
	}
	return r;
}
