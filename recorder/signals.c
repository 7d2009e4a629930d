/* Signals.
 *
 * A signal that an instruction causes (SIGSEGV, ...) is delivered at once: replay meets it at the same
 * instruction. Any other that has a handler is delivered at a boundary, a place that replay can find:
 *     AFTER    right after the thread's previous event, nothing run since
 *     AT_CALL  at the entry of its next system call, which is put off
 * One that arrives in the middle of computation waits in t->stash until the place, or one a few instructions on,
 * has been made an event (recorder/async.c); then it comes AFTER that. So do those that end the process, so that
 * replay ends where it was, and those that stop it. Ignored signals pass at once: nobody can see where. */
#define LOG_AREA "recorder.signals"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define SIGRTMIN_KERNEL 32 /* from here on signals queue, and each has its information */
#define BIT(signo) (1ull << ((signo) - 1))

static const uint64_t default_ignored = BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT);
static const uint64_t default_stops = BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU);
static const uint64_t fault_signals = BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS);

/* --- instructions that trap --- */

static int emulate_tsc(struct rec_task *t, struct user_regs_struct *r, bool with_aux, unsigned len)
{
	struct event ev;
	uint64_t tsc;
	uint32_t aux;

	rec_event_init(t, &ev, EVENT_TSC);
	tsc = eng_traps_rdtscp(&t->rec->traps, &aux);
	ev.rip = r->rip;
	ev.regs_hash = eng_regs_hash(r);
	ev.args[0] = tsc;
	ev.args[1] = aux;
	ev.args[2] = with_aux;
	r->rax = (uint32_t)tsc;
	r->rdx = tsc >> 32;
	if (with_aux)
		r->rcx = aux;
	r->rip += len;
	return rec_log(t->rec, &ev);
}

static int emulate_cpuid(struct rec_task *t, struct user_regs_struct *r, unsigned len)
{
	struct event ev;
	uint32_t v[4];

	rec_event_init(t, &ev, EVENT_CPUID);
	ev.rip = r->rip;
	ev.regs_hash = eng_regs_hash(r);
	ev.args[0] = (uint32_t)r->rax;
	ev.args[1] = (uint32_t)r->rcx;
	rec_cpuid(t->rec, (uint32_t)r->rax, (uint32_t)r->rcx, v);
	ev.args[2] = v[0] | (uint64_t)v[1] << 32;
	ev.args[3] = v[2] | (uint64_t)v[3] << 32;
	r->rax = v[0];
	r->rbx = v[1];
	r->rcx = v[2];
	r->rdx = v[3];
	r->rip += len;
	return rec_log(t->rec, &ev);
}

/* 1: the fault was rdtsc, rdtscp or cpuid and is dealt with. */
static int trapped_instruction(struct rec_task *t)
{
	struct user_regs_struct *r;
	enum eng_insn insn;
	unsigned len;
	int rc;

	insn = eng_trapped_insn(&t->t, &len);
	if (insn == ENG_INSN_OTHER || (insn != ENG_INSN_CPUID && t->tsc_faults))
		return 0;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	rc = insn == ENG_INSN_CPUID ? emulate_cpuid(t, r, len) : emulate_tsc(t, r, insn == ENG_INSN_RDTSCP, len);
	if (rc < 0)
		return rc;
	eng_regs_changed(&t->t);
	t->entry = *r; /* a boundary */
	t->inside = true;
	rc = rec_forced_repair(t);
	rec_ready(t, ENG_RUN, 0);
	return rc < 0 ? rc : 1;
}

/* --- delivery --- */

void rec_signal_event(struct rec_task *t, struct event *ev, const siginfo_t *si, uint32_t flags)
{
	rec_event_init(t, ev, EVENT_SIGNAL);
	ev->signo = (uint32_t)si->si_signo;
	memcpy(ev->siginfo, si, MIN(sizeof(*si), sizeof(ev->siginfo)));
	ev->flags = flags;
	ev->rip = t->t.regs_valid ? t->t.regs.rip : 0;
}

/* The kernel wrote a frame between the handler's rsp and where the stack in use began. */
static void frame_effect(struct rec_task *t, const struct user_regs_struct *handler, uint64_t old_rsp)
{
	uint64_t alt[3] = { 0 }; /* uc_stack of the frame: sp, flags, size */
	uint64_t top = old_rsp;

	if (eng_read(&t->t, handler->rsp + 24, alt, sizeof(alt)) >= 0 && handler->rsp - alt[0] < alt[2] && old_rsp - alt[0] >= alt[2])
		top = alt[0] + alt[2];
	if (top < handler->rsp || top - handler->rsp > (1u << 20))
		top = handler->rsp + ENG_XSTATE_MAX + 4096;
	fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, handler->rsp, top - handler->rsp);
}

