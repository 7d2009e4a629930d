/* Asynchronous points: a thread that computes is stopped, and the place is logged so that replay finds it
 * (docs/ASYNC.md).
 *
 * Landing: from wherever the thread was interrupted it is single-stepped to an instruction that replay can put a jump over, a few
 * instructions at most. In the middle of a string instruction that would take long it stays. At the end of a long slice it goes on to a place that is
 * passed seldom, if there is one (landing.c). What comes on the way (a call, a fault) is an event of its own and a better place than ours: then there
 * is no point. */
#define LOG_AREA "recorder.async"
#include "recorder/landing_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/code.h"

/* One instruction that a jump can replace needs no look around: so many are passed in search of one. */
#define SINGLE_TRIES 6
#define LANDING_MAX 40

/* Slices from this length on are worth the search for a place that is passed seldom. */
#define RARE_SLICE_MIN_NS 5000000u

#define EFLAGS_TF 0x100u

/* A string instruction with more bytes than that to go is stopped where it is; with less it is awaited. */
#define STRING_LEFT_MIN (1u << 20)

#define INTERRUPTED_MAX 65536u

/* Resumes and waits. Beginnings and ends of group-stops, and the stop that was asked for by an interrupt, may come in
 * between, also before the trap of a step that was made already: passed over, or that trap would be taken for the
 * guest's later. back_to_group() makes up for it. */
static int resume(struct rec_task *t, enum eng_resume how, struct eng_stop *st)
{
	int r;

	for (;;) {
		r = eng_resume(&t->t, how, 0);
		if (r < 0)
			return r;
		do
			r = eng_wait_task(&t->t, st);
		while (r == ERR_INTERRUPTED);
		if (r < 0 || (st->kind != ENG_STOP_TRAP && st->kind != ENG_STOP_GROUP))
			return r;
		t->interrupting = t->want_point = false;
		t->regroup = st->kind == ENG_STOP_GROUP;
	}
}

/* Behind a point: runs on, or is in its group-stop again if it was taken out of one. (Where there was no point but an event to run to,
 * rec_sched() sees to that.) */
static int go_on(struct rec_task *t)
{
	struct eng_stop st;
	int r = 0;

	if (t->regroup && (t->t.stop.kind != ENG_STOP_GROUP || t->t.remoted)) {
		r = eng_interrupt(&t->t);
		if (r >= 0)
			r = eng_resume(&t->t, ENG_RUN, 0);
		while (r >= 0) {
			r = eng_wait_task(&t->t, &st);
			if (r != ERR_INTERRUPTED)
				break;
			r = 0;
		}
		if (r >= 0 && st.kind != ENG_STOP_GROUP && st.kind != ENG_STOP_TRAP) {
			t->state = REC_STOPPED; /* its end */
			return 0;
		}
	}
	if (r >= 0)
		rec_ready(t, t->regroup && t->t.stop.kind == ENG_STOP_GROUP ? ENG_LISTEN : ENG_RUN, 0);
	t->regroup = false;
	return r;
}

static bool is_step_trap(struct rec_task *t, const struct eng_stop *st)
{
	siginfo_t si;

	return st->kind == ENG_STOP_SIGNAL && st->signo == SIGTRAP && eng_siginfo(&t->t, &si) >= 0 && si.si_code == TRAP_TRACE;
}

int rec_async_step(struct rec_task *t)
{
	struct eng_stop st;
	int r = resume(t, ENG_STEP, &st);

	return r < 0 ? r : is_step_trap(t, &st);
}

/* Runs to addr, straight ahead. 1: there. 0: met an event. -EFAULT: no breakpoint can be set there. */
static int run_to(struct rec_task *t, uint64_t addr)
{
	static const uint8_t int3 = 0xcc;
	struct user_regs_struct *r;
	struct eng_stop st;
	uint8_t old;
	int rc = eng_read(&t->t, addr, &old, 1);

	if (rc >= 0)
		rc = eng_write(&t->t, addr, &int3, 1);
	if (rc < 0)
		return rc;
	rc = resume(t, ENG_RUN, &st);
	if (rc < 0 || st.kind == ENG_STOP_GONE)
		return rc;
	rc = eng_write(&t->t, addr, &old, 1);
	if (rc < 0 || st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP)
		return rc;
	rc = eng_regs(&t->t, &r);
	if (rc < 0 || r->rip != addr + 1)
		return rc;
	r->rip = addr;
	eng_regs_changed(&t->t);
	return 1;
}

