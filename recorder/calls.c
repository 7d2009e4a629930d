/* System calls: what the table says happens at entry and exit; handlers.c has the exceptions.
 *
 * A call during which nobody else ran is one SYSCALL event. Otherwise SYSCALL_ENTER is logged when another task gets the CPU (rec_park)
 * and SYSCALL_EXIT when this one is looked at again. */
#define LOG_AREA "recorder.calls"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/log.h"
#include "base/os.h"

/* What the kernel returns inside when a signal interrupts a call; never seen by user code. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

static bool interrupted(const struct rec_task *t, int64_t result)
{
	if (t->outs.call.nr == SYS_rt_sigreturn)
		return false; /* its result is whatever rax was */
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK;
}

/* --- inputs, kept from entry to the event --- */

static int keep_input(void *ctx, uint64_t addr, uint64_t len)
{
	struct rec_task *t = ctx;
	struct effect *e = reallocarray(t->inputs, t->n_inputs + 1, sizeof(*e));
	size_t at = t->input_bytes.len;
	void *p;

	if (!e)
		return -ENOMEM;
	t->inputs = e;
	p = buf_extend(&t->input_bytes, len);
	if (!p)
		return -ENOMEM;
	if (eng_read(&t->t, addr, p, len) < 0) {
		t->input_bytes.len = at;
		return 0;
	}
	e[t->n_inputs++] = (struct effect){ .kind = EFFECT_INPUT, .addr = addr, .len = len, .data_off = at, .name = "" };
	return 0;
}

static int keep_inputs(struct rec_task *t)
{
	struct sys_mem mem = eng_sys_mem(&t->t);

	t->n_inputs = 0;
	buf_clear(&t->input_bytes);
	return sys_inputs(&t->outs, &mem, keep_input, t);
}

static void add_inputs(struct rec_task *t)
{
	for (uint32_t i = 0; i < t->n_inputs; i++) {
		struct effect *e = fx_add(&t->rec->fx, EFFECT_INPUT);

		e->addr = t->inputs[i].addr;
		e->len = t->inputs[i].len;
		e->data = t->input_bytes.data + t->inputs[i].data_off;
	}
	t->n_inputs = 0;
}

/* --- events --- */

static void call_event(struct rec_task *t, struct event *ev, enum event_kind kind)
{
	rec_event_init(t, ev, kind);
	ev->sysno = t->sysno;
	memcpy(ev->args, t->outs.call.args, sizeof(ev->args));
	ev->rip = t->entry.rip;
	ev->regs_hash = t->entry_hash;
	ev->flags = t->call_flags;
}

int rec_park(struct rec_task *t)
{
	struct event ev;

	if (!t->in_call || t->entered || t->execed)
		return 0;
	t->entered = true;
	add_inputs(t);
	/* A futex operation that waits may have marked the word (FUTEX_WAITERS) before it slept. */
	if (t->outs.res.row->flags & SYS_F_EARLY)
		for (uint32_t i = 0; i < t->outs.n; i++)
			fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, t->outs.slot[i].addr, t->outs.slot[i].max);
	call_event(t, &ev, EVENT_SYSCALL_ENTER);
	ev.flags = 0;
	return rec_log(t->rec, &ev);
}

static int log_result(struct rec_task *t, int64_t result)
{
	struct event ev;

	if (!t->entered)
		add_inputs(t);
	if (t->trace)
		rec_trace_call_effects(t);
	call_event(t, &ev, t->entered ? EVENT_SYSCALL_EXIT : EVENT_SYSCALL);
	ev.result = result;
	if (t->entered) {
		memset(ev.args, 0, sizeof(ev.args));
		ev.regs_hash = 0;
	}
	t->in_call = t->entered = false;
	return rec_log(t->rec, &ev);
}

int rec_answer(struct rec_task *t, int64_t result, uint32_t flags)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	r->orig_rax = (unsigned long)-1; /* the kernel skips the call and leaves rax alone */
	r->rax = (unsigned long)result;
	eng_regs_changed(&t->t);
	t->call_flags |= flags;
	rec_tally_end(t, flags & EVENT_F_REFUSED && result < 0 ? REC_REFUSED : REC_ANSWERED);
	rc = log_result(t, result);
	rec_ready(t, ENG_RUN, 0);
	return rc;
}

static int refuse(struct rec_task *t)
{
	char name[24];

	if (t->outs.call.nr != SYS_rseq) /* every glibc program asks, and copes */
		rec_warn(t->rec, "%s cannot be recorded faithfully: answered with ENOSYS", sys_name(t->outs.call.nr, name));
	return rec_answer(t, -ENOSYS, EVENT_F_REFUSED);
}

static int put_output(struct rec_task *t, uint64_t addr, const void *p, size_t n)
{
	int rc = eng_write(&t->t, addr, p, n);

	if (rc >= 0)
		fx_bytes(&t->rec->fx, EFFECT_MEM, addr, p, n);
	return rc;
}

