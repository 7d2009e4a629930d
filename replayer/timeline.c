/* Places in history: checkpoints, and going from one to another. */
#define LOG_AREA "replayer.timeline"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"

/* While this many are kept, the time between them doubles rather than their number. */
#define CHECKPOINTS_MAX 48u
/* A checkpoint may cost this part of the time that it stands for. */
#define COST_FACTOR 25u
#define MEMORY_DEFAULT (1ull << 30)

/* --- checkpoints --- */

static bool is_before(const struct dbg_checkpoint *a, uint64_t events, uint64_t seq)
{
	return a->events < events || (a->events == events && a->seq < seq);
}

static void drop(struct dbg *d, size_t i)
{
	rep_snapshot_free(d->s, d->checkpoints[i].snap);
	memmove(d->checkpoints + i, d->checkpoints + i + 1, (d->n_checkpoints - i - 1) * sizeof(*d->checkpoints));
	d->n_checkpoints--;
}

/* Every second one goes, but for the first and the last. */
static void thin_out(struct dbg *d)
{
	for (size_t i = 1; i + 1 < d->n_checkpoints; i++)
		drop(d, i);
	d->interval_ns *= 2;
}

static uint64_t memory_of(const struct dbg *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->n_checkpoints; i++)
		sum += rep_snapshot_bytes(d->checkpoints[i].snap);
	return sum;
}

static void keep_limits(struct dbg *d)
{
	uint64_t limit = d->opt.checkpoint_memory ? d->opt.checkpoint_memory : MEMORY_DEFAULT;

	if (d->n_checkpoints > CHECKPOINTS_MAX)
		thin_out(d);
	/* asking costs: not each time */
	if (d->n_checkpoints % 8 == 0)
		while (d->n_checkpoints > 2 && memory_of(d) > limit)
			thin_out(d);
}

