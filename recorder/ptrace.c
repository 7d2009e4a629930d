/* ptrace() requests of guests. Each is answered here; the kernel is asked for what only it has (floating point
 * state, signal masks), as hermit's own tracer of the task. What a request changes in the tracee is an effect of
 * the tracer's call. */
#define LOG_AREA "recorder.ptrace"
#include "recorder/trace_priv.h"

#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/log.h"

#define OPTIONS_KNOWN (PTRACE_O_EXITKILL | 0xffu)
#define ORIG_RAX offsetof(struct user_regs_struct, orig_rax)

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct request {
	struct rec_task *t, *to; /* tracer; tracee, held unless the request's row says otherwise */
	uint64_t addr, data;
};

/* --- memory of the tracer and effects --- */

static int64_t give(const struct request *q, uint64_t addr, const void *p, size_t n)
{
	if (eng_write(&q->t->t, addr, p, n) < 0)
		return -EFAULT;
	fx_bytes(&q->t->rec->fx, EFFECT_MEM, addr, p, n);
	return 0;
}

static int64_t fetch(const struct request *q, uint64_t addr, void *p, size_t n)
{
	return eng_read(&q->t->t, addr, p, n) < 0 ? -EFAULT : 0;
}

/* Effects from `from` on are the tracee's. */
static void of_tracee(const struct request *q, uint32_t from)
{
	struct fx *fx = &q->t->rec->fx;

	while (from < fx->n)
		fx->e[from++].thread = q->to->num;
}

/* Held in the middle of a run: replay could not say when it changed. */
static bool may_change(const struct request *q)
{
	if (!q->to->trace->loose)
		return true;
	rec_warn(q->t->rec, "a tracer may not change a process that was stopped in the middle of computation: ptrace fails with EIO");
	return false;
}

/* --- registers --- */

/* A call that we answered is none for the kernel any more. */
static bool hides_call(const struct rec_task *t)
{
	return t->trace->at == TRACE_EXIT && t->t.stop.kind == ENG_STOP_SECCOMP;
}

static int shown_regs(struct rec_task *to, struct user_regs_struct *ret)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&to->t, &r);

	if (rc < 0)
		return rc;
	*ret = *r;
	if (hides_call(to))
		ret->orig_rax = to->entry.orig_rax;
	return 0;
}

static bool restarts(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax >= 0 && (int64_t)r->rax <= -512 && (int64_t)r->rax >= -516;
}

/* In a call, its exit tells the registers (or its entry is looked at: from_entry()). */
static int64_t regs_changed(const struct request *q)
{
	struct rec_task *to = q->to;
	struct user_regs_struct *r;
	uint32_t from = q->t->rec->fx.n;

	if (eng_regs(&to->t, &r) < 0)
		return -ESRCH;
	if (to->in_call) {
		to->trace->regs_changed = to->trace->at != TRACE_ENTRY;
		return 0;
	}
	if (hides_call(to) && r->orig_rax != UINT64_MAX) {
		r->orig_rax = UINT64_MAX;
		eng_regs_changed(&to->t);
	}
	to->entry = *r;
	to->restart_pending = to->restart_pending && restarts(r);
	fx_registers(&q->t->rec->fx, &to->t);
	of_tracee(q, from);
	return 0;
}

static void xstate_changed(const struct request *q)
{
	uint32_t from = q->t->rec->fx.n;

	fx_xstate(&q->t->rec->fx, &q->to->t);
	of_tracee(q, from);
}

static int64_t get_regs(const struct request *q)
{
	struct user_regs_struct r;

	return shown_regs(q->to, &r) < 0 ? -ESRCH : give(q, q->data, &r, sizeof(r));
}

static int64_t set_all(const struct request *q, struct user_regs_struct *r)
{
	int rc = may_change(q) ? eng_request(&q->to->t, PTRACE_SETREGS, 0, r) : -EIO;

	return rc < 0 ? rc : regs_changed(q);
}

static int64_t set_regs(const struct request *q)
{
	struct user_regs_struct r;
	int64_t rc = fetch(q, q->data, &r, sizeof(r));

	return rc < 0 ? rc : set_all(q, &r);
}

