/* Stops that a guest sees of the guests that it traces: where they come from, and how a held task goes on. See
 * trace_priv.h.
 *
 * Whoever is held stands at a boundary: behind its last event, nothing run since. Replay therefore finds it where
 * its tracer changes it. One that was stopped while it computed gets an asynchronous point there. Where none can
 * be, in the middle of a string instruction, a group-stopped one is held all the same (loose): it can be looked
 * at, which is nothing but a result of the tracer's calls, and may not be changed. */
#define LOG_AREA "recorder.ptrace"
#include "recorder/trace_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/log.h"

#define DEBUG_STATUS (offsetof(struct user, u_debugreg) + 6 * sizeof(long))
#define BIT(signo) (1ull << ((signo) - 1))

/* --- the relation --- */

pid_t rec_trace_parent(pid_t tid)
{
	char text[512];
	const char *p = eng_stat(tid, text, sizeof(text));

	return p && strlen(p) > 2 ? (pid_t)strtol(p + 2, NULL, 10) : 0;
}

static bool child_of(const struct rec_task *t, const struct rec_task *tracer)
{
	return t->t.tid == t->t.tgid && rec_trace_parent(t->t.tid) == tracer->t.tgid;
}

static uid_t uid_of(struct rec_task *t)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", t->t.tid);
	return stat(path, &st) < 0 ? 0 : st.st_uid;
}

int rec_trace_new(struct rec_task *t, struct rec_task *tracer, bool seized, uint32_t options)
{
	t->trace = calloc(1, sizeof(*t->trace));
	if (!t->trace)
		return -ENOMEM;
	t->trace->tracer = tracer;
	t->trace->seized = seized;
	t->trace->options = options;
	t->trace->own_child = child_of(t, tracer);
	t->trace->uid = uid_of(t);
	t->trace->stale = t->state == REC_STOPPED && t->t.stop.kind == ENG_STOP_TRAP;
	t->rec->n_traced++;
	return 0;
}

void rec_trace_free(struct rec_task *t)
{
	if (!t->trace)
		return;
	t->rec->n_traced--;
	free(t->trace);
	t->trace = NULL;
}

pid_t rec_trace_tracer(struct rec_task *t)
{
	return t->trace && !t->trace->detached ? t->trace->tracer->t.tgid : 0;
}

/* Does t stand where the log can tell? */
static bool is_at_boundary(struct rec_task *t)
{
	struct user_regs_struct *r;

	if ((t->in_call && !t->again) || !t->ran)
		return true;
	return eng_regs(&t->t, &r) >= 0 && rec_same_place(t, r, t->t.stop.kind == ENG_STOP_SIGNAL ? t->t.stop.signo : 0);
}

/* Makes the place where it stands one that the log tells: 1, or 0 where that cannot be. */
static int settle(struct rec_task *t)
{
	if (is_at_boundary(t)) {
		t->ran = false; /* resumed, but stopped before any instruction */
		return 1;
	}
	return rec_async_here(t, EVENT_POINT_STOP);
}

/* --- held --- */

static int hold(struct rec_task *t, enum trace_at at, uint32_t code)
{
	struct rec_trace *tr = t->trace;

	log_debug("thread %u: held for its tracer, code %#x", t->num, code);
	tr->at = at;
	tr->code = code;
	tr->unseen = true;
	tr->has_info = at != TRACE_GROUP || tr->seized;
	tr->info = (siginfo_t){ .si_signo = SIGTRAP, .si_code = (int)code };
	tr->info.si_pid = t->t.tid;
	tr->info.si_uid = tr->uid;
	tr->next_how = t->next_how;
	tr->kernel_status = t->t.stop.status;
	tr->resuming = false;
	tr->loose = t->ran;
	t->state = REC_HELD;
	rec_trace_tell(tr->tracer, t->t.tid, tr->uid, (int)(code << 8 | 0x7f));
	return 1;
}

static int hold_event(struct rec_task *t, enum trace_at at, unsigned event, uint64_t message)
{
	t->trace->message = message;
	return hold(t, at, SIGTRAP | event << 8);
}

