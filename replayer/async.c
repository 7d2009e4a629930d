/* Finds asynchronous points: runs a thread to the place inside of computation where the recorded one was stopped (docs/ASYNC.md).
 *
 * The place is known by its address and by the state there. A jump is put over the instruction at the address for the time of the search; it
 * leads to a trampoline that compares, in the guest, what earlier passes have taught to compare. Only when all of that is equal the
 * thread stops, and everything recorded is compared. A pass that was not it teaches one more condition.
 *
 * No other thread runs meanwhile, and no system call is made: mappings stay as they are, and nobody else sees the jump. */
#define LOG_AREA "replayer.async"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/log.h"
#include "base/os.h"

/* The room for code and data of a trampoline. */
#define ROOM (CODE_TRAMP_MAX + 4096u)
#define REACH (0x70000000ull) /* of a jump, with room to spare */
#define GAP_MARGIN (64u << 10)
#define LOWEST (16ull << 20)
/* A search may take so many times what the recorded thread took, and no less than: */
#define BUDGET_FACTOR 200u
#define BUDGET_MIN_NS 20000000000ull
#define STEPS_MAX 100000u

struct search {
	struct rep_session *s;
	struct rep_task *t;
	const struct event *ev;
	struct rep_point point;
	struct code_plan plan;
	struct code_tramp tramp;
	bool jump;         /* a jump stands at the address, not only a breakpoint */
	bool installed;
	uint64_t room;     /* address of our mapping, 0 = none */
	uint8_t planted[CODE_JUMP_LEN];
	struct code_cond cond[CODE_CONDS_MAX];
	unsigned n;
	uint64_t stops;
};

/* --- room for the trampoline --- */

/* As rep_remote(), but leaves the thread's registers as they were. */
static int remote(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret)
{
	struct user_regs_struct *r, saved;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	saved = *r;
	saved.orig_rax = (unsigned long)-1;
	rc = rep_remote(t, nr, args, ret);
	if (rc >= 0)
		eng_regs_set(&t->t, &saved);
	return rc;
}

static bool in_reach(uint64_t room, uint64_t at)
{
	return room > at ? room + ROOM - at < REACH : at - room < REACH;
}

/* Maps room in the gap [start, end), which is in use above when `grows`: a stack. 1: done, 0: not there. */
static int map_in_gap(struct search *q, uint64_t start, uint64_t end, bool grows)
{
	uint64_t args[6] = { 0, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0 };
	int64_t result;
	int r;

	start = MAX(start, LOWEST);
	if (end <= start || end - start < ROOM + 2 * GAP_MARGIN)
		return 0;
	/* near the code: it must be in reach of 32 bits */
	args[0] = grows || start > q->plan.at ? start + GAP_MARGIN : end - GAP_MARGIN - ROOM;
	if (!in_reach(args[0], q->plan.at))
		return 0;
	r = remote(q->t, SYS_mmap, args, &result);
	if (r < 0 || result < 0)
		return r < 0 ? r : 0;
	q->room = (uint64_t)result;
	return q->room == args[0] ? 1 : ERR_GUEST;
}

static int map_room(struct search *q)
{
	const struct aspace *as = &q->t->t.mm->as;
	uint64_t end = 0;
	int r = 0;

	for (size_t i = 0; i < as->n && r == 0; i++) {
		r = map_in_gap(q, end, as->m[i].start, as->m[i].flags & ASPACE_GROWSDOWN);
		end = as->m[i].end;
	}
	return r ? r : map_in_gap(q, end, 0x7ffffffff000ull, false);
}

static int unmap_room(struct search *q)
{
	int64_t result;
	int r;

	if (!q->room)
		return 0;
	r = remote(q->t, SYS_munmap, (uint64_t[6]){ q->room, ROOM }, &result);
	q->room = 0;
	return r < 0 ? r : (int)result;
}

/* --- the jump --- */

