/* Finds asynchronous points: runs a thread to the place inside of computation where the recorded one was stopped
 * (docs/ASYNC.md).
 *
 * The place is known by its address and by the state there. A jump is put over the instruction at the address for
 * the time of the search; it leads to a trampoline that compares, in the guest, what earlier passes have taught to
 * compare. Only when all of that is equal the thread stops, and everything recorded is compared. A pass that was
 * not it teaches one more condition.
 *
 * No other thread runs meanwhile, and no system call is made: mappings stay as they are, and nobody else sees the
 * jump. */
#define LOG_AREA "replayer.async"
#include "replayer/site_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/patch.h"

/* A search may take so many times what the recorded thread took, and no less than: */
#define BUDGET_FACTOR 200u
#define BUDGET_MIN_NS 20000000000ull
#define BUDGET_CPU_MAX_NS 3600000000000ull /* what a recording says is not to be believed */
/* With breakpoints each pass is a stop. */
#define SLOWER_BY 20u
#define STEPS_MAX 100000u

struct search {
	struct rep_session *s;
	struct rep_task *t;
	const struct event *ev;
	struct rep_point point;
	struct rep_site site;
	struct code_cond cond[CODE_CONDS_MAX];
	unsigned n;
	uint64_t stops;
	uint64_t deadline;
};

/* --- the search --- */

/* st: what came instead; NULL: the time is over. */
static int not_found(struct search *q, const struct eng_stop *st, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf text;
	int r;

	buf_init(&text);
	if (st)
		rep_describe_stop(q->t, st, &text);
	else
		buf_printf(&text, "the time for the search was over");
	buf_printf(&text, " after %" PRIu64 " passes over %#" PRIx64 " that could have been it: ", q->stops, q->site.at);
	rep_point_closest(&q->point, &text);
	r = rep_site_close(&q->site);
	if (r < 0)
		log_debug("code not put back: %s", err_str(r));
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
	if (r >= 0 && st.kind == ENG_STOP_TRAP)
		q->t->place = REP_USER; /* no longer at the entry of the call that it came from */
	return r < 0 ? r : not_found(q, NULL, ei);
}

/* Runs to the next pass that may be it: 1 found, 0 not. */
static int look(struct search *q, struct code_cond *lesson, struct errinfo *ei)
{
	struct eng_stop st;
	int r;

	do {
		r = rep_run(q->t, &st, q->deadline);
		if (r == ERR_INTERRUPTED)
			return give_up(q, ei);
		if (r >= 0)
			r = rep_site_stop(&q->site, &st);
	} while (r == 2);
	if (r <= 0)
		return r < 0 ? r : not_found(q, &st, ei);
	q->stops++;
	q->point.hidden_at = q->site.at;
	q->point.hidden_len = rep_site_len(&q->site);
	q->point.hidden = q->site.plan.bytes;
	/* a breakpoint has no conditions */
	return rep_point_compare(&q->point, q->t, q->cond, q->n, q->site.jump ? lesson : NULL);
}

/* Sums cost most: they stand last. The newest of them is asked first, since it told a pass that all the others
 * did not. */
static bool add_lesson(struct search *q, const struct code_cond *lesson)
{
	unsigned at = 0, sums;

	while (at < q->n && q->cond[at].kind != CODE_COND_SUM)
		at++;
	sums = q->n - at;
	if (q->n == CODE_CONDS_MAX || (lesson->kind == CODE_COND_SUM && sums == CODE_SUMS_MAX)) {
		if (!sums)
			return false;
		q->n--; /* the oldest */
	}
	memmove(q->cond + at + 1, q->cond + at, (q->n - at) * sizeof(q->cond[0]));
	q->cond[at] = *lesson;
	q->n++;
	return true;
}

static int search(struct search *q, struct errinfo *ei)
{
	struct code_cond lesson;
	int r = rep_site_plant(&q->site, q->cond, 0);

	while (r >= 0) {
		lesson.kind = CODE_COND_MAX_;
		r = look(q, &lesson, ei);
		if (r)
			break;
		if (os_mono_ns() > q->deadline)
			return not_found(q, NULL, ei);
		if (lesson.kind != CODE_COND_MAX_ && add_lesson(q, &lesson))
			r = rep_site_plant(&q->site, q->cond, q->n);
		else
			r = rep_site_go_on(&q->site);
	}
	return r;
}

/* Comes again each second: one that comes while nobody waits for the thread changes nothing. A debugger has a clock of its own. */
static void set_alarm(const struct search *q, uint64_t ns)
{
	const struct itimerval it = {
		.it_interval.tv_sec = ns ? 1 : 0,
		.it_value = { .tv_sec = (time_t)(ns / 1000000000u), .tv_usec = (suseconds_t)(ns % 1000000000u / 1000) },
	};

	if (!q->s->hooks)
		setitimer(ITIMER_REAL, &it, NULL);
}

static uint64_t budget_ns(const struct search *q)
{
	uint64_t cpu = MIN(q->ev->args[EVENT_POINT_CPU], BUDGET_CPU_MAX_NS);

	return MAX(BUDGET_MIN_NS, cpu * BUDGET_FACTOR) * (q->site.jump ? 1 : SLOWER_BY);
}

/* 1: it stands at the place. */
static int is_there(struct search *q)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&q->t->t, &r);

	if (rc < 0 || r->rip != q->point.regs.rip)
		return MIN(rc, 0);
	return rep_point_compare(&q->point, q->t, NULL, 0, NULL);
}

