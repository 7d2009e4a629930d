/* Backwards. A stop before the present place is found by running forwards again from a checkpoint before it and taking the last one; the
 * last instruction before a place by getting ever closer to it from behind, until single steps reach it. */
#define LOG_AREA "replayer.reverse"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"

/* --- stops --- */

/* A stretch of history from a checkpoint to `to`, and the stops of the client's in it. */
struct stretch {
	uint64_t from; /* id */
	const struct rep_snapshot *snap; /* in place of that, not NULL: from here, which stands at .at */
	const struct dbg_here *at;
	struct dbg_goal to;
	bool to_here;  /* `to` is where the client stands: it knows of a stop right there */
	uint64_t stops;
	struct dbg_stop last;
};

/* The thread goes over what it has stopped for. */
static int go_over(struct dbg *d)
{
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;
	int r = t ? eng_regs(&t->t, &regs) : 0;

	if (t && r >= 0 && d->stop.kind == DBG_STOP_BREAK)
		t->over = regs->rip;
	return MIN(r, 0);
}

static bool is_known(const struct dbg *d, const struct stretch *s)
{
	return s->to_here && d->stop.kind != DBG_STOP_WATCH && d->s->event == s->to.events && !s->to.arrive && !s->to.state;
}

/* Runs through the stretch; stops at the n-th stop (0: at none). 0: through, or there; 1: interrupted. */
static int run_stretch(struct dbg *d, struct stretch *s, uint64_t n, struct errinfo *ei)
{
	uint64_t stops = 0;
	int r = s->snap ? dbg_restore_inside(d, s->snap, s->at, ei) : dbg_restore_checkpoint(d, dbg_checkpoint_index(d, s->from), ei);

	while (r >= 0) {
		r = dbg_forward(d, &s->to, ei);
		if (r <= 0 || d->stop.kind == DBG_STOP_INTERRUPTED)
			break;
		if (d->stop.kind == DBG_STOP_END || is_known(d, s)) {
			r = 0;
			break;
		}
		s->last = d->stop;
		if (++stops == n) {
			s->stops = stops;
			return 0;
		}
		r = dbg_interrupted(d); /* between stops that are close to each other few ticks come through */
		if (r)
			break;
		r = go_over(d);
	}
	s->stops = stops;
	return r;
}

/* Behind an access to what is watched: to right before it. */
static int before_access(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = d->s->event - 1, .arrive = true };
	struct dbg_stop stop = d->stop;
	struct dbg_resume how = { .how = DBG_STEP, .backwards = true, .tid = stop.tid };
	int r;

	if (d->here.computing) {
		d->muted = true;
		r = dbg_backwards(d, &how, ret, ei);
		d->muted = false;
	} else { /* the kernel did it */
		r = dbg_go(d, g.events, ei);
		if (r == 0)
			r = dbg_forward(d, &g, ei);
	}
	if (r == 0)
		*ret = stop;
	return r;
}

static int to_begin(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	*ret = (struct dbg_stop){ .kind = DBG_STOP_BEGIN };
	return dbg_restore_checkpoint(d, 0, ei);
}

/* --- the last instruction --- */

/* Bounds of single steps from a place on: first so many, then ever more. */
#define STEPS_FIRST 32u
#define STEPS_MOST 512u
/* Getting close to a goal within one computation. */
struct approach {
	struct dbg *d;
	const struct dbg_goal *goal;
	struct rep_snapshot *snap; /* before the goal; owned */
	struct dbg_here here;      /* there */
	bool rolled;               /* it is close already */
};

static int mark(struct approach *a, struct errinfo *ei)
{
	struct rep_snapshot *snap;
	int r = rep_snapshot_take(a->d->s, &snap, ei);

	if (r < 0)
		return r;
	rep_snapshot_free(a->d->s, a->snap);
	a->snap = snap;
	a->here = a->d->here;
	return 0;
}

static int rewind_to(struct approach *a, struct errinfo *ei)
{
	return dbg_restore_inside(a->d, a->snap, &a->here, ei);
}

