/* Snapshots: each address space of the replayed tree as a frozen process, a copy-on-write child that never runs, with a copy of
 * what is known about threads, shared objects and the place in the log.
 *
 * A restore kills the tree and clones a new one from the frozen processes, which stay. Restored threads stand at the first stop
 * of a new task: from there they go on in user mode with the registers they are given, whatever they stood at before, and a call
 * of ours is made through the gate. Nothing in a replayed task's kernel state is older than its clone but signal mask (everything may be
 * blocked: faults come nevertheless), stack limit and what calls of reexec.c change: that is copied by clone.
 *
 * All live mappings of a shared object, frozen ones too, show the one memfd: its content is put back for whoever runs. */
#define LOG_AREA "replayer.snapshot"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/patch.h"

/* An address space. */
struct frozen {
	const struct eng_mm *of; /* only while the snapshot is taken: it may be gone later */
	pid_t pid;               /* 0 = none yet */
	struct eng_mm *mm;       /* owned; without a descriptor: nobody reads there */
	struct rep_kept *kept;   /* what it has lost */
};

struct saved_proc {
	const struct rep_proc *of; /* as above */
	size_t frozen, leader;     /* places in the tables */
	uint64_t stack_limit;
};

struct saved_task {
	uint32_t num;
	pid_t guest_pid, guest_tid;
	uint64_t counted;
	size_t proc;
	bool in_call, have_written;
	struct user_regs_struct regs, entry;
	uint32_t sysno;
	uint64_t args[6];
	struct buf written;
	uint8_t *xstate; /* owned */
	size_t xstate_len;
};

struct rep_snapshot {
	struct rep_snapshot *next; /* of the session's */
	struct frozen *frozen;
	struct saved_proc *procs;
	struct saved_task *tasks;
	size_t n_frozen, n_procs, n_tasks;
	struct rep_contents *objects;
	uint64_t event;
	bool ended, truncated;
	int first_status;
	struct rep_past past[ARRAY_SIZE(((struct rep_session *)0)->past)];
};

/* --- freezing --- */

/* How well t serves for a call of ours: one that is in no call, if there is one. */
static int fitness(const struct rep_task *t)
{
	return (t->in_call ? 0 : 2) + (t->place == REP_ENTRY ? 0 : 1);
}

static struct rep_task *best_of(struct rep_session *s, const struct eng_mm *mm)
{
	struct rep_task *best = NULL;

	for (uint32_t i = 0; i < s->cap_tasks; i++) {
		struct rep_task *t = s->tasks[i];

		if (t && t->t.mm == mm && (!best || fitness(t) > fitness(best)))
			best = t;
	}
	return best;
}

/* A thread in a call keeps all of its registers: debuggers look at them, and it runs only after it got others. */
static int remote(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret)
{
	struct user_regs_struct *r, saved;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	saved = *r;
	rc = rep_remote_quiet(t, nr, args, ret);
	if (rc >= 0 && t->in_call)
		eng_regs_set(&t->t, &saved);
	return rc;
}

/* Lets a clone copy what guests have excluded from forks, or excludes it again. */
static int exclude(struct rep_task *t, bool again)
{
	static const struct {
		uint32_t flag;
		uint64_t set, clear;
	} advices[] = { { ASPACE_DONTFORK, MADV_DONTFORK, MADV_DOFORK }, { ASPACE_WIPEONFORK, MADV_WIPEONFORK, MADV_KEEPONFORK } };
	const struct aspace *as = &t->t.mm->as;
	int64_t result;
	int r = 0;

	for (size_t i = 0; i < as->n && r >= 0; i++)
		for (size_t k = 0; k < ARRAY_SIZE(advices) && r >= 0; k++) {
			const struct mapping *m = &as->m[i];

			/* It may fail: a forked child's model still has what it has not got. */
			if (m->flags & advices[k].flag)
				r = remote(t, SYS_madvise,
					   (uint64_t[6]){ m->start, m->end - m->start, again ? advices[k].set : advices[k].clear }, &result);
		}
	return r;
}

