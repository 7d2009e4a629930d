/* Birth, exec and end of tasks. */
#define LOG_AREA "recorder.procs"
#include "recorder/rec_priv.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

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
		proc->info.command = t->proc->info.command ? strdup(t->proc->info.command) : NULL;
		proc->info.exe = t->proc->info.exe ? strdup(t->proc->info.exe) : NULL;
		c->proc = proc;
	}
	proc->live++;
	proc->info.threads++;
	if (b->flags & CLONE_CHILD_CLEARTID)
		c->child_tid = b->child_tid;
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

static void release_marks(struct rec_task *t, struct buf *marks)
{
	struct rec_mark m = { .addr = t->child_tid };

	robust_words(t, marks);
	if (t->child_tid && t->t.mm->refs > 1 && rec_range_writable(t, t->child_tid, 4))
		buf_put(marks, &m, sizeof(m));
}

static void mark_effects(struct rec_task *t, const struct buf *marks)
{
	const struct rec_mark *m = (const struct rec_mark *)marks->data;

	for (size_t i = 0; i < marks->len / sizeof(*m); i++)
		fx_bytes(&t->rec->fx, EFFECT_MEM, m[i].addr, &m[i].value, 4);
}

/* --- exec --- */

/* Threads that exec took away without telling. */
static int drop_others(struct rec_task *t)
{
	struct rec_task *o = t->rec->tasks;

	while (o) {
		struct rec_task *next = o->next;

		if (o != t && o->proc == t->proc) {
			int r = rec_gone(o);

			if (r < 0)
				return r;
		}
		o = next;
	}
	return 0;
}

int rec_exec_begin(struct rec_task *t)
{
	buf_clear(&t->exec_marks);
	release_marks(t, &t->exec_marks);
	return 0;
}

/* The old memory was let go: others see it where they share it. */
static int log_exec_marks(struct rec_task *t)
{
	struct event ev;

	if (!t->exec_marks.len)
		return 0;
	rec_event_init(t, &ev, EVENT_NOTE);
	ev.text = "exec released robust futexes";
	mark_effects(t, &t->exec_marks);
	buf_clear(&t->exec_marks);
	return rec_log(t->rec, &ev);
}

int rec_exec_event(struct rec_task *t)
{
	struct eng_mm *mm;
	int r = rec_park(t);

	if (r >= 0)
		r = log_exec_marks(t);
	if (r >= 0)
		r = eng_mm_new(t->t.tid, &mm);
	if (r < 0)
		return r;
	t->proc->live = 1;
	r = drop_others(t);
	if (r < 0)
		return r;
	t->proc->live = 1;
	eng_mm_unref(t->t.mm);
	t->t.mm = mm;
	if (t->files->refs > 1) {
		rec_files_unref(t->files);
		t->files = rec_files_new();
		if (!t->files)
			return -ENOMEM;
	}
	rec_fd_forget_all(t->files);
	t->child_tid = t->robust_list = t->scratch = t->scratch_len = 0;
	t->execed = true;
	rec_scratch_forget(t);
	rec_ready(t, ENG_TO_EXIT, 0);
	return 0;
}

/* Address of the auxiliary vector's AT_SYSINFO_EHDR entry in a copy of the initial stack, or NULL. */
static uint64_t *find_vdso_entry(uint64_t *w, size_t n)
{
	size_t i = 1; /* over argc */

	for (int vectors = 0; vectors < 2; vectors++) { /* argv, envp */
		while (i < n && w[i])
			i++;
		i++;
	}
	for (; i + 1 < n && w[i] != AT_NULL; i += 2)
		if (w[i] == AT_SYSINFO_EHDR)
			return &w[i];
	return NULL;
}

/* Hides the vDSO: libc falls back to real system calls. */
static int hide_vdso(struct rec_task *t, uint64_t rsp, uint64_t stack_end)
{
	const uint64_t ignore = AT_IGNORE;
	uint64_t *w, *entry;
	size_t len = stack_end - rsp;
	int r;

	if (stack_end <= rsp)
		return 0;
	w = malloc(len);
	if (!w)
		return -ENOMEM;
	r = eng_read(&t->t, rsp, w, len);
	entry = r < 0 ? NULL : find_vdso_entry(w, len / sizeof(*w));
	if (entry)
		r = eng_write(&t->t, rsp + (uint64_t)((char *)entry - (char *)w), &ignore, sizeof(ignore));
	free(w);
	return r;
}

struct image {
	struct rec_task *t;
	uint64_t stack_end;
};

static int image_line(void *ctx, const struct maps_line *line)
{
	struct image *im = ctx;
	int r = aspace_map(&im->t->t.mm->as, &line->map);

	if (r < 0)
		return r;
	if (line->map.flags & ASPACE_GROWSDOWN)
		im->stack_end = line->map.end;
	return rec_map_image(im->t, line);
}

static uint64_t brk_start(pid_t tid)
{
	char path[32], text[2048], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p && field < 47; field++) /* 47: start_brk */
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* What /proc says the program and its arguments are. */
static char *proc_link(pid_t tid, const char *what)
{
	char path[48], text[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, what);
	n = readlink(path, text, sizeof(text) - 1);
	if (n < 0)
		return strdup("");
	text[n] = '\0';
	return strdup(text);
}

#define ARGV_SHOWN_MAX 65536u