static int insert(struct dbg *d, size_t at, struct rep_snapshot *snap, uint64_t seq)
{
	struct dbg_checkpoint *v = reallocarray(d->checkpoints, d->n_checkpoints + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	d->checkpoints = v;
	memmove(v + at + 1, v + at, (d->n_checkpoints - at) * sizeof(*v));
	v[at] = (struct dbg_checkpoint){ .events = d->s->event, .seq = seq, .snap = snap };
	d->n_checkpoints++;
	return 0;
}

/* In the middle of computation their order is known only behind the last one. */
static bool has_place(const struct dbg *d, uint64_t *ret_seq, size_t *ret_at)
{
	size_t at = 0;

	*ret_seq = d->here.computing ? d->here.seq + 1 : 0;
	while (at < d->n_checkpoints && is_before(&d->checkpoints[at], d->s->event, *ret_seq))
		at++;
	*ret_at = at;
	return at == d->n_checkpoints || d->checkpoints[at].events > d->s->event;
}

int dbg_checkpoint(struct dbg *d, struct errinfo *ei)
{
	uint64_t began = os_mono_ns(), seq, took;
	struct rep_snapshot *snap;
	size_t at;
	int r;

	d->last_checkpoint = began;
	if (d->here.arrived || !has_place(d, &seq, &at))
		return 0;
	r = rep_snapshot_take(d->s, &snap, ei);
	if (r < 0)
		return r;
	r = insert(d, at, snap, seq);
	if (r < 0) {
		rep_snapshot_free(d->s, snap);
		return r;
	}
	d->here.seq = seq;
	took = os_mono_ns() - began;
	d->interval_ns = MAX(d->interval_ns, took * COST_FACTOR);
	d->last_checkpoint = os_mono_ns();
	log_debug("checkpoint after event %" PRIu64 "/%" PRIu64 ", %" PRIu64 " us", d->s->event, seq, took / 1000);
	keep_limits(d);
	return 0;
}

void dbg_checkpoints_free(struct dbg *d)
{
	while (d->n_checkpoints)
		drop(d, d->n_checkpoints - 1);
	free(d->checkpoints);
	rep_snapshot_free(d->s, d->near);
}

int dbg_restore(struct dbg *d, const struct rep_snapshot *snap, struct errinfo *ei)
{
	int r = rep_snapshot_restore(d->s, snap, ei);

	d->patched = NULL;
	d->guards = NULL;
	d->here = (struct dbg_here){ 0 };
	d->told = false;
	d->moves++;
	if (r >= 0)
		r = dbg_breaks_sync(d);
	if (r >= 0)
		dbg_last_reset(d);
	d->lost = r < 0;
	return r;
}

int dbg_restore_checkpoint(struct dbg *d, size_t i, struct errinfo *ei)
{
	int r = dbg_restore(d, d->checkpoints[i].snap, ei);

	d->here.seq = d->checkpoints[i].seq;
	d->here.computing = d->here.seq > 0;
	d->last_checkpoint = os_mono_ns();
	return r;
}

size_t dbg_checkpoint_before(const struct dbg *d, uint64_t events)
{
	size_t i = 0;

	while (i + 1 < d->n_checkpoints && !(is_before(&(struct dbg_checkpoint){ .events = events }, d->checkpoints[i + 1].events, d->checkpoints[i + 1].seq)))
		i++;
	return i;
}

/* --- going --- */

int dbg_go(struct dbg *d, uint64_t events, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = events, .keep = true };
	size_t i = dbg_checkpoint_before(d, events);
	const struct dbg_checkpoint *c = &d->checkpoints[i];
	bool ahead = d->s->event < events || (d->s->event == events && !d->here.computing);
	int r = 0;

	/* on from here, unless a checkpoint is nearer */
	if (!ahead || (c->events > d->s->event && c->events <= events))
		r = dbg_restore_checkpoint(d, i, ei);
	return r < 0 ? r : dbg_forward(d, &g, ei);
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

int dbg_place_take(struct dbg *d, bool shift, struct dbg_place *ret, struct errinfo *ei)
{
	int r = 0;

	*ret = (struct dbg_place){ .goal = { .events = d->s->event, .arrive = d->here.arrived } };
	if (shift && !d->here.arrived && d->here.computing)
		r = place_shift(d, ret, ei);
	if (r >= 0 && d->here.arrived && !ret->snap && faulted(d)) /* the instruction faults again when it is run again */
		r = rep_snapshot_take(d->s, &ret->snap, ei);
	if (r >= 0 && !d->here.arrived && d->here.computing) {
		r = dbg_state_take(d, &ret->state, ei);
		ret->goal.state = &ret->state;
	}
	return r;
}

void dbg_place_done(struct dbg *d, struct dbg_place *p)
{
	rep_snapshot_free(d->s, p->snap);
	if (p->goal.state)
		dbg_state_done(d, &p->state);
}

int dbg_place_return(struct dbg *d, struct dbg_place *p, struct errinfo *ei)
{
	struct dbg_goal g = p->goal;
	int r;

	if (g.state || p->snap) {
		r = dbg_restore(d, p->snap ? p->snap : p->state.snap, ei);
		d->here.computing = true;
		if (r >= 0 && g.arrive && !p->ahead)
			r = dbg_forward(d, &g, ei);
		return r;
	}
	r = dbg_go(d, g.events, ei);
	return r == 0 && g.arrive ? dbg_forward(d, &g, ei) : r;
}

int dbg_where(struct dbg *d, struct dbg_pos *ret, struct errinfo *ei)
{
	struct dbg_goal g = { .events = d->s->event };
	struct dbg_state st;
	int r;

	*ret = (struct dbg_pos){ .events = d->s->event };
	if (d->here.arrived || !d->here.computing) {
		ret->arrived = d->here.arrived;
		return 0;
	}
	if (d->diverted)
		return errinfo_set(ei, -EINVAL, "a call of a function is going on, in a copy: that has no position");
	dbg_clock(true);
	d->what = "counting how to come here";
	r = dbg_state_take(d, &st, ei);
	if (r >= 0)
		r = dbg_go(d, d->s->event, ei);
	if (r >= 0) {
		g.state = &st;
		g.addr = st.point.regs.rip;
		g.hits = UINT64_MAX;
		r = dbg_forward(d, &g, ei);
		if (r == 0 && d->here.computing)
			*ret = (struct dbg_pos){ .events = g.events, .addr = g.addr, .hits = d->hits + 1 };
	}
	if (r != 0 && st.snap) {
		if (dbg_restore(d, st.snap, ei) < 0)
			log_debug("lost");
		d->here.computing = true;
	}
	if (r >= 0 || st.snap)
		dbg_state_done(d, &st);
	dbg_clock(false);
	if (r == ERR_NOT_FOUND)
		errinfo_set(ei, r, "the thread did not come to the same place again");
	return r > 0 ? errinfo_set(ei, ERR_INTERRUPTED, "stopped while counting how to come here") : r;
}