static int clone_frozen(struct rep_task *t, struct frozen *f)
{
	int64_t pid;
	int r = remote(t, SYS_clone, (uint64_t[6]){ CLONE_FILES | CLONE_PARENT | SIGCHLD }, &pid);

	if (r >= 0 && pid < 0)
		r = (int)pid;
	if (r < 0)
		return r;
	f->pid = (pid_t)pid;
	r = rep_wait_first_stop(f->pid);
	if (r >= 0)
		r = eng_mm_fork(t->t.mm, f->pid, &f->mm);
	if (r < 0)
		return r;
	if (f->mm->mem_fd >= 0)
		close(f->mm->mem_fd);
	f->mm->mem_fd = -1;
	return 0;
}

static int freeze(struct rep_session *s, struct frozen *f)
{
	struct rep_task *t = best_of(s, f->of);
	int r = exclude(t, false), back;

	if (r >= 0)
		r = clone_frozen(t, f);
	back = exclude(t, true);
	return r < 0 ? r : back;
}

/* --- taking --- */

static size_t frozen_of(struct rep_snapshot *snap, const struct eng_mm *mm)
{
	for (size_t i = 0; i < snap->n_frozen; i++)
		if (snap->frozen[i].of == mm)
			return i;
	snap->frozen[snap->n_frozen] = (struct frozen){ .of = mm };
	return snap->n_frozen++;
}

static size_t proc_of(struct rep_snapshot *snap, const struct rep_task *t)
{
	struct rlimit rl;

	/* Threads of a process have mostly been made one after the other. */
	for (size_t i = snap->n_procs; i-- > 0;)
		if (snap->procs[i].of == t->proc)
			return i;
	snap->procs[snap->n_procs] = (struct saved_proc){
		.of = t->proc,
		.frozen = frozen_of(snap, t->t.mm),
		.leader = snap->n_tasks,
		.stack_limit = prlimit(t->t.tid, RLIMIT_STACK, NULL, &rl) < 0 ? RLIM_INFINITY : rl.rlim_cur,
	};
	return snap->n_procs++;
}

static int save_task(struct rep_snapshot *snap, struct rep_task *t)
{
	struct saved_task *to = &snap->tasks[snap->n_tasks];
	uint8_t xstate[ENG_XSTATE_MAX];
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc >= 0)
		rc = eng_xstate(&t->t, xstate, sizeof(xstate), &to->xstate_len);
	if (rc < 0)
		return rc;
	to->num = t->num;
	to->guest_pid = t->guest_pid;
	to->guest_tid = t->guest_tid;
	to->counted = t->counted;
	to->proc = proc_of(snap, t);
	if (t->t.tid == t->proc->tgid)
		snap->procs[to->proc].leader = snap->n_tasks;
	snap->n_tasks++;
	to->in_call = t->in_call;
	to->regs = *r;
	to->entry = t->entry;
	to->sysno = t->sysno;
	memcpy(to->args, t->args, sizeof(to->args));
	to->have_written = t->have_written;
	if (t->have_written)
		buf_put(&to->written, t->written.data, t->written.len);
	to->xstate = malloc(to->xstate_len);
	if (!to->xstate)
		return -ENOMEM;
	memcpy(to->xstate, xstate, to->xstate_len);
	return buf_error(&to->written);
}

static int save_tasks(struct rep_session *s, struct rep_snapshot *snap)
{
	size_t n = 1; /* never nothing: what calloc gives is no error then */
	int r = 0;

	for (uint32_t i = 0; i < s->cap_tasks; i++)
		n += s->tasks[i] != NULL;
	snap->tasks = calloc(n, sizeof(*snap->tasks));
	snap->procs = calloc(n, sizeof(*snap->procs));
	snap->frozen = calloc(n, sizeof(*snap->frozen));
	if (!snap->tasks || !snap->procs || !snap->frozen)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->cap_tasks && r >= 0; i++)
		if (s->tasks[i])
			r = save_task(snap, s->tasks[i]);
	return r;
}

static void save_session(struct rep_session *s, struct rep_snapshot *snap)
{
	snap->event = s->event;
	snap->ended = s->ended;
	snap->truncated = s->truncated;
	snap->first_status = s->first_status;
	memcpy(snap->past, s->past, sizeof(snap->past));
}

