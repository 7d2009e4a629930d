/* Finds a place in the middle of computation for a debugging session: the state of a thread, or the n-th time that it stands at an address.
 *
 * As in searches for asynchronous points (async.c) jumps lead to trampolines that compare and count in the guest, so that millions of
 * passes cost nothing. Where no jump can stand, an int3 of ours does it (forward.c). */
#define LOG_AREA "replayer.finder"
#include "replayer/dbg_priv.h"
#include "replayer/site_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/patch.h"

/* Jumps closer to each other than this would stand on each other. */
#define TOO_CLOSE 32u

struct dbg_finder {
	struct rep_task *t;
	struct rep_site state, count;
	bool has_state, has_count;
	bool found;            /* the state: its own pass is counted, but no pass before it */
	struct code_cond cond[CODE_CONDS_MAX];
	unsigned n;
	struct code_cond number; /* of the count site */
};

static bool close_by(uint64_t a, uint64_t b)
{
	return a && b && (a > b ? a - b : b - a) < TOO_CLOSE;
}

/* Would a jump at addr be in the way of somebody else? */
static bool is_free(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	const struct event *ev;

	if (!aspace_code_own(&t->t.mm->as, addr) || eng_patch_overlaps(t->t.mm, addr, 1))
		return false;
	if (rep_session_pending(d->s, &ev, NULL) <= 0 || ev->kind != EVENT_ASYNC_POINT)
		return true;
	/* steps are counted up to there: those of a trampoline would count as well */
	return ev->args[EVENT_POINT_KIND] != EVENT_POINT_STEPS && !close_by(ev->rip, addr);
}

/* The client's breakpoints may be planted or not just now. */
static bool has_points(struct dbg *d, struct rep_task *t, uint64_t addr, uint64_t len)
{
	for (size_t i = 0; i < d->n_points; i++)
		if (d->points[i].b.kind == DBG_BREAK && (d->points[i].b.addr - addr < len || dbg_cond_covers(d, t, &d->points[i], addr)))
			return true;
	return false;
}

/* How many bytes a jump at addr covers, 0: it cannot be. */
static uint64_t jump_covers(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct code_plan plan;
	bool fits = is_free(d, t, addr) && code_plan_cached(d->s->code, aspace_code_key(&t->t.mm->as, addr), &mem, addr, &plan);

	return fits && !has_points(d, t, addr, plan.len) ? plan.len : 0;
}

bool dbg_finder_fits(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	return jump_covers(d, t, addr) > 0;
}

bool dbg_finder_fits_beside(struct dbg *d, struct rep_task *t, uint64_t a, uint64_t b)
{
	uint64_t covers = jump_covers(d, t, a), of_b = b && b != a ? jump_covers(d, t, b) : 0;

	if (!covers || !b || a == b)
		return covers > 0;
	if (!of_b)
		return !close_by(a, b);
	return a < b ? a + covers <= b : b + of_b <= a;
}

static int set_rip(struct rep_task *t, uint64_t rip)
{
	struct user_regs_struct *regs;
	int r = eng_regs(&t->t, &regs);

	if (r < 0)
		return r;
	regs->rip = rip;
	eng_regs_changed(&t->t);
	return 0;
}

/* A thread that was interrupted right before it would have been counted. */
static void note_uncounted(struct dbg *d, const struct rep_site *site)
{
	struct user_regs_struct *regs;

	if (eng_regs(&site->t->t, &regs) >= 0 && (regs->rip == site->at || regs->rip == site->tramp.entry))
		d->uncounted = site->at;
}

/* 1: it stands. A thread that stands there now has been counted, or does not count. */
static int open_site(struct dbg *d, struct rep_site *site, struct rep_task *t, uint64_t addr, const struct code_cond *cond, unsigned n)
{
	int r = is_free(d, t, addr) ? rep_site_open(site, d->s, t, addr, true) : 0;

	if (r <= 0)
		return r;
	if (!site->jump)
		return rep_site_close(site);
	r = rep_site_plant(site, cond, n);
	if (r >= 0 && d->uncounted == addr) {
		r = set_rip(t, addr);
		d->uncounted = 0;
	}
	return r < 0 ? r : 1;
}

static int set_counter(struct rep_site *site, uint64_t n)
{
	return eng_write(&site->t->t, site->room + REP_ROOM_DATA + CODE_DATA_COUNTER, &n, sizeof(n));
}

static int get_counter(struct rep_site *site, uint64_t *ret)
{
	return eng_read(&site->t->t, site->room + REP_ROOM_DATA + CODE_DATA_COUNTER, ret, sizeof(*ret));
}

