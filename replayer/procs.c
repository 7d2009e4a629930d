/* Replayed processes and threads: made by clone in the empty template or in a replayed thread, ended by exit or SIGKILL.
 *
 * All share the replayer's descriptor table, so that blobs and shared objects can be mapped without opening anything inside; all are
 * direct children of the replayer (CLONE_PARENT), so that it alone reaps them. */
#define LOG_AREA "replayer.procs"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define THREADS_MAX (1u << 22)

struct rep_task *rep_task(struct rep_session *s, uint32_t num)
{
	return num < s->cap_tasks ? s->tasks[num] : NULL;
}

static int put_task(struct rep_session *s, struct rep_task *t)
{
	if (t->num >= s->cap_tasks) {
		uint32_t cap = MAX(t->num + 1, s->cap_tasks * 2 + 16);
		struct rep_task **v;

		if (t->num > THREADS_MAX)
			return ERR_LIMIT;
		v = reallocarray(s->tasks, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		for (uint32_t i = s->cap_tasks; i < cap; i++)
			v[i] = NULL;
		s->tasks = v;
		s->cap_tasks = cap;
	}
	if (s->tasks[t->num])
		return ERR_CORRUPT;
	s->tasks[t->num] = t;
	return 0;
}

static void proc_unref(struct rep_proc *p)
{
	if (p && --p->refs == 0)
		free(p);
}

void rep_task_free(struct rep_session *s, struct rep_task *t)
{
	if (t->num < s->cap_tasks && s->tasks[t->num] == t)
		s->tasks[t->num] = NULL;
	proc_unref(t->proc);
	buf_done(&t->written);
	eng_task_done(&t->t);
	free(t);
}

/* New task of that number; takes mm and proc references. */
static int add_task(struct rep_session *s, uint32_t num, pid_t tid, struct eng_mm *mm, struct rep_proc *p, struct rep_task **ret)
{
	struct rep_task *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	eng_task_init(&t->t, tid, p->tgid, mm);
	t->session = s;
	t->num = num;
	t->proc = p;
	buf_init(&t->written);
	r = put_task(s, t);
	if (r < 0) {
		rep_task_free(s, t);
		return r;
	}
	p->live++;
	*ret = t;
	return 0;
}

static struct rep_proc *new_proc(pid_t tgid)
{
	struct rep_proc *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct rep_proc){ .refs = 1, .tgid = tgid };
	return p;
}

int rep_wait_first_stop(pid_t tid)
{
	struct eng_task t = { .tid = tid };
	struct eng_stop st;
	int r;

	do
		r = eng_wait_task(&t, &st);
	while (r == ERR_INTERRUPTED);
	return r < 0 ? r : st.kind == ENG_STOP_TRAP ? 0 : ERR_GUEST_GONE;
}

void rep_reap(pid_t tid)
{
	struct eng_task t = { .tid = tid };
	struct eng_stop st;

	for (;;) {
		int r = eng_wait_task(&t, &st);

		if (r == ERR_INTERRUPTED)
			continue;
		if (r < 0 || st.kind == ENG_STOP_GONE)
			return;
		if (eng_resume(&t, ENG_RUN, 0) < 0)
			log_trace("%d is dying", tid);
	}
}

/* A task of ours that nobody will know of. With a thread its whole process ends. */
static void discard(pid_t tid)
{
	kill(tid, SIGKILL);
	rep_reap(tid);
}

/* The new task tid, made by clone with these flags where `from` is the memory, has stopped for the first time: takes it up. It is killed when that
 * fails: nobody else knows of it. */
static int adopt(struct rep_session *s, struct eng_mm *from, uint64_t flags, struct rep_proc *proc, uint32_t num, pid_t tid, struct rep_task **ret)
{
	struct eng_mm *mm = NULL;
	struct rep_proc *p = NULL;
	int r = 0;

	if (flags & CLONE_VM)
		mm = eng_mm_ref(from);
	else
		r = eng_mm_fork(from, tid, &mm);
	if (r >= 0)
		p = flags & CLONE_THREAD ? proc : new_proc(tid);
	if (p && flags & CLONE_THREAD)
		p->refs++;
	r = r < 0 ? r : p ? add_task(s, num, tid, mm, p, ret) : -ENOMEM;
	if (r < 0)
		discard(tid);
	return r;
}

