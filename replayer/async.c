/* Places inside computation. Here: so many single-stepped instructions behind the thread's previous event. */
#define LOG_AREA "replayer.async"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#define STEPS_MAX (1u << 24)

/* One instruction. Coming out of a call that was answered counts for none (the kernel reports it as TRAP_BRKPT). */
static int step(struct rep_task *t, struct eng_stop *ret)
{
	siginfo_t si;
	int r;

	do {
		r = eng_resume(&t->t, ENG_STEP, 0);
		while (r >= 0) {
			r = eng_wait_task(&t->t, ret);
			if (r != ERR_INTERRUPTED)
				break;
			r = 0;
		}
		if (r < 0)
			return r;
		if (ret->kind == ENG_STOP_GONE || ret->kind == ENG_STOP_EXITING)
			return ERR_GUEST_GONE;
		if (ret->kind == ENG_STOP_SECCOMP) {
			t->place = REP_ENTRY;
			return 0;
		}
		if (ret->kind != ENG_STOP_SIGNAL)
			continue;
		t->place = REP_USER;
		if (ret->signo != SIGTRAP)
			return 0;
		r = eng_siginfo(&t->t, &si);
		if (r < 0 || si.si_code == TRAP_TRACE)
			return r;
	} while (true);
}

static int run_steps(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	int rc;

	if (!ev->args[EVENT_POINT_STEPS_RUN] || ev->args[EVENT_POINT_STEPS_RUN] > STEPS_MAX)
		return ERR_CORRUPT;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	if (t->in_call || (t->place == REP_ENTRY && r->orig_rax != UINT64_MAX))
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": thread %u is in a call", ev->number, t->num);
	for (uint64_t i = 0; i < ev->args[EVENT_POINT_STEPS_RUN]; i++) {
		rc = step(t, &st);
		if (rc < 0)
			return rc;
		rc = eng_regs(&t->t, &r);
		if (rc < 0)
			return rc;
		if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP)
			return rep_diverged(s, t, ev, ei, "the single-stepped thread came to %s at %#llx", eng_stop_name(st.kind), r->rip);
	}
	if (ev->regs_hash && eng_regs_hash(r) != ev->regs_hash)
		return rep_diverged(s, t, ev, ei, "the registers differ from the recorded ones after a step to %#llx", r->rip);
	return rep_apply(s, t, ev, ei);
}

int rep_async_point(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	if (ev->args[EVENT_POINT_KIND] == EVENT_POINT_STEPS)
		return run_steps(s, t, ev, ei);
	return errinfo_set(ei, ERR_NEWER_FORMAT, "event %" PRIu64 ": a place that this hermit cannot find", ev->number);
}
