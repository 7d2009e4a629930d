/* Replayed threads run here, and nowhere else: to the next thing that the program does, for a debugger to the next thing that
 * it wants to see. */
#define LOG_AREA "replayer.run"
#include "replayer/rep_priv.h"
#include "replayer/site_priv.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/patch.h"


static bool from_the_program(struct rep_task *t, const struct eng_stop *st)
{
	siginfo_t si;

	switch (st->signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
		return eng_siginfo(&t->t, &si) >= 0 && si.si_code > 0;
	}
	return false; /* somebody signals the replayed process: not part of the recording */
}

/* At an entry the guest's own call must have been taken away first: it may never reach the kernel. */
static bool call_pending(struct rep_task *t)
{
	struct user_regs_struct *r;

	return t->place == REP_ENTRY && (eng_regs(&t->t, &r) < 0 || r->orig_rax != UINT64_MAX);
}

static int wait_whatever_comes(struct rep_task *t, struct eng_stop *ret)
{
	int r;

	do
		r = eng_wait_task(&t->t, ret);
	while (r == ERR_INTERRUPTED);
	return r;
}

/* The kernel tells of an interrupt before it tells of the signal that the last instruction has raised. */
static bool has_raised_signal(struct rep_task *t)
{
	struct __ptrace_peeksiginfo_args first = { .nr = 8 };
	siginfo_t si[8];
	int n = eng_request(&t->t, PTRACE_PEEKSIGINFO, (uint64_t)&first, si);

	for (int i = 0; i < n; i++)
		if (si[i].si_code > 0)
			return true;
	return false;
}

/* Stops t, which runs. It may have stopped by itself meanwhile: then the trap that we asked for comes later, and
 * is passed over. */
static int halt(struct rep_task *t, struct eng_stop *ret)
{
	int r = eng_interrupt(&t->t);

	if (r >= 0)
		r = wait_whatever_comes(t, ret);
	while (r >= 0 && ret->kind == ENG_STOP_TRAP) {
		if (!has_raised_signal(t)) {
			t->place = REP_USER; /* it has left the entry of the call that it came from */
			r = rep_site_settle(t);
			return r < 0 ? r : ERR_STOPPED;
		}
		r = eng_resume(&t->t, ENG_RUN, 0);
		if (r >= 0)
			r = wait_whatever_comes(t, ret);
	}
	return r;
}

/* A signal of ours came. 0: it has stopped by itself; 1: it runs on. */
static int interrupted(struct rep_task *t, struct eng_stop *ret, uint64_t deadline)
{
	const struct rep_hooks *h = t->session->hooks;

	if (deadline && os_mono_ns() > deadline)
		return ERR_INTERRUPTED;
	return h && h->tick(h->ctx, t) ? halt(t, ret) : 1;
}

static int wait_stop(struct rep_task *t, struct eng_stop *ret, uint64_t deadline)
{
	int r;

	for (;;) {
		r = eng_wait_task(&t->t, ret);
		if (r == ERR_INTERRUPTED)
			r = interrupted(t, ret, deadline);
		if (r <= 0)
			return r;
	}
}

/* Is it the program's doing? Sets where the thread is then. */
static int is_event(struct rep_task *t, const struct eng_stop *st)
{
	int r;

	switch (st->kind) {
	case ENG_STOP_SECCOMP:
		t->place = REP_ENTRY;
		return 1;
	case ENG_STOP_SIGNAL:
		if (!from_the_program(t, st))
			return 0;
		t->place = REP_USER;
		r = st->signo == SIGTRAP ? 0 : rep_site_faulted(t); /* int3s there are ours */
		return r < 0 ? r : 1;
	case ENG_STOP_GONE:
	case ENG_STOP_EXITING:
		return ERR_GUEST_GONE;
	default:
		return 0;
	}
}

/* Does the one who called rep_run() wait for it to come to this breakpoint? */
static bool is_awaited(struct rep_task *t, const struct eng_stop *st)
{
	struct user_regs_struct *r;

	return t->awaited && st->kind == ENG_STOP_SIGNAL && st->signo == SIGTRAP && eng_regs(&t->t, &r) >= 0 && r->rip == t->awaited + 1;
}

static bool is_step(struct rep_task *t, const struct eng_stop *st)
{
	siginfo_t si;

	return st->kind == ENG_STOP_SIGNAL && st->signo == SIGTRAP && eng_siginfo(&t->t, &si) >= 0 && si.si_code == TRAP_TRACE;
}

#define EFLAGS_TF 0x100u

/* pushf, with operand size and REX prefixes */
static bool pushes_flags(struct rep_task *t, uint64_t at)
{
	uint8_t code[3] = { 0 };
	size_t i = 0;

	if (eng_read_some(&t->t, at, code, sizeof(code)) <= 0)
		return false;
	while (i + 1 < sizeof(code) && (code[i] == 0x66 || (code[i] & 0xf0) == 0x40))
		i++;
	return code[i] == 0x9c;
}

/* Two instructions show the flag by which the kernel makes single steps. */
static int hide_trap_flag(struct rep_task *t, const struct eng_stop *st, bool pushes)
{
	struct user_regs_struct *regs;
	uint16_t flags;
	int r = eng_regs(&t->t, &regs);

	if (r >= 0 && st->kind == ENG_STOP_SECCOMP && regs->r11 & EFLAGS_TF) {
		regs->r11 &= ~(uint64_t)EFLAGS_TF;
		eng_regs_changed(&t->t);
	}
	if (r < 0 || !pushes || st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP)
		return r;
	r = eng_read(&t->t, regs->rsp, &flags, sizeof(flags));
	flags &= (uint16_t)~EFLAGS_TF;
	return r < 0 ? r : eng_write(&t->t, regs->rsp, &flags, sizeof(flags));
}

