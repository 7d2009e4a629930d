/* Birth and end of tasks. */
#define LOG_AREA "recorder.procs"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

/* --- birth --- */

struct birth {
	uint64_t flags, stack, tls;
	uint64_t parent_tid, child_tid, pidfd; /* addresses, 0 = not written */
};

static int read_clone3(struct rec_task *t, struct birth *b)
{
	struct clone_args a = { 0 };
	uint64_t size = MIN(t->outs.call.args[1], (uint64_t)sizeof(a));
	int r = eng_read(&t->t, t->outs.call.args[0], &a, size);

	if (r < 0)
		return r;
	*b = (struct birth){ .flags = a.flags, .stack = a.stack ? a.stack + a.stack_size : 0, .tls = a.tls };
	if (a.flags & CLONE_PARENT_SETTID)
		b->parent_tid = a.parent_tid;
	if (a.flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		b->child_tid = a.child_tid;
	if (a.flags & CLONE_PIDFD)
		b->pidfd = a.pidfd;
	return 0;
}

static int read_birth(struct rec_task *t, struct birth *b)
{
	const uint64_t *a = t->outs.call.args;

	*b = (struct birth){ 0 };
	switch (t->outs.call.nr) {
	case SYS_clone3:
		return read_clone3(t, b);
	case SYS_vfork:
		b->flags = CLONE_VM | CLONE_VFORK;
		return 0;
	case SYS_clone:
		*b = (struct birth){ .flags = a[0], .stack = a[1], .tls = a[4] };
		if (a[0] & CLONE_PARENT_SETTID)
			b->parent_tid = a[2];
		if (a[0] & CLONE_PIDFD)
			b->pidfd = a[2];
		if (a[0] & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
			b->child_tid = a[3];
		return 0;
	default:
		return 0;
	}
}

/* The child's first stop: noted early, or waited for. */
static int await_child(struct rec *rec, struct rec_task *c)
{
	struct eng_stop st;
	int r;

	for (unsigned i = 0; i < rec->n_early; i++)
		if (rec->early[i].tid == c->t.tid) {
			c->t.stop = rec->early[i].stop;
			c->t.gone = c->t.stop.kind == ENG_STOP_GONE;
			rec->early[i] = rec->early[--rec->n_early];
			return 0;
		}
	do
		r = eng_wait_task(&c->t, &st);
	while (r == ERR_INTERRUPTED);
	return r;
}

static struct rec_task *adopt(struct rec_task *t, pid_t tid, const struct birth *b)
{
	struct rec *rec = t->rec;
	bool thread = b->flags & CLONE_THREAD;
	struct rec_process *proc = t->proc;
	struct rec_files *files = b->flags & CLONE_FILES ? rec_files_ref(t->files) : rec_files_copy(t->files);
	struct eng_mm *mm = NULL;
	struct rec_task *c;

	if (b->flags & CLONE_VM)
		mm = eng_mm_ref(t->t.mm);
	else if (eng_mm_fork(t->t.mm, tid, &mm) < 0)
		log_debug("no memory of child %d", tid);
	c = files && mm ? rec_task_new(rec, tid, thread ? t->t.tgid : tid, mm, files, proc) : NULL;
	if (!c)
		return NULL;
	if (!thread) {
		proc = rec_process_new(rec, c->num, t->proc->info.thread, tid);
		if (!proc)
			return NULL;
		proc->affinity = t->proc->affinity;
		proc->dumpable = t->proc->dumpable;
		proc->no_new_privs = t->proc->no_new_privs;
		proc->no_stop_sigchld = t->proc->no_stop_sigchld;
		proc->info.command = t->proc->info.command ? strdup(t->proc->info.command) : NULL;
		proc->info.exe = t->proc->info.exe ? strdup(t->proc->info.exe) : NULL;
		c->proc = proc;
	}
	proc->live++;
	proc->info.threads++;
	if (b->flags & CLONE_CHILD_CLEARTID)
		c->child_tid = b->child_tid;
	rec_forced_born(c, t, b->flags & CLONE_CLEAR_SIGHAND);
	c->tsc_faults = t->tsc_faults;
	c->filter = rec_filter_ref(t->filter);
	if (!(b->flags & CLONE_VM)) { /* its copy of our scratch memory */
		c->scratch = t->scratch;
		c->scratch_len = t->scratch_len;
	}
	return c;
}

static void birth_effects(struct rec_task *t, struct rec_task *c, const struct birth *b)
{
	struct fx *fx = &t->rec->fx;
	uint32_t from;

	if (b->parent_tid)
		fx_memory(fx, &t->t, EFFECT_MEM, b->parent_tid, 4);
	if (b->pidfd)
		fx_memory(fx, &t->t, EFFECT_MEM, b->pidfd, 4);
	from = fx->n;
	if (b->child_tid && !c->t.gone)
		fx_memory(fx, &c->t, EFFECT_MEM, b->child_tid, 4);
	fx_registers(fx, &c->t);
	for (uint32_t i = from; i < fx->n; i++)
		fx->e[i].thread = c->num;
}

int rec_birth(struct rec_task *t)
{
	struct user_regs_struct *r;
	struct rec_task *c;
	struct event ev;
	unsigned long tid;
	struct birth b;
	int rc = eng_message(&t->t, &tid);

	if (rc >= 0)
		rc = read_birth(t, &b);
	if (rc < 0)
		return rc;
	c = adopt(t, (pid_t)tid, &b);
	if (!c)
		return -ENOMEM;
	rc = await_child(t->rec, c);
	if (rc < 0)
		return rc;
	birth_effects(t, c, &b);
	if (!c->t.gone && eng_regs(&c->t, &r) >= 0)
		c->entry = *r;
	rec_event_init(t, &ev, EVENT_BIRTH);
	ev.sysno = t->outs.call.nr;
	memcpy(ev.args, t->outs.call.args, sizeof(ev.args));
	if (ev.sysno == SYS_clone3) { /* what matters is in memory: shown and replayed from here */
		ev.args[2] = b.flags;
		ev.args[3] = b.stack;
		ev.args[4] = b.tls;
	}
	ev.rip = t->entry.rip;
	ev.regs_hash = t->entry_hash;
	ev.child = c->num;
	ev.pid = c->t.tgid;
	ev.tid = c->t.tid;
	t->entered = true;
	c->state = REC_STOPPED;
	rc = rec_log(t->rec, &ev);
	if (t->rec->n_traced)
		rec_wait_child_born(t);
	if (rc >= 0 && t->trace) {
		rc = rec_trace_birth(t, c, b.flags);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (rc < 0 || !(b.flags & CLONE_VFORK)) {
		rec_ready(t, ENG_TO_EXIT, 0);
		return rc;
	}
	t->state = REC_BLOCKED; /* until the child execs or ends */
	return eng_resume(&t->t, ENG_TO_EXIT, 0);
}

/* --- what the kernel writes when a thread lets go of its memory --- */

/* The kernel marks the robust futexes that the thread holds (kernel/futex: handle_futex_death). The new value is computed, since the
 * address space may be gone when it is written. */
static void robust_word(struct rec_task *t, struct buf *marks, uint64_t addr)
{
	struct rec_mark m = { .addr = addr };
	uint32_t v;

	if (eng_read(&t->t, addr, &v, 4) < 0 || (v & FUTEX_TID_MASK) != (uint32_t)t->t.tid)
		return;
	m.value = (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
	buf_put(marks, &m, sizeof(m));
}

static void robust_words(struct rec_task *t, struct buf *marks)
{
	struct robust_list_head head;
	uint64_t entry;

	if (!t->robust_list || eng_read(&t->t, t->robust_list, &head, sizeof(head)) < 0)
		return;
	entry = (uint64_t)head.list.next;
	for (int i = 0; i < ROBUST_LIST_LIMIT && (entry & ~1ull) != t->robust_list; i++) {
		uint64_t next;

		if (eng_read(&t->t, entry & ~1ull, &next, 8) < 0)
			break;
		robust_word(t, marks, (entry & ~1ull) + (uint64_t)head.futex_offset);
		entry = next;
	}
	if (head.list_op_pending)
		robust_word(t, marks, ((uint64_t)head.list_op_pending & ~1ull) + (uint64_t)head.futex_offset);
}

void rec_release_marks(struct rec_task *t, struct buf *marks)
{
	struct rec_mark m = { .addr = t->child_tid };

	robust_words(t, marks);
	if (t->child_tid && t->t.mm->refs > 1 && rec_range_writable(t, t->child_tid, 4))
		buf_put(marks, &m, sizeof(m));
}

void rec_mark_effects(struct rec_task *t, const struct buf *marks)
{
	const struct rec_mark *m = (const struct rec_mark *)marks->data;

	for (size_t i = 0; i < marks->len / sizeof(*m); i++)
		fx_bytes(&t->rec->fx, EFFECT_MEM, m[i].addr, &m[i].value, 4);
}

/* --- exit --- */

static void exit_effects(struct rec_task *t)
{
	CLEANUP(buf_done) struct buf marks;

	buf_init(&marks);
	rec_release_marks(t, &marks);
	rec_mark_effects(t, &marks);
}

static int log_exit(struct rec_task *t)
{
	struct event ev;

	t->exit_logged = true;
	rec_event_init(t, &ev, EVENT_EXIT);
	ev.result = t->exit_status;
	if (t->proc->live <= 1)
		ev.flags = EVENT_F_GROUP;
	t->proc->info.status = t->exit_status;
	t->proc->info.last_event = store_writer_count(t->rec->writer) + 1;
	if (t->proc->live)
		t->proc->live--;
	return rec_log(t->rec, &ev);
}

/* Until it has let go of its memory: the thread is reaped, a zombie leader, or asleep: the init of a PID namespace waits for the other
 * processes of it to end, and they need us. */
static int await_death(struct rec_task *t)
{
	enum { ASLEEP_LOOKS = 8, BUSY_LOOKS = 100000 };
	struct rec *rec = t->rec;
	struct eng_stop st;
	int asleep = 0, busy = 0;
	pid_t tid;
	int r;

	for (;;) {
		r = eng_wait_any(false, &tid, &st);
		if (r == -ECHILD)
			return 0;
		if (r < 0 && r != ERR_INTERRUPTED)
			return r;
		if (r > 0) {
			if (tid == t->t.tid && st.kind == ENG_STOP_GONE) {
				t->t.gone = true;
				return 0;
			}
			rec_note_stop(rec, tid, &st);
			continue;
		}
		switch (eng_state(t->t.tid)) {
		case 'Z':
		case 'X':
		case 0:
			return 0;
		case 'S':
			if (++asleep > ASLEEP_LOOKS)
				return 0;
			break;
		case 'D': /* closing files: a server that never answers must not hold us */
			if (++busy > BUSY_LOOKS)
				return 0;
		}
		sched_yield();
	}
}

/* Signals that waited for this thread may have been meant for its process: the others get them. */
static void pass_on_signals(struct rec_task *t)
{
	for (unsigned i = 0; i < t->n_stash && t->proc->live > 1; i++)
		kill(t->t.tgid, t->stash[i].si_signo);
	t->n_stash = 0;
}

int rec_exiting(struct rec_task *t)
{
	unsigned long status;
	bool cut_short; /* killed in the middle of a run */
	int r = eng_message(&t->t, &status);

	if (r < 0)
		return r;
	t->exit_status = (int)status;
	t->exit_known = true;
	if (t->trace) {
		r = rec_trace_exiting(t);
		if (r)
			return r < 0 ? r : 0;
	}
	pass_on_signals(t);
	cut_short = t->ran;
	r = rec_park(t); /* killed inside a call: it got as far as its entry */
	if (r < 0)
		return r;
	if (cut_short)
		rec_shared_content(t);
	exit_effects(t);
	t->state = REC_DYING;
	r = eng_resume(&t->t, ENG_RUN, 0);
	if (r < 0 && r != ERR_GUEST_GONE)
		return r;
	r = await_death(t);
	if (r >= 0)
		r = log_exit(t);
	if (r < 0 || !t->t.gone)
		return r;
	t->exit_status = t->t.stop.kind == ENG_STOP_GONE ? t->t.stop.status : t->exit_status;
	return rec_gone(t);
}

int rec_gone(struct rec_task *t)
{
	struct rec *rec = t->rec;
	int r = 0;

	if (!t->exit_logged) {
		if (t->t.stop.kind == ENG_STOP_GONE && !t->exit_known)
			t->exit_status = t->t.stop.status;
		if (t->state != REC_BLOCKED)
			r = rec_park(t);
		if (r >= 0)
			r = log_exit(t);
	}
	if (t->t.tgid == rec->first_pid && t->proc->info.parent == 0 && !t->proc->live) {
		rec->first_status = t->exit_status;
		rec->first_ended = rec->now;
	}
	if (rec->n_traced)
		rec_trace_gone(t);
	rec_task_remove(rec, t);
	if (rec->n_early)
		rec_drop_orphans(rec);
	return r;
}