static int hold_signal(struct rec_task *t, const siginfo_t *si)
{
	int r = hold(t, TRACE_SIGNAL, (uint32_t)si->si_signo);

	t->trace->info = *si;
	return r;
}

/* Behind a step that needs no event: the one of what was done tells the place. */
static int hold_step(struct rec_task *t, int code)
{
	int r = hold(t, TRACE_EXIT, SIGTRAP);

	t->trace->info.si_code = code;
	return r;
}

static int show_exit(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	if (tr->how == TRACE_SYSCALL)
		return hold(t, TRACE_EXIT, SIGTRAP | (tr->options & PTRACE_O_TRACESYSGOOD ? 0x80 : 0));
	return tr->how == TRACE_STEP ? hold_step(t, TRAP_BRKPT) : 0;
}

/* --- letting go --- */

void rec_trace_resume(struct rec_task *t, enum trace_how how, int signo, bool detach)
{
	struct rec_trace *tr = t->trace;

	tr->how = how;
	tr->inject = signo;
	tr->detached = detach;
	tr->unseen = false;
	if (t->state != REC_HELD)
		return;
	tr->resuming = true;
	t->state = REC_STOPPED;
}

/* What of its state a step changes is done: it goes on. */
static void run_on(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	if (t->state != REC_READY || t->next_how != ENG_RUN || tr->how != TRACE_STEP || tr->detached)
		return;
	t->next_how = ENG_STEP;
}

static bool same_but_result(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	struct user_regs_struct x = *a;

	x.rax = b->rax;
	return !memcmp(&x, b, sizeof(x));
}

/* The tracer made another call of it. For the log the first one ends with these registers, which make the other one. */
static int call_changed(struct rec_task *t, const struct user_regs_struct *changed)
{
	struct user_regs_struct r = *changed;
	int rc;

	if ((int)r.orig_rax != -1) {
		if (r.rip != t->entry.rip)
			rec_warn(t->rec, "a tracer moved its tracee elsewhere at the entry of a call: the call is made where it stands");
		r.rip = t->entry.rip - 2;
		r.rax = r.orig_rax;
		t->trace->entry_seen = true;
	} else {
		t->trace->entry_seen = t->trace->filter_seen = false;
	}
	r.orig_rax = (unsigned long)-1;
	eng_regs_set(&t->t, &r);
	t->trace->regs_changed = true; /* rec_answer() logs them */
	rc = rec_answer(t, (int64_t)r.rax, 0);
	t->entry = r;
	return rc;
}

/* Replay keeps what a call writes when it is entered. While it was held there others may have changed that. */
static bool writes_output(struct rec_task *t)
{
	return (t->outs.res.row->flags & SYS_F_WRITES) && rec_echo(t, (int)t->outs.call.args[0]);
}

static int from_entry(struct rec_task *t)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	if (!same_but_result(r, &t->entry) || writes_output(t)) {
		bool skipped = (int)r->orig_rax == -1;

		rc = call_changed(t, r);
		return rc >= 0 && skipped ? show_exit(t) : rc;
	}
	t->again = true;
	rc = rec_call_entry(t);
	return rc < 0 ? rc : rec_trace_after(t);
}

/* Another signal than the one that it was stopped by: from the tracer, as the kernel says it. */
static int prepare_inject(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	if (tr->info.si_signo != tr->inject) {
		tr->info = (siginfo_t){ .si_signo = tr->inject, .si_code = SI_USER };
		tr->info.si_pid = tr->tracer->t.tgid;
		tr->info.si_uid = uid_of(tr->tracer);
	}
	return eng_set_siginfo(&t->t, &tr->info);
}