/* pushf stores the trap flag that single-stepping sets. At popf the kernel takes that flag for the program's own (is_setting_trap_flag() in Linux'
 * step.c), and it may stay. */
static bool shows_trap_flag(struct rec_task *t, uint64_t rip)
{
	uint8_t b[2];

	return eng_read(&t->t, rip, b, sizeof(b)) >= 0 && ((b[0] | 1) == 0x9d || (b[0] == 0x66 && (b[1] | 1) == 0x9d));
}

static bool is_call_insn(struct rec_task *t, uint64_t rip)
{
	uint8_t b[2];

	return eng_read(&t->t, rip, b, sizeof(b)) < 0 || (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34)) || b[0] == 0xcd;
}

/* Is t in a string instruction that has far to go? Replay needs breakpoints at it and behind it. */
static bool in_long_string(struct rec_task *t, const struct user_regs_struct *r)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	const struct aspace *as = &t->t.mm->as;
	struct code_string s;

	return r->rcx > STRING_LEFT_MIN / 8 && code_string(&mem, r->rip, &s) && r->rcx > STRING_LEFT_MIN / s.size && aspace_code_own(as, r->rip) &&
	       aspace_code_own(as, r->rip + s.len);
}

/* Past the instruction at rip, or one step of a long one. */
static int advance(struct rec_task *t, const struct code_insn *insn, const struct user_regs_struct *r)
{
	uint64_t rip = r->rip;

	if (insn->cls == CODE_REP && in_long_string(t, r))
		return rec_async_step(t);
	return insn->cls == CODE_REP || shows_trap_flag(t, rip) ? run_to(t, rip + insn->len) : rec_async_step(t);
}

/* --- where threads may come back to --- */

/* Handlers can make a thread return to where it was interrupted in ways that no event shows: Go pushes the address
 * and jumps to a function of its own. Replay's jump must not cover such an instruction but its first one, or a
 * thread would come back into the middle of it. */

static uint64_t *interrupted_slot(struct rec *rec, uint64_t rip)
{
	uint64_t i = rip * 0x9e3779b97f4a7c15ULL >> 48;

	for (unsigned probes = 0; probes < 16; probes++) {
		uint64_t *slot = &rec->interrupted[(i + probes) % INTERRUPTED_MAX];

		if (!*slot || *slot == rip)
			return slot;
	}
	return &rec->interrupted[i]; /* the older one there is forgotten */
}

void rec_async_interrupted(struct rec *rec, uint64_t rip)
{
	if (!rec->interrupted)
		rec->interrupted = calloc(INTERRUPTED_MAX, sizeof(*rec->interrupted));
	if (rec->interrupted)
		*interrupted_slot(rec, rip) = rip;
}

static bool covers_interrupted(struct rec *rec, const struct code_plan *plan)
{
	for (unsigned i = 1; rec->interrupted && i < plan->n && plan->off[i] < CODE_JUMP_LEN; i++)
		if (*interrupted_slot(rec, plan->at + plan->off[i]) == plan->at + plan->off[i])
			return true;
	return false;
}

bool rec_async_can_land(struct rec_task *t, uint64_t at, bool single)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct code_plan plan;

	if (single)
		return code_plan_single(&mem, at, &plan);
	return code_plan_cached(t->rec->code, aspace_code_key(&t->t.mm->as, at), &mem, at, &plan) && !covers_interrupted(t->rec, &plan);
}

/* Who makes code at run time reads it again: collectors and inline caches look for the targets of calls and jumps where
 * they stand in the code, and that may be in the very run in which a jump of ours stands there. */
static bool hides_target(struct rec_task *t, const struct code_plan *plan)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct code_insn insn;

	if (aspace_code_key(&t->t.mm->as, plan->at))
		return false;
	for (unsigned i = 0; i < plan->n && plan->off[i] < CODE_JUMP_LEN; i++) {
		code_decode(&mem, plan->at + plan->off[i], &insn);
		if (insn.has_target && insn.len >= CODE_JUMP_LEN)
			return true;
	}
	return false;
}

/* Can a jump stand there that covers one instruction? */
static bool single_fits(struct rec_task *t, uint64_t rip)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct code_plan plan;

	return code_plan_single(&mem, rip, &plan) && !hides_target(t, &plan);
}

/* Can one that covers several? */
static bool several_fit(struct rec_task *t, uint64_t rip)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	uint64_t key = aspace_code_key(&t->t.mm->as, rip);
	struct code_plan plan;

	return code_plan_cached(t->rec->code, key, &mem, rip, &plan) && !covers_interrupted(t->rec, &plan) && !hides_target(t, &plan);
}

