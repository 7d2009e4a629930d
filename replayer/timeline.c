/* Places in history: going from one to another, and knowing one again. */
#define LOG_AREA "replayer.timeline"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"

/* --- going --- */

int dbg_go(struct dbg *d, uint64_t events, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = events, .keep = true };
	size_t i = dbg_checkpoint_before(d, events);
	const struct dbg_checkpoint *c = &d->checkpoints[i];
	bool ahead = d->s->event < events || (d->s->event == events && !d->here.computing && !d->here.arrived);
	int r = 0;

	/* on from here, unless a checkpoint is nearer */
	if (!ahead || (c->events > d->s->event && c->events <= events) || (c->computing && c->events == d->s->event && c->events < events && !d->here.computing))
		r = dbg_restore_checkpoint(d, i, ei);
	return r < 0 ? r : dbg_forward(d, &g, ei);
}

int dbg_go_inside(struct dbg *d, uint64_t events, struct errinfo *ei)
{
	size_t i = dbg_checkpoint_before(d, events + 1);

	while (d->checkpoints[i].events > events)
		i--;
	if (d->checkpoints[i].events == events && d->checkpoints[i].computing)
		return dbg_restore_checkpoint(d, i, ei);
	return dbg_go(d, events, ei);
}

/* --- states --- */

int dbg_state_take(struct dbg *d, struct dbg_state *ret, struct errinfo *ei)
{
	struct rep_task *t = dbg_next_task(d);
	int r;

	*ret = (struct dbg_state){ 0 };
	if (!t)
		return errinfo_set(ei, ERR_NOT_FOUND, "nobody runs here");
	r = rep_point_take(t, &ret->point);
	if (r >= 0) {
		r = rep_snapshot_take(d->s, &ret->snap, ei);
		if (r < 0)
			rep_point_done(&ret->point);
	}
	return r < 0 ? errinfo_set_r(ei, r, "note the state of the thread") : 0;
}

void dbg_state_done(struct dbg *d, struct dbg_state *st)
{
	rep_point_done(&st->point);
	rep_snapshot_free(d->s, st->snap);
	*st = (struct dbg_state){ 0 };
}

int dbg_state_equal(struct rep_task *t, struct dbg_state *st)
{
	int r = rep_point_compare(&st->point, t, NULL, 0, NULL);

	return r > 0 ? rep_snapshot_same_memory(st->snap, t, &st->hint, NULL) : r;
}

int dbg_state_learn(struct rep_task *t, struct dbg_state *st, const struct code_cond *known, unsigned n, struct code_cond *ret)
{
	struct code_cond c = { .kind = CODE_COND_WORD };
	int r = rep_point_compare(&st->point, t, known, n, ret);

	if (r <= 0)
		return r;
	r = rep_snapshot_same_memory(st->snap, t, &st->hint, &c.value);
	c.addr = st->hint;
	*ret = c;
	for (unsigned i = 0; i < n; i++)
		if (known[i].kind == c.kind && known[i].addr == c.addr)
			ret->kind = CODE_COND_MAX_;
	return r;
}

/* --- places --- */

/* In the middle of computation: to the next instruction that can be found quickly. Some of those single steps may lead to the next event. */
static int place_shift(struct dbg *d, struct dbg_place *p, struct errinfo *ei)
{
	enum { AHEAD_MAX = 16 };
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;
	bool found = false;
	int r = 1;

	while (r > 0 && p->ahead < AHEAD_MAX) {
		r = eng_regs(&t->t, &regs);
		found = r >= 0 && dbg_finder_fits(d, t, regs->rip);
		if (r < 0 || found)
			break;
		if (!p->snap)
			r = rep_snapshot_take(d->s, &p->snap, ei);
		if (r >= 0)
			r = dbg_step_inside(d, ei);
		p->ahead++;
	}
	p->goal.arrive = d->here.arrived;
	if (r < 0 || found || d->here.arrived)
		return MIN(r, 0);
	/* none is better than another */
	p->ahead = 0;
	r = dbg_restore(d, p->snap, ei);
	d->here.computing = true;
	rep_snapshot_free(d->s, p->snap);
	p->snap = NULL;
	return r;
}

/* Does it stand at an instruction that faults? */
static bool faulted(struct dbg *d)
{
	const struct event *ev;

	return rep_session_pending(d->s, &ev, NULL) > 0 && ev->kind == EVENT_SIGNAL && !(ev->flags & EVENT_F_ASYNC);
}

/* Not taken: it stands where it stood, as far as that is possible. */
static void place_drop(struct dbg *d, struct dbg_place *p)
{
	struct errinfo ei = { 0 };

	if (p->ahead && p->snap && !d->lost && dbg_restore_inside(d, p->snap, &p->here, &ei) < 0)
		log_debug("not back: %s", ei.text);
	dbg_place_done(d, p);
	*p = (struct dbg_place){ 0 };
}

int dbg_place_take(struct dbg *d, bool shift, struct dbg_place *ret, struct errinfo *ei)
{
	int r = 0;

	*ret = (struct dbg_place){ .goal = { .events = d->s->event, .arrive = d->here.arrived }, .here = d->here };
	if (shift && !d->here.arrived && d->here.computing)
		r = place_shift(d, ret, ei);
	if (r >= 0 && d->here.arrived && !ret->snap && faulted(d)) /* the instruction faults again when it is run again */
		r = rep_snapshot_take(d->s, &ret->snap, ei);
	if (r >= 0 && !d->here.arrived && d->here.computing) {
		r = dbg_state_take(d, &ret->state, ei);
		ret->goal.state = &ret->state;
	}
	if (r < 0)
		place_drop(d, ret);
	return r;
}