/* Runs to the goal, with checkpoints ever closer to it. How often does the thread stand at addr on the way? */
static int count(struct approach *a, uint64_t addr, uint64_t *ret_hits, struct errinfo *ei)
{
	struct dbg_goal g = *a->goal;
	int r;

	g.addr = addr;
	g.hits = UINT64_MAX;
	g.roll = !a->rolled;
	a->d->last_roll_ns = a->d->here.spent_ns;
	r = dbg_forward(a->d, &g, ei);
	*ret_hits = a->d->hits;
	return r;
}

/* Is the goal reached? */
static int is_there(struct approach *a)
{
	struct rep_task *t = dbg_next_task(a->d);

	if (a->goal->arrive)
		return a->d->here.arrived;
	return t ? dbg_state_equal(t, a->goal->state) : 0;
}

/* At most n single steps: 1 *ret_n of them lead to the goal, 0 more are needed. */
static int steps_to_goal(struct approach *a, uint64_t n, uint64_t *ret_n, struct errinfo *ei)
{
	for (uint64_t i = 0; i < n; i++) {
		int r = dbg_step_inside(a->d, ei);

		if (r < 0)
			return r;
		*ret_n = i + 1;
		r = is_there(a);
		if (r)
			return r;
		if (a->d->here.arrived)
			return errinfo_set(ei, ERR_NOT_FOUND, "the thread did not come to the same place again");
	}
	return 0;
}

static int rip(struct dbg *d, uint64_t *ret)
{
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;
	int r = t ? eng_regs(&t->t, &regs) : ERR_NOT_FOUND;

	*ret = r < 0 ? 0 : regs->rip;
	return r;
}

/* It has run to the goal and come by checkpoints: to the last one that is at least `back` steps before the goal. 1: the mark is there now. 0: there is none. */
static int adopt(struct approach *a, uint64_t from, uint64_t back, struct errinfo *ei)
{
	struct dbg *d = a->d;
	uint64_t n;
	size_t i;
	int r = 0;

	while (from && from != a->here.from) {
		i = dbg_checkpoint_index(d, from);
		if (i == d->n_checkpoints || d->checkpoints[i].events != a->goal->events)
			return 0;
		from = d->checkpoints[i].parent;
		r = dbg_restore_checkpoint(d, i, ei);
		if (r >= 0)
			r = mark(a, ei);
		if (r >= 0)
			r = back > 1 ? steps_to_goal(a, back - 1, &n, ei) : 0;
		if (r <= 0)
			return r < 0 ? r : 1;
	}
	return 0;
}

/* To the last time that the thread stands at addr, at least `back` steps before the goal: 1, 0 it never does. */
static int leap(struct approach *a, uint64_t addr, uint64_t back, struct errinfo *ei)
{
	struct dbg_goal g = { .events = a->goal->events, .addr = addr };
	uint64_t came_from = a->d->here.from;
	int r = count(a, addr, &g.hits, ei);

	a->rolled = true;
	if (r == 0 && a->d->here.from != came_from)
		return adopt(a, a->d->here.from, back, ei);
	if (r == 0)
		r = rewind_to(a, ei);
	/* from one time to the next it is a step at least */
	if (r || g.hits < back)
		return r;
	g.hits -= back - 1;
	r = dbg_forward(a->d, &g, ei);
	if (r == 0)
		r = mark(a, ei);
	return r ? r : 1;
}

/* n steps behind the snapshot, and not at the goal: the snapshot moves here, 0. Unless the goal is so close that there would not be `back` steps
 * between: 1, *ret_n is how many lead there from the snapshot. */
static int move_mark(struct approach *a, uint64_t n, uint64_t back, uint64_t *ret_n, struct errinfo *ei)
{
	struct rep_snapshot *before = a->snap;
	const struct dbg_here here = a->here;
	int r;

	a->snap = NULL;
	r = mark(a, ei);
	if (r >= 0 && back > 1) {
		r = steps_to_goal(a, back - 1, ret_n, ei);
		*ret_n += n;
		if (r == 0)
			r = rewind_to(a, ei);
	}
	if (r == 0) {
		rep_snapshot_free(a->d->s, before);
		return 0;
	}
	rep_snapshot_free(a->d->s, a->snap);
	a->snap = before;
	a->here = here;
	return r;
}