/* One instruction, below the breakpoints of a debugger. hide: that it was stepped; a step that was recorded showed it to the program. */
static int step(struct rep_task *t, struct eng_stop *ret, bool hide)
{
	struct user_regs_struct *regs;
	bool traced, pushes;
	int64_t result;
	uint64_t at;
	int lowered, r = 0;

	/* from the entry of a call that was taken away the first step would only leave the kernel */
	if (t->place == REP_ENTRY)
		r = rep_remote_quiet(t, SYS_getpid, (uint64_t[6]){ 0 }, &result);
	if (r >= 0)
		r = eng_regs(&t->t, &regs);
	if (r < 0)
		return r;
	at = regs->rip;
	traced = regs->eflags & EFLAGS_TF;
	pushes = pushes_flags(t, at);
	r = eng_patch_lift(&t->t, at, 1);
	if (r < 0)
		return r;
	do { /* the trap of an interrupt comes before the instruction, or before the signal that tells of it */
		r = eng_resume(&t->t, ENG_STEP, 0);
		if (r >= 0)
			r = wait_whatever_comes(t, ret);
	} while (r >= 0 && ret->kind == ENG_STOP_TRAP);
	lowered = eng_patch_lower(&t->t, at, 1);
	if (r >= 0 && hide && !traced)
		r = hide_trap_flag(t, ret, pushes);
	return r < 0 ? r : lowered;
}

static int step_placed(struct rep_task *t, struct eng_stop *ret, bool hide)
{
	int r = step(t, ret, hide);

	t->place = r >= 0 && ret->kind == ENG_STOP_SECCOMP ? REP_ENTRY : REP_USER;
	return r;
}

int rep_step(struct rep_task *t, struct eng_stop *ret)
{
	return step_placed(t, ret, true);
}

static int run_plain(struct rep_task *t, struct eng_stop *ret, uint64_t deadline)
{
	int r;

	do {
		r = eng_resume(&t->t, ENG_RUN, 0);
		if (r >= 0)
			r = wait_stop(t, ret, deadline);
		if (r >= 0)
			r = is_event(t, ret);
	} while (r == 0);
	return MIN(r, 0);
}

static bool at_patch(struct rep_task *t, uint64_t rip)
{
	const struct eng_patch *p = eng_patch_find(t->t.mm, rip);

	return p && p->planted;
}

bool rep_stepping(struct rep_task *t)
{
	const struct rep_hooks *h = t->session->hooks;

	return h && h->before(h->ctx, t) == REP_STEPS;
}

/* The same is done once more when it turns out that the thread has to go over a breakpoint first. */
static int go(struct rep_task *t, struct eng_stop *ret, uint64_t deadline, bool steps)
{
	int r;

	t->over = 0;
	if (steps)
		return step(t, ret, true);
	r = eng_resume(&t->t, ENG_RUN, 0);
	return r < 0 ? r : wait_stop(t, ret, deadline);
}

/* A step, or a run: 1 it is the program's stop, 0 go on. */
static int run_once(struct rep_task *t, struct eng_stop *ret, uint64_t deadline)
{
	const struct rep_hooks *h = t->session->hooks;
	int how = h->before(h->ctx, t), r;
	struct user_regs_struct *regs;
	bool over, halted;

	if (how < 0)
		return how;
	r = eng_regs(&t->t, &regs);
	if (r < 0)
		return r;
	over = how == REP_RUNS && t->over && t->over == regs->rip && at_patch(t, regs->rip);
	r = go(t, ret, deadline, over || how != REP_RUNS);
	halted = r == ERR_STOPPED;
	if (r < 0 && !halted)
		return r;
	if (ret->kind == ENG_STOP_SIGNAL)
		t->place = REP_USER;
	if (is_awaited(t, ret))
		return 1;
	r = h->stopped(h->ctx, t, ret, how != REP_RUNS && is_step(t, ret));
	if (halted)
		return r < 0 ? r : ERR_STOPPED;
	if (r)
		return MIN(r, 0);
	return over && is_step(t, ret) ? 0 : is_event(t, ret);
}

int rep_run(struct rep_task *t, struct eng_stop *ret, uint64_t deadline)
{
	int r;

	if (call_pending(t))
		return ERR_CORRUPT;
	if (!t->session->hooks)
		return run_plain(t, ret, deadline);
	do
		r = run_once(t, ret, deadline);
	while (r == 0);
	return MIN(r, 0);
}

int rep_step_seen(struct rep_task *t, struct eng_stop *ret)
{
	const struct rep_hooks *h = t->session->hooks;
	struct user_regs_struct *regs;
	int how, r;

	*ret = (struct eng_stop){ .kind = ENG_STOP_NONE };
	if (!h)
		return step_placed(t, ret, false);
	how = h->before(h->ctx, t);
	r = how < 0 ? how : eng_regs(&t->t, &regs);
	if (r >= 0 && how == REP_RUNS && t->over != regs->rip && at_patch(t, regs->rip))
		r = h->passed(h->ctx, t);
	t->over = 0;
	if (r >= 0)
		r = step_placed(t, ret, false);
	return r < 0 ? r : h->stopped(h->ctx, t, ret, how == REP_STEPS) < 0 ? ERR_STOPPED : 0;
}