static int log_handler(struct rec_task *t, const siginfo_t *si, uint32_t flags, uint64_t rip, uint64_t hash, uint64_t old_rsp)
{
	struct user_regs_struct *r;
	struct event ev;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	fx_registers(&t->rec->fx, &t->t);
	fx_xstate(&t->rec->fx, &t->t);
	frame_effect(t, r, old_rsp);
	rec_signal_event(t, &ev, si, flags | EVENT_F_HANDLER);
	ev.rip = rip;
	ev.regs_hash = hash;
	t->entry = *r;
	rec_async_interrupted(t->rec, rip);
	t->restart_pending = false; /* the frame holds the outcome */
	rec_ready(t, ENG_RUN, 0);
	rc = rec_forced_handled(t, si->si_signo);
	return rc < 0 ? rc : rec_log(t->rec, &ev);
}

/* Lets the kernel build the frame: a single-step with a signal stops before the handler's first instruction. */
static int enter_handler(struct rec_task *t, const siginfo_t *si, uint32_t flags)
{
	struct user_regs_struct *r, before;
	struct eng_stop st;
	uint64_t hash;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	before = *r;
	hash = flags & EVENT_F_AT_CALL ? t->entry_hash : flags & EVENT_F_AFTER ? 0 : eng_regs_hash(r);
	rc = eng_resume(&t->t, ENG_STEP, si->si_signo);
	if (rc < 0)
		return rc;
	do
		rc = eng_wait_task(&t->t, &st);
	while (rc == ERR_INTERRUPTED);
	if (rc < 0)
		return rc;
	if (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP) {
		t->state = REC_STOPPED; /* no room for the frame (SIGSEGV), or killed */
		return 0;
	}
	return log_handler(t, si, flags, before.rip, hash, before.rsp);
}

int rec_signal_returned(struct rec_task *t)
{
	struct user_regs_struct *r;
	struct eng_sigsets sets;
	int rc = eng_regs(&t->t, &r);

	if (rc >= 0)
		rc = eng_sigsets(&t->t, &sets);
	if (rc < 0)
		return rc;
	t->entry = *r;
	t->inside = true;
	t->due = sets.pending & ~sets.blocked;
	t->blocked = sets.blocked;
	return 0;
}

/* Has it run no instruction since its last event? */
bool rec_same_place(const struct rec_task *t, const struct user_regs_struct *r, int signo)
{
	const struct user_regs_struct *e = &t->entry;

	if (t->inside && (!signo || !(t->due & BIT(signo))))
		return false;
	return r->rip == e->rip && r->rsp == e->rsp && r->rbx == e->rbx && r->rbp == e->rbp && r->r12 == e->r12 && r->r13 == e->r13 &&
	       r->r14 == e->r14 && r->r15 == e->r15 && r->rdi == e->rdi && r->rsi == e->rsi && r->rdx == e->rdx && r->r8 == e->r8 &&
	       r->r9 == e->r9 && r->r10 == e->r10;
}

/* It arrived inside of computation: it waits for the place that is made an event now, or for the event that comes
 * first. */
int rec_signal_put_aside(struct rec_task *t, const siginfo_t *si)
{
	bool queued = si->si_signo >= SIGRTMIN_KERNEL;

	for (unsigned i = 0; i < t->n_stash && !queued; i++)
		if (t->stash[i].si_signo == si->si_signo)
			goto out; /* ordinary signals merge */
	if (t->n_stash < STASH_MAX)
		t->stash[t->n_stash++] = *si;
	else
		rec_warn(t->rec, "more than %d signals waited for one thread: some were lost", STASH_MAX);
out:
	if (t->rec->chaos && t->n_stash < STASH_MAX / 8 && rec_chaos_defers_signal(t)) {
		rec_sched_tick(t->rec); /* that it does not wait for ever where nobody else could run */
		rec_ready(t, ENG_RUN, 0);
		return 0;
	}
	return rec_async_point(t, EVENT_POINT_SIGNAL);
}