static int64_t get_fpregs(const struct request *q)
{
	struct user_fpregs_struct f;
	int rc = eng_request(&q->to->t, PTRACE_GETFPREGS, 0, &f);

	return rc < 0 ? rc : give(q, q->data, &f, sizeof(f));
}

static int64_t set_fpregs(const struct request *q)
{
	struct user_fpregs_struct f;
	int64_t rc = may_change(q) ? fetch(q, q->data, &f, sizeof(f)) : -EIO;

	if (rc >= 0)
		rc = eng_request(&q->to->t, PTRACE_SETFPREGS, 0, &f);
	if (rc >= 0)
		xstate_changed(q);
	return rc;
}

static int64_t get_regset(const struct request *q)
{
	uint8_t area[ENG_XSTATE_MAX];
	struct user_regs_struct r;
	struct iovec theirs, ours = { area, sizeof(area) };
	int64_t rc = fetch(q, q->data, &theirs, sizeof(theirs));

	if (rc < 0)
		return rc;
	ours.iov_len = MIN(theirs.iov_len, sizeof(area));
	rc = eng_request(&q->to->t, PTRACE_GETREGSET, q->addr, &ours);
	if (rc < 0)
		return rc;
	if (q->addr == NT_PRSTATUS) {
		if (shown_regs(q->to, &r) < 0)
			return -ESRCH;
		memcpy(area, &r, MIN(sizeof(r), ours.iov_len));
	}
	rc = give(q, (uint64_t)theirs.iov_base, area, ours.iov_len);
	theirs.iov_len = ours.iov_len;
	return rc < 0 ? rc : give(q, q->data, &theirs, sizeof(theirs));
}

static int64_t set_regset(const struct request *q)
{
	uint8_t area[ENG_XSTATE_MAX];
	struct iovec theirs, ours = { area, 0 };
	int64_t rc = fetch(q, q->data, &theirs, sizeof(theirs));

	if (rc < 0)
		return rc;
	if (!may_change(q) || (q->addr != NT_PRSTATUS && q->addr != NT_PRFPREG && q->addr != NT_X86_XSTATE))
		return -EIO;
	ours.iov_len = MIN(theirs.iov_len, sizeof(area));
	rc = fetch(q, (uint64_t)theirs.iov_base, area, ours.iov_len);
	if (rc >= 0)
		rc = eng_request(&q->to->t, PTRACE_SETREGSET, q->addr, &ours);
	if (rc < 0)
		return rc;
	theirs.iov_len = ours.iov_len;
	rc = give(q, q->data, &theirs, sizeof(theirs));
	if (q->addr == NT_PRSTATUS)
		return rc < 0 ? rc : regs_changed(q);
	xstate_changed(q);
	return rc;
}

static int64_t peek_user(const struct request *q)
{
	uint64_t word;
	int rc = eng_request(&q->to->t, PTRACE_PEEKUSER, q->addr, &word);

	if (rc >= 0 && q->addr == ORIG_RAX && hides_call(q->to))
		word = q->to->entry.orig_rax;
	return rc < 0 ? rc : give(q, q->data, &word, sizeof(word));
}

static int64_t poke_user(const struct request *q)
{
	int rc;

	if (q->addr >= offsetof(struct user, u_debugreg) && q->t->rec->chaos) {
		rec_warn(q->t->rec, "debug registers are used by --chaos: a guest that wants to set a watchpoint gets ENOSPC");
		return q->data ? -ENOSPC : 0;
	}
	rc = may_change(q) ? eng_request(&q->to->t, PTRACE_POKEUSER, q->addr, (void *)q->data) : -EIO;
	return rc < 0 ? rc : q->addr < sizeof(struct user_regs_struct) ? regs_changed(q) : 0;
}

static int64_t arch_registers(const struct request *q)
{
	struct user_regs_struct r;

	if (shown_regs(q->to, &r) < 0)
		return -ESRCH;
	switch (q->data) {
	case ARCH_GET_FS:
		return give(q, q->addr, &r.fs_base, 8);
	case ARCH_GET_GS:
		return give(q, q->addr, &r.gs_base, 8);
	case ARCH_SET_FS:
		r.fs_base = q->addr;
		return set_all(q, &r);
	case ARCH_SET_GS:
		r.gs_base = q->addr;
		return set_all(q, &r);
	}
	return -EINVAL;
}

