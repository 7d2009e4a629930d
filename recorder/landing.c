/* Landing at places that are passed seldom: each pass over a point's instruction costs replay time, and a slice mostly ends in the innermost loop.
 *
 * The code ahead tells which loops the thread is in, and its stack where it will return to. Breakpoints stand on the ends of those loops and on those
 * places for a short time, in which most of them come up too often. Of the others the one with the longest time between two passes is the landing
 * place, and is remembered: while the thread works there, its next slices need one breakpoint each. Where nothing is found the next search is put off.
 *
 * The breakpoints are gone before anything else can see them. Only t runs, and its code is its own. */
#define LOG_AREA "recorder.landing"
#include "recorder/landing_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <sys/user.h>

#include "base/log.h"
#include "engine/code.h"

#define PLACES_MAX 8u
#define LOOPS_MAX 5u
#define HEADS_MAX 64u
#define WINDOW 4096u
#define STACK_WORDS 64u
#define STRAIGHT_MAX 12u
/* A place that was passed so often is known well enough. */
#define HITS_MAX 3u
/* CPU time: to watch, to wait for the chosen place, for the remembered one. */
#define WATCH_NS 1000000u
#define WAIT_NS 4000000u
#define AGAIN_NS 1500000u
/* Places other than ends of loops around the thread must come up more seldom than that, for each stop at any place meanwhile: the stop takes most of it. */
#define RARE_NS 60000u
#define TICK_US 200u
/* Real time for all of it: the thread may wait for a disk. */
#define TICKS_MAX 5000u
/* Slices without a search after one in vain; the remembered place is used so often. */
#define PAUSE_MAX 64u
#define USES_MAX 64u

#define EFLAGS_TF 0x100u

struct place {
	uint64_t at;
	uint64_t first, last; /* CPU time of passes */
	unsigned first_stop, last_stop, hits; /* stop: number of it, at whichever place */
	bool ends_loop, planted;
	uint8_t old; /* the guest's byte */
};

struct watch {
	struct rec_task *t;
	struct place place[PLACES_MAX];
	unsigned n, stops, ticks;
};

/* --- breakpoints --- */

static int plant(struct watch *w, struct place *p)
{
	static const uint8_t int3 = 0xcc;
	int r = eng_read(&w->t->t, p->at, &p->old, 1);

	if (r >= 0)
		r = eng_write(&w->t->t, p->at, &int3, 1);
	p->planted = r >= 0;
	return r;
}

static int clear(struct watch *w, struct place *p)
{
	if (!p->planted)
		return 0;
	p->planted = false;
	return eng_write(&w->t->t, p->at, &p->old, 1);
}

static int clear_all(struct watch *w)
{
	int r = 0;

	for (unsigned i = 0; i < w->n; i++) {
		int rc = clear(w, &w->place[i]);

		r = r < 0 ? r : rc;
	}
	return r;
}

static struct place *planted_at(struct watch *w, uint64_t at)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->place[i].planted && w->place[i].at == at)
			return &w->place[i];
	return NULL;
}

/* --- running --- */

enum { OVER, HIT, EVENT };

static int stopped(struct watch *w, const struct eng_stop *st, struct place **ret)
{
	struct user_regs_struct *r;
	int rc;

	if (st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP)
		return EVENT;
	rc = eng_regs(&w->t->t, &r);
	if (rc < 0)
		return rc;
	*ret = planted_at(w, r->rip - 1);
	if (!*ret)
		return EVENT;
	r->rip = (*ret)->at;
	eng_regs_changed(&w->t->t);
	return HIT;
}

static bool time_over(const struct watch *w, uint64_t until)
{
	return rec_slice_used(w->t) >= until || w->ticks > TICKS_MAX;
}

/* The stop that was asked for has come: 1 unless a breakpoint's trap may be on its way, or the time is not over (it was asked for earlier). */
static int is_over(struct watch *w, uint64_t until)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&w->t->t, &r);

	w->t->interrupting = false;
	return rc < 0 ? rc : (time_over(w, until) && !planted_at(w, r->rip - 1));
}

static int ask(struct rec_task *t)
{
	t->interrupting = true;
	return eng_interrupt(&t->t);
}

/* Lets the thread run to a breakpoint (HIT), another stop (EVENT), or until it has used so much of its slice (OVER). */
static int run(struct watch *w, uint64_t until, struct place **ret)
{
	struct rec_task *t = w->t;
	int r = eng_resume(&t->t, ENG_RUN, 0);

	while (r >= 0) {
		struct eng_stop st;

		r = eng_wait_task(&t->t, &st);
		if (r == ERR_INTERRUPTED) {
			w->ticks++;
			r = time_over(w, until) ? ask(t) : 0;
			continue;
		}
		if (r < 0)
			return r;
		if (st.kind != ENG_STOP_TRAP || !t->interrupting)
			return stopped(w, &st, ret);
		r = is_over(w, until);
		if (r > 0)
			return OVER;
		if (r >= 0)
			r = eng_resume(&t->t, ENG_RUN, 0);
	}
	return r;
}