static int plant(struct search *q)
{
	struct rep_task *t = q->t;
	size_t len = q->jump ? CODE_JUMP_LEN : 1;
	int r = code_tramp_build(&q->plan, q->room, q->room + CODE_TRAMP_MAX, q->cond, q->jump ? q->n : 0, &q->tramp);

	if (r >= 0)
		r = eng_write(&t->t, q->tramp.code, q->tramp.bytes, q->tramp.n);
	if (r < 0)
		return r;
	if (q->jump)
		code_jump(&q->plan, &q->tramp, q->planted);
	else
		q->planted[0] = 0xcc;
	r = eng_write(&t->t, q->plan.at, q->planted, len);
	q->installed = r >= 0;
	return r;
}

/* Puts the code back, if it is still our jump that stands there. */
static int clear(struct search *q)
{
	size_t len = q->jump ? CODE_JUMP_LEN : 1;
	uint8_t now[CODE_JUMP_LEN];
	int r;

	if (!q->installed)
		return 0;
	q->installed = false;
	r = eng_read(&q->t->t, q->plan.at, now, len);
	if (r < 0)
		return r;
	if (memcmp(now, q->planted, len)) {
		log_warn("thread %u wrote code at %#" PRIx64 " while it was watched", q->t->num, q->plan.at);
		return 0;
	}
	return eng_write(&q->t->t, q->plan.at, q->plan.bytes, len);
}

/* A thread that stands on displaced code goes on in its copy. */
static int go_on(struct search *q, uint64_t rip)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&q->t->t, &r);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < q->plan.n; i++)
		if (rip == q->plan.at + q->plan.off[i]) {
			r->rip = q->tramp.copy[i];
			eng_regs_changed(&q->t->t);
		}
	return 0;
}

/* --- the search --- */

static int not_found(struct search *q, const struct eng_stop *st, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf text;
	int r = clear(q);

	if (r < 0)
		return r;
	buf_init(&text);
	if (st)
		rep_describe_stop(q->t, st, &text);
	else
		buf_printf(&text, "the time for the search was over");
	buf_printf(&text, " after %" PRIu64 " passes over %#" PRIx64 " that could have been it: ", q->stops, q->plan.at);
	rep_point_closest(&q->point, &text);
	return rep_diverged(q->s, q->t, q->ev, ei, "%s", buf_cstr(&text));
}

/* The time is over: stops the thread that still runs. */
static int give_up(struct search *q, struct errinfo *ei)
{
	struct eng_stop st;
	int r = eng_interrupt(&q->t->t);

	while (r >= 0) {
		r = eng_wait_task(&q->t->t, &st);
		if (r != ERR_INTERRUPTED)
			break;
		r = 0;
	}
	return r < 0 ? r : not_found(q, NULL, ei);
}

/* 1: found. */
static int look(struct search *q, struct code_cond *lesson, struct errinfo *ei)
{
	uint64_t mark = q->jump ? q->tramp.match : q->plan.at;
	struct user_regs_struct *r;
	struct eng_stop st;
	int rc = rep_run(q->t, &st, true);

	if (rc == ERR_INTERRUPTED)
		return give_up(q, ei);
	if (rc < 0)
		return rc;
	rc = eng_regs(&q->t->t, &r);
	if (rc < 0)
		return rc;
	if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP || r->rip != mark + 1)
		return not_found(q, &st, ei);
	q->stops++;
	r->rip = q->plan.at;
	eng_regs_changed(&q->t->t);
	return rep_point_compare(&q->point, q->t, q->cond, q->n, lesson);
}

static int search(struct search *q, struct errinfo *ei)
{
	struct code_cond lesson;
	int r = plant(q);

	if (r >= 0)
		r = go_on(q, q->t->t.regs.rip);
	while (r >= 0) {
		r = look(q, &lesson, ei);
		if (r)
			break;
		if (lesson.kind != CODE_COND_MAX_ && q->n < CODE_CONDS_MAX && q->jump) {
			q->cond[q->n++] = lesson;
			r = plant(q);
		}
		if (r >= 0)
			r = go_on(q, q->plan.at);
	}
	if (r > 0)
		r = clear(q);
	return r;
}