/* --- memory --- */

static int64_t peek(const struct request *q)
{
	uint64_t word;

	return eng_read(&q->to->t, q->addr, &word, sizeof(word)) < 0 ? -EIO : give(q, q->data, &word, sizeof(word));
}

static int64_t poke(const struct request *q)
{
	uint32_t from = q->t->rec->fx.n;

	if (!may_change(q) || eng_write(&q->to->t, q->addr, &q->data, sizeof(q->data)) < 0)
		return -EIO;
	fx_memory(&q->t->rec->fx, &q->to->t, EFFECT_MEM, q->addr, sizeof(q->data));
	of_tracee(q, from);
	return 0;
}

/* --- what it was stopped by --- */

static int64_t get_message(const struct request *q)
{
	return give(q, q->data, &q->to->trace->message, 8);
}

static int64_t get_info(const struct request *q)
{
	return q->to->trace->has_info ? give(q, q->data, &q->to->trace->info, sizeof(siginfo_t)) : -EINVAL;
}

static int64_t set_info(const struct request *q)
{
	return q->to->trace->has_info ? fetch(q, q->data, &q->to->trace->info, sizeof(siginfo_t)) : -EINVAL;
}

static int64_t peek_info(const struct request *q)
{
	enum { INFOS_MAX = 64 };
	struct __ptrace_peeksiginfo_args args;
	siginfo_t infos[INFOS_MAX];
	int64_t rc = fetch(q, q->addr, &args, sizeof(args));
	int n;

	if (rc < 0)
		return rc;
	if (args.nr < 0)
		return -EINVAL;
	args.nr = MIN(args.nr, (int)INFOS_MAX);
	n = eng_request(&q->to->t, PTRACE_PEEKSIGINFO, (uint64_t)&args, infos);
	if (n <= 0)
		return n;
	rc = give(q, q->data, infos, (size_t)n * sizeof(infos[0]));
	return rc < 0 ? rc : n;
}

static int64_t get_mask(const struct request *q)
{
	uint64_t mask;

	if (q->addr != sizeof(mask))
		return -EINVAL;
	return eng_sigmask(&q->to->t, &mask) < 0 ? -ESRCH : give(q, q->data, &mask, sizeof(mask));
}

static int64_t set_mask(const struct request *q)
{
	uint64_t mask;
	int64_t rc = q->addr == sizeof(mask) ? fetch(q, q->data, &mask, sizeof(mask)) : -EINVAL;

	if (rc >= 0)
		rc = eng_request(&q->to->t, PTRACE_SETSIGMASK, q->addr, &mask);
	return rc < 0 ? rc : MIN(rec_forced_mask_changed(q->to), 0);
}

static int64_t call_info(const struct request *q)
{
	struct __ptrace_syscall_info si = { .arch = AUDIT_ARCH_X86_64 };
	const struct rec_task *to = q->to;
	const struct rec_trace *tr = to->trace;
	size_t n = offsetof(struct __ptrace_syscall_info, entry);
	struct user_regs_struct r;
	int64_t rc;

	if (shown_regs(q->to, &r) < 0)
		return -ESRCH;
	si.instruction_pointer = r.rip;
	si.stack_pointer = r.rsp;
	if (tr->at == TRACE_ENTRY) {
		const uint64_t args[6] = { r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 };

		si.op = PTRACE_SYSCALL_INFO_ENTRY;
		si.entry.nr = r.orig_rax;
		memcpy(si.entry.args, args, sizeof(args));
		n += sizeof(si.entry);
		if (tr->code >> 8 == PTRACE_EVENT_SECCOMP) { /* the same and the filter's word, behind it */
			si.op = PTRACE_SYSCALL_INFO_SECCOMP;
			si.seccomp.ret_data = (uint32_t)tr->message;
			n = offsetof(struct __ptrace_syscall_info, seccomp.ret_data) + sizeof(si.seccomp.ret_data);
		}
	} else if (tr->at == TRACE_EXIT && tr->how == TRACE_SYSCALL) {
		si.op = PTRACE_SYSCALL_INFO_EXIT;
		si.exit.rval = (int64_t)r.rax;
		si.exit.is_error = (int64_t)r.rax < 0 && (int64_t)r.rax >= -4095;
		n += offsetof(struct __ptrace_syscall_info, exit.is_error) + 1 - offsetof(struct __ptrace_syscall_info, exit);
	}
	rc = give(q, q->data, &si, MIN(n, q->addr));
	return rc < 0 ? rc : (int64_t)n;
}

