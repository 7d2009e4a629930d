/* Exec: a thread gets a new program and address space; everything in it is logged, the vDSO is hidden and cpuid trapped. */
#define LOG_AREA "recorder.exec"
#include "recorder/rec_priv.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

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
	rec_release_marks(t, &t->exec_marks);
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
	rec_mark_effects(t, &t->exec_marks);
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
	t->proc->no_stop_sigchld = false;
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
	enum { STATE_FIELD = 3, START_BRK_FIELD = 47 };
	char text[2048];
	const char *p = eng_stat(tid, text, sizeof(text));

	for (int field = STATE_FIELD; p && field < START_BRK_FIELD; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
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
	rec_tally_end(t, REC_EXECUTED);
	free(t->proc->info.exe);
	t->proc->info.exe = proc_link(t->t.tid, "exe");
	rc = check_64bit(t);
	if (rc >= 0)
		rc = rec_forced_exec(t);
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