/* An address that the thread comes to from the mark on, where it stands, and whose passes are counted quickly. It stands at the mark again. */
static int choose(struct approach *a, uint64_t *ret, struct errinfo *ei)
{
	enum { STEPS_ASIDE = 64 };
	uint64_t goal = a->goal->state ? a->goal->state->point.regs.rip : 0, addr, n = 0;
	struct rep_task *t = dbg_next_task(a->d);
	unsigned i = 0;
	int r = rip(a->d, &addr);

	*ret = addr;
	for (; r >= 0 && i < STEPS_ASIDE; i++) {
		if (dbg_finder_fits_beside(a->d, t, addr, goal)) {
			*ret = addr;
			break;
		}
		r = steps_to_goal(a, 1, &n, ei);
		if (r)
			break;
		r = rip(a->d, &addr);
	}
	return r < 0 ? r : i ? rewind_to(a, ei) : 0;
}

/* From the snapshot, which is before the goal: nearer, until single steps reach it. *ret_n: how many, at least `back` if there are. */
static int come_close(struct approach *a, uint64_t back, uint64_t *ret_n, struct errinfo *ei)
{
	uint64_t n = STEPS_FIRST, addr;
	int r;

	for (;;) {
		r = rewind_to(a, ei);
		if (r >= 0)
			r = steps_to_goal(a, n, ret_n, ei);
		if (r == 0)
			r = move_mark(a, n, back, ret_n, ei);
		if (r)
			return r;
		/* where it is now it may be many times more: over to the last of them */
		r = choose(a, &addr, ei);
		if (r >= 0)
			r = leap(a, addr, back, ei);
		if (a->d->stop.kind == DBG_STOP_INTERRUPTED && !a->d->inner)
			return ERR_INTERRUPTED;
		if (r < 0)
			return r;
		if (r == 0)
			n = MIN(n * 2, (uint64_t)STEPS_MOST);
	}
}

/* Remembers how the place was reached, since the next step backwards is likely to follow. */
static void keep_near(struct dbg *d, struct rep_snapshot *snap, const struct dbg_here *here, uint64_t steps)
{
	if (d->near != snap)
		rep_snapshot_free(d->s, d->near);
	d->near = snap;
	d->near_here = *here;
	d->near_steps = steps;
	d->near_moves = d->moves;
}

/* So many single steps behind the snapshot. */
static int stand_at(struct dbg *d, struct rep_snapshot *snap, const struct dbg_here *there, uint64_t steps, struct errinfo *ei)
{
	const struct dbg_here here = *there;
	int r = dbg_restore_inside(d, snap, &here, ei);

	for (uint64_t i = 0; i < steps && r >= 0; i++)
		r = dbg_step_inside(d, ei);
	if (r < 0)
		return r;
	keep_near(d, snap, &here, steps);
	return 0;
}

/* From where it stands: to `back` instructions before the goal. 1: it stands there. 0: there are not so many. */
static int step_back_from(struct dbg *d, const struct dbg_goal *goal, uint64_t back, struct errinfo *ei)
{
	struct approach a = { .d = d, .goal = goal };
	uint64_t n = 0;
	int r = is_there(&a);

	if (r)
		return MIN(r, 0);
	r = mark(&a, ei);
	if (r >= 0)
		r = come_close(&a, back, &n, ei);
	if (r > 0 && n >= back) {
		r = stand_at(d, a.snap, &a.here, n - back, ei);
		return r < 0 ? r : 1;
	}
	rep_snapshot_free(d->s, a.snap);
	return MIN(r, 0);
}

/* The same from checkpoint `from` of the goal's computation, or one that it came from, or the beginning of the computation. */
static int last_instruction(struct dbg *d, const struct dbg_goal *goal, uint64_t from, uint64_t back, struct errinfo *ei)
{
	size_t i = from ? dbg_checkpoint_index(d, from) : d->n_checkpoints;
	int r = 0;

	while (r == 0 && i < d->n_checkpoints && d->checkpoints[i].events == goal->events && d->checkpoints[i].computing) {
		from = d->checkpoints[i].parent;
		r = dbg_restore_checkpoint(d, i, ei);
		if (r >= 0)
			r = step_back_from(d, goal, back, ei);
		i = from ? dbg_checkpoint_index(d, from) : d->n_checkpoints;
	}
	if (r)
		return r;
	r = dbg_go(d, goal->events, ei);
	return r > 0 ? ERR_INTERRUPTED : r < 0 ? r : step_back_from(d, goal, back, ei);
}