static size_t read_argv(pid_t tid, char *text)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, ARGV_SHOWN_MAX);
	close(fd);
	if (n > 0)
		text[n - 1] = '\0'; /* longer ones are cut */
	return n > 0 ? (size_t)n : 0;
}

static void set_command(struct rec_process *p, const char *argv, size_t n)
{
	CLEANUP(buf_done) struct buf b;

	buf_init(&b);
	for (size_t i = 0; i < n; i += strlen(argv + i) + 1) { /* ends with a NUL: read_argv() */
		if (i)
			buf_put_u8(&b, ' ');
		buf_put_shell_quoted(&b, argv + i);
	}
	free(p->info.command);
	p->info.command = strdup(buf_cstr(&b));
}

/* A set-id program under NO_NEW_PRIVS keeps the ids of its caller. */
static void check_setid(struct rec_task *t)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->t.tid);
	if (stat(path, &st) < 0)
		return;
	if (!((st.st_mode & S_ISUID) && st.st_uid != geteuid()) && !((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid()))
		return;
	rec_warn(t->rec, "%s is a set-id program: it runs without gaining rights while it is recorded", t->proc->info.exe);
}

/* rdtsc traps stay on over exec, CPUID faulting does not. */
static int trap_cpuid(struct rec_task *t)
{
	int64_t result;
	int r;

	if (!t->rec->cpuid_faulting)
		return 0;
	r = eng_remote(&t->t, SYS_arch_prctl, (uint64_t[6]){ ARCH_SET_CPUID, 0 }, &result);
	return r < 0 ? r : (int)MIN(result, (int64_t)0);
}

static int check_64bit(struct rec_task *t)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc >= 0 && r->cs == 0x23) {
		rec_warn(t->rec, "%s is a 32-bit program: those cannot be recorded; it was killed", t->proc->info.exe);
		kill(t->t.tgid, SIGKILL);
		return ERR_GUEST_GONE;
	}
	return rc;
}

static int exec_image(struct rec_task *t, struct image *im, struct user_regs_struct *r)
{
	int rc = maps_read(t->t.tid, image_line, im);

	if (rc >= 0)
		rc = hide_vdso(t, r->rsp, im->stack_end);
	if (rc >= 0 && eng_find_gate(&t->t) < 0)
		rec_warn(t->rec, "no vDSO in this guest: cpuid is not trapped");
	if (rc >= 0 && t->t.mm->gate)
		rc = trap_cpuid(t);
	if (rc < 0)
		return rc;
	t->t.mm->brk = brk_start(t->t.tid);
	if (im->stack_end > r->rsp)
		fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, r->rsp, im->stack_end - r->rsp);
	fx_registers(&t->rec->fx, &t->t);
	fx_xstate(&t->rec->fx, &t->t);
	return 0;
}

int rec_exec_finish(struct rec_task *t)
{
	CLEANUP(freep) char *argv = malloc(ARGV_SHOWN_MAX); /* hermit may run on a small stack */
	struct image im = { .t = t };
	struct user_regs_struct *r;
	struct rlimit stack = { 0 };
	struct event ev;
	int rc;

	if (!argv)
		return -ENOMEM;
	t->execed = t->in_call = t->entered = false;
	free(t->proc->info.exe);
	t->proc->info.exe = proc_link(t->t.tid, "exe");
	rc = check_64bit(t);
	if (rc >= 0)
		rc = eng_regs(&t->t, &r);
	if (rc >= 0)
		rc = exec_image(t, &im, r);
	if (rc < 0)
		return rc;
	rec_event_init(t, &ev, EVENT_EXEC);
	ev.text = t->proc->info.exe ? t->proc->info.exe : "";
	ev.blob = argv;
	ev.blob_len = read_argv(t->t.tid, argv);
	ev.pid = t->t.tgid;
	ev.tid = t->t.tid;
	if (prlimit(t->t.tid, RLIMIT_STACK, NULL, &stack) == 0)
		ev.args[0] = stack.rlim_cur;
	ev.sysno = t->outs.call.nr ? t->outs.call.nr : SYS_execve;
	ev.regs_hash = t->entry_hash;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	ev.rip = r->rip;
	t->entry = *r;
	t->restart_pending = false;
	set_command(t->proc, argv, ev.blob_len);
	check_setid(t);
	rec_ready(t, ENG_RUN, 0);
	return rec_log(t->rec, &ev);
}

/* --- exit --- */

static void exit_effects(struct rec_task *t)
{
	CLEANUP(buf_done) struct buf marks;

	buf_init(&marks);
	release_marks(t, &marks);
	mark_effects(t, &marks);
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
	enum { ASLEEP_LOOKS = 8 };
	struct rec *rec = t->rec;
	struct eng_stop st;
	int asleep = 0;
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
		}
		sched_yield();
	}
}

int rec_exiting(struct rec_task *t)
{
	unsigned long status;
	int r = eng_message(&t->t, &status);

	if (r < 0)
		return r;
	t->exit_status = (int)status;
	t->exit_known = true;
	t->cut_short |= t->ran;
	r = rec_park(t); /* killed inside a call: it got as far as its entry */
	if (r < 0)
		return r;
	if (t->cut_short)
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
	if (t->t.tgid == rec->first_pid && t->proc->info.parent == 0 && !t->proc->live)
		rec->first_status = t->exit_status;
	rec_task_remove(rec, t);
	return r;
}