/* Calls through the fixed page at the top: the kernel emulates them and reports no exit. They are three, and answered here. */
#define VSYSCALL_PAGE 0xffffffffff600000ull

static int vsyscall(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	const uint32_t cpu = (uint32_t)t->rec->cpu, node = 0;
	const struct { uint64_t at; const void *p; size_t n; } getcpu_out[] = { { a[0], &cpu, 4 }, { a[1], &node, 4 } };
	struct timeval tv;
	int64_t result = 0;
	int rc = 0;

	gettimeofday(&tv, NULL);
	if (t->outs.call.nr == SYS_time) {
		result = tv.tv_sec;
		if (a[0])
			rc = put_output(t, a[0], &tv.tv_sec, 8);
	} else if (t->outs.call.nr == SYS_gettimeofday) {
		const struct timezone tz = { 0 };

		if (a[0])
			rc = put_output(t, a[0], &tv, sizeof(tv));
		if (rc >= 0 && a[1])
			rc = put_output(t, a[1], &tz, sizeof(tz));
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(getcpu_out) && rc >= 0; i++)
			if (getcpu_out[i].at)
				rc = put_output(t, getcpu_out[i].at, getcpu_out[i].p, getcpu_out[i].n);
	}
	return rec_answer(t, rc < 0 ? -EFAULT : result, 0);
}

/* --- entry --- */

static int begin_call(struct rec_task *t)
{
	struct user_regs_struct *r;
	struct sys_mem mem = eng_sys_mem(&t->t);
	struct sys_call c;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	t->entry = *r;
	t->entry_hash = eng_regs_hash(r);
	t->in_call = true;
	t->entered = t->again && t->entered;
	t->again = t->args_changed = false;
	t->asleep_since = 0;
	t->call_flags = 0;
	t->sysno = (uint32_t)r->orig_rax;
	c = (struct sys_call){ .nr = (uint32_t)r->orig_rax, .args = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 } };
	if (t->restart_pending) {
		rc = rec_restart_seen(t);
		if (rc < 0)
			return rc;
	}
	rec_tally_begin(t);
	if (c.nr == SYS_restart_syscall)
		c = t->restart_call; /* what it writes, and where, was said by the call that was interrupted */
	else
		rec_scratch_forget(t);
	rc = sys_outs_enter(&t->outs, &c, &mem);
	return rc < 0 ? rc : keep_inputs(t);
}

static int prepare_effects(struct rec_task *t)
{
	if (t->outs.res.unknown) {
		char name[24];

		t->call_flags |= EVENT_F_UNKNOWN;
		log_debug("%s %s: effects unknown, comparing memory", sys_name(t->outs.call.nr, name), t->outs.res.command);
		return rec_snapshot_take(t);
	}
	if ((t->outs.res.row->flags & SYS_F_BLOCK) && t->outs.n)
		return rec_scratch_move(t);
	return 0;
}