/* The last checkpoint of a computation that ends behind so many events. */
static uint64_t last_inside(const struct dbg *d, uint64_t events)
{
	uint64_t id = 0;

	for (size_t i = 0; i < d->n_checkpoints && d->checkpoints[i].events <= events; i++)
		if (d->checkpoints[i].events == events && d->checkpoints[i].computing)
			id = d->checkpoints[i].id;
	return id;
}

/* A handler was entered between two instructions: a step by itself. */
static bool enters_handler(const struct event *ev)
{
	return ev->kind == EVENT_SIGNAL && ev->flags & EVENT_F_HANDLER && !dbg_executes(ev);
}

/* The last event at or before `number` in which thread num makes a step; 0: none. */
static int last_executed(struct dbg *d, uint32_t num, uint64_t number, struct event *ret, struct errinfo *ei)
{
	const struct event *ev;
	int r = 1;

	for (uint64_t n = number; n > d->begin && r > 0; n--) {
		r = store_reader_seek(d->scan, n, ei);
		if (r >= 0)
			r = store_reader_next(d->scan, &ev, ei);
		if (r > 0 && ev->thread == num && (dbg_executes(ev) || ev->kind == EVENT_ASYNC_POINT || enters_handler(ev))) {
			*ret = *ev;
			return 1;
		}
	}
	return MIN(r, 0);
}

/* The last of the steps that lead to an event's place is an attempt only: the instruction faults. */
static bool faults(const struct event *ev)
{
	return ev->kind == EVENT_TSC || ev->kind == EVENT_CPUID || (ev->kind == EVENT_SIGNAL && !(ev->flags & EVENT_F_AT_CALL));
}

/* How many steps before the place of ev was the state that comes before the one behind it? At an asynchronous point the last step finds that
 * it is there already. */
static uint64_t back_from_behind(const struct event *ev)
{
	return ev->kind == EVENT_ASYNC_POINT ? 2 : 1;
}

/* In computations of thread num that end with events up to `number`. */
static int into_earlier(struct dbg *d, uint32_t num, uint64_t number, struct dbg_stop *ret, struct errinfo *ei)
{
	struct event ev;
	int r;

	for (;;) {
		struct dbg_goal g = { .arrive = true };

		r = last_executed(d, num, number, &ev, ei);
		if (r <= 0)
			return r < 0 ? r : to_begin(d, ret, ei);
		g.events = ev.number - 1;
		if (enters_handler(&ev))
			return dbg_go(d, g.events, ei);
		r = last_instruction(d, &g, last_inside(d, g.events), back_from_behind(&ev), ei);
		if (r)
			return MIN(r, 0);
		number = ev.number - 1;
	}
}

static int step_backwards(struct dbg *d, struct dbg_place *here, pid_t tid, struct dbg_stop *ret, struct errinfo *ei)
{
	struct rep_task *t = dbg_task(d, tid), *runs = dbg_next_task(d);
	uint32_t num = t ? t->num : 0;
	int r;

	if (!t)
		return errinfo_set(ei, ERR_NOT_FOUND, "no thread %d lives here", (int)tid);
	*ret = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = tid };
	if (runs == t && (here->goal.state || here->goal.arrive)) {
		struct event ev = { 0 };

		r = here->goal.arrive && !here->ahead ? last_executed(d, num, here->goal.events + 1, &ev, ei) : 1;
		r = r < 0 ? r : last_instruction(d, &here->goal, here->here.from, here->ahead + (here->goal.arrive && !here->ahead && faults(&ev) ? 2 : 1), ei);
		if (r)
			return MIN(r, 0);
	}
	return into_earlier(d, num, here->goal.events, ret, ei);
}

/* --- the last stop --- */

/* Was that stop at the place where the client stands, or behind it? The goal lies some single steps behind that place. */
static int is_behind(struct dbg *d, struct dbg_place *here, struct errinfo *ei)
{
	struct approach a = { .d = d, .goal = &here->goal };
	struct dbg_stop stop = d->stop;
	uint64_t n = 0;
	int back, r;

	if (!here->ahead || d->s->event != here->goal.events)
		return 0;
	r = is_there(&a); /* the access was the last of those steps */
	if (r)
		return r;
	r = mark(&a, ei);
	if (r < 0)
		return r;
	r = is_there(&a);
	if (r == 0)
		r = steps_to_goal(&a, here->ahead, &n, ei);
	back = rewind_to(&a, ei);
	rep_snapshot_free(d->s, a.snap);
	d->stop = stop;
	if (r < 0 || back < 0)
		return MIN(r, back);
	/* an access was before the place behind it */
	return r && (n < here->ahead || stop.kind != DBG_STOP_WATCH);
}