static int log_fatal(struct rec_task *t, const siginfo_t *si, uint32_t flags)
{
	struct event ev;
	struct user_regs_struct *r;

	if (eng_regs(&t->t, &r) < 0)
		return ERR_GUEST_GONE;
	rec_signal_event(t, &ev, si, flags | EVENT_F_FATAL);
	if (!(flags & EVENT_F_ASYNC))
		ev.regs_hash = eng_regs_hash(r);
	rec_ready(t, ENG_RUN, si->si_signo);
	return rec_log(t->rec, &ev);
}

/* Signals of one number that queue come in their order: one that waits already goes first, and this one waits in
 * its stead. */
static int oldest_first(struct rec_task *t, siginfo_t *si)
{
	siginfo_t came = *si;
	unsigned i = 0;

	while (i < t->n_stash && t->stash[i].si_signo != si->si_signo)
		i++;
	if (si->si_signo < SIGRTMIN_KERNEL || i == t->n_stash)
		return 0;
	*si = t->stash[i];
	memmove(t->stash + i, t->stash + i + 1, (t->n_stash - i - 1) * sizeof(t->stash[0]));
	t->stash[t->n_stash - 1] = came;
	return eng_set_siginfo(&t->t, si);
}

/* A caught one. place 0: as it came. */
static int deliver_caught(struct rec_task *t, siginfo_t si, uint32_t place)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	if (!place) {
		if (!rec_same_place(t, r, si.si_signo))
			return rec_signal_put_aside(t, &si);
		place = EVENT_F_AFTER;
		rc = oldest_first(t, &si);
	}
	return rc < 0 ? rc : enter_handler(t, &si, EVENT_F_ASYNC | place);
}

static int deliver_async(struct rec_task *t, const siginfo_t *si, uint64_t caught, uint32_t place)
{
	uint64_t bit = BIT(si->si_signo);
	struct user_regs_struct *r;
	int rc;

	if (caught & bit)
		return deliver_caught(t, *si, place);
	if (!place && !(default_stops & bit && t->in_call)) {
		rc = eng_regs(&t->t, &r);
		if (rc < 0)
			return rc;
		if (!rec_same_place(t, r, si->si_signo))
			return rec_signal_put_aside(t, si);
	}
	if (!(default_stops & bit))
		return log_fatal(t, si, EVENT_F_ASYNC | place);
	rec_ready(t, ENG_RUN, si->si_signo);
	return 0;
}

/* Signals that the program never notices: without a tracer they are dropped when they are sent. */
static uint64_t unseen(const struct eng_sigsets *s)
{
	return s->ignored | (default_ignored & ~s->caught);
}

int rec_interrupted_by_nothing(struct rec_task *t)
{
	struct eng_sigsets s;
	int rc = eng_sigsets(&t->t, &s);
	uint64_t coming = rc < 0 ? 0 : s.pending & ~s.blocked;

	return rc < 0 ? rc : coming && !(coming & ~unseen(&s));
}

bool rec_signal_is_fault(const siginfo_t *si)
{
	return si->si_code > 0 && (fault_signals & BIT(si->si_signo));
}

int rec_signal_deliver(struct rec_task *t, const siginfo_t *si, uint32_t place)
{
	uint64_t bit = BIT(si->si_signo);
	struct eng_sigsets sets;
	int rc = eng_sigsets(&t->t, &sets);

	if (rc < 0)
		return rc;
	log_debug("thread %u: signal %d code %d", t->num, si->si_signo, si->si_code);
	if (!place && rec_signal_is_fault(si))
		return sets.caught & bit ? enter_handler(t, si, 0) : log_fatal(t, si, 0);
	if (unseen(&sets) & bit) {
		rec_ready(t, ENG_RUN, si->si_signo);
		return 0;
	}
	return deliver_async(t, si, sets.caught, place);
}

/* A signal that we have sent again has come, or another one with its number: then that one keeps our place in the
 * kernel's queue, and comes later. */
static int take_redelivered(struct rec_task *t, siginfo_t *si, uint32_t *ret_place)
{
	bool queued = si->si_signo >= SIGRTMIN_KERNEL && !(si->si_code == SI_TKILL && si->si_pid == getpid());
	siginfo_t came = *si;

	*si = t->redeliver;
	*ret_place = t->redeliver_place;
	t->redelivering = queued;
	if (queued) {
		t->redeliver = came;
		t->redeliver_place = 0;
	}
	return eng_set_siginfo(&t->t, si);
}

