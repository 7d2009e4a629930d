/* Running on: event by event, and what stops a debugging session in between. */
#define LOG_AREA "replayer.forward"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/patch.h"
#include "replayer/site_priv.h"

/* How often the client is asked, and a long computation looked at. */
#define TICK_NS 50000000ull

static void set_clock(uint64_t ns)
{
	const suseconds_t us = (suseconds_t)(ns / 1000);
	const struct itimerval it = { .it_interval.tv_usec = us, .it_value.tv_usec = us };

	setitimer(ITIMER_REAL, &it, NULL);
}

void dbg_clock(bool on)
{
	set_clock(on ? TICK_NS : 0);
}

/* --- what threads meet --- */

/* Rolling checkpoints are made so often, and may cost this part of the time. */
#define ROLL_NS 8000000ull
#define ROLL_FACTOR 8u

/* A look at the clock may be a system call. Long computations are interrupted by a tick. */
#define EVENTS_PER_LOOK 8u

/* Is the thread in the computation that the goal lies in? */
static bool near_goal(const struct dbg *d)
{
	return d->goal && d->goal->events == d->s->event;
}

/* It stands at goal->addr, or at the state's address. 1: it is there; 0 not. */
static int is_goal(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	const struct dbg_goal *g = d->goal;

	if (!near_goal(d))
		return 0;
	if (g->state && addr == g->state->point.regs.rip) {
		int r = dbg_state_equal(t, g->state);

		if (r)
			return r;
	}
	if (!g->addr || addr != g->addr)
		return 0;
	if (addr == d->standing) {
		d->standing = 0;
		return 0;
	}
	return ++d->hits == g->hits;
}

static int hit(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	int r = is_goal(d, t, addr);

	d->inner = r != 0;
	if (!r && d->goal && d->goal->user)
		r = dbg_breaks_hit(d, t, addr);
	if (r)
		return r < 0 ? r : ERR_STOPPED;
	t->over = addr;
	return 0;
}

/* The jump to a condition has led here. As hit(), but a stop that was wanted anyway (halted) stays what it is when this is none. */
static int cond_hit(struct dbg *d, struct rep_task *t, uint64_t addr, bool halted)
{
	bool inner = d->inner;
	int r = hit(d, t, addr);

	if (r == ERR_STOPPED) {
		d->here.computing = true;
		d->checkpoint_due = DBG_DUE_NONE;
	}
	if (r)
		return r;
	if (halted)
		d->inner = inner;
	else
		r = dbg_cond_false(d, t, addr, false);
	return r < 0 ? r : 1;
}

static int before(void *ctx, struct rep_task *t)
{
	struct dbg *d = ctx;
	bool steps = d->step_tid && t->guest_tid == d->step_tid; /* in a search also one of another process */
	int r = 0;

	d->checkpoint_due = DBG_DUE_NONE;
	if (dbg_is_target(d, t))
		r = dbg_breaks_watch(d, t);
	if (r >= 0 && dbg_is_target(d, t) && d->goal && d->goal->user)
		r = dbg_guard_on(d, t);
	return r < 0 ? r : steps ? REP_STEPS : REP_RUNS;
}

static int passed(void *ctx, struct rep_task *t)
{
	struct user_regs_struct *regs;
	int r = eng_regs(&t->t, &regs);

	return r < 0 ? r : hit(ctx, t, regs->rip);
}

static bool at_int3(struct rep_task *t, const struct eng_stop *st, uint64_t *ret_addr)
{
	const struct eng_patch *p;
	struct user_regs_struct *regs;
	siginfo_t si;

	if (eng_siginfo(&t->t, &si) < 0 || si.si_code == TRAP_TRACE || si.si_code == TRAP_HWBKPT || eng_regs(&t->t, &regs) < 0)
		return false;
	p = eng_patch_find(t->t.mm, regs->rip - 1);
	*ret_addr = regs->rip - 1;
	return p && p->planted && st->signo == SIGTRAP;
}

/* Did the thread meet a watchpoint? 1 stops, 2 does not matter, 0 no. Our own looks at memory, in a trampoline, do not count. */
static int watched(struct dbg *d, struct rep_task *t)
{
	unsigned mask = 0;
	siginfo_t si;
	int r;

	if (!d->n_watch || !t->watch_generation || eng_siginfo(&t->t, &si) < 0 || (si.si_code != TRAP_TRACE && si.si_code != TRAP_HWBKPT))
		return 0;
	r = eng_watch_hits(&t->t, &mask); /* now: a step forgets them */
	if (r < 0 || !mask)
		return MIN(r, 0);
	r = rep_site_settle(t);
	if (r <= 0 || !d->goal || !d->goal->user)
		return r < 0 ? r : 2;
	return dbg_breaks_watched(d, t, mask) ? 1 : 2;
}