/* --- landing --- */

static int land(struct rec_task *t, enum landing *ret, enum event_point_kind *ret_kind)
{
	int skip = t->rec->chaos ? (int)rec_chaos_nudge(t->rec) : 0, tries = t->rec->chaos ? 0 : SINGLE_TRIES;
	struct sys_mem mem = eng_sys_mem(&t->t);
	int rc = 1;

	if (t->n_stash && t->t.stop.kind != ENG_STOP_SIGNAL)
		skip = MAX(skip, 1); /* a signal can be injected where another one, the trap of a step, has stopped the thread */
	*ret = MET_EVENT;
	for (int i = 0; rc > 0; i++) {
		struct user_regs_struct *r;
		struct code_insn insn;

		rc = eng_regs(&t->t, &r);
		if (rc < 0)
			return rc;
		code_decode(&mem, r->rip, &insn);
		*ret = RUNS_ON;
		if (insn.cls == CODE_BAD || is_call_insn(t, r->rip) || r->eflags & EFLAGS_TF)
			return 0;
		*ret = LANDED;
		*ret_kind = EVENT_POINT_STATE;
		if (i >= skip && single_fits(t, r->rip))
			return 0;
		if (i >= skip + tries && several_fit(t, r->rip))
			return 0;
		*ret_kind = EVENT_POINT_REP;
		if (i >= skip && insn.cls == CODE_REP && in_long_string(t, r))
			return 0;
		*ret_kind = EVENT_POINT_BREAK;
		if (i >= LANDING_MAX && insn.cls != CODE_REP)
			return 0;
		*ret = MET_EVENT;
		rc = advance(t, &insn, r);
		if (rc == -EFAULT) {
			*ret = RUNS_ON;
			return 0;
		}
	}
	return rc;
}

/* Can the place where it stands be a point at all? Not where an event comes next anyway. */
static bool may_be_point(struct rec_task *t, const struct user_regs_struct *r)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct code_insn insn;

	code_decode(&mem, r->rip, &insn);
	return insn.cls != CODE_BAD && insn.cls != CODE_REP && !is_call_insn(t, r->rip) && !(r->eflags & EFLAGS_TF);
}

/* Can replay put a jump there? */
static bool jump_fits(struct rec_task *t, uint64_t rip)
{
	return single_fits(t, rip) || several_fit(t, rip);
}

/* The point is right there, with no step. */
static int land_here(struct rec_task *t, enum landing *ret, enum event_point_kind *ret_kind)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	*ret = may_be_point(t, r) ? LANDED : RUNS_ON;
	*ret_kind = jump_fits(t, r->rip) ? EVENT_POINT_STATE : EVENT_POINT_BREAK;
	return 1;
}

/* Lands without harm to what the guest wants done with SIGTRAP. */
static int land_unseen(struct rec_task *t, enum event_point_reason why, enum landing *ret, enum event_point_kind *ret_kind)
{
	bool rarely = why == EVENT_POINT_SLICE && !t->rec->chaos && !t->n_stash && t->rec->slice_ns >= RARE_SLICE_MIN_NS;
	uint64_t mask;
	int rc = rec_forced_open(t, &mask), closed;

	if (rc <= 0)
		return rc < 0 ? rc : land_here(t, ret, ret_kind);
	rc = rarely ? rec_land_rarely(t, ret) : 0;
	if (rc >= 0 && *ret == NOT_RARE)
		rc = land(t, ret, ret_kind);
	closed = rec_forced_close(t, mask);
	return rc < 0 ? rc : closed;
}

/* Does it wait for somebody else? Its registers are those of the point before, or it pauses. t->entry is still that point. */
static void note_spin(struct rec_task *t, const struct user_regs_struct *r)
{
	static const uint8_t pause[] = { 0xf3, 0x90 };
	const struct user_regs_struct *e = &t->entry;
	uint8_t code[64];
	bool same = t->inside && r->rip == e->rip && r->rax == e->rax && r->rbx == e->rbx && r->rcx == e->rcx && r->rdx == e->rdx &&
		    r->rsi == e->rsi && r->rdi == e->rdi && r->rbp == e->rbp && r->rsp == e->rsp;
	bool pauses = eng_read(&t->t, r->rip - sizeof(code) / 2, code, sizeof(code)) >= 0 &&
		      memmem(code, sizeof(code), pause, sizeof(pause));

	/* Equal registers alone are no proof: what it works at may be in memory. */
	t->spins = pauses ? t->spins + 1 : same;
}