int rec_call_entry(struct rec_task *t)
{
	const struct rec_handler *h;
	int64_t result;
	int rc = begin_call(t);

	if (rc < 0)
		return rc;
	if (t->n_stash && t->entered)
		return rec_answer(t, -EINTR, 0); /* made again, and now there is a signal for it */
	if (t->n_stash) {
		rc = t->rec->chaos && rec_chaos_signal_into_call(t) ? rec_signal_into_call(t) : rec_signal_before_call(t);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (t->trace) {
		rc = rec_trace_entry(t);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (t->filter) {
		rc = rec_filter_call(t);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (t->outs.res.row->cls == SYS_REFUSE)
		return refuse(t);
	if (t->entry.rip >= VSYSCALL_PAGE)
		return vsyscall(t);
	rc = rec_trace_call(t);
	if (rc)
		return rc < 0 ? rc : 0;
	h = rec_handler(t->outs.call.nr);
	if (h->enter) {
		rc = h->enter(t, &result);
		if (rc)
			return rc < 0 ? rc : rec_answer(t, result, EVENT_F_REFUSED);
	}
	rc = t->rec->chaos ? rec_chaos_call(t) : 0;
	if (rc >= 0)
		rc = prepare_effects(t);
	if (rc >= 0 && t->rec->n_tasks > 1 && (t->outs.res.row->flags & SYS_F_WRITES) && rec_echo(t, (int)t->outs.call.args[0])) {
		rc = rec_settle_writes(t->rec);
		rec_output_keep(t);
	}
	if (rc < 0)
		return rc;
	if (t->outs.call.nr == SYS_exit || t->outs.call.nr == SYS_exit_group) {
		rc = rec_park(t);
		rec_ready(t, ENG_RUN, 0);
		return rc;
	}
	rec_ready(t, ENG_TO_EXIT, 0);
	return 0;
}

/* --- exit --- */

static int output_range(void *ctx, uint64_t addr, uint64_t len)
{
	struct rec_task *t = ctx;

	fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, addr, len);
	return 0;
}

static int gather_effects(struct rec_task *t, int64_t result)
{
	struct sys_mem mem = eng_sys_mem(&t->t);

	if (t->snapshot) {
		rec_snapshot_compare(t);
		return 0;
	}
	if (t->n_moves)
		return rec_scratch_leave(t, result);
	return t->outs.n ? sys_outs_leave(&t->outs, result, &mem, output_range, t) : 0;
}

/* Gives the registers that we changed at entry their values back and stores a changed result. */
static int restore_registers(struct rec_task *t, int64_t result, bool result_changed)
{
	struct user_regs_struct *r;
	int rc;

	if (!t->args_changed && !result_changed)
		return 0;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	r->rax = (unsigned long)result;
	if (t->args_changed) {
		r->rdi = t->entry.rdi;
		r->rsi = t->entry.rsi;
		r->rdx = t->entry.rdx;
		r->r10 = t->entry.r10;
		r->r8 = t->entry.r8;
		r->r9 = t->entry.r9;
	}
	eng_regs_changed(&t->t);
	return 0;
}

static int leave_interrupted(struct rec_task *t, int64_t result)
{
	int rc = restore_registers(t, result, false);

	t->restart_pending = true;
	t->restart_nr = t->sysno;
	if (rc >= 0 && !t->snapshot) /* a sleep tells how much of it is left */
		rc = gather_effects(t, result);
	t->restart_call = t->outs.call;
	if (result != -ERESTART_RESTARTBLOCK) /* else the kernel keeps the addresses it was given */
		rec_scratch_forget(t);
	rec_snapshot_free(t);
	return rc < 0 ? rc : log_result(t, result);
}

static int maybe_checksum(struct rec_task *t)
{
	struct rec *rec = t->rec;

	if (!rec->opt->checksum_every || store_writer_count(rec->writer) < rec->next_checksum)
		return 0;
	rec->next_checksum = store_writer_count(rec->writer) + rec->opt->checksum_every;
	return rec_checksum(t);
}

static int leave_call(struct rec_task *t, int64_t result)
{
	const struct rec_handler *h = rec_handler(t->outs.call.nr);
	int64_t first = result;
	int rc = 0;

	if (t->wake_asked)
		result = rec_chaos_result(t, result);
	if (h->leave)
		rc = h->leave(t, &result);
	else if (t->outs.res.row->cls == SYS_REEXEC && result >= 0)
		t->call_flags |= EVENT_F_REEXEC;
	if (rc >= 0)
		rc = gather_effects(t, result);
	rec_scratch_forget(t);
	if (rc >= 0)
		rc = rec_files_after(t, result);
	if (rc >= 0)
		rc = restore_registers(t, result, result != first);
	return rc < 0 ? rc : log_result(t, result);
}

/* Some calls end with EINTR whatever the signal. Without a tracer an ignored one would not have reached the thread: the call is made again. */
static int call_again(struct rec_task *t)
{
	struct user_regs_struct r = t->entry;

	rec_scratch_forget(t);
	rec_snapshot_free(t);
	r.rip -= 2;
	r.rax = t->entry.orig_rax;
	r.orig_rax = (unsigned long)-1;
	eng_regs_set(&t->t, &r);
	t->again = true;
	rec_ready(t, ENG_RUN, 0);
	return 0;
}

int rec_call_exit(struct rec_task *t)
{
	int64_t result;
	int rc = eng_result(&t->t, &result);

	if (rc < 0)
		return rc;
	if (!t->in_call) { /* the exit of a call that was answered */
		rec_ready(t, ENG_RUN, 0);
		return 0;
	}
	if (result == -EINTR && (t->outs.res.row->flags & SYS_F_BLOCK)) {
		rc = t->interrupting ? 1 : rec_interrupted_by_nothing(t);
		if (rc)
			return rc < 0 ? rc : call_again(t);
	}
	if (t->rec->n_traced || t->wait_asleep) {
		rc = rec_wait_exit(t, &result);
		if (rc)
			return rc < 0 ? rc : call_again(t);
	}
	rec_tally_end(t, REC_EXECUTED);
	rc = interrupted(t, result) ? leave_interrupted(t, result) : leave_call(t, result);
	if (rc >= 0)
		rc = rec_late_content(t);
	if (rc < 0)
		return rc;
	if (t->outs.res.row->flags & SYS_F_SCHED)
		t->rec->give_way = true;
	if (t->outs.call.nr == SYS_rt_sigreturn) {
		rc = rec_signal_returned(t);
		if (rc < 0)
			return rc;
	}
	rc = maybe_checksum(t);
	if (rc < 0)
		return rc;
	rec_ready(t, ENG_RUN, 0);
	return t->n_stash ? rec_signal_after_event(t) : 0;
}