/* A hit that does not matter. Between many of them few ticks come through. */
static int go_on(struct dbg *d)
{
	return d->goal && d->goal->user && dbg_interrupted(d) ? ERR_STOPPED : 1;
}

/* It wanted to touch guarded memory: it does, and stops if that matters. The step may end in something else: *st. */
static int touch(struct dbg *d, struct rep_task *t, struct eng_stop *st)
{
	int hit, r = dbg_guard_off(d);

	if (r >= 0)
		r = rep_step(t, st);
	if (r < 0 || st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP)
		return MIN(r, 0);
	d->here.computing = true;
	d->inner = false;
	hit = watched(d, t); /* of those in registers */
	r = hit < 0 ? hit : rep_site_settle(t);
	if (r <= 0)
		return r < 0 ? r : 1;
	if (dbg_breaks_guarded(d, t) || hit == 1)
		return ERR_STOPPED;
	if (d->step_tid != t->guest_tid)
		return go_on(d);
	d->stop = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = t->guest_tid };
	return ERR_STOPPED;
}

/* A stop that has nothing to do with conditions, or no more. */
static int stopped_elsewhere(struct dbg *d, struct rep_task *t, struct eng_stop *st, bool is_step)
{
	struct user_regs_struct *regs;
	siginfo_t si;
	uint64_t addr;
	int r;

	d->checkpoint_due = DBG_DUE_NONE; /* it came to something by itself before the tick could stop it */
	d->paused = false;
	if (dbg_guard_fault(d, t, st))
		return touch(d, t, st);
	if (st->kind != ENG_STOP_SIGNAL)
		return 0;
	if (st->signo != SIGTRAP) /* somebody enters a jump of ours in the middle */
		return st->signo == SIGILL ? dbg_finder_stop(d, t, st) : 0;
	d->here.computing = true;
	r = dbg_finder_stop(d, t, st);
	if (r) {
		d->inner = true;
		return r;
	}
	r = watched(d, t);
	if (r < 0 || (r == 2 && !is_step))
		return r < 0 ? r : go_on(d);
	if (r == 1) {
		d->inner = false;
		return ERR_STOPPED;
	}
	if (at_int3(t, st, &addr)) {
		r = eng_regs(&t->t, &regs);
		if (r < 0)
			return r;
		regs->rip = addr;
		eng_regs_changed(&t->t);
		r = hit(d, t, addr);
		if (r == 0)
			r = dbg_cond_false(d, t, addr, true);
		return r < 0 ? r : go_on(d);
	}
	if (is_step && d->step_tid == t->guest_tid) {
		d->inner = false;
		d->stop = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = t->guest_tid };
		return ERR_STOPPED;
	}
	return is_step || (t->watch_generation && eng_siginfo(&t->t, &si) >= 0 && si.si_code == TRAP_HWBKPT) ? 1 : 0;
}

static int stopped(void *ctx, struct rep_task *t, struct eng_stop *st, bool is_step)
{
	bool halted = st->kind == ENG_STOP_TRAP;
	struct dbg *d = ctx;
	uint64_t addr;
	int r = dbg_cond_stopped(d, t, st, &addr);

	if (r < 0)
		return r;
	switch ((enum dbg_cond_stop)r) {
	case DBG_COND_HIT:
		return cond_hit(d, t, addr, halted);
	case DBG_COND_ON:
		return 1;
	default:
		return halted ? 0 : stopped_elsewhere(d, t, st, is_step);
	}
}

/* --- time --- */

static bool interrupt_wanted(struct dbg *d)
{
	const struct dbg_progress p = { .what = d->what, .event = d->s->event, .total = d->s->total };

	if (d->going_back || !d->opt.tick || !d->opt.tick(d->opt.ctx, &p))
		return false;
	/* what ran may have been another process */
	d->stop = (struct dbg_stop){ .kind = DBG_STOP_INTERRUPTED, .tid = dbg_task(d, d->stop_tid) ? d->stop_tid : 0 };
	d->inner = false;
	return true;
}