static int log_point(struct rec_task *t, enum event_point_kind kind, enum event_point_reason why, unsigned steps)
{
	struct user_regs_struct *r;
	struct event ev;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	note_spin(t, r);
	rec_event_init(t, &ev, EVENT_ASYNC_POINT);
	ev.rip = r->rip;
	ev.args[EVENT_POINT_KIND] = kind;
	ev.args[EVENT_POINT_CPU] = rec_slice_used(t);
	ev.args[EVENT_POINT_REASON] = why;
	ev.args[EVENT_POINT_STEPS_RUN] = steps;
	rc = rec_point_state(t, &ev);
	if (rc < 0)
		return rc;
	r->orig_rax = (unsigned long)-1;
	eng_regs_changed(&t->t);
	t->entry = *r;
	t->inside = true;
	log_debug("thread %u: point at %#llx", t->num, r->rip);
	return rec_log(t->rec, &ev);
}

/* Between an interrupted call and its being made again the kernel's own numbers are in the registers; nothing of
 * the guest runs there. */
static bool about_to_restart(const struct rec_task *t)
{
	return t->restart_pending;
}

static int point(struct rec_task *t, enum event_point_reason why)
{
	enum event_point_kind kind = EVENT_POINT_STATE;
	enum landing where = NOT_RARE;
	int rc = 0;

	if (about_to_restart(t)) {
		rec_ready(t, t->t.stop.kind == ENG_STOP_GROUP ? ENG_LISTEN : ENG_RUN, 0);
		return 0;
	}
	rc = land_unseen(t, why, &where, &kind);
	if (rc < 0)
		return rc;
	if (where == MET_EVENT) {
		t->state = REC_STOPPED;
		return 0;
	}
	rec_ready(t, ENG_RUN, 0);
	if (where == RUNS_ON)
		return 0;
	rc = log_point(t, kind, why, 0);
	if (rc >= 0 && t->regroup)
		rc = go_on(t);
	return rc < 0 || !t->n_stash || t->state != REC_READY ? rc : rec_signal_after_event(t);
}

int rec_async_point(struct rec_task *t, enum event_point_reason why)
{
	uint64_t start = os_cpu_ns();
	int rc = point(t, why);

	rec_fair_paid(t->rec, os_cpu_ns() - start);
	return rc;
}

int rec_async_here(struct rec_task *t, enum event_point_reason why)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	/* A breakpoint would do too, but is slow in a loop: better to move on. */
	if (rc < 0 || !may_be_point(t, r) || !jump_fits(t, r->rip))
		return rc;
	rc = log_point(t, EVENT_POINT_STATE, why, 0);
	return rc < 0 ? rc : 1;
}

/* May it be single-stepped without a trace, as one instruction? */
static bool can_step(struct rec_task *t)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct user_regs_struct *r;
	struct code_insn insn;

	if (eng_regs(&t->t, &r) < 0)
		return false;
	code_decode(&mem, r->rip, &insn);
	return insn.cls != CODE_BAD && insn.cls != CODE_REP && !is_call_insn(t, r->rip) && !shows_trap_flag(t, r->rip) &&
	       !(r->eflags & EFLAGS_TF);
}

static int steps(struct rec_task *t, unsigned n)
{
	unsigned i = 0;
	uint64_t mask;
	int rc = rec_forced_open(t, &mask), closed;

	t->ran = true;
	if (rc <= 0) {
		rec_ready(t, ENG_RUN, 0);
		return rc;
	}
	while (i < n && !about_to_restart(t) && can_step(t)) {
		rc = rec_async_step(t);
		if (rc <= 0)
			break;
		i++;
	}
	closed = rec_forced_close(t, mask);
	if (rc < 0 || closed < 0)
		return MIN(rc, closed);
	if (rc == 0) {
		t->state = REC_STOPPED;
		return 0;
	}
	rec_ready(t, ENG_RUN, 0);
	if (rc < 0 || !i)
		return MIN(rc, 0);
	rc = log_point(t, EVENT_POINT_STEPS, EVENT_POINT_CHAOS, i);
	return rc < 0 || !t->regroup ? rc : go_on(t);
}

int rec_async_steps(struct rec_task *t, unsigned n)
{
	uint64_t start = os_cpu_ns();
	int rc = steps(t, n);

	rec_fair_paid(t->rec, os_cpu_ns() - start);
	return rc;
}