/* --- candidates --- */

struct window {
	uint64_t start;
	size_t len;
	uint8_t bytes[WINDOW];
};

static int read_window(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct window *win = ctx;

	if (addr < win->start || addr - win->start > win->len || n > win->len - (addr - win->start))
		return -EFAULT;
	memcpy(buf, win->bytes + (addr - win->start), n);
	return 0;
}

struct loops {
	uint64_t head[HEADS_MAX]; /* where backward branches lead to */
	unsigned n_heads;
	uint64_t end[LOOPS_MAX]; /* behind those that the thread is in, innermost first */
	unsigned n_ends;
};

static void note_branch(struct loops *l, const struct code_insn *insn, uint64_t pc, uint64_t rip)
{
	if (l->n_heads < HEADS_MAX)
		l->head[l->n_heads++] = insn->target;
	if (insn->target <= rip && l->n_ends < LOOPS_MAX)
		l->end[l->n_ends++] = pc + insn->len;
}

/* Reads on to the end of the function, as far as one can tell. */
static void find_loops(const struct sys_mem *mem, uint64_t rip, struct loops *l)
{
	uint64_t reached = rip; /* the furthest that is jumped to */
	struct code_insn insn;

	for (uint64_t pc = rip; pc < rip + WINDOW && l->n_ends < LOOPS_MAX; pc += insn.len) {
		code_decode(mem, pc, &insn);
		if (insn.cls == CODE_BAD)
			break;
		if (insn.has_target && insn.cls != CODE_CALL) {
			if (insn.target <= pc)
				note_branch(l, &insn, pc, rip);
			else if (insn.target < rip + WINDOW)
				reached = MAX(reached, insn.target);
		}
		if ((insn.cls == CODE_RET || (insn.cls == CODE_JUMP && !(insn.has_target && insn.target <= pc))) && reached <= pc)
			break;
	}
}

static bool is_head(const struct loops *l, uint64_t at)
{
	for (unsigned i = 0; i < l->n_heads; i++)
		if (l->head[i] == at)
			return true;
	return false;
}

/* The first place to land at, straight on from there: passed as often. 0: none. */
static uint64_t straight_on(struct rec_task *t, const struct sys_mem *mem, const struct loops *l, uint64_t from, bool single)
{
	uint64_t pc = from;

	for (unsigned i = 0; i < STRAIGHT_MAX; i++) {
		struct code_insn insn;

		if (pc != from && is_head(l, pc))
			return 0;
		code_decode(mem, pc, &insn);
		if (insn.cls == CODE_BAD || insn.cls == CODE_REP || insn.cls == CODE_KEEP)
			return 0;
		if (aspace_code_own(&t->t.mm->as, pc) && rec_async_can_land(t, pc, single))
			return pc;
		if (insn.cls != CODE_PLAIN)
			return 0;
		pc += insn.len;
	}
	return 0;
}

static void add_place(struct watch *w, const struct sys_mem *mem, const struct loops *l, uint64_t from, bool ends_loop)
{
	uint64_t at = straight_on(w->t, mem, l, from, true);

	if (!at)
		at = straight_on(w->t, mem, l, from, false);
	for (unsigned i = 0; i < w->n; i++)
		if (w->place[i].at == at)
			return;
	if (at && w->n < PLACES_MAX)
		w->place[w->n++] = (struct place){ .at = at, .ends_loop = ends_loop };
}

/* call rel32, call [rip+disp32], call reg, call [reg], call [reg+disp8] end there? */
static bool follows_call(struct rec_task *t, uint64_t at)
{
	uint8_t b[6];

	if (eng_read(&t->t, at - sizeof(b), b, sizeof(b)) < 0)
		return false;
	return b[1] == 0xe8 || (b[0] == 0xff && b[1] == 0x15) || (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[3] == 0xff && (b[4] & 0x38) == 0x10);
}

static void add_returns(struct watch *w, const struct sys_mem *mem, uint64_t rsp)
{
	const struct loops none = { 0 };
	uint64_t word[STACK_WORDS];
	ssize_t n = eng_read_some(&w->t->t, rsp, word, sizeof(word));

	for (ssize_t i = 0; i < n / 8 && w->n < PLACES_MAX; i++)
		if (aspace_code_own(&w->t->t.mm->as, word[i]) && follows_call(w->t, word[i]))
			add_place(w, mem, &none, word[i], false);
}

static int find_places(struct watch *w)
{
	struct window win;
	const struct sys_mem near = { read_window, &win }, mem = eng_sys_mem(&w->t->t);
	struct loops l = { 0 };
	struct user_regs_struct *r;
	ssize_t n;
	int rc = eng_regs(&w->t->t, &r);

	if (rc < 0)
		return rc;
	win.start = r->rip;
	n = eng_read_some(&w->t->t, r->rip, win.bytes, sizeof(win.bytes));
	win.len = n > 0 ? (size_t)n : 0;
	find_loops(&near, r->rip, &l);
	for (unsigned i = 0; i < l.n_ends; i++)
		add_place(w, &near, &l, l.end[i], true);
	add_returns(w, &mem, r->rsp);
	return 0;
}