bool dbg_interrupted(struct dbg *d)
{
	uint64_t now = os_mono_ns();

	if (now - d->last_tick < TICK_NS)
		return false;
	d->last_tick = now;
	return interrupt_wanted(d);
}

/* Does a checkpoint have to be made in the middle of computation? Between events it is cheaper: only a long computation is stopped for one. */
static enum dbg_due is_due(const struct dbg *d, uint64_t now)
{
	if (d->goal && d->goal->keep && now - d->last_checkpoint > 2 * d->interval_ns)
		return DBG_DUE_USUAL;
	if (near_goal(d) && d->goal->roll && d->here.spent_ns - d->last_roll_ns > MAX(ROLL_NS, ROLL_FACTOR * d->roll_cost))
		return DBG_DUE_ROLLING;
	return DBG_DUE_NONE;
}

static bool is_over(const struct dbg *d, uint64_t now)
{
	return d->goal && d->goal->pause_ns && now >= d->pause_at;
}

static bool tick(void *ctx, struct rep_task *t)
{
	uint64_t now = os_mono_ns();
	struct dbg *d = ctx;

	d->stop_tid = t->guest_tid;
	if (now - d->last_tick >= TICK_NS / 2) {
		d->last_tick = now;
		dbg_spend(d);
		if (interrupt_wanted(d)) {
			d->here.computing = true;
			return true;
		}
	}
	if (d->goal && d->goal->roll)
		dbg_spend(d);
	d->paused = is_over(d, now);
	d->checkpoint_due = d->paused ? DBG_DUE_NONE : is_due(d, now);
	if (!d->checkpoint_due && !d->paused)
		return false;
	d->here.computing = true;
	d->inner = true;
	return true;
}

void dbg_hooks(struct dbg *d)
{
	d->hooks = (struct rep_hooks){ .before = before, .passed = passed, .stopped = stopped, .tick = tick, .ctx = d };
	d->s->hooks = &d->hooks;
}

/* --- events --- */

static bool stops_at_call(const struct dbg *d, uint32_t sysno)
{
	return d->how && d->how->catch_calls && sysno < 512 && d->how->catch_calls[sysno / 64] >> sysno % 64 & 1;
}

/* The place of ev is reached. Does that stop the client? */
static bool arrival_stops(struct dbg *d, struct rep_task *t, const struct event *ev)
{
	if (!d->goal->user || d->muted || d->only || !t || !dbg_is_target(d, t) || d->told)
		return false;
	if (ev->kind == EVENT_SIGNAL && d->how && ev->signo - 1 < 64 && d->how->stop_signals >> (ev->signo - 1) & 1)
		d->stop = (struct dbg_stop){ .kind = DBG_STOP_SIGNAL, .tid = t->guest_tid, .signo = (int)ev->signo };
	else if ((ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_ENTER || (ev->kind == EVENT_BIRTH && !t->in_call)) &&
		 stops_at_call(d, ev->sysno))
		d->stop = (struct dbg_stop){ .kind = DBG_STOP_CALL_ENTRY, .tid = t->guest_tid, .sysno = ev->sysno };
	else
		return false;
	return true;
}

/* The history of the process ends with the end of its last thread, which it still has. */
static bool is_end(const struct dbg *d, const struct rep_task *t, const struct event *ev)
{
	return ev->kind == EVENT_EXIT && t && dbg_is_target(d, t) && t->proc->live == 1;
}

static bool returns_from_call(const struct event *ev)
{
	return ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT;
}

bool dbg_executes(const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_SYSCALL:
	case EVENT_SYSCALL_ENTER:
	case EVENT_TSC:
	case EVENT_CPUID:
	case EVENT_EXEC:
		return true;
	case EVENT_BIRTH:
		return true;
	case EVENT_SIGNAL:
		return !(ev->flags & EVENT_F_ASYNC) || ev->flags & EVENT_F_AT_CALL;
	default:
		return false;
	}
}

/* Is a step of its thread over with this event? */
static bool ends_step(const struct event *ev, const struct rep_task *t)
{
	bool handled = ev->kind == EVENT_SIGNAL && ev->flags & EVENT_F_HANDLER;

	return !t->in_call && (returns_from_call(ev) || ev->kind == EVENT_TSC || ev->kind == EVENT_CPUID || ev->kind == EVENT_EXEC ||
				ev->kind == EVENT_RESTART || handled);
}