/* So many stops in a stretch, and it is worth while to look for a place closer to its end. */
#define STOPS_MANY 4000u
/* Leaps of a gallop: from this down to that. */
#define LEAP_FIRST_NS 128000000ull
#define LEAP_LAST_NS 100000ull

/* One leap from a: 1 it led to a place behind which the stretch still has stops, where a is now. 0: it was too long. */
static int leap_on(struct approach *a, struct stretch *s, uint64_t ns, struct errinfo *ei)
{
	struct approach next = { .d = a->d };
	struct dbg_goal g = s->to;
	int r = rewind_to(a, ei);

	g.user = g.keep = false;
	g.pause_ns = ns;
	if (r >= 0)
		r = dbg_forward(a->d, &g, ei);
	if (r == 0 && a->d->paused) {
		r = mark(&next, ei);
		if (r >= 0)
			r = dbg_forward(a->d, &s->to, ei);
	} else if (r == 0) {
		return 0;
	}
	if (r > 0 && a->d->stop.kind != DBG_STOP_END && a->d->stop.kind != DBG_STOP_INTERRUPTED) {
		rep_snapshot_free(a->d->s, a->snap);
		*a = next;
		return 1;
	}
	rep_snapshot_free(a->d->s, next.snap);
	return r > 0 && a->d->stop.kind == DBG_STOP_INTERRUPTED ? ERR_INTERRUPTED : MIN(r, 0);
}

/* There are many stops in the stretch, of which the last one is wanted: it begins later from now on, in *near. Each leap is made without
 * the client's points, at full speed. */
static int gallop(struct dbg *d, struct stretch *s, struct approach *near, struct errinfo *ei)
{
	int r = dbg_restore_checkpoint(d, dbg_checkpoint_index(d, s->from), ei);

	*near = (struct approach){ .d = d };
	if (r >= 0)
		r = mark(near, ei);
	for (uint64_t ns = LEAP_FIRST_NS; r >= 0 && ns >= LEAP_LAST_NS; ns = r ? ns : ns / 2)
		r = leap_on(near, s, ns, ei);
	s->snap = near->snap;
	s->at = &near->here;
	return MIN(r, 0);
}

/* To the last of the stops of the stretch that counts: 1 it stands there, 0 there is none. here: as for last_stop(). */
static int to_last(struct dbg *d, struct stretch *s, struct dbg_place *here, struct dbg_stop *ret, struct errinfo *ei)
{
	for (uint64_t n = s->stops; n > 0; n--) {
		int r = run_stretch(d, s, n, ei);

		if (r)
			return r < 0 ? r : ERR_INTERRUPTED;
		r = here ? is_behind(d, here, ei) : 0;
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		*ret = s->last;
		if (ret->kind == DBG_STOP_WATCH)
			r = before_access(d, ret, ei);
		return r < 0 ? r : 1;
	}
	return 0;
}

/* Counts the stops of the stretch, and goes to the last one. */
static int count_and_go(struct dbg *d, struct stretch *s, uint64_t most, struct dbg_place *here, struct dbg_stop *ret, struct errinfo *ei)
{
	int r = run_stretch(d, s, most, ei);

	s->to.keep = false;
	if (r || (most && s->stops == most))
		return r < 0 ? r : r ? ERR_INTERRUPTED : 2;
	return to_last(d, s, here, ret, ei);
}

/* The last stop between a checkpoint and `to`, if there is one: 1 it stands there. here: `to` is where the client stands, else NULL. */
static int last_stop(struct dbg *d, struct stretch *s, struct dbg_place *here, struct dbg_stop *ret, struct errinfo *ei)
{
	struct approach near;
	int r;

	s->to_here = here != NULL;
	s->to.user = true;
	r = count_and_go(d, s, s->snap ? 0 : STOPS_MANY, here, ret, ei);
	if (r != 2)
		return r;
	r = gallop(d, s, &near, ei);
	if (r == 0)
		r = count_and_go(d, s, 0, here, ret, ei);
	s->snap = NULL;
	rep_snapshot_free(d->s, near.snap);
	/* all that it came to was behind the place */
	return r ? r : count_and_go(d, s, 0, here, ret, ei);
}