static int open_state(struct dbg *d, struct dbg_finder *f, struct dbg_state *st)
{
	int r;

	/* the first condition only counts; the others are learnt */
	f->cond[0] = (struct code_cond){ .kind = CODE_COND_COUNT };
	f->n = 1;
	r = open_site(d, &f->state, f->t, st->point.regs.rip, f->cond, f->n);
	f->has_state = r > 0;
	return r <= 0 ? r : set_counter(&f->state, d->hits);
}

static int open_count(struct dbg *d, struct dbg_finder *f, const struct dbg_goal *g)
{
	int r;

	f->number = (struct code_cond){ .kind = CODE_COND_COUNT, .value = g->hits };
	r = open_site(d, &f->count, f->t, g->addr, &f->number, 1);
	f->has_count = r > 0;
	return r <= 0 ? r : set_counter(&f->count, d->hits);
}

int dbg_finder_open(struct dbg *d)
{
	const struct dbg_goal *g = d->goal;
	struct rep_task *t = dbg_next_task(d);
	struct dbg_finder *f;
	uint64_t at = g->state ? g->state->point.regs.rip : 0;
	int r = 0;

	if (!t || t->in_call || (!at && !g->addr))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	d->finder = f;
	f->t = t;
	if (at && g->addr && close_by(at, g->addr) && !dbg_finder_fits_beside(d, t, at, g->addr))
		return 0;
	if (at)
		r = open_state(d, f, g->state);
	if (r >= 0 && g->addr && g->addr != at)
		r = open_count(d, f, g);
	return MIN(r, 0);
}

uint64_t dbg_finder_needs(const struct dbg *d, bool state)
{
	const struct dbg_finder *f = d->finder;
	const struct dbg_goal *g = d->goal;
	uint64_t at = g->state ? g->state->point.regs.rip : 0;

	if (state)
		return f && f->has_state ? 0 : at;
	return (f && f->has_count) || g->addr == at ? 0 : g->addr;
}

/* Before it goes: what it has counted. A thread that is about to be counted is brought through that. */
static int read_counters(struct dbg *d, struct dbg_finder *f)
{
	bool counts_state = f->has_state && d->goal->addr == f->state.at;
	int r = f->has_state ? rep_site_to_origin(&f->state) : 0;

	if (r >= 0 && f->has_count)
		r = rep_site_to_origin(&f->count);
	d->uncounted = 0;
	if (f->has_state)
		note_uncounted(d, &f->state);
	if (f->has_count)
		note_uncounted(d, &f->count);
	if (r >= 0 && counts_state) {
		r = get_counter(&f->state, &d->hits);
		d->hits -= f->found;
	}
	return r >= 0 && f->has_count ? get_counter(&f->count, &d->hits) : r;
}

int dbg_finder_close(struct dbg *d)
{
	struct dbg_finder *f = d->finder;
	int r, closed;

	if (!f)
		return 0;
	d->finder = NULL;
	r = read_counters(d, f);
	if (f->has_state) {
		closed = rep_site_close(&f->state);
		r = r < 0 ? r : closed;
	}
	if (f->has_count) {
		closed = rep_site_close(&f->count);
		r = r < 0 ? r : closed;
	}
	free(f);
	return r;
}

/* The thread stands at the state's address. 1: it is the place. */
static int compare(struct dbg_finder *f, struct dbg_state *st)
{
	struct code_cond lesson;
	int r;

	st->point.hidden_at = f->state.at;
	st->point.hidden_len = rep_site_len(&f->state);
	st->point.hidden = f->state.plan.bytes;
	r = dbg_state_learn(f->t, st, f->cond, f->n, &lesson);
	st->point.hidden_len = 0;
	if (r)
		return r;
	if (lesson.kind != CODE_COND_MAX_ && f->n < CODE_CONDS_MAX) {
		f->cond[f->n++] = lesson;
		r = rep_site_plant(&f->state, f->cond, f->n);
	} else {
		r = rep_site_go_on(&f->state);
	}
	return MIN(r, 0);
}

int dbg_finder_stop(struct dbg *d, struct rep_task *t, const struct eng_stop *st)
{
	struct dbg_finder *f = d->finder;
	struct eng_stop stop = *st;
	int r = 0;

	if (!f || f->t != t)
		return 0;
	if (f->has_state) {
		r = rep_site_stop(&f->state, &stop);
		if (r == 1) {
			r = compare(f, d->goal->state);
			f->found = r > 0;
			return r < 0 ? r : r ? ERR_STOPPED : 1;
		}
	}
	if (r == 0 && f->has_count) {
		r = rep_site_stop(&f->count, &stop);
		if (r == 1)
			return ERR_STOPPED;
	}
	return r < 0 ? r : r == 2;
}