int rep_snapshot_take(struct rep_session *s, struct rep_snapshot **ret, struct errinfo *ei)
{
	struct rep_snapshot *snap = calloc(1, sizeof(*snap));
	int r;

	if (!snap)
		return errinfo_set_r(ei, -ENOMEM, "take a snapshot");
	snap->next = s->snapshots;
	s->snapshots = snap;
	save_session(s, snap);
	r = save_tasks(s, snap);
	for (size_t i = 0; i < snap->n_frozen && r >= 0; i++)
		r = freeze(s, &snap->frozen[i]);
	if (r >= 0)
		r = rep_contents_save(s, s->latest ? s->latest->objects : NULL, &snap->objects);
	if (r < 0) {
		rep_snapshot_free(s, snap);
		return errinfo_set_r(ei, r, "take a snapshot at event %" PRIu64, s->event);
	}
	s->latest = snap;
	*ret = snap;
	return 0;
}

/* --- freeing --- */

static void frozen_done(struct frozen *f)
{
	if (f->pid) {
		kill(f->pid, SIGKILL);
		rep_reap(f->pid);
	}
	eng_mm_unref(f->mm);
	rep_kept_free(f->kept);
}

static void unlist(struct rep_session *s, struct rep_snapshot *snap)
{
	struct rep_snapshot **p = &s->snapshots;

	while (*p && *p != snap)
		p = &(*p)->next;
	if (*p)
		*p = snap->next;
	if (s->latest == snap)
		s->latest = NULL;
}

void rep_snapshot_free(struct rep_session *s, struct rep_snapshot *snap)
{
	if (!snap)
		return;
	unlist(s, snap);
	for (size_t i = 0; i < snap->n_frozen; i++)
		frozen_done(&snap->frozen[i]);
	for (size_t i = 0; i < snap->n_tasks; i++) {
		buf_done(&snap->tasks[i].written);
		free(snap->tasks[i].xstate);
	}
	free(snap->frozen);
	free(snap->procs);
	free(snap->tasks);
	rep_contents_free(snap->objects);
	free(snap);
}

/* --- restoring --- */

/* A process with the address space of the frozen one; vm: the leader of one that has it already, to share it with. */
static int thaw_leader(struct rep_session *s, const struct frozen *f, struct rep_task *vm, uint32_t num, struct rep_task **ret)
{
	const uint64_t flags = CLONE_FILES | CLONE_PARENT | SIGCHLD;
	struct eng_task from;
	int r;

	if (vm)
		return rep_spawn(s, &vm->t, flags | CLONE_VM, NULL, num, ret);
	eng_task_init(&from, f->pid, f->pid, f->mm);
	r = rep_spawn(s, &from, flags, NULL, num, ret);
	return r < 0 ? r : exclude(*ret, true);
}

static int thaw_threads(struct rep_session *s, const struct rep_snapshot *snap, size_t proc, struct rep_task *leader)
{
	const uint64_t flags = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM;
	struct rep_task *t;
	int r = 0;

	for (size_t i = 0; i < snap->n_tasks && r >= 0; i++)
		if (snap->tasks[i].proc == proc && i != snap->procs[proc].leader)
			r = rep_spawn(s, &leader->t, flags, leader->proc, snap->tasks[i].num, &t);
	return r;
}

/* All processes of one address space. */
static int thaw(struct rep_session *s, const struct rep_snapshot *snap, size_t frozen)
{
	struct rep_task *first = NULL, *t;
	int r = 0;

	for (size_t i = 0; i < snap->n_procs && r >= 0; i++) {
		const struct saved_proc *p = &snap->procs[i];

		if (p->frozen != frozen)
			continue;
		r = thaw_leader(s, &snap->frozen[frozen], first, snap->tasks[p->leader].num, &t);
		if (r < 0)
			break;
		rep_stack_limit(t, p->stack_limit);
		if (!first)
			r = rep_kept_write(snap->frozen[frozen].kept, t);
		first = first ? first : t;
		if (r >= 0)
			r = thaw_threads(s, snap, i, t);
	}
	return r;
}

