/* Checkpoints: snapshots of a debugging session, made by what they cost and kept within limits.
 *
 * Those between events are in order by the number of events. Those in the middle of computation know only which other one they
 * came from, their parent: two that came from the same one may lie in either order. So what is before a place is the checkpoint that the
 * place came from, and its parents. CPU time since the computation began puts them in an order that is likely right; nothing depends on it. */
#define LOG_AREA "replayer.checkpoints"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/os.h"

/* While this many are kept, the time between them doubles rather than their number. */
#define CHECKPOINTS_MAX 96u
/* Of a search that comes closer to a place: so many more. */
#define ROLLING_MAX 12u
/* A checkpoint may cost this part of the time that it stands for, and so may it to ask how much memory they take. */
#define COST_FACTOR 25u
#define MEMORY_DEFAULT (1ull << 30)
/* Stands nothing at the instruction that could be waited for quickly, then the next one is tried so often. */
#define TRIES_MAX 6u

/* --- CPU time --- */

static uint64_t cpu_ns(pid_t tgid)
{
	struct timespec at;
	clockid_t clock;

	if (clock_getcpuclockid(tgid, &clock) || clock_gettime(clock, &at) < 0)
		return 0;
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* An event that came since the last look makes it too much by what was before it. */
void dbg_spend(struct dbg *d)
{
	struct rep_task *t = dbg_next_task(d);
	pid_t tgid = t ? t->proc->tgid : 0;
	uint64_t now = t ? cpu_ns(tgid) : 0;

	d->here.spent_ns += tgid == d->seen_tgid ? now - MIN(now, d->seen_ns) : now;
	d->seen_tgid = tgid;
	d->seen_ns = now;
}

/* --- the list --- */

static bool is_before(const struct dbg_checkpoint *a, uint64_t events, bool computing, uint64_t spent_ns)
{
	if (a->events != events)
		return a->events < events;
	return computing && (!a->computing || a->spent_ns < spent_ns);
}

size_t dbg_checkpoint_index(const struct dbg *d, uint64_t id)
{
	size_t i = 0;

	while (i < d->n_checkpoints && d->checkpoints[i].id != id)
		i++;
	return i;
}

static void drop(struct dbg *d, size_t i)
{
	struct dbg_checkpoint c = d->checkpoints[i];

	memmove(d->checkpoints + i, d->checkpoints + i + 1, (d->n_checkpoints - i - 1) * sizeof(c));
	d->n_checkpoints--;
	for (size_t k = 0; k < d->n_checkpoints; k++)
		if (d->checkpoints[k].parent == c.id)
			d->checkpoints[k].parent = c.parent;
	if (d->here.from == c.id)
		d->here.from = c.parent;
	if (c.state) {
		rep_point_done(&c.state->point);
		free(c.state);
	}
	rep_snapshot_free(d->s, c.snap);
}

static bool may_go(const struct dbg *d, size_t i)
{
	const struct dbg_checkpoint *c = &d->checkpoints[i];

	return i > 0 && c->id != d->pinned[0] && c->id != d->pinned[1] && !(d->goal && d->goal->state && d->goal->state == c->state);
}

/* Every second one goes, but for the first and the last. */
static void thin_out(struct dbg *d)
{
	for (size_t i = 1; i + 1 < d->n_checkpoints; i++)
		if (may_go(d, i))
			drop(d, i);
	d->interval_ns *= 2;
}

static void keep_memory(struct dbg *d)
{
	uint64_t limit = d->opt.checkpoint_memory ? d->opt.checkpoint_memory : MEMORY_DEFAULT, began = os_mono_ns();
	size_t n = SIZE_MAX;

	/* asking costs: not each time */
	if (began < d->next_memory)
		return;
	while (d->n_checkpoints > 2 && d->n_checkpoints < n && rep_snapshots_bytes(d->s) > limit) {
		n = d->n_checkpoints;
		thin_out(d);
	}
	d->next_memory = os_mono_ns() + (os_mono_ns() - began) * COST_FACTOR;
}

static bool is_parent(const struct dbg *d, uint64_t id, uint64_t of)
{
	for (size_t i; of && of != id; of = i < d->n_checkpoints ? d->checkpoints[i].parent : 0)
		i = dbg_checkpoint_index(d, of);
	return of == id;
}

/* A run through a stretch which has checkpoints already, of another run: the new ones are worth more. */
static void drop_others_near(struct dbg *d, const struct dbg_checkpoint *c, uint64_t ns)
{
	for (size_t i = d->n_checkpoints; i-- > 1;) {
		const struct dbg_checkpoint *o = &d->checkpoints[i];
		uint64_t apart = o->spent_ns > c->spent_ns ? o->spent_ns - c->spent_ns : c->spent_ns - o->spent_ns;

		if (o->computing && !o->named && o->events == c->events && apart < ns && !is_parent(d, o->id, c->id) && may_go(d, i))
			drop(d, i);
	}
}

/* The closer to the latest one, the denser they may be. */
static void thin_rolling(struct dbg *d)
{
	size_t worst = 0, last = 0, n = 0;
	double least = 0;

	for (size_t i = 0; i < d->n_checkpoints; i++)
		if (d->checkpoints[i].rolling) {
			n++;
			last = d->checkpoints[i].id > d->checkpoints[last].id || !d->checkpoints[last].rolling ? i : last;
		}
	for (size_t i = 1; n > ROLLING_MAX && i + 1 < d->n_checkpoints; i++) {
		const struct dbg_checkpoint *c = &d->checkpoints[i], *to = &d->checkpoints[last];
		bool other = c->events != to->events || c->spent_ns >= to->spent_ns; /* of another search */
		double gap = other ? 0 : (double)(c[1].spent_ns - MIN(c[1].spent_ns, c[-1].events == c->events ? c[-1].spent_ns : 0)) /
						 (double)(to->spent_ns - c->spent_ns + 1);

		if (c->rolling && i != last && may_go(d, i) && (!worst || gap < least)) {
			worst = i;
			least = gap;
		}
	}
	if (worst)
		drop(d, worst);
}

static void keep_limits(struct dbg *d, uint64_t id)
{
	size_t i = dbg_checkpoint_index(d, id);
	const struct dbg_checkpoint c = d->checkpoints[i];

	if (c.rolling)
		thin_rolling(d);
	else if (c.computing)
		drop_others_near(d, &c, d->interval_ns / 2);
	if (d->n_checkpoints > CHECKPOINTS_MAX + ROLLING_MAX)
		thin_out(d);
	keep_memory(d);
}

/* --- making --- */

static int insert(struct dbg *d, struct dbg_checkpoint *c)
{
	struct dbg_checkpoint *v = reallocarray(d->checkpoints, d->n_checkpoints + 1, sizeof(*v));
	size_t at = 0;

	if (!v)
		return -ENOMEM;
	d->checkpoints = v;
	while (at < d->n_checkpoints && is_before(&v[at], c->events, c->computing, c->spent_ns))
		at++;
	memmove(v + at + 1, v + at, (d->n_checkpoints - at) * sizeof(*v));
	v[at] = *c;
	d->n_checkpoints++;
	return 0;
}

static bool has_boundary(const struct dbg *d, uint64_t events)
{
	for (size_t i = 0; i < d->n_checkpoints; i++)
		if (d->checkpoints[i].events == events && !d->checkpoints[i].computing)
			return true;
	return false;
}

/* In the middle of computation: what tells the place again. */
static int take_state(struct dbg *d, struct dbg_checkpoint *c)
{
	struct rep_task *t = dbg_next_task(d);
	int r;

	if (!t)
		return ERR_NOT_FOUND;
	c->state = calloc(1, sizeof(*c->state));
	if (!c->state)
		return -ENOMEM;
	r = rep_point_take(t, &c->state->point);
	if (r < 0)
		return r;
	c->state->snap = c->snap;
	c->spent_ns = d->here.spent_ns;
	c->parent = d->here.from;
	c->vague = !dbg_finder_fits(d, t, c->state->point.regs.rip);
	if (d->goal && d->goal->total && d->goal->events == c->events) {
		c->addr = d->goal->addr;
		c->hits = d->hits + (c->state->point.regs.rip == c->addr && (d->uncounted == c->addr || (d->by_int3 && d->standing != c->addr)));
	}
	return 0;
}

static int take(struct dbg *d, struct dbg_checkpoint *c, struct errinfo *ei)
{
	int r = rep_snapshot_take(d->s, &c->snap, ei);

	if (r >= 0 && c->computing)
		r = take_state(d, c);
	if (r >= 0)
		r = insert(d, c);
	if (r >= 0)
		return r;
	if (c->state)
		rep_point_done(&c->state->point);
	free(c->state);
	rep_snapshot_free(d->s, c->snap);
	return r;
}

/* Can a run be told quickly to stop at this instruction? */
static bool is_good_place(struct dbg *d)
{
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;

	if (d->here.computing && ++d->tries < TRIES_MAX && t && eng_regs(&t->t, &regs) >= 0 && !dbg_finder_fits(d, t, regs->rip))
		return false;
	d->tries = 0;
	return true;
}

static int checkpoint(struct dbg *d, bool rolling, struct errinfo *ei)
{
	struct dbg_checkpoint c = { .events = d->s->event, .computing = d->here.computing, .rolling = rolling };
	uint64_t began = os_mono_ns(), took;
	int r;

	if (c.computing)
		dbg_spend(d);
	c.id = ++d->last_checkpoint_id;
	r = take(d, &c, ei);
	if (r < 0)
		return r;
	if (c.computing)
		d->here.from = c.id;
	took = os_mono_ns() - began;
	if (rolling) {
		d->roll_cost = took;
	} else {
		d->interval_ns = MAX(d->interval_ns, took * COST_FACTOR);
		d->last_checkpoint = os_mono_ns();
	}
	d->last_roll_ns = d->here.spent_ns;
	log_debug("checkpoint %" PRIu64 " (from %" PRIu64 ") after event %" PRIu64 ", %" PRIu64 " ms on, %" PRIu64 " us%s%s", c.id, c.parent, c.events,
		  c.spent_ns / 1000000, took / 1000, rolling ? ", rolling" : "", c.vague ? ", vague" : "");
	keep_limits(d, c.id);
	return 0;
}

int dbg_checkpoint(struct dbg *d, struct errinfo *ei)
{
	d->last_checkpoint = os_mono_ns();
	if (d->here.arrived || (!d->here.computing && has_boundary(d, d->s->event)))
		return 0;
	return checkpoint(d, false, ei);
}

int dbg_checkpoint_due(struct dbg *d, struct errinfo *ei)
{
	bool rolling = d->checkpoint_due == DBG_DUE_ROLLING;

	d->checkpoint_due = DBG_DUE_NONE;
	return is_good_place(d) ? checkpoint(d, rolling, ei) : 0;
}

void dbg_checkpoints_free(struct dbg *d)
{
	while (d->n_checkpoints)
		drop(d, d->n_checkpoints - 1);
	free(d->checkpoints);
	rep_snapshot_free(d->s, d->near);
}

/* --- using --- */

int dbg_restore(struct dbg *d, const struct rep_snapshot *snap, struct errinfo *ei)
{
	int r = rep_snapshot_restore(d->s, snap, ei);

	d->patched = NULL;
	d->guards = NULL;
	d->here = (struct dbg_here){ 0 };
	d->seen_tgid = 0;
	d->told = false;
	d->moves++;
	if (r >= 0)
		r = dbg_breaks_sync(d);
	d->lost = r < 0;
	return r;
}

int dbg_restore_inside(struct dbg *d, const struct rep_snapshot *snap, const struct dbg_here *here, struct errinfo *ei)
{
	int r = dbg_restore(d, snap, ei);

	d->here = *here;
	d->here.arrived = false;
	if (dbg_checkpoint_index(d, here->from) == d->n_checkpoints)
		d->here.from = 0;
	return r;
}

int dbg_restore_checkpoint(struct dbg *d, size_t i, struct errinfo *ei)
{
	const struct dbg_checkpoint c = d->checkpoints[i];
	int r = dbg_restore(d, c.snap, ei);

	if (c.computing)
		d->here = (struct dbg_here){ .computing = true, .from = c.id, .spent_ns = c.spent_ns };
	d->last_checkpoint = os_mono_ns();
	return r;
}

size_t dbg_checkpoint_before(const struct dbg *d, uint64_t events)
{
	size_t i = 0;

	while (i + 1 < d->n_checkpoints && (d->checkpoints[i + 1].events < events || (d->checkpoints[i + 1].events == events && !d->checkpoints[i + 1].computing)))
		i++;
	return i;
}

size_t dbg_checkpoint_inside(const struct dbg *d, uint64_t events, uint64_t from)
{
	size_t i = from ? dbg_checkpoint_index(d, from) : d->n_checkpoints;

	return i < d->n_checkpoints && d->checkpoints[i].events == events ? i : dbg_checkpoint_before(d, events);
}

size_t dbg_checkpoint_counted(const struct dbg *d, uint64_t events, uint64_t addr, uint64_t hits)
{
	size_t found = d->n_checkpoints;

	for (size_t i = 0; i < d->n_checkpoints; i++) {
		const struct dbg_checkpoint *c = &d->checkpoints[i];

		if (!c->computing || c->events != events || c->addr != addr || c->hits > hits)
			continue;
		/* that often, but some instructions ago: it is behind */
		if (c->hits == hits && c->state->point.regs.rip != addr)
			continue;
		if (found == d->n_checkpoints || c->hits > d->checkpoints[found].hits)
			found = i;
	}
	return found;
}