int rec_signal_stop(struct rec_task *t)
{
	uint32_t place = 0;
	siginfo_t si;
	int rc = eng_siginfo(&t->t, &si);

	if (rc < 0)
		return rc;
	if (si.si_signo == SIGSEGV && si.si_code == SI_KERNEL) {
		rc = trapped_instruction(t);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (t->watching && si.si_signo == SIGTRAP && si.si_code == TRAP_HWBKPT)
		return rec_chaos_touched(t);
	if (t->redelivering && si.si_signo == t->redeliver.si_signo) {
		rc = take_redelivered(t, &si, &place);
	} else if (t->rec->n_traced && rec_trace_siginfo(t, &si)) {
		rc = eng_set_siginfo(&t->t, &si);
	}
	if (rc >= 0 && t->trace)
		rc = rec_trace_signal(t, &si, place);
	if (rc)
		return rc < 0 ? rc : 0;
	return rec_signal_deliver(t, &si, place);
}

/* --- boundaries --- */

/* Takes out the first waiting signal that is not blocked: 1. */
static int next_waiting(struct rec_task *t, siginfo_t *ret)
{
	uint64_t mask;
	int rc = eng_sigmask(&t->t, &mask);

	for (unsigned i = 0; rc >= 0 && i < t->n_stash; i++) {
		if (mask & BIT(t->stash[i].si_signo))
			continue;
		*ret = t->stash[i];
		t->n_stash--;
		memmove(t->stash + i, t->stash + i + 1, (t->n_stash - i) * sizeof(t->stash[0]));
		return 1;
	}
	return MIN(rc, 0);
}

/* Sends the next waiting signal again: the kernel then reports it at once. */
static int resend(struct rec_task *t, uint32_t place)
{
	int rc = t->redelivering ? 0 : next_waiting(t, &t->redeliver);

	if (rc <= 0)
		return rc;
	t->redeliver_place = place;
	if (syscall(SYS_tgkill, t->t.tgid, t->t.tid, t->redeliver.si_signo) < 0)
		return ERR_GUEST_GONE;
	t->redelivering = true;
	return 1;
}

int rec_signal_before_call(struct rec_task *t)
{
	struct user_regs_struct *r;
	int rc = resend(t, EVENT_F_AT_CALL);

	if (rc <= 0)
		return rc;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	r->rax = r->orig_rax;
	r->orig_rax = (unsigned long)-1;
	r->rip -= 2;
	eng_regs_changed(&t->t);
	t->in_call = false;
	rec_tally_undo(t);
	rec_ready(t, ENG_RUN, 0);
	return 1;
}

int rec_signal_into_call(struct rec_task *t)
{
	int rc = resend(t, 0);

	return rc < 0 ? rc : 0;
}

/* The kernel forces such a signal through: a mask does not hold it back. */
int rec_signal_for_call(struct rec_task *t, const siginfo_t *si)
{
	struct user_regs_struct *r;
	int rc = eng_unblock(&t->t, si->si_signo);

	if (rc >= 0)
		rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	if (syscall(SYS_tgkill, t->t.tgid, t->t.tid, si->si_signo) < 0)
		return ERR_GUEST_GONE;
	t->redeliver = *si;
	t->redeliver_place = EVENT_F_AT_CALL;
	t->redelivering = true;
	r->rax = r->orig_rax;
	r->orig_rax = (unsigned long)-1;
	eng_regs_changed(&t->t);
	t->in_call = false;
	rec_tally_undo(t);
	rec_ready(t, ENG_RUN, 0);
	return 0;
}

int rec_signal_after_event(struct rec_task *t)
{
	siginfo_t si = { 0 };
	int rc;

	/* Only where a signal has stopped the thread another one can take its place. */
	if (t->redelivering || t->t.stop.kind != ENG_STOP_SIGNAL || t->t.remoted) {
		rc = resend(t, EVENT_F_AFTER);
		return MIN(rc, 0);
	}
	rc = next_waiting(t, &si);
	if (rc > 0)
		rc = eng_set_siginfo(&t->t, &si);
	return rc < 0 || !si.si_signo ? rc : rec_signal_deliver(t, &si, EVENT_F_AFTER);
}

int rec_restart_seen(struct rec_task *t)
{
	struct event ev;

	t->restart_pending = false;
	rec_event_init(t, &ev, EVENT_RESTART);
	ev.sysno = t->restart_nr;
	ev.result = (int64_t)t->entry.orig_rax; /* the same call, or restart_syscall */
	ev.rip = t->entry.rip;
	return rec_log(t->rec, &ev);
}
