/* System calls, signals and trapped instructions: the thread runs to the recorded place, the place is compared, the outcome applied. */
#define LOG_AREA "replayer.calls"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/sysprint.h"

/* --- running to a call --- */

static void call_of(const struct user_regs_struct *r, struct sys_call *c)
{
	*c = (struct sys_call){ .nr = (uint32_t)r->orig_rax, .args = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 } };
}

static void describe_call(struct rep_task *t, const struct sys_call *c, struct buf *out)
{
	struct sys_mem mem = eng_sys_mem(&t->t);

	sysprint_call(out, c, false, 0, &mem, &mem, NULL);
}

void rep_describe_stop(struct rep_task *t, const struct eng_stop *st, struct buf *out)
{
	struct user_regs_struct *r;
	struct sys_call c;
	char name[24];

	if (eng_regs(&t->t, &r) < 0) {
		buf_printf(out, "got the end of the thread");
		return;
	}
	buf_printf(out, "got ");
	if (st->kind == ENG_STOP_SECCOMP) {
		call_of(r, &c);
		describe_call(t, &c, out);
	} else {
		buf_printf(out, "%s", sysprint_signal(st->signo, name));
	}
	buf_printf(out, " at %#llx", r->rip);
}

int rep_wrong_stop(struct rep_session *s, struct rep_task *t, const struct event *ev, const struct eng_stop *st, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf text;

	buf_init(&text);
	rep_describe_stop(t, st, &text);
	return rep_diverged(s, t, ev, ei, "%s", buf_cstr(&text));
}

static int wrong_call(struct rep_session *s, struct rep_task *t, const struct event *ev, const struct sys_call *got, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf text;

	buf_init(&text);
	buf_printf(&text, "got ");
	describe_call(t, got, &text);
	return rep_diverged(s, t, ev, ei, "%s", buf_cstr(&text));
}

int rep_run_to_call(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	struct sys_call c;
	int rc;

	if (t->in_call)
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": thread %u is already in a call", ev->number, t->num);
	rc = rep_run(t, &st, 0);
	if (rc >= 0 && st.kind != ENG_STOP_SECCOMP)
		return rep_wrong_stop(s, t, ev, &st, ei);
	if (rc >= 0)
		rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	call_of(r, &c);
	if (ev->kind != EVENT_SIGNAL && c.nr != ev->sysno)
		return wrong_call(s, t, ev, &c, ei);
	if (ev->regs_hash && eng_regs_hash(r) != ev->regs_hash) {
		if (ev->kind == EVENT_BIRTH || ev->kind == EVENT_SIGNAL || !memcmp(c.args, ev->args, sys_row(c.nr)->nargs * sizeof(c.args[0])))
			return rep_diverged(s, t, ev, ei, "the registers differ from the recorded ones at the entry of %s",
					    sys_row(c.nr)->name);
		return wrong_call(s, t, ev, &c, ei);
	}
	t->entry = *r;
	t->sysno = c.nr;
	memcpy(t->args, c.args, sizeof(t->args));
	return ev->kind != EVENT_SIGNAL ? rep_check_inputs(s, t, ev, ei) : 0;
}

/* --- the outcome --- */

/* Leaves the call with the recorded result; the kernel of this machine never sees the guest's call. */
static void finish_call(struct rep_task *t, int64_t result)
{
	struct user_regs_struct r = t->entry;

	r.rax = (unsigned long)result;
	r.orig_rax = (unsigned long)-1;
	eng_regs_set(&t->t, &r);
	t->place = t->place == REP_ENTRY ? REP_ENTRY : REP_USER;
	t->in_call = false;
}

static bool sets_registers(const struct event *ev)
{
	for (uint32_t i = 0; i < ev->n_effects; i++)
		if (ev->effects[i].kind == EFFECT_REGS && (!ev->effects[i].thread || ev->effects[i].thread == ev->thread))
			return true;
	return false;
}

/* The one resource limit that user code meets without a call. */
static void follow_limit(struct rep_task *t, const struct event *ev)
{
	const uint64_t *a = t->args;
	uint64_t addr = 0, limit;

	if (t->sysno == SYS_setrlimit && a[0] == RLIMIT_STACK)
		addr = a[1];
	else if (t->sysno == SYS_prlimit64 && (int)a[0] == 0 && a[1] == RLIMIT_STACK)
		addr = a[2];
	if (addr && ev->result == 0 && eng_read(&t->t, addr, &limit, sizeof(limit)) >= 0)
		rep_stack_limit(t, limit);
}