/* The guests have no restartable sequences. */
static int64_t rseq_info(const struct request *q)
{
	const uint64_t none[3] = { 0 };
	int64_t rc = q->addr == sizeof(none) ? give(q, q->data, none, sizeof(none)) : -EINVAL;

	return rc < 0 ? rc : (int64_t)sizeof(none);
}

/* --- going on --- */

static int64_t resume(const struct request *q, enum trace_how how, bool detach)
{
	struct rec_trace *tr = q->to->trace;
	bool takes_signal = tr->at == TRACE_SIGNAL || tr->at == TRACE_EXIT || tr->at == TRACE_ENTRY;

	if (q->data > 64)
		return -EIO;
	if (how == TRACE_STEP && !may_change(q))
		return -EIO;
	if (tr->at == TRACE_ENTRY && q->data) { /* sent to it, as the kernel does */
		syscall(SYS_tgkill, q->to->t.tgid, q->to->t.tid, (int)q->data);
		takes_signal = false;
	}
	rec_trace_resume(q->to, how, takes_signal ? (int)q->data : 0, detach);
	return 0;
}

static int64_t go_cont(const struct request *q)
{
	return resume(q, TRACE_CONT, false);
}

static int64_t go_syscall(const struct request *q)
{
	return resume(q, TRACE_SYSCALL, false);
}

static int64_t go_step(const struct request *q)
{
	return resume(q, TRACE_STEP, false);
}

static int64_t detach(const struct request *q)
{
	return resume(q, TRACE_CONT, true);
}

static int64_t listen_on(const struct request *q)
{
	const struct rec_trace *tr = q->to->trace;

	if (!tr->seized || tr->code >> 8 != PTRACE_EVENT_STOP)
		return -EIO;
	rec_trace_resume(q->to, TRACE_LISTEN, 0, false);
	return 0;
}

static int64_t kill_it(const struct request *q)
{
	kill(q->to->t.tgid, SIGKILL);
	return 0;
}

static int64_t interrupt(const struct request *q)
{
	struct rec_task *to = q->to;
	bool leaves_call = (to->state == REC_STOPPED && to->t.stop.kind == ENG_STOP_SYSCALL) ||
			   (to->state == REC_BLOCKED && eng_state(to->t.tid) == 't');

	if (!to->trace->seized)
		return -EIO;
	to->trace->interrupt = true;
	return !leaves_call && eng_interrupt(&to->t) < 0 ? -ESRCH : 0;
}

static int64_t check_options(const struct request *q, uint64_t options)
{
	if (options & PTRACE_O_SUSPEND_SECCOMP)
		rec_warn(q->t->rec, "PTRACE_O_SUSPEND_SECCOMP is not there while recording: ptrace fails with EINVAL");
	return options & ~(uint64_t)OPTIONS_KNOWN ? -EINVAL : 0;
}

static int64_t set_options(const struct request *q)
{
	int64_t rc = check_options(q, q->data);

	if (rc >= 0)
		q->to->trace->options = (uint32_t)q->data;
	return rc;
}

/* --- becoming a tracer --- */

static bool ids_of(const struct rec_task *t, unsigned ids[8])
{
	char path[32], text[4096];
	const char *u, *g;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", t->t.tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	u = strstr(text, "\nUid:");
	g = strstr(text, "\nGid:");
	return u && g && sscanf(u + 5, "%u %u %u %u", ids, ids + 1, ids + 2, ids + 3) == 4 &&
	       sscanf(g + 5, "%u %u %u %u", ids + 4, ids + 5, ids + 6, ids + 7) == 4;
}

static int yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

static bool descends(pid_t pid, pid_t from)
{
	while (pid > 1 && pid != from)
		pid = rec_trace_parent(pid);
	return pid == from;
}