void dbg_place_done(struct dbg *d, struct dbg_place *p)
{
	rep_snapshot_free(d->s, p->snap);
	if (p->goal.state)
		dbg_state_done(d, &p->state);
}

static int go_back(struct dbg *d, struct dbg_place *p, struct errinfo *ei)
{
	struct dbg_goal g = p->goal;
	int r;

	if (g.state || p->snap) {
		r = dbg_restore_inside(d, p->snap ? p->snap : p->state.snap, &p->here, ei);
		if (r >= 0 && g.arrive && !p->ahead)
			r = dbg_forward(d, &g, ei);
		return r;
	}
	r = dbg_go(d, g.events, ei);
	return r == 0 && g.arrive ? dbg_forward(d, &g, ei) : r;
}

int dbg_place_return(struct dbg *d, struct dbg_place *p, struct errinfo *ei)
{
	int r;

	d->going_back = true;
	r = go_back(d, p, ei);
	d->going_back = false;
	return r;
}

/* --- names of places --- */

/* A count that took longer leaves a checkpoint. */
#define LONG_COUNT_NS 20000000ull

/* To where counting how often a thread comes to addr, up to a place that came from checkpoint `from`, can begin. */
static int to_count_from(struct dbg *d, struct dbg_goal *g, uint64_t from, struct errinfo *ei)
{
	size_t i = dbg_checkpoint_inside(d, g->events, from);

	while (d->checkpoints[i].computing && d->checkpoints[i].events == g->events && d->checkpoints[i].addr != g->addr)
		i = dbg_checkpoint_inside(d, g->events, d->checkpoints[i].parent);
	if (!d->checkpoints[i].computing || d->checkpoints[i].events != g->events)
		return dbg_go(d, g->events, ei);
	g->base = d->checkpoints[i].hits;
	return dbg_restore_checkpoint(d, i, ei);
}

/* It stands at the place that was counted. */
static int name_checkpoint(struct dbg *d, const struct dbg_pos *p, struct errinfo *ei)
{
	int r = dbg_checkpoint(d, ei);
	size_t i = dbg_checkpoint_index(d, d->here.from);

	if (r < 0 || i == d->n_checkpoints)
		return r;
	d->checkpoints[i].named = true;
	d->checkpoints[i].addr = p->addr;
	d->checkpoints[i].hits = p->hits;
	return 0;
}

/* From the place whose state that is, and back to it. */
static int count(struct dbg *d, struct dbg_state *st, const struct dbg_here *here, struct dbg_pos *ret, struct errinfo *ei)
{
	struct dbg_goal g = { .events = ret->events, .state = st, .addr = st->point.regs.rip, .hits = UINT64_MAX, .total = true, .keep = true };
	uint64_t began = os_mono_ns();
	int r = to_count_from(d, &g, here->from, ei);

	if (r == 0)
		r = dbg_forward(d, &g, ei);
	if (r != 0 || !d->here.computing)
		return r;
	*ret = (struct dbg_pos){ .events = g.events, .addr = g.addr, .hits = d->hits + 1 };
	return os_mono_ns() - began > LONG_COUNT_NS ? name_checkpoint(d, ret, ei) : 0;
}

static int name_place(struct dbg *d, struct dbg_pos *ret, struct errinfo *ei)
{
	const struct dbg_here here = d->here;
	struct dbg_state st;
	int r = dbg_state_take(d, &st, ei);

	if (r < 0)
		return r;
	r = count(d, &st, &here, ret, ei);
	if (r != 0 && dbg_restore_inside(d, st.snap, &here, ei) < 0)
		log_debug("lost");
	dbg_state_done(d, &st);
	return r;
}

int dbg_where(struct dbg *d, struct dbg_pos *ret, struct errinfo *ei)
{
	int r;

	if (d->diverted)
		return errinfo_set(ei, ERR_BUSY, "a call of a function is going on: its copy has no position");
	*ret = (struct dbg_pos){ .events = d->s->event };
	if (d->here.arrived || !d->here.computing) {
		ret->arrived = d->here.arrived;
		return 0;
	}
	if (d->diverted)
		return errinfo_set(ei, -EINVAL, "a call of a function is going on, in a copy: that has no position");
	if (d->named_moves == d->moves) {
		*ret = d->named;
		return 0;
	}
	dbg_clock(true);
	d->what = "counting how to come here";
	r = name_place(d, ret, ei);
	dbg_clock(false);
	if (r == 0) {
		d->named = *ret;
		d->named_moves = d->moves;
	}
	if (r == ERR_NOT_FOUND)
		errinfo_set(ei, r, "the thread did not come to the same place again");
	return r > 0 ? errinfo_set(ei, ERR_INTERRUPTED, "stopped while counting how to come here") : r;
}

int dbg_go_counted(struct dbg *d, const struct dbg_pos *to, struct errinfo *ei)
{
	struct dbg_goal g = { .events = to->events, .addr = to->addr, .hits = to->hits, .total = true, .keep = true };
	size_t i = dbg_checkpoint_counted(d, to->events, to->addr, to->hits);
	int r;

	if (i == d->n_checkpoints) {
		r = dbg_go(d, to->events, ei);
	} else {
		g.base = d->checkpoints[i].hits;
		r = dbg_restore_checkpoint(d, i, ei);
	}
	return r || g.base == g.hits ? r : dbg_forward(d, &g, ei);
}