static int load_task(struct rep_session *s, const struct saved_task *from)
{
	struct rep_task *t = rep_task(s, from->num);

	t->guest_pid = from->guest_pid;
	t->guest_tid = from->guest_tid;
	t->counted = from->counted;
	t->in_call = from->in_call;
	t->entry = from->entry;
	t->sysno = from->sysno;
	memcpy(t->args, from->args, sizeof(t->args));
	t->have_written = from->have_written;
	buf_put(&t->written, from->written.data, from->written.len);
	if (buf_error(&t->written) < 0)
		return buf_error(&t->written);
	eng_regs_set(&t->t, &from->regs);
	return eng_xstate_set(&t->t, from->xstate, from->xstate_len);
}

static void load_session(struct rep_session *s, const struct rep_snapshot *snap)
{
	s->event = snap->event;
	s->pending = NULL;
	s->arrived = false;
	s->ended = snap->ended;
	s->truncated = snap->truncated;
	s->first_status = snap->first_status;
	memcpy(s->past, snap->past, sizeof(s->past));
	s->diverged_thread = 0;
	/* output_closed stays: who has closed the pipe does not open it again. */
}

static int restore(struct rep_session *s, const struct rep_snapshot *snap, struct errinfo *ei)
{
	int r;

	rep_kill_live(s);
	r = rep_contents_load(s, snap->objects);
	for (size_t i = 0; i < snap->n_frozen && r >= 0; i++)
		r = thaw(s, snap, i);
	for (size_t i = 0; i < snap->n_tasks && r >= 0; i++)
		r = load_task(s, &snap->tasks[i]);
	if (r < 0)
		return r;
	load_session(s, snap);
	return store_reader_seek(s->reader, snap->event + 1, ei);
}

int rep_snapshot_restore(struct rep_session *s, const struct rep_snapshot *snap, struct errinfo *ei)
{
	int r = restore(s, snap, ei);

	if (r < 0)
		return errinfo_set_r(ei, r, "go back to event %" PRIu64, snap->event);
	for (s->latest = s->snapshots; s->latest && s->latest != snap;)
		s->latest = s->latest->next;
	return 0;
}

/* --- while they live --- */

int rep_snapshots_resize(struct rep_session *s, const struct rep_object *o, uint64_t size)
{
	int r = 0;

	if (!o->viewed || size >= o->size)
		return 0;
	for (struct rep_snapshot *snap = s->snapshots; snap; snap = snap->next)
		for (size_t i = 0; i < snap->n_frozen && r >= 0; i++)
			r = rep_keep(snap->frozen[i].pid, o, size, &snap->frozen[i].kept);
	return r;
}

/* --- comparing --- */

#define COMPARE_CHUNK (1u << 18)

static const struct frozen *frozen_for(const struct rep_snapshot *snap, uint32_t num)
{
	for (size_t i = 0; i < snap->n_tasks; i++)
		if (snap->tasks[i].num == num)
			return &snap->frozen[snap->procs[snap->tasks[i].proc].frozen];
	return NULL;
}

/* What cannot be read counts as zero. */
static void read_frozen(const struct frozen *f, uint64_t addr, uint8_t *buf, size_t n)
{
	struct iovec to = { buf, n }, from = { (void *)addr, n };
	ssize_t got = process_vm_readv(f->pid, &to, 1, &from, 1, 0);

	got = MAX(got, (ssize_t)0);
	memset(buf + got, 0, n - (size_t)got);
	eng_patch_hide(f->mm, addr, buf, n);
}

/* Not: *ret_at is a word that differs, *want (may be NULL) what it held. */
static bool same_range(const struct frozen *f, struct rep_task *t, uint64_t addr, size_t n, uint8_t *a, uint8_t *b, uint64_t *ret_at, uint64_t *want)
{
	ssize_t got = eng_read_some(&t->t, addr, a, n);
	size_t i = 0;

	got = MAX(got, (ssize_t)0);
	memset(a + got, 0, n - (size_t)got);
	read_frozen(f, addr, b, n);
	if (!memcmp(a, b, n))
		return true;
	while (a[i] == b[i])
		i++;
	i &= ~(size_t)7;
	*ret_at = addr + i;
	if (want)
		memcpy(want, b + i, sizeof(*want));
	return false;
}