/* ptrace(2), "Ptrace access mode checking". */
static bool may_trace(const struct rec_task *t, const struct rec_task *to)
{
	unsigned a[8], b[8];

	if (t->t.tgid == to->t.tgid || !ids_of(t, a) || !ids_of(to, b))
		return false;
	if (a[1] == 0) /* root; hermit has no more of capabilities itself */
		return true;
	for (int i = 0; i < 3; i++)
		if (b[i] != a[0] || b[4 + i] != a[4])
			return false;
	if (!to->proc->dumpable)
		return false;
	return yama_scope() == 0 || (yama_scope() == 1 && (to->proc->ptracer == -1 || to->proc->ptracer == t->t.tgid ||
							     descends(to->t.tgid, t->t.tgid)));
}

/* Stops it, wherever it is, in a way that it comes out at a boundary. */
static void stop_it(struct rec_task *to)
{
	struct rec_trace *tr = to->trace;

	if (tr->seized && to->state != REC_LISTENING)
		return;
	if (to->state == REC_LISTENING) { /* shows its group-stop again */
		if (eng_interrupt(&to->t) < 0)
			log_trace("thread %u is dying", to->num);
		return;
	}
	tr->attach_stop = true;
	syscall(SYS_tgkill, to->t.tgid, to->t.tid, SIGSTOP);
}

static int64_t attach(const struct request *q, bool seize)
{
	struct rec_task *to = q->to;
	int64_t rc = seize ? check_options(q, q->data) : 0;

	if (rc < 0)
		return rc;
	if (seize && q->addr)
		return -EIO;
	if (!to) {
		if (q->t->outs.call.args[1] && kill((pid_t)q->t->outs.call.args[1], 0) == 0)
			rec_warn(q->t->rec, "a guest wants to trace process %d, which is not recorded: ptrace fails with EPERM",
				 (int)q->t->outs.call.args[1]);
		return kill((pid_t)q->t->outs.call.args[1], 0) < 0 && errno == ESRCH ? -ESRCH : -EPERM;
	}
	if (to->trace || to->state == REC_DYING || !may_trace(q->t, to))
		return -EPERM;
	if (rec_trace_new(to, q->t, seize, seize ? (uint32_t)q->data : 0) < 0)
		return -ENOMEM;
	stop_it(to);
	return 0;
}

static int64_t do_attach(const struct request *q)
{
	return attach(q, false);
}

static int64_t do_seize(const struct request *q)
{
	return attach(q, true);
}

static int64_t trace_me(const struct request *q)
{
	struct rec_task *parent = rec_task_find(q->t->rec, rec_trace_parent(q->t->t.tid));

	if (q->t->trace)
		return -EPERM;
	if (!parent) {
		rec_warn(q->t->rec, "a guest asks to be traced by a process that is not recorded: ptrace fails with EPERM");
		return -EPERM;
	}
	if (rec_trace_new(q->t, parent, false, 0) < 0)
		return -ENOMEM;
	q->t->trace->by_request = true;
	return 0;
}

static int64_t no_permission(const struct request *q)
{
	(void)q;
	return -EACCES;
}

/* --- the table --- */

enum { ANY = 1, TRACED = 2 }; /* else: only of a held tracee */