static int make_plan(struct search *q, struct errinfo *ei)
{
	struct sys_mem mem = eng_sys_mem(&q->t->t);
	uint64_t at = q->point.regs.rip;

	q->jump = q->ev->args[EVENT_POINT_KIND] == EVENT_POINT_STATE &&
		  code_plan_cached(q->s->code, aspace_code_key(&q->t->t.mm->as, at), &mem, at, &q->plan);
	if (q->jump || code_plan_breakpoint(&mem, at, &q->plan))
		return 0;
	return rep_diverged(q->s, q->t, q->ev, ei, "there is no code at %#" PRIx64 " that could be watched", at);
}

static void set_alarm(uint64_t ns)
{
	const struct itimerval it = { .it_value = { .tv_sec = (time_t)(ns / 1000000000u), .tv_usec = (suseconds_t)(ns % 1000000000u / 1000) } };

	setitimer(ITIMER_REAL, &it, NULL);
}

static int find(struct search *q, struct errinfo *ei)
{
	uint64_t began = os_mono_ns();
	struct user_regs_struct *r;
	int rc = eng_regs(&q->t->t, &r);

	if (rc < 0)
		return rc;
	/* It may have stood still there, or have come around to the very same state, which is the same to everybody. */
	if (r->rip == q->point.regs.rip) {
		rc = rep_point_compare(&q->point, q->t, NULL, 0, NULL);
		if (rc)
			return rc;
	}
	rc = make_plan(q, ei);
	if (rc >= 0)
		rc = map_room(q);
	if (rc == 0)
		return errinfo_set(ei, ERR_GUEST, "event %" PRIu64 ": no room for a trampoline near %#" PRIx64, q->ev->number, q->plan.at);
	if (rc < 0)
		return rc;
	set_alarm(MAX(BUDGET_MIN_NS, q->ev->args[EVENT_POINT_CPU] * BUDGET_FACTOR));
	rc = search(q, ei);
	set_alarm(0);
	log_debug("event %" PRIu64 ": %#" PRIx64 " after %" PRIu64 " stops, %u conditions, %" PRIu64 " us (recorded %" PRIu64 ")", q->ev->number,
		  q->plan.at, q->stops, q->n, (os_mono_ns() - began) / 1000, q->ev->args[EVENT_POINT_CPU] / 1000);
	return rc < 0 ? rc : unmap_room(q);
}

/* --- counted steps --- */

static int one_step(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct eng_stop st;
	int r = eng_resume(&t->t, ENG_STEP, 0);

	while (r >= 0) {
		r = eng_wait_task(&t->t, &st);
		if (r != ERR_INTERRUPTED)
			break;
		r = 0;
	}
	if (r < 0)
		return r;
	t->place = st.kind == ENG_STOP_SECCOMP ? REP_ENTRY : REP_USER;
	return st.kind == ENG_STOP_SIGNAL && st.signo == SIGTRAP ? 0 : rep_wrong_stop(s, t, ev, &st, ei);
}

static int run_steps(struct search *q, struct errinfo *ei)
{
	uint64_t n = q->ev->args[EVENT_POINT_STEPS_RUN];
	int64_t result;
	int r = 0;

	if (n > STEPS_MAX)
		return ERR_LIMIT;
	/* From the entry of a call that was taken away the first step only leaves the kernel. */
	if (q->t->place == REP_ENTRY)
		r = remote(q->t, SYS_getpid, (uint64_t[6]){ 0 }, &result);
	for (uint64_t i = 0; i < n && r >= 0; i++)
		r = one_step(q->s, q->t, q->ev, ei);
	if (r < 0)
		return r;
	r = rep_point_compare(&q->point, q->t, NULL, 0, NULL);
	return r ? r : rep_diverged(q->s, q->t, q->ev, ei, "the state after %" PRIu64 " steps differs", n);
}

int rep_async_point(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct search *q;
	int r;

	if (t->in_call)
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": thread %u is in a call", ev->number, t->num);
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->s = s;
	q->t = t;
	q->ev = ev;
	r = rep_point_load(s, ev, &q->point, ei);
	if (r >= 0) {
		r = ev->args[EVENT_POINT_KIND] == EVENT_POINT_STEPS ? run_steps(q, ei) : find(q, ei);
		rep_point_done(&q->point);
	}
	free(q);
	return r < 0 ? r : rep_apply(s, t, ev, ei);
}