static int from_signal(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	uint64_t mask;
	int rc;

	if (!tr->inject) {
		rec_ready(t, ENG_RUN, 0);
		return 0;
	}
	rc = prepare_inject(t);
	if (rc >= 0)
		rc = eng_sigmask(&t->t, &mask);
	if (rc < 0)
		return rc;
	if (mask & BIT(tr->inject)) { /* the kernel puts it back */
		rec_ready(t, ENG_RUN, tr->inject);
		return 0;
	}
	if (tr->loose)
		tr->passed |= BIT(tr->inject);
	rc = rec_signal_deliver(t, &tr->info, tr->loose ? 0 : EVENT_F_AFTER);
	if (rc < 0 || t->state != REC_READY || t->next_signo || tr->how != TRACE_STEP || tr->loose)
		return rc;
	return hold_step(t, SIGTRAP); /* before the first instruction of the handler */
}

static int from_event(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	if (tr->then_exit) {
		tr->then_exit = false;
		rec_ready(t, ENG_RUN, 0);
		return tr->detached ? 0 : show_exit(t);
	}
	rec_ready(t, tr->next_how, 0);
	if (tr->how == TRACE_LISTEN) {
		t->next_how = ENG_LISTEN;
	} else if (tr->next_how == ENG_LISTEN) {
		t->next_how = tr->detached && (tr->code & 0xff) != SIGTRAP ? ENG_LISTEN : ENG_RUN;
	} else if (tr->vfork) { /* asleep until the child has ended or called exec */
		tr->vfork = false;
		t->state = REC_BLOCKED;
		return eng_resume(&t->t, ENG_TO_EXIT, 0);
	}
	return 0;
}

static int carry_on(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	switch (tr->at) {
	case TRACE_ENTRY:
		return from_entry(t);
	case TRACE_EXITING:
		return rec_exiting(t);
	case TRACE_SIGNAL:
		return from_signal(t);
	case TRACE_EXIT:
		rec_ready(t, ENG_RUN, tr->inject);
		return 0;
	default:
		return from_event(t);
	}
}

/* What came while it was held comes before its next instruction. */
static int note_due(struct rec_task *t)
{
	struct eng_sigsets sets;
	int rc = eng_sigsets(&t->t, &sets);

	if (rc >= 0)
		t->due = sets.pending & ~sets.blocked;
	return rc;
}

int rec_trace_before(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	bool ends = tr->at == TRACE_EXITING;
	int rc;

	tr->was_exec = t->execed;
	tr->asked = t->interrupting;
	if (!tr->resuming)
		return 0;
	tr->resuming = false;
	if (t->t.stop.status != tr->kernel_status)
		return 0; /* killed meanwhile */
	log_trace("thread %u goes on", t->num);
	rc = carry_on(t);
	if (rc < 0 || ends)
		return rc < 0 ? rc : 1;
	run_on(t);
	if (t->state == REC_READY && t->inside && !t->ran)
		rc = note_due(t);
	if (tr->detached && t->state != REC_HELD)
		rec_trace_free(t);
	return rc < 0 ? rc : 1;
}

/* --- stops --- */

/* A call has ended and is logged. */
static int call_done(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	tr->entry_seen = tr->filter_seen = tr->regs_changed = false;
	if (tr->was_exec) {
		tr->then_exit = tr->options & PTRACE_O_TRACEEXEC;
		if (tr->then_exit)
			return hold_event(t, TRACE_EVENT, PTRACE_EVENT_EXEC, tr->former);
		if (!tr->seized && syscall(SYS_tgkill, t->t.tgid, t->t.tid, SIGTRAP) == 0)
			tr->exec_trap = true;
	}
	if (tr->vfork_done) {
		tr->vfork_done = false;
		tr->then_exit = true;
		return hold_event(t, TRACE_EVENT, PTRACE_EVENT_VFORK_DONE, tr->message);
	}
	if (tr->interrupt) { /* the exit stop was the kernel's answer to it */
		tr->interrupt = false;
		if (tr->how != TRACE_SYSCALL)
			return hold_event(t, TRACE_EVENT, PTRACE_EVENT_STOP, 0);
	}
	return show_exit(t);
}

static int group_stop(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	int rc = settle(t);

	if (rc < 0)
		return rc;
	tr->interrupt = false;
	return hold(t, TRACE_GROUP, (uint32_t)t->t.stop.signo | (tr->seized ? PTRACE_EVENT_STOP << 8 : 0));
}