/* What the client may want to know of an event that has just happened: 1: it stops. */
static int happened(struct dbg *d, struct rep_task *t, const struct event *ev)
{
	int r;

	if (!t || !d->goal->user)
		return 0;
	r = dbg_breaks_effects(d, t, ev); /* calls of other processes may write here */
	if (r || !dbg_is_target(d, t))
		return r;
	if (!d->muted && !d->only && returns_from_call(ev) && stops_at_call(d, ev->sysno)) {
		d->stop = (struct dbg_stop){ .kind = DBG_STOP_CALL_RETURN, .tid = t->guest_tid, .sysno = ev->sysno };
		return 1;
	}
	if (d->step_tid && t->guest_tid == d->step_tid && ends_step(ev, t)) {
		d->stop = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = t->guest_tid };
		return 1;
	}
	return 0;
}

static int at_end(struct dbg *d)
{
	d->stop = (struct dbg_stop){ .kind = DBG_STOP_END };
	return 1;
}

/* Runs to the next event's place: 1 something stopped it, 0 there (or nothing is left: *ret NULL). */
static int arrive(struct dbg *d, const struct event **ret, struct errinfo *ei)
{
	int guards, r = rep_session_pending(d->s, ret, ei);

	if (r <= 0) {
		*ret = NULL;
		return r;
	}
	r = rep_session_arrive(d->s, ei);
	guards = dbg_guard_off(d);
	if (guards < 0)
		return guards;
	if (r == ERR_STOPPED && d->inner && d->checkpoint_due) {
		r = dbg_finder_close(d); /* no jump of ours in a checkpoint */
		if (r >= 0)
			r = dbg_cond_close(d);
		if (r >= 0)
			r = dbg_checkpoint_due(d, ei);
		return r < 0 ? r : 2;
	}
	if (r == ERR_STOPPED)
		return 1;
	return MIN(r, 0);
}

/* Breakpoints stand where the memory is now. */
static int follow_memory(struct dbg *d, struct rep_task *t, const struct event *ev)
{
	int r = 0;

	if (ev->kind == EVENT_EXEC && (!t || dbg_is_target(d, t)))
		d->patched = NULL; /* another address space may have come to lie where that was */
	if (ev->kind == EVENT_BIRTH || ev->kind == EVENT_EXEC || ev->kind == EVENT_EXIT || (d->waits && t && dbg_is_target(d, t)))
		r = dbg_breaks_sync(d);
	else if (t && t->t.mm == d->patched)
		r = ev->sysno == SYS_madvise ? eng_patch_sync_all(&t->t) : eng_patch_sync(&t->t); /* what is dropped takes them along */
	return r < 0 ? r : dbg_cond_follow(d);
}

/* Between events. */
static int look_at_clock(struct dbg *d, struct errinfo *ei)
{
	uint64_t now = os_mono_ns();
	int r;

	if (d->goal->keep && now - d->last_checkpoint > d->interval_ns) {
		r = dbg_cond_close(d);
		return r < 0 ? r : dbg_checkpoint(d, ei);
	}
	if (now - d->last_tick <= TICK_NS)
		return 0;
	d->last_tick = now;
	return interrupt_wanted(d);
}

/* Lets the event happen: 1 something stops there. */
static int happen(struct dbg *d, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	bool ours = t && dbg_is_target(d, t);
	uint32_t number = ev->thread;
	int stops, r;

	r = t ? dbg_cond_event(d, t, ev) : 0;
	/* what it says has to be asked before the reader goes on, what it does afterwards: effects are data, they stay */
	if (r >= 0)
		r = rep_session_step(d->s, ei);
	if (r < 0)
		return r;
	d->here = (struct dbg_here){ 0 };
	d->told = false;
	t = rep_task(d->s, number);
	r = follow_memory(d, t, ev);
	if (r < 0)
		return r;
	/* the end of a thread is written to memory that the others still have */
	stops = happened(d, t || !ours ? t : dbg_any_task(d), ev);
	if (stops)
		return stops;
	if (d->s->event % EVENTS_PER_LOOK)
		return 0;
	d->paused = is_over(d, os_mono_ns());
	return d->paused ? 2 : look_at_clock(d, ei);
}