/* Where the stretch begins that ends at checkpoint i. Those that are found again at a high price only do not end one. 0: i is the first. */
static size_t stretch_before(const struct dbg *d, size_t i)
{
	const struct dbg_checkpoint *c = &d->checkpoints[i];
	uint64_t events = c->events;

	if (i == 0)
		return 0;
	if (c->computing)
		i = dbg_checkpoint_inside(d, events, c->parent);
	else
		while (i > 0 && d->checkpoints[i].events >= events)
			i--;
	return d->checkpoints[i].vague ? stretch_before(d, i) : i;
}

/* Where the stretch begins that ends where the client stands. */
static size_t stretch_to(const struct dbg *d, const struct dbg_place *here)
{
	size_t i = dbg_checkpoint_before(d, here->goal.events);

	if (here->goal.state || here->goal.arrive)
		i = dbg_checkpoint_inside(d, here->goal.events, here->here.from);
	else
		while (i > 0 && d->checkpoints[i].events >= here->goal.events)
			i--;
	return d->checkpoints[i].vague ? stretch_before(d, i) : i;
}

/* To a place before it, in the same computation. */
static int to_before(struct dbg *d, const struct dbg_place *here, struct errinfo *ei)
{
	size_t i = dbg_checkpoint_inside(d, here->goal.events, here->here.from);

	if (d->checkpoints[i].events == here->goal.events)
		return dbg_restore_checkpoint(d, i, ei);
	return dbg_go(d, here->goal.events, ei);
}

/* What stops often has done so shortly before: some hundred instructions are looked through first. As last_stop(). */
static int last_stop_close(struct dbg *d, struct dbg_place *here, struct dbg_stop *ret, struct errinfo *ei)
{
	struct approach a = { .d = d, .goal = &here->goal };
	struct stretch s = { .to = here->goal };
	uint64_t n;
	int r;

	if (!here->goal.state)
		return 0;
	r = to_before(d, here, ei);
	if (r)
		return r < 0 ? r : ERR_INTERRUPTED;
	r = is_there(&a);
	if (r)
		return MIN(r, 0);
	r = mark(&a, ei);
	if (r >= 0)
		r = come_close(&a, 1, &n, ei);
	s.snap = a.snap;
	s.at = &a.here;
	if (r > 0)
		r = last_stop(d, &s, here, ret, ei);
	rep_snapshot_free(d->s, a.snap);
	return r;
}

static int continue_backwards(struct dbg *d, struct dbg_place *here, struct dbg_stop *ret, struct errinfo *ei)
{
	const uint64_t pinned[2] = { d->pinned[0], d->pinned[1] };
	struct dbg_goal to = here->goal;
	size_t i = stretch_to(d, here);
	int r = last_stop_close(d, here, ret, ei);

	/* here is the first one where it began: nothing is before it */
	while (r == 0 && (i > 0 || !(to.events == d->checkpoints[0].events && !to.state && !to.arrive))) {
		const struct dbg_checkpoint c = d->checkpoints[i];

		struct stretch s = { .from = c.id, .to = to };

		s.to.keep = !c.computing; /* else it is short, to the next one */
		d->pinned[0] = c.id;
		r = last_stop(d, &s, here, ret, ei);
		here = NULL;
		i = dbg_checkpoint_index(d, c.id); /* others may have been made on the way */
		to = (struct dbg_goal){ .events = c.events, .state = c.state };
		d->pinned[1] = c.id;
		if (i == 0)
			break;
		i = stretch_before(d, i);
	}
	memcpy(d->pinned, pinned, sizeof(pinned));
	return r ? MIN(r, 0) : to_begin(d, ret, ei);
}