/* The model does not know how far a stack has grown. */
static uint64_t start_of(const struct mapping *m, struct rep_task *t)
{
	struct user_regs_struct *regs;
	uint64_t used;

	if (!(m->flags & ASPACE_GROWSDOWN) || eng_regs(&t->t, &regs) < 0)
		return m->start;
	used = ALIGN_DOWN(regs->rsp - 128, 4096ull);
	return used < m->start && m->start - used < 1ull << 30 ? used : m->start;
}

int rep_snapshot_same_memory(const struct rep_snapshot *snap, struct rep_task *t, uint64_t *hint, uint64_t *want)
{
	const struct frozen *f = frozen_for(snap, t->num);
	const struct aspace *as = &t->t.mm->as;
	CLEANUP(freep) uint8_t *buf = malloc(2 * (size_t)COMPARE_CHUNK);

	if (!f || !buf)
		return buf ? 0 : -ENOMEM;
	if (*hint && !same_range(f, t, *hint, 8, buf, buf + COMPARE_CHUNK, hint, want))
		return 0;
	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];

		if (!(m->prot & PROT_WRITE))
			continue;
		for (uint64_t at = start_of(m, t); at < m->end; at += COMPARE_CHUNK)
			if (!same_range(f, t, at, MIN(m->end - at, (uint64_t)COMPARE_CHUNK), buf, buf + COMPARE_CHUNK, hint, want))
				return 0;
	}
	return 1;
}

/* --- accounting --- */

static const char *proc_text(pid_t pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "";
	n = os_read_full(fd, text, cap - 1);
	close(fd);
	text[MAX(n, (ssize_t)0)] = '\0';
	return text;
}

/* "\nName:   12 kB" */
static uint64_t field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) * 1024 : 0;
}

/* Clean private pages are of files: the kernel has them anyway. */
static uint64_t frozen_bytes(const struct frozen *f)
{
	char text[8192];
	const char *p = proc_text(f->pid, "smaps_rollup", text, sizeof(text));
	uint64_t n = field(p, "\nPrivate_Dirty:") + field(p, "\nSwap:");

	n += rep_kept_bytes(f->kept);
	return n + field(proc_text(f->pid, "status", text, sizeof(text)), "\nVmPTE:");
}

uint64_t rep_snapshot_bytes(const struct rep_snapshot *snap)
{
	uint64_t n = sizeof(*snap) + rep_contents_bytes(snap->objects);

	for (size_t i = 0; i < snap->n_frozen; i++)
		n += frozen_bytes(&snap->frozen[i]);
	for (size_t i = 0; i < snap->n_tasks; i++)
		n += sizeof(snap->tasks[i]) + snap->tasks[i].xstate_len + snap->tasks[i].written.len;
	return n;
}

/* Of the pages that a live process shares, the part which is counted in others. */
static uint64_t shared_out(pid_t pid)
{
	char text[8192];
	const char *p = proc_text(pid, "smaps_rollup", text, sizeof(text));
	uint64_t all = field(p, "\nAnonymous:"), share = field(p, "\nPss_Anon:");

	return all > share ? all - share : 0;
}

/* A page that n processes have counts 1/n in each. So the shares of the frozen ones are all that they hold but what
 * the tree has too; how much of it counts there, the tree's own shares tell. */
uint64_t rep_snapshots_bytes(const struct rep_session *s)
{
	uint64_t held = 0, alone = 0, with_tree = 0;
	char text[8192];

	for (const struct rep_snapshot *snap = s->snapshots; snap; snap = snap->next) {
		for (size_t i = 0; i < snap->n_frozen; i++) {
			const struct frozen *f = &snap->frozen[i];

			held += field(proc_text(f->pid, "smaps_rollup", text, sizeof(text)), "\nPss_Anon:");
			held += field(text, "\nSwapPss:") + rep_kept_bytes(f->kept);
			held += field(proc_text(f->pid, "status", text, sizeof(text)), "\nVmPTE:");
		}
		held += rep_contents_share(snap->objects);
		alone += rep_snapshot_bytes(snap);
	}
	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i] && s->tasks[i]->t.tid == s->tasks[i]->proc->tgid)
			with_tree = MAX(with_tree, shared_out(s->tasks[i]->t.tid));
	return MAX(alone, held > with_tree ? held - with_tree : 0);
}