/* The first stop of what clone has made. */
static int await_birth(int64_t tid)
{
	int r = tid < 0 ? (int)tid : rep_wait_first_stop((pid_t)tid);

	if (r < 0 && tid > 0)
		discard((pid_t)tid);
	return r;
}

int rep_spawn(struct rep_session *s, struct eng_task *from, uint64_t flags, struct rep_proc *proc, uint32_t num, struct rep_task **ret)
{
	int64_t tid;
	int r = eng_remote(from, SYS_clone, (uint64_t[6]){ flags }, &tid);

	if (r >= 0)
		r = await_birth(tid);
	return r < 0 ? r : adopt(s, from->mm, flags, proc, num, (pid_t)tid, ret);
}

int rep_new_process(struct rep_session *s, uint32_t num, struct rep_task **ret, struct errinfo *ei)
{
	struct eng_task template;
	int r;

	eng_task_init(&template, s->template, s->template, s->template_mm);
	r = rep_spawn(s, &template, CLONE_FILES | CLONE_PARENT | SIGCHLD, NULL, num, ret);
	return r < 0 ? errinfo_set_r(ei, r, "make a process for the replay") : r;
}

/* Kills a process whose last thread is tid. The leader, a zombie by now or tid itself, is reported last. */
static void kill_process(pid_t tgid, pid_t tid)
{
	kill(tgid, SIGKILL);
	if (tid != tgid)
		rep_reap(tid);
	rep_reap(tgid);
}

void rep_kill_live(struct rep_session *s)
{
	/* One that is gone may be somebody else by now. */
	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i] && !s->tasks[i]->t.gone)
			kill(s->tasks[i]->proc->tgid, SIGKILL);
	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i] && !s->tasks[i]->t.gone && s->tasks[i]->t.tid != s->tasks[i]->proc->tgid)
			rep_reap(s->tasks[i]->t.tid);
	/* Leaders are reported last. */
	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i]) {
			rep_reap(s->tasks[i]->proc->tgid);
			rep_task_free(s, s->tasks[i]);
		}
}

void rep_kill_all(struct rep_session *s)
{
	struct eng_stop st;
	pid_t tid;
	int r;

	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i])
			kill(s->tasks[i]->proc->tgid, SIGKILL);
	if (s->template > 0)
		kill(s->template, SIGKILL);
	else
		return;
	while ((r = eng_wait_any(true, &tid, &st)) > 0 || r == ERR_INTERRUPTED) {
		struct eng_task t = { .tid = tid };

		if (r > 0 && st.kind != ENG_STOP_GONE) {
			kill(tid, SIGKILL);
			if (eng_resume(&t, ENG_RUN, 0) < 0)
				log_trace("%d is dying", tid);
		}
	}
	s->template = 0;
}

/* --- exec --- */

void rep_stack_limit(struct rep_task *t, uint64_t limit)
{
	struct rlimit rl;

	if (prlimit(t->t.tid, RLIMIT_STACK, NULL, &rl) < 0)
		return;
	rl.rlim_cur = MIN(limit, rl.rlim_max);
	if (prlimit(t->t.tid, RLIMIT_STACK, &rl, NULL) < 0)
		log_debug("stack limit of the replayed process not set");
}

int rep_exec_arrive(struct rep_session *s, struct rep_task *old, const struct event *ev, struct errinfo *ei)
{
	return old && !old->in_call ? rep_run_to_call(s, old, ev, ei) : 0; /* a call that became exec while nobody else ran */
}