/* A step backwards has undone an access to what is watched? Then it is that what the client hears of. */
static int note_access(struct dbg *d, pid_t tid, struct dbg_stop *ret, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = DBG_FOREVER, .user = true };
	bool near = d->near && d->near_moves == d->moves;
	struct dbg_place here;
	int back, r;

	if ((!d->n_watch && !d->watch_guards) || ret->kind != DBG_STOP_STEP)
		return 0;
	r = dbg_place_take(d, false, &here, ei);
	if (r < 0)
		return r;
	d->step_tid = tid;
	r = dbg_forward(d, &g, ei);
	d->step_tid = 0;
	if (r > 0 && d->stop.kind == DBG_STOP_WATCH)
		*ret = d->stop;
	back = dbg_place_return(d, &here, ei);
	dbg_place_done(d, &here);
	if (near && back >= 0)
		d->near_moves = d->moves;
	return back < 0 ? back : MIN(r, 0);
}

int dbg_backwards(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei)
{
	struct dbg_place here;
	int r;

	if (how->how == DBG_STEP && d->near && d->near_moves == d->moves && d->near_steps > 0 && dbg_next_task(d) == dbg_task(d, how->tid)) {
		*ret = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = how->tid };
		r = stand_at(d, d->near, &d->near_here, d->near_steps - 1, ei);
		return r < 0 || d->muted ? r : note_access(d, how->tid, ret, ei);
	}
	/* a place between events is come back to by a checkpoint */
	r = !d->here.arrived && !d->here.computing ? dbg_checkpoint(d, ei) : 0;
	if (r >= 0)
		r = dbg_place_take(d, true, &here, ei);
	if (r < 0)
		return r;
	d->stop = (struct dbg_stop){ 0 };
	d->what = how->how == DBG_CONTINUE ? "searching backwards" : "stepping backwards";
	if (how->how == DBG_CONTINUE)
		r = continue_backwards(d, &here, ret, ei);
	else
		r = step_backwards(d, &here, how->tid, ret, ei);
	if (r == 0 && how->how != DBG_CONTINUE && !d->muted)
		r = note_access(d, how->tid, ret, ei);
	if (r < 0 && !d->lost) {
		struct errinfo second = { 0 };

		if (dbg_place_return(d, &here, &second) < 0)
			log_debug("not back: %s", second.text);
		if (r == ERR_INTERRUPTED) {
			*ret = (struct dbg_stop){ .kind = DBG_STOP_INTERRUPTED, .tid = how->tid };
			r = 0;
		}
	}
	dbg_place_done(d, &here);
	return r;
}

/* --- the last write --- */

/* What is looked for: a write that changes something. */
struct dbg_last {
	uint64_t addr;
	size_t len;
	uint8_t *old, *now; /* owned; what the memory held at the last look, and room for the next */
};

void dbg_last_note(struct dbg *d)
{
	if (d->last)
		dbg_read_all(d, d->last->addr, d->last->old, d->last->len);
}

static int is_changed(void *ctx, struct dbg *d, pid_t tid)
{
	struct dbg_last *l = ctx;
	uint8_t *old = l->old;

	(void)tid;
	dbg_read_all(d, l->addr, l->now, l->len);
	l->old = l->now;
	l->now = old;
	return memcmp(l->old, l->now, l->len) != 0;
}

int dbg_last_write(struct dbg *d, uint64_t addr, uint64_t len, struct dbg_stop *ret, struct errinfo *ei)
{
	enum { LEN_MAX = 1 << 20 };
	struct dbg_last l = { .addr = addr, .len = (size_t)len };
	const struct dbg_break b = { .kind = DBG_WATCH_WRITE, .addr = addr, .len = len, .cond = is_changed, .ctx = &l };
	const struct dbg_resume how = { .how = DBG_CONTINUE, .backwards = true };
	int r;

	if (!len || len > LEN_MAX)
		return errinfo_set(ei, ERR_LIMIT, "a range of 1 to %d bytes can be watched", LEN_MAX);
	l.old = calloc(1, l.len);
	l.now = calloc(1, l.len);
	r = l.old && l.now ? dbg_break_add(d, &b, &d->only) : -ENOMEM;
	if (r >= 0) {
		d->last = &l;
		r = dbg_resume(d, &how, ret, ei);
		d->last = NULL;
		if (dbg_break_remove(d, d->only) < 0)
			log_debug("watchpoint stays");
	}
	d->only = 0;
	free(l.old);
	free(l.now);
	return r;
}