/* To a place close by: 1 = it is there, 0 = it met something else first. */
static int move_on(struct rec_task *t)
{
	int rc = rec_async_point(t, EVENT_POINT_STOP);

	if (rc < 0 || (t->state == REC_READY && t->inside && !t->ran))
		return rc < 0 ? rc : 1;
	t->trace->late = true;
	t->trace->interrupt = false;
	return 0;
}

static int trap_stop(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	int rc = 0;
	bool wanted = tr->born || (!tr->stale && (tr->interrupt || (tr->seized && !tr->asked)));

	tr->stale = false;
	if (!wanted || (t->in_call && !t->again))
		return 0;
	rc = settle(t);
	if (rc == 0)
		rc = move_on(t);
	if (rc <= 0)
		return rc;
	if (tr->born && !tr->seized) {
		tr->born = false;
		hold(t, TRACE_EVENT, SIGSTOP);
		tr->info = (siginfo_t){ .si_signo = SIGSTOP, .si_code = SI_USER };
		return 1;
	}
	tr->born = tr->interrupt = false;
	return hold_event(t, TRACE_EVENT, PTRACE_EVENT_STOP, 0);
}

/* Is the call over? A put off one is not. */
static bool call_over(const struct rec_task *t)
{
	return !t->in_call && !t->again && !t->redelivering && t->next_how == ENG_RUN;
}

static int after(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	int rc = 0;

	switch (t->t.stop.kind) {
	case ENG_STOP_SECCOMP:
		return call_over(t) ? call_done(t) : 0;
	case ENG_STOP_SYSCALL:
		rc = !t->in_call ? call_done(t) : 0;
		break;
	case ENG_STOP_EXEC: /* shown when the new image is logged */
		return eng_message(&t->t, &tr->former);
	case ENG_STOP_GROUP:
		return group_stop(t);
	case ENG_STOP_TRAP:
		return trap_stop(t);
	case ENG_STOP_SIGNAL: /* an instruction that traps was emulated */
		if (tr->how == TRACE_STEP && t->t.stop.signo == SIGSEGV && !t->next_signo && !t->ran)
			return hold_step(t, TRAP_TRACE);
		break;
	default:
		break;
	}
	return rc;
}

int rec_trace_after(struct rec_task *t)
{
	int rc;

	if (t->state != REC_READY || t->trace->detached)
		return 0;
	rc = after(t);
	if (rc == 0)
		run_on(t);
	return rc;
}

int rec_trace_entry(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	int rc;

	if (tr->late) { /* if it sleeps, it shall not for long: call_done() */
		tr->late = false;
		tr->interrupt = true;
		rc = eng_interrupt(&t->t);
		if (rc < 0)
			return rc;
	}
	if (tr->how != TRACE_SYSCALL || tr->entry_seen || tr->detached)
		return 0;
	rc = rec_park(t);
	if (rc < 0)
		return rc;
	t->ran = false; /* logged when it was entered before */
	tr->entry_seen = true;
	return hold(t, TRACE_ENTRY, SIGTRAP | (tr->options & PTRACE_O_TRACESYSGOOD ? 0x80 : 0));
}

int rec_trace_seccomp(struct rec_task *t, uint32_t data)
{
	struct rec_trace *tr = t->trace;
	int rc;

	if (tr->detached || !(tr->options & PTRACE_O_TRACESECCOMP))
		return 0;
	if (tr->filter_seen)
		return 2;
	rc = rec_park(t);
	if (rc < 0)
		return rc;
	t->ran = false; /* logged when it was entered before */
	tr->entry_seen = tr->filter_seen = true;
	return hold_event(t, TRACE_ENTRY, PTRACE_EVENT_SECCOMP, data);
}

void rec_trace_call_effects(struct rec_task *t)
{
	/* A stepped call leaves the trap flag in r11. */
	if (!t->trace->regs_changed && t->trace->how != TRACE_STEP)
		return;
	t->trace->regs_changed = false;
	fx_registers(&t->rec->fx, &t->t);
}