int rep_exec(struct rep_session *s, struct rep_task *old, const struct event *ev, struct errinfo *ei)
{
	pid_t pid = old ? old->guest_pid : 0;
	struct rep_task *t;
	int r;

	if (old && old->proc->live != 1)
		return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": exec of a process with other threads", ev->number);
	if (old) {
		pid_t tgid = old->proc->tgid, tid = old->t.tid;

		rep_task_free(s, old);
		kill_process(tgid, tid);
	}
	r = rep_new_process(s, ev->thread, &t, ei);
	if (r < 0)
		return r;
	t->guest_pid = ev->pid ? ev->pid : pid;
	t->guest_tid = t->guest_pid;
	rep_stack_limit(t, ev->args[0] ? ev->args[0] : 8u << 20);
	return rep_apply(s, t, ev, ei);
}

/* --- birth --- */

static uint64_t clone_flags(const struct event *ev)
{
	switch (ev->sysno) {
	case SYS_clone:
		return ev->args[0];
	case SYS_clone3:
		return ev->args[2];
	case SYS_vfork:
		return CLONE_VM | CLONE_VFORK;
	default:
		return 0;
	}
}

/* What matters to memory is kept of the flags; descriptors, parents and ids are the replayer's. */
static uint64_t replay_flags(uint64_t flags)
{
	if (flags & CLONE_THREAD)
		return CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM;
	return CLONE_FILES | CLONE_PARENT | (flags & CLONE_VM) | SIGCHLD;
}

static int make_child(struct rep_session *s, struct rep_task *t, const struct event *ev, struct rep_task **ret)
{
	uint64_t flags = clone_flags(ev);
	int64_t tid;
	int r = rep_remote(t, SYS_clone, (uint64_t[6]){ replay_flags(flags) }, &tid);

	if (r >= 0)
		r = await_birth(tid);
	return r < 0 ? r : adopt(s, t->t.mm, replay_flags(flags), t->proc, ev->child, (pid_t)tid, ret);
}

int rep_birth_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	return t->in_call ? 0 : rep_run_to_call(s, t, ev, ei); /* others may have run after its entry */
}

int rep_birth(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct rep_task *child;
	int r;

	t->in_call = true;
	r = make_child(s, t, ev, &child);
	if (r < 0)
		return r;
	child->guest_pid = ev->pid;
	child->guest_tid = ev->tid;
	return rep_apply(s, t, ev, ei);
}

/* --- exit --- */

/* Whatever it was about to do, it ends instead. */
static int make_exit(struct rep_task *t)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	if (t->t.stop.kind == ENG_STOP_SECCOMP) {
		r->orig_rax = SYS_exit;
	} else {
		r->rip = t->t.mm->gate;
		r->rax = SYS_exit;
		r->orig_rax = (unsigned long)-1;
	}
	r->rdi = 0;
	eng_regs_changed(&t->t);
	return 0;
}

/* Lets one thread end while its process lives on. The leader stays behind as a zombie. */
static int end_thread(struct rep_task *t)
{
	struct eng_stop st;
	int rc;

	for (;;) {
		rc = t->t.stop.kind == ENG_STOP_EXITING ? 0 : make_exit(t);
		if (rc >= 0)
			rc = eng_resume(&t->t, ENG_RUN, 0);
		if (rc < 0)
			return rc == ERR_GUEST_GONE ? 0 : rc;
		if (t->t.stop.kind == ENG_STOP_EXITING && t->t.tid == t->t.tgid)
			return 0;
		do
			rc = eng_wait_task(&t->t, &st);
		while (rc == ERR_INTERRUPTED);
		if (rc < 0 || st.kind == ENG_STOP_GONE)
			return rc == ERR_GUEST_GONE ? 0 : rc;
	}
}

int rep_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	struct rep_proc *p = t->proc;
	pid_t tid = t->t.tid;
	int r = rep_apply(s, t, ev, ei);

	if (r < 0)
		return r;
	p->refs++;
	p->live--;
	if (p->live) {
		r = end_thread(t);
		rep_task_free(s, t);
	} else {
		rep_task_free(s, t);
		kill_process(p->tgid, tid);
	}
	proc_unref(p);
	return r;
}