/* Is it in the goal's state where a run begins, or goes on after a tick? Its pass, if that is counted already, was one too many: those before count. */
static int already_there(struct dbg *d, struct rep_task *t)
{
	const struct dbg_goal *g = d->goal;
	struct user_regs_struct *regs;
	int r = eng_regs(&t->t, &regs);

	if (r < 0 || regs->rip != g->state->point.regs.rip)
		return MIN(r, 0);
	r = dbg_state_equal(t, g->state);
	if (r > 0 && g->addr == regs->rip && (d->counting ? !d->by_int3 && d->uncounted != g->addr : g->base > 0))
		d->hits--;
	return r;
}

/* The computation that the goal lies in begins or goes on. */
static int look_out(struct dbg *d)
{
	const struct dbg_goal *g = d->goal;
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;
	int r = 0;

	if (!near_goal(d) || (!g->state && !g->addr) || d->finder)
		return 0;
	if (d->counting && g->addr && d->hits == g->hits) /* the tick came when it had just been counted */
		return 2;
	if (t && g->addr && !d->counting && eng_regs(&t->t, &regs) >= 0 && regs->rip == g->addr)
		d->standing = g->addr;
	r = t && g->state ? already_there(d, t) : 0;
	if (r)
		return r < 0 ? r : 2;
	d->counting = true;
	r = dbg_finder_open(d);
	d->by_int3 = g->addr && dbg_finder_needs(d, g->state && g->addr == g->state->point.regs.rip);
	if (!d->by_int3)
		d->standing = 0;
	return r < 0 ? r : dbg_breaks_own(d, dbg_finder_needs(d, true), dbg_finder_needs(d, false));
}

static int one_event(struct dbg *d, struct errinfo *ei)
{
	const struct dbg_goal *g = d->goal;
	const struct event *ev;
	struct rep_task *t;
	int r;

	if (d->s->event == g->events && !g->arrive && !g->state && !g->addr)
		return 2;
	r = arrive(d, &ev, ei);
	if (r == 2)
		return 0;
	if (r)
		return r < 0 || !d->inner ? r : 2;
	t = ev ? rep_task(d->s, ev->thread) : NULL;
	if (!ev)
		return at_end(d);
	d->here.arrived = true;
	if (d->s->event == g->events)
		return g->arrive ? 2 : errinfo_set(ei, ERR_NOT_FOUND, "the thread does not come to that place");
	if (is_end(d, t, ev))
		return at_end(d);
	if (arrival_stops(d, t, ev)) {
		d->told = true;
		return 1;
	}
	return happen(d, t, ev, ei);
}

int dbg_forward(struct dbg *d, const struct dbg_goal *g, struct errinfo *ei)
{
	int r, closed, conds;

	d->goal = g;
	d->hits = g->base;
	d->standing = d->uncounted = 0;
	d->inner = d->counting = false;
	d->checkpoint_due = DBG_DUE_NONE;
	d->paused = false;
	d->pause_at = os_mono_ns() + g->pause_ns;
	if (g->roll || g->pause_ns)
		set_clock(g->roll ? ROLL_NS : MIN(g->pause_ns, (uint64_t)TICK_NS));
	d->moves++;
	d->own[0] = d->own[1] = 0;
	d->patched = NULL;
	r = dbg_breaks_sync(d);
	if (g->user) {
		dbg_breaks_note(d);
		dbg_last_note(d);
	}
	dbg_cond_begin(d);
	while (r == 0) {
		r = dbg_cond_limit(d);
		if (r == 0)
			r = look_out(d);
		if (r == 0)
			r = one_event(d, ei);
	}
	closed = dbg_finder_close(d);
	conds = dbg_cond_close(d);
	closed = MIN(closed, conds);
	d->conds_on = false;
	if (g->roll || g->pause_ns)
		set_clock(TICK_NS);
	d->goal = NULL;
	if (dbg_breaks_own(d, 0, 0) < 0)
		log_debug("breakpoint stays");
	if (r >= 0 && closed < 0)
		r = closed;
	return r == 2 ? 0 : r;
}

int dbg_step_inside(struct dbg *d, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = d->s->event, .arrive = true };
	struct rep_task *t = dbg_next_task(d);
	const struct event *ev;
	pid_t before_tid = d->step_tid;
	int r;

	if (!t)
		return 0;
	d->goal = &g;
	d->step_tid = t->guest_tid;
	d->moves++;
	r = arrive(d, &ev, ei);
	d->step_tid = before_tid;
	d->goal = NULL;
	if (r < 0)
		return r;
	d->here.arrived = r == 0 && ev;
	return r > 0;
}