/* --- signals --- */

bool rec_trace_siginfo(struct rec_task *t, siginfo_t *si)
{
	struct rec_trace *tr = t->trace;
	bool ours = si->si_code <= 0 && si->si_pid == getpid();

	if (ours && si->si_signo == SIGCHLD && t->proc->chld_sent) {
		t->proc->chld_sent = false;
		*si = t->proc->chld;
		return true;
	}
	if (ours && tr && tr->attach_stop && si->si_signo == SIGSTOP) {
		tr->attach_stop = false;
		*si = (siginfo_t){ .si_signo = SIGSTOP, .si_code = SI_KERNEL };
		return true;
	}
	if (ours && tr && tr->exec_trap && si->si_signo == SIGTRAP) {
		tr->exec_trap = false;
		si->si_code = SI_USER;
		si->si_pid = t->t.tgid;
		si->si_uid = uid_of(t);
		return true;
	}
	return false;
}

/* The registers are what they will be when the tracer looks. */
static int log_place(struct rec_task *t, struct event *ev)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	ev->rip = r->rip;
	rc = rec_signal_returned(t); /* a place inside of computation */
	return rc < 0 ? rc : rec_log(t->rec, ev);
}

static int stepped(struct rec_task *t, const siginfo_t *si)
{
	struct user_regs_struct *r;
	struct event ev;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	rec_event_init(t, &ev, EVENT_ASYNC_POINT);
	ev.args[EVENT_POINT_KIND] = EVENT_POINT_STEPS;
	ev.args[EVENT_POINT_REASON] = EVENT_POINT_STOP;
	ev.args[EVENT_POINT_STEPS_RUN] = 1;
	ev.regs_hash = eng_regs_hash(r);
	fx_registers(&t->rec->fx, &t->t);
	rc = log_place(t, &ev);
	return rc < 0 ? rc : hold_signal(t, si);
}

/* An instruction caused it: replay meets it there. */
static int fault(struct rec_task *t, const siginfo_t *si)
{
	struct user_regs_struct *r;
	struct event ev;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	rec_signal_event(t, &ev, si, 0);
	ev.regs_hash = eng_regs_hash(r);
	rc = log_place(t, &ev);
	return rc < 0 ? rc : hold_signal(t, si);
}

static int put_off_call(struct rec_task *t, const siginfo_t *si)
{
	struct event ev;
	int rc;

	fx_registers(&t->rec->fx, &t->t);
	rec_signal_event(t, &ev, si, EVENT_F_ASYNC | EVENT_F_AT_CALL);
	ev.regs_hash = t->entry_hash;
	rc = log_place(t, &ev);
	return rc < 0 ? rc : hold_signal(t, si);
}

/* Steps to a better place have made the CPU forget which watchpoint it was. */
static int hold_watch(struct rec_task *t, const siginfo_t *si)
{
	int rc = eng_request(&t->t, PTRACE_POKEUSER, DEBUG_STATUS, (void *)t->trace->watch_status);

	return rc < 0 ? rc : hold_signal(t, si);
}

int rec_trace_signal(struct rec_task *t, const siginfo_t *si, uint32_t place)
{
	struct rec_trace *tr = t->trace;
	bool trap = si->si_signo == SIGTRAP && tr->how == TRACE_STEP;
	int rc;

	if (tr->detached)
		return 0;
	if (tr->passed & BIT(si->si_signo)) {
		tr->passed &= ~BIT(si->si_signo);
		return 0;
	}
	if (trap && si->si_code == TRAP_TRACE)
		return stepped(t, si);
	if (trap && si->si_code == TRAP_BRKPT && t->next_how == ENG_STEP) {
		rec_ready(t, ENG_STEP, 0); /* the end of a call that we answered: nothing has run */
		return 1;
	}
	if (!place && rec_signal_is_fault(si) && si->si_code != TRAP_HWBKPT)
		return fault(t, si);
	if (place == EVENT_F_AT_CALL)
		return put_off_call(t, si);
	if (place && si->si_code == TRAP_HWBKPT)
		return hold_watch(t, si);
	rc = settle(t);
	if (rc > 0)
		return hold_signal(t, si);
	if (rc == 0 && si->si_code == TRAP_HWBKPT)
		rc = eng_request(&t->t, PTRACE_PEEKUSER, DEBUG_STATUS, &tr->watch_status);
	if (rc == 0)
		rc = rec_signal_put_aside(t, si);
	return rc < 0 ? rc : 1;
}