static const struct row {
	uint32_t op;
	int needs;
	int64_t (*run)(const struct request *q);
} rows[] = {
	{ PTRACE_TRACEME, ANY, trace_me },
	{ PTRACE_ATTACH, ANY, do_attach },
	{ PTRACE_SEIZE, ANY, do_seize },
	{ PTRACE_KILL, TRACED, kill_it },
	{ PTRACE_INTERRUPT, TRACED, interrupt },
	{ PTRACE_PEEKTEXT, 0, peek },
	{ PTRACE_PEEKDATA, 0, peek },
	{ PTRACE_PEEKUSER, 0, peek_user },
	{ PTRACE_POKETEXT, 0, poke },
	{ PTRACE_POKEDATA, 0, poke },
	{ PTRACE_POKEUSER, 0, poke_user },
	{ PTRACE_CONT, 0, go_cont },
	{ PTRACE_SYSCALL, 0, go_syscall },
	{ PTRACE_SINGLESTEP, 0, go_step },
	{ PTRACE_LISTEN, 0, listen_on },
	{ PTRACE_DETACH, 0, detach },
	{ PTRACE_GETREGS, 0, get_regs },
	{ PTRACE_SETREGS, 0, set_regs },
	{ PTRACE_GETFPREGS, 0, get_fpregs },
	{ PTRACE_SETFPREGS, 0, set_fpregs },
	{ PTRACE_GETREGSET, 0, get_regset },
	{ PTRACE_SETREGSET, 0, set_regset },
	{ PTRACE_ARCH_PRCTL, 0, arch_registers },
	{ PTRACE_SETOPTIONS, 0, set_options },
	{ PTRACE_GETEVENTMSG, 0, get_message },
	{ PTRACE_GETSIGINFO, 0, get_info },
	{ PTRACE_SETSIGINFO, 0, set_info },
	{ PTRACE_PEEKSIGINFO, 0, peek_info },
	{ PTRACE_GETSIGMASK, 0, get_mask },
	{ PTRACE_SETSIGMASK, 0, set_mask },
	{ PTRACE_GET_SYSCALL_INFO, 0, call_info },
	{ PTRACE_SECCOMP_GET_FILTER, 0, no_permission },
	{ PTRACE_SECCOMP_GET_METADATA, 0, no_permission },
	{ PTRACE_GET_RSEQ_CONFIGURATION, 0, rseq_info },
};

static bool is_tracer(const struct rec_task *t, const struct rec_task *to)
{
	struct rec_trace *tr = to ? to->trace : NULL;

	return tr && !tr->detached && (tr->tracer == t || (tr->by_request && tr->tracer->t.tgid == t->t.tgid));
}

static int64_t run_request(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	struct request q = { t, rec_task_find(t->rec, (pid_t)a[1]), a[2], a[3] };
	const struct row *row = rows;

	while (row < rows + ARRAY_SIZE(rows) && row->op != a[0])
		row++;
	if (row < rows + ARRAY_SIZE(rows) && row->needs == ANY)
		return row->run(&q);
	if (!is_tracer(t, q.to))
		return -ESRCH;
	if (row == rows + ARRAY_SIZE(rows)) {
		rec_warn(t->rec, "ptrace request %#x is not there while recording: it fails with EIO", (unsigned)a[0]);
		return -EIO;
	}
	if (!row->needs && q.to->state != REC_HELD)
		return -ESRCH;
	if (q.to->trace->by_request)
		q.to->trace->tracer = t;
	return row->run(&q);
}

/* ptrace(): always answered. */
static int answer_ptrace(struct rec_task *t)
{
	int64_t result = run_request(t);
	int rc;

	if (result == ERR_GUEST_GONE)
		result = -ESRCH;
	if (result < -4095)
		return (int)result;
	rc = rec_answer(t, result, 0);
	return rc < 0 ? rc : 1;
}

/* Whose memory the call would write, other than its own. */
static struct rec_task *written_by(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;

	if (t->outs.call.nr == SYS_process_vm_writev)
		return rec_task_find(t->rec, (pid_t)a[0]);
	return t->outs.res.row->flags & SYS_F_FILEMOD && t->outs.res.row->flags & SYS_F_DESC ? rec_fd_memory_owner(t, (int)a[0]) : NULL;
}

/* Replay could not say when that memory changed. */
static bool in_its_run(struct rec_task *t, const struct rec_task *target)
{
	for (const struct rec_task *o = t->rec->tasks; o; o = o->next)
		if (o != t && o->t.mm == target->t.mm && o->ran)
			return true;
	return false;
}

static int check_written(struct rec_task *t)
{
	struct rec_task *target = written_by(t);
	int rc;

	if (!target || target->t.mm == t->t.mm || !in_its_run(t, target))
		return 0;
	rec_warn(t->rec, "the memory of a process that was stopped in the middle of computation may not be changed: %s fails with EIO",
		 t->outs.res.row->name);
	rc = rec_answer(t, -EIO, 0);
	return rc < 0 ? rc : 1;
}

int rec_trace_call(struct rec_task *t)
{
	int rc = t->rec->n_traced ? check_written(t) : 0;

	if (rc)
		return rc;
	if (t->outs.call.nr == SYS_ptrace)
		return answer_ptrace(t);
	return t->rec->n_traced || t->wait_without ? rec_wait_enter(t) : 0;
}