/* Inside of a string instruction. */
static int find_string(struct search *q, struct errinfo *ei)
{
	struct eng_stop st;
	int r;

	if (rep_stepping(q->t)) {
		r = is_there(q);
		if (!r)
			r = rep_run(q->t, &st, 0);
		return r ? r : not_found(q, &st, ei);
	}
	q->site.at = q->point.regs.rip;
	q->deadline = os_mono_ns() + budget_ns(q);
	set_alarm(q, budget_ns(q));
	r = rep_string_find(q->t, &q->point, &st, q->deadline, &q->stops);
	set_alarm(q, 0);
	log_debug("event %" PRIu64 ": inside of %#" PRIx64 " after %" PRIu64 " passes", q->ev->number, q->site.at, q->stops);
	if (r == ERR_INTERRUPTED)
		return give_up(q, ei);
	return r ? r : not_found(q, &st, ei);
}

/* A debugger steps it, or has a breakpoint at the very place: each pass is a stop anyway. */
static int find_slowly(struct search *q, struct errinfo *ei)
{
	struct user_regs_struct *regs;
	struct eng_stop st;
	int r;

	q->t->awaited = q->site.at = q->point.regs.rip;
	r = rep_run(q->t, &st, 0);
	q->t->awaited = 0;
	if (r < 0)
		return r;
	r = eng_regs(&q->t->t, &regs);
	if (r < 0)
		return r;
	if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP || regs->rip != q->site.at + 1)
		return not_found(q, &st, ei);
	regs->rip = q->site.at;
	eng_regs_changed(&q->t->t);
	q->stops++;
	r = rep_point_compare(&q->point, q->t, NULL, 0, NULL);
	if (r)
		return r;
	return q->s->hooks->passed(q->s->hooks->ctx, q->t); /* not the place, but the debugger's breakpoint */
}

/* Does the debugger have a breakpoint there? */
static bool is_patched(const struct search *q, uint64_t at)
{
	const struct eng_patch *p = q->s->hooks ? eng_patch_find(q->t->t.mm, at) : NULL;

	return p && p->planted;
}

static int find_by_jump(struct search *q, struct errinfo *ei)
{
	uint64_t began = os_mono_ns();
	int closed, rc = rep_site_open(&q->site, q->s, q->t, q->point.regs.rip, q->ev->args[EVENT_POINT_KIND] == EVENT_POINT_STATE);

	if (rc <= 0)
		return rc < 0 ? rc : rep_diverged(q->s, q->t, q->ev, ei, "there is no code at %#" PRIx64 " that could be watched", q->site.at);
	q->deadline = began + budget_ns(q);
	set_alarm(q, budget_ns(q));
	rc = search(q, ei);
	set_alarm(q, 0);
	log_debug("event %" PRIu64 ": %#" PRIx64 " after %" PRIu64 " stops, %u conditions, %" PRIu64 " us (recorded %" PRIu64 ")",
		  q->ev->number, q->site.at, q->stops, q->n, (os_mono_ns() - began) / 1000,
		  q->ev->args[EVENT_POINT_CPU] / 1000);
	closed = rep_site_close(&q->site);
	return rc < 0 ? rc : closed;
}

static int find(struct search *q, struct errinfo *ei)
{
	int r;

	/* It may have stood still there, or have come around to the very same state, which is the same to everybody. */
	while ((r = is_there(q)) == 0) {
		if (!is_patched(q, q->point.regs.rip) && !rep_stepping(q->t))
			return find_by_jump(q, ei);
		r = find_slowly(q, ei);
		if (r)
			break;
	}
	return r;
}

/* --- counted steps --- */

/* A debugger may want to stop before the step, and behind it: it is not made again then. */
static int one_step(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct eng_stop st;
	int r = rep_step_seen(t, &st);

	if (r < 0 && r != ERR_STOPPED)
		return r;
	if (r == ERR_STOPPED && st.kind == ENG_STOP_NONE)
		return r;
	t->counted++;
	if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP)
		return rep_wrong_stop(s, t, ev, &st, ei);
	return r;
}

static int run_steps(struct search *q, struct errinfo *ei)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	uint64_t n = q->ev->args[EVENT_POINT_STEPS_RUN];
	int r = 0;

	if (n > STEPS_MAX)
		return ERR_LIMIT;
	while (q->t->counted < n && r >= 0)
		r = one_step(q->s, q->t, q->ev, ei);
	if (r < 0)
		return r;
	q->t->counted = 0;
	r = rep_point_compare(&q->point, q->t, NULL, 0, NULL);
	if (r)
		return r;
	rep_point_closest(&q->point, &text);
	return rep_diverged(q->s, q->t, q->ev, ei, "the state after %" PRIu64 " steps differs: %s", n, buf_cstr(&text));
}

static int find_kind(struct search *q, struct errinfo *ei)
{
	switch (q->ev->args[EVENT_POINT_KIND]) {
	case EVENT_POINT_STEPS:
		return run_steps(q, ei);
	case EVENT_POINT_REP:
		return find_string(q, ei);
	default:
		return find(q, ei);
	}
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
		r = find_kind(q, ei);
		rep_point_done(&q->point);
	}
	free(q);
	return MIN(r, 0);
}