/* --- birth and end --- */

static uint64_t exit_signal(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	uint64_t signo = SIGCHLD;

	if (t->outs.call.nr == SYS_clone)
		return a[0] & 0xff;
	if (t->outs.call.nr == SYS_clone3 && eng_read(&t->t, a[0] + 32, &signo, 8) < 0)
		return SIGCHLD;
	return signo;
}

int rec_trace_birth(struct rec_task *t, struct rec_task *c, uint64_t flags)
{
	struct rec_trace *tr = t->trace;
	unsigned event = flags & CLONE_VFORK ? PTRACE_EVENT_VFORK : exit_signal(t) != SIGCHLD ? PTRACE_EVENT_CLONE : PTRACE_EVENT_FORK;
	int rc;

	if (tr->detached)
		return 0;
	tr->vfork_done = (flags & CLONE_VFORK) && (tr->options & PTRACE_O_TRACEVFORKDONE);
	tr->message = (uint64_t)c->t.tid;
	if (!(tr->options & 1u << event) && !(flags & CLONE_PTRACE))
		return 0;
	rc = rec_trace_new(c, tr->tracer, tr->seized, tr->options);
	if (rc < 0)
		return rc;
	c->trace->born = true;
	if (!(tr->options & 1u << event))
		return 0;
	tr->vfork = flags & CLONE_VFORK;
	rec_ready(t, ENG_TO_EXIT, 0);
	return hold_event(t, TRACE_EVENT, event, (uint64_t)c->t.tid);
}

int rec_trace_exiting(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;

	if (tr->detached) /* its tracer may be gone */
		return 0;
	tr->own_child = child_of(t, tr->tracer);
	tr->group = getpgid(t->t.tgid);
	if (!(tr->options & PTRACE_O_TRACEEXIT) || tr->exit_seen)
		return 0;
	tr->exit_seen = true;
	return hold_event(t, TRACE_EXITING, PTRACE_EVENT_EXIT, (uint64_t)(unsigned)t->exit_status);
}

static void leave_zombie(struct rec_task *t)
{
	struct rec_trace *tr = t->trace;
	struct rec_zombie *z;

	if (tr->detached || tr->own_child || !t->t.tid)
		return;
	z = calloc(1, sizeof(*z));
	if (!z)
		return;
	*z = (struct rec_zombie){ t->rec->zombies, tr->tracer, t->t.tid, tr->group, tr->uid, t->exit_status };
	t->rec->zombies = z;
	t->rec->n_traced++;
	rec_trace_tell(tr->tracer, z->tid, z->uid, z->status);
}

/* Its tracees go on without it, or die with it. */
static void leave_tracees(struct rec_task *tracer)
{
	struct rec *rec = tracer->rec;
	struct rec_zombie **p = &rec->zombies;

	while (*p) {
		struct rec_zombie *z = *p;

		if (z->tracer != tracer) {
			p = &z->next;
			continue;
		}
		*p = z->next;
		rec->n_traced--;
		free(z);
	}
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (!t->trace || t->trace->tracer != tracer)
			continue;
		if (t->trace->options & PTRACE_O_EXITKILL)
			kill(t->t.tgid, SIGKILL);
		rec_trace_resume(t, TRACE_CONT, 0, true);
		if (!t->trace->resuming)
			rec_trace_free(t);
	}
}

void rec_trace_gone(struct rec_task *t)
{
	if (t->trace)
		leave_zombie(t);
	rec_trace_free(t);
	leave_tracees(t);
}