static int outcome(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	int r = rep_output(s, t, ev);

	if (r >= 0 && (ev->flags & EVENT_F_REEXEC))
		r = rep_reexec(s, t, ev, ei);
	follow_limit(t, ev);
	if (r >= 0)
		r = rep_apply(s, t, ev, ei);
	if (r < 0)
		return r;
	if (sets_registers(ev))
		t->in_call = false;
	else
		finish_call(t, ev->result);
	t->have_written = false;
	return 0;
}

int rep_syscall(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	return outcome(s, t, ev, ei);
}

int rep_syscall_enter(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	int r;

	t->in_call = true;
	r = rep_apply(s, t, ev, ei);
	return r < 0 ? r : rep_output_keep(s, t);
}

int rep_syscall_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	if (!t->in_call || t->sysno != ev->sysno)
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": result of a call that thread %u did not make", ev->number, t->num);
	return outcome(s, t, ev, ei);
}

int rep_restart(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	(void)s;
	(void)ei;
	if (rc < 0)
		return rc;
	r->rip -= 2;
	r->rax = (unsigned long)ev->result;
	r->orig_rax = (unsigned long)-1;
	eng_regs_changed(&t->t);
	return 0;
}

/* --- signals and traps --- */

static int run_to_fault(struct rep_session *s, struct rep_task *t, const struct event *ev, int signo, struct errinfo *ei)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	int rc = rep_run(t, &st, 0);

	if (rc < 0)
		return rc;
	if (st.kind != ENG_STOP_SIGNAL || st.signo != signo)
		return rep_wrong_stop(s, t, ev, &st, ei);
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	if (ev->rip && r->rip != ev->rip)
		return rep_diverged(s, t, ev, ei, "signal %d came at %#llx instead of %#" PRIx64, signo, r->rip, ev->rip);
	if (ev->regs_hash && eng_regs_hash(r) != ev->regs_hash)
		return rep_diverged(s, t, ev, ei, "the registers differ from the recorded ones at %#llx", r->rip);
	return 0;
}

int rep_signal_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	if (!(ev->flags & EVENT_F_ASYNC))
		return run_to_fault(s, t, ev, (int)ev->signo, ei);
	return ev->flags & EVENT_F_AT_CALL ? rep_run_to_call(s, t, ev, ei) : 0;
}

/* cpuid, and this CPU answers by itself: rep_check_machine() has compared the features. */
static bool not_trapped(const struct rep_session *s, const struct event *ev)
{
	return ev->kind == EVENT_CPUID && !s->cpuid_faulting;
}

int rep_trap_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	enum eng_insn insn;
	unsigned len;
	int rc;

	if (not_trapped(s, ev))
		return 0;
	rc = run_to_fault(s, t, ev, SIGSEGV, ei);
	if (rc < 0)
		return rc;
	insn = eng_trapped_insn(&t->t, &len);
	if ((insn == ENG_INSN_CPUID) != (ev->kind == EVENT_CPUID) || insn == ENG_INSN_OTHER)
		return rep_diverged(s, t, ev, ei, "got a fault of another instruction at %#" PRIx64, ev->rip);
	return 0;
}

int rep_trap(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct user_regs_struct *r;
	unsigned len;
	int rc = eng_regs(&t->t, &r);

	(void)ei;
	if (rc < 0 || not_trapped(s, ev))
		return MIN(rc, 0);
	if (eng_trapped_insn(&t->t, &len) == ENG_INSN_OTHER)
		return ERR_GUEST;
	if (ev->kind == EVENT_CPUID) {
		r->rax = (uint32_t)ev->args[2];
		r->rbx = ev->args[2] >> 32;
		r->rcx = (uint32_t)ev->args[3];
		r->rdx = ev->args[3] >> 32;
	} else {
		r->rax = (uint32_t)ev->args[0];
		r->rdx = ev->args[0] >> 32;
		if (ev->args[2])
			r->rcx = (uint32_t)ev->args[1];
	}
	r->rip += len;
	eng_regs_changed(&t->t);
	return 0;
}

int rep_checksum(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	uint64_t hash;
	int r;

	if (!s->opt.check)
		return 0;
	r = eng_memory_hash(&t->t, &hash);
	if (r < 0)
		return r;
	if (hash != ev->args[0])
		return rep_diverged(s, t, ev, ei, "the writable memory of thread %u has checksum %#" PRIx64 " instead of %#" PRIx64, t->num, hash,
				    ev->args[0]);
	return 0;
}