/* --- watching --- */

/* The thread stands at p: past it, without its breakpoint from the last pass of interest on. 1, or 0: it met an event. */
static int pass_by(struct watch *w, struct place *p)
{
	uint64_t now = rec_slice_used(w->t);
	int r;

	w->stops++;
	if (!p->hits++) {
		p->first = now;
		p->first_stop = w->stops;
	}
	p->last = now;
	p->last_stop = w->stops;
	r = clear(w, p);
	if (r < 0 || p->hits == HITS_MAX)
		return r < 0 ? r : 1;
	r = rec_async_step(w->t);
	if (r > 0) {
		int rc = plant(w, p);

		r = rc < 0 ? rc : 1;
	}
	return r;
}

static bool is_rare(const struct place *p)
{
	return p->ends_loop || p->last - p->first >= (uint64_t)(p->last_stop - p->first_stop) * RARE_NS;
}

static uint64_t interval(const struct place *p)
{
	return p->hits > 1 ? (p->last - p->first) / (p->hits - 1) : 0;
}

static struct place *choose(struct watch *w)
{
	struct place *best = NULL;

	for (unsigned i = 0; i < w->n; i++) {
		struct place *p = &w->place[i];

		if (p->hits > 1 && is_rare(p) && (!best || interval(p) > interval(best)))
			best = p;
	}
	return best;
}

/* Counts passes for a while. OVER: done, the breakpoints are gone. */
static int watch(struct watch *w)
{
	uint64_t until = rec_slice_used(w->t) + WATCH_NS;
	unsigned left = w->n;
	int r = 0;

	for (unsigned i = 0; i < w->n && r >= 0; i++)
		r = plant(w, &w->place[i]);
	while (r >= 0 && left) {
		struct place *p;

		r = run(w, until, &p);
		if (r != HIT)
			break;
		r = pass_by(w, p);
		if (r <= 0) {
			r = r < 0 ? r : EVENT;
			break;
		}
		left -= p->hits == HITS_MAX;
	}
	return r == HIT || !left ? OVER : r;
}

/* Waits until the thread comes to p. */
static int wait_for(struct watch *w, struct place *p, uint64_t ns)
{
	struct place *hit;
	int r = plant(w, p);

	return r < 0 ? r : run(w, rec_slice_used(w->t) + ns, &hit);
}

static void put_off(struct rec_task *t)
{
	t->rare.rest = MIN(t->rare.rest * 2 + 1, PAUSE_MAX);
	t->rare.pause = t->rare.rest;
}

static int search(struct watch *w)
{
	struct rec_task *t = w->t;
	struct place *p = NULL;
	int r = find_places(w), rc;

	if (r >= 0 && w->n) {
		r = watch(w);
		rc = clear_all(w);
		if (r != OVER || rc < 0)
			return r < 0 || r == EVENT ? r : rc;
		p = choose(w);
		if (p)
			r = wait_for(w, p, WAIT_NS);
	}
	if (r == HIT)
		t->rare = (struct rec_rare){ .at = p->at, .key = aspace_code_key(&t->t.mm->as, p->at), .uses = USES_MAX };
	else if (r >= 0)
		put_off(t);
	return r;
}

static int go_to_remembered(struct watch *w)
{
	struct rec_task *t = w->t;
	int r;

	w->place[w->n++] = (struct place){ .at = t->rare.at };
	r = wait_for(w, &w->place[0], AGAIN_NS);
	t->rare.uses--;
	if (r != HIT)
		t->rare.at = 0;
	return r;
}

static bool remembers(struct rec_task *t)
{
	const struct rec_rare *m = &t->rare;

	return m->at && m->uses && aspace_code_own(&t->t.mm->as, m->at) && aspace_code_key(&t->t.mm->as, m->at) == m->key &&
	       rec_async_can_land(t, m->at, false);
}

static void set_ticks(uint64_t us)
{
	const struct timeval tv = { .tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000) };
	const struct itimerval it = { .it_interval = tv, .it_value = tv };

	setitimer(ITIMER_REAL, &it, NULL);
}

int rec_land_rarely(struct rec_task *t, enum landing *ret)
{
	struct watch w = { .t = t };
	struct user_regs_struct *regs;
	int r = eng_regs(&t->t, &regs), rc;

	*ret = NOT_RARE;
	if (r < 0 || regs->eflags & EFLAGS_TF)
		return r;
	if (t->rare.pause) {
		t->rare.pause--;
		return 0;
	}
	set_ticks(TICK_US);
	r = remembers(t) ? go_to_remembered(&w) : search(&w);
	rc = t->t.gone ? 0 : clear_all(&w);
	set_ticks(t->rec->tick_ns / 1000);
	log_debug("thread %u: %u places, %s", t->num, w.n, r == HIT ? "landed" : r == OVER ? "none seldom enough" : "met an event");
	*ret = r == HIT ? LANDED : r == EVENT ? MET_EVENT : NOT_RARE;
	return r < 0 ? r : rc;
}
