/* System calls that the table alone cannot describe. */
#define LOG_AREA "recorder.handlers"
#include "recorder/rec_priv.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

#ifndef ARCH_GET_CPUID
#define ARCH_GET_CPUID 0x1011
#define ARCH_SET_CPUID 0x1012
#endif
#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define PAGE 4096ull

int rec_change_arg(struct rec_task *t, unsigned i, uint64_t v)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	switch (i) {
	case 0:
		r->rdi = v;
		break;
	case 2:
		r->rdx = v;
		break;
	default:
		return -EINVAL;
	}
	t->args_changed = true;
	eng_regs_changed(&t->t);
	return 0;
}

/* --- memory --- */

/* Memory that a device or a kernel ring writes by itself cannot be recorded. */
static int enter_mmap(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;
	char path[48];
	struct stat st;

	if (a[3] & MAP_ANONYMOUS)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, (int)a[4]);
	if (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	if (S_ISCHR(st.st_mode) && major(st.st_rdev) == 1)
		return 0; /* /dev/zero; the kernel refuses its like */
	rec_warn(t->rec, "a mapping of a device or kernel ring cannot be recorded: answered with ENODEV");
	*ret_result = -ENODEV;
	return 1;
}

static int leave_mmap(struct rec_task *t, int64_t *result)
{
	return *result < 0 ? 0 : rec_mapped(t, (uint64_t)*result);
}

static int leave_munmap(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;
	struct effect *e;

	if (*result < 0)
		return 0;
	e = fx_add(&t->rec->fx, EFFECT_UNMAP);
	e->addr = a[0];
	e->len = ALIGN_UP(a[1], PAGE);
	return aspace_unmap(&t->t.mm->as, a[0], a[0] + ALIGN_UP(a[1], PAGE));
}

static int leave_mprotect(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;

	if (*result == 0 || *result == -ENOMEM) /* ENOMEM: the part before the hole is done */
		t->call_flags |= EVENT_F_REEXEC;
	return *result < 0 ? 0 : aspace_protect(&t->t.mm->as, a[0], a[0] + ALIGN_UP(a[1], PAGE), (uint32_t)a[2] & 7);
}

static int enter_mremap(struct rec_task *t, int64_t *ret_result)
{
	(void)ret_result;
	rec_point_remap(t, t->outs.call.args[0], t->outs.call.args[1]);
	return 0;
}

static int leave_mremap(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;
	bool keep = !a[1] || (a[3] & MREMAP_DONTUNMAP);

	if (*result < 0)
		return 0;
	t->call_flags |= EVENT_F_REEXEC;
	if ((uint64_t)*result != a[0])
		rec_point_moved(t);
	return aspace_remap(&t->t.mm->as, a[0], ALIGN_UP(a[1], PAGE), (uint64_t)*result, ALIGN_UP(a[2], PAGE), keep);
}

static int leave_brk(struct rec_task *t, int64_t *result)
{
	struct eng_mm *mm = t->t.mm;
	uint64_t before = ALIGN_UP(mm->brk, PAGE), now = ALIGN_UP((uint64_t)*result, PAGE);
	struct mapping m = { .start = before, .end = now, .prot = PROT_READ | PROT_WRITE, .flags = ASPACE_ANON };
	struct effect *e;

	mm->brk = (uint64_t)*result;
	if (now == before)
		return 0;
	e = fx_add(&t->rec->fx, now > before ? EFFECT_MAP : EFFECT_UNMAP);
	e->addr = MIN(before, now);
	e->len = MAX(before, now) - e->addr;
	if (now < before)
		return aspace_unmap(&mm->as, now, before);
	e->prot = m.prot;
	e->flags = MAP_F_HEAP;
	e->name = "[heap]";
	return aspace_map(&mm->as, &m);
}

/* MADV_FREE leaves it to chance when pages vanish: at once is one of its outcomes, and one that can be replayed. */
static int enter_madvise(struct rec_task *t, int64_t *ret_result)
{
	(void)ret_result;
	return t->outs.call.args[2] == MADV_FREE ? rec_change_arg(t, 2, MADV_DONTNEED) : 0;
}

static int leave_madvise(struct rec_task *t, int64_t *result)
{
	switch (t->outs.call.args[2]) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
	case MADV_GUARD_INSTALL:
	case MADV_GUARD_REMOVE:
		if (*result == 0 || *result == -ENOMEM)
			t->call_flags |= EVENT_F_REEXEC;
	}
	return 0;
}

static int leave_shmat(struct rec_task *t, int64_t *result)
{
	return *result < 0 ? 0 : rec_shm_attached(t, (uint64_t)*result);
}

static int leave_shmdt(struct rec_task *t, int64_t *result)
{
	uint64_t addr = t->outs.call.args[0], end = addr;
	const struct mapping *m;
	uint64_t object = 0;
	struct effect *e;

	if (*result < 0)
		return 0;
	/* The pieces of one attachment: another one of the same segment may lie right behind. */
	while ((m = aspace_find(&t->t.mm->as, end)) && m->object && m->start - m->offset == addr && (!object || m->object == object)) {
		object = m->object;
		end = m->end;
	}
	e = fx_add(&t->rec->fx, EFFECT_UNMAP);
	e->addr = addr;
	e->len = end - addr;
	return end > addr ? aspace_unmap(&t->t.mm->as, addr, end) : 0;
}

static int leave_reexec(struct rec_task *t, int64_t *result)
{
	if (*result >= 0)
		t->call_flags |= EVENT_F_REEXEC;
	return 0;
}

/* The target's memory changed: its effects belong to its address space. */
static int leave_process_vm_writev(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;
	struct rec_task *target = rec_task_find(t->rec, (pid_t)a[0]);
	uint64_t left = *result > 0 ? (uint64_t)*result : 0;
	struct iovec v;

	for (uint64_t i = 0; target && i < a[4] && left; i++) {
		uint32_t from = t->rec->fx.n;
		uint64_t n;

		if (eng_read(&t->t, a[3] + i * sizeof(v), &v, sizeof(v)) < 0)
			break;
		n = MIN(left, (uint64_t)v.iov_len);
		fx_memory(&t->rec->fx, &target->t, EFFECT_MEM, (uint64_t)v.iov_base, n);
		left -= n;
		while (from < t->rec->fx.n)
			t->rec->fx.e[from++].thread = target->num;
	}
	return 0;
}

/* --- processes --- */

static int enter_clone(struct rec_task *t, int64_t *ret_result)
{
	(void)ret_result;
	/* An untraced child would escape. */
	return t->outs.call.args[0] & CLONE_UNTRACED ? rec_change_arg(t, 0, t->outs.call.args[0] & ~(uint64_t)CLONE_UNTRACED) : 0;
}

static int enter_clone3(struct rec_task *t, int64_t *ret_result)
{
	uint64_t flags = 0;

	if (eng_read(&t->t, t->outs.call.args[0], &flags, sizeof(flags)) >= 0 && (flags & CLONE_UNTRACED)) {
		*ret_result = -ENOSYS;
		return 1;
	}
	return 0;
}

static int enter_exec(struct rec_task *t, int64_t *ret_result)
{
	(void)ret_result;
	return rec_exec_begin(t);
}

static int leave_set_tid_address(struct rec_task *t, int64_t *result)
{
	(void)result;
	t->child_tid = t->outs.call.args[0];
	return 0;
}

static int leave_set_robust_list(struct rec_task *t, int64_t *result)
{
	if (*result == 0)
		t->robust_list = t->outs.call.args[0];
	return 0;
}

/* Does it want to know of stopped children? Tracers are told by us. */
static int leave_sigaction(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;
	uint64_t flags;

	if (*result == 0 && a[0] == SIGCHLD && a[1] && eng_read(&t->t, a[1] + 8, &flags, sizeof(flags)) >= 0)
		t->proc->no_stop_sigchld = flags & SA_NOCLDSTOP;
	if (*result == 0)
		rec_forced_action(t, a[0], a[1]);
	return 0;
}

static int leave_sigprocmask(struct rec_task *t, int64_t *result)
{
	return *result == 0 && t->outs.call.args[1] ? rec_forced_mask_changed(t) : 0;
}

/* A SIGCHLD of ours says what the kernel's would. */
static int leave_sigtimedwait(struct rec_task *t, int64_t *result)
{
	struct user_regs_struct *r;
	siginfo_t si;

	if (*result != SIGCHLD || !t->rec->n_traced || eng_regs(&t->t, &r) < 0 || !r->rsi || eng_read(&t->t, r->rsi, &si, sizeof(si)) < 0)
		return 0;
	return rec_trace_siginfo(t, &si) ? eng_write(&t->t, r->rsi, &si, sizeof(si)) : 0;
}

/* rt_sigreturn: registers come from the frame, whatever the program made of it. */
static int leave_sigreturn(struct rec_task *t, int64_t *result)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	(void)result;
	if (rc < 0)
		return rc;
	fx_registers(&t->rec->fx, &t->t);
	fx_xstate(&t->rec->fx, &t->t);
	return 0;
}

/* --- what the guest believes of its machine --- */

static struct rec_task *by_pid(struct rec_task *t, uint64_t pid)
{
	return pid ? rec_task_find(t->rec, (pid_t)pid) : t;
}

static int enter_sched_setaffinity(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;
	struct rec_task *target = by_pid(t, a[0]);
	cpu_set_t want, both;

	if (!target)
		return 0; /* not ours: the kernel decides */
	CPU_ZERO(&want);
	*ret_result = 0;
	if (eng_read(&t->t, a[2], &want, MIN(a[1], (uint64_t)sizeof(want))) < 0) {
		*ret_result = -EFAULT;
		return 1;
	}
	CPU_AND(&both, &want, &t->rec->affinity);
	if (!CPU_COUNT(&both))
		*ret_result = -EINVAL;
	else
		target->proc->affinity = both; /* everything stays on one CPU; the guest sees what it asked for */
	return 1;
}

static int leave_sched_getaffinity(struct rec_task *t, int64_t *result)
{
	const uint64_t *a = t->outs.call.args;
	struct rec_task *target = by_pid(t, a[0]);

	if (*result <= 0 || !target)
		return 0;
	return eng_write(&t->t, a[2], &target->proc->affinity, MIN((uint64_t)*result, (uint64_t)sizeof(cpu_set_t)));
}

static int set_seccomp(struct rec_task *t, uint64_t operation, uint64_t flags, uint64_t addr)
{
	switch (operation) {
	case SECCOMP_SET_MODE_STRICT:
		return flags || addr ? -EINVAL : rec_filter_strict(t);
	case SECCOMP_SET_MODE_FILTER:
		return rec_filter_install(t, flags, addr);
	}
	return -EINVAL;
}

static int enter_seccomp(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;

	if (a[0] != SECCOMP_SET_MODE_STRICT && a[0] != SECCOMP_SET_MODE_FILTER)
		return 0; /* questions to the kernel */
	*ret_result = set_seccomp(t, a[0], a[1], a[2]);
	return 1;
}

static int enter_prctl(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;
	const uint32_t tsc = t->tsc_faults ? PR_TSC_SIGSEGV : PR_TSC_ENABLE;

	switch (a[0]) {
	case PR_SET_PTRACER:
		t->proc->ptracer = (int64_t)a[1];
		return 0; /* its result is the kernel's */
	case PR_SET_DUMPABLE: /* the tracer would lose access to the memory */
		if (a[1] > 1)
			return 0;
		t->proc->dumpable = (int)a[1];
		*ret_result = 0;
		return 1;
	case PR_GET_DUMPABLE:
		*ret_result = t->proc->dumpable;
		return 1;
	case PR_SET_TSC: /* it traps for us in any case */
		*ret_result = a[1] == PR_TSC_ENABLE || a[1] == PR_TSC_SIGSEGV ? 0 : -EINVAL;
		if (!*ret_result)
			t->tsc_faults = a[1] == PR_TSC_SIGSEGV;
		return 1;
	case PR_GET_TSC:
		*ret_result = eng_write(&t->t, a[1], &tsc, 4) < 0 ? -EFAULT : 0;
		if (!*ret_result)
			fx_bytes(&t->rec->fx, EFFECT_MEM, a[1], &tsc, 4);
		return 1;
	case PR_SET_NO_NEW_PRIVS:
		if (a[1] == 1)
			t->proc->no_new_privs = true;
		return 0;
	case PR_GET_NO_NEW_PRIVS:
		*ret_result = t->proc->no_new_privs;
		return 1;
	case PR_GET_SECCOMP:
		*ret_result = rec_filter_mode(t);
		return 1;
	case PR_SET_SECCOMP:
		*ret_result = set_seccomp(t, a[1] == SECCOMP_MODE_STRICT ? SECCOMP_SET_MODE_STRICT :
					     a[1] == SECCOMP_MODE_FILTER ? SECCOMP_SET_MODE_FILTER : UINT64_MAX,
					  0, a[1] == SECCOMP_MODE_FILTER ? a[2] : 0);
		return 1;
	case PR_SET_SYSCALL_USER_DISPATCH:
		*ret_result = -EINVAL;
		return 1;
	}
	return 0;
}

static int enter_arch_prctl(struct rec_task *t, int64_t *ret_result)
{
	switch (t->outs.call.args[0]) {
	case ARCH_GET_CPUID:
		*ret_result = 1;
		return 1;
	case ARCH_SET_CPUID:
		*ret_result = t->outs.call.args[1] ? 0 : -ENODEV;
		return 1;
	}
	return 0;
}

static int leave_arch_prctl(struct rec_task *t, int64_t *result)
{
	uint64_t code = t->outs.call.args[0];

	/* The permission decides whether AMX instructions fault. */
	if (*result == 0 && (code == ARCH_SET_FS || code == ARCH_SET_GS || code == ARCH_REQ_XCOMP_PERM))
		t->call_flags |= EVENT_F_REEXEC;
	return 0;
}

/* --- files --- */

/* What a signalfd says of a SIGCHLD of ours. The descriptor is looked at last: few reads come as far. */
static int fix_signalfd(struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct signalfd_siginfo si;
	char path[48], target[32];
	siginfo_t true_si;
	ssize_t n;

	for (uint64_t at = 0; at + sizeof(si) <= len && t->proc->chld_sent; at += sizeof(si)) {
		if (eng_read(&t->t, addr + at, &si, sizeof(si)) < 0 || si.ssi_signo != SIGCHLD || si.ssi_pid != (uint32_t)getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, (int)t->outs.call.args[0]);
		n = readlink(path, target, sizeof(target));
		if (n < 0 || (size_t)n != strlen("anon_inode:[signalfd]") || memcmp(target, "anon_inode:[signalfd]", (size_t)n))
			return 0;
		true_si = (siginfo_t){ .si_signo = SIGCHLD, .si_code = SI_USER };
		true_si.si_pid = getpid();
		if (!rec_trace_siginfo(t, &true_si))
			return 0;
		si.ssi_code = true_si.si_code;
		si.ssi_pid = (uint32_t)true_si.si_pid;
		si.ssi_uid = true_si.si_uid;
		si.ssi_status = true_si.si_status;
		return eng_write(&t->t, addr + at, &si, sizeof(si));
	}
	return 0;
}

static int leave_read(struct rec_task *t, int64_t *result)
{
	if (*result >= (int64_t)sizeof(struct signalfd_siginfo) && t->proc->chld_sent) {
		int rc = fix_signalfd(t, t->n_moves ? t->scratch : t->outs.call.args[1], (uint64_t)*result);

		if (rc < 0)
			return rc;
	}
	if (*result <= 0 || rec_fd(t, (int)t->outs.call.args[0])->cls != FD_PROC_STATUS)
		return 0;
	return rec_proc_status_fix(t, t->n_moves ? t->scratch : t->outs.call.args[1], (uint64_t)*result);
}

/* What the pipe holds now, without taking it. */
static void peek_pipe(struct rec_task *t, int in, uint64_t len)
{
	CLEANUP(closep) int theirs = -1, from = -1, to = -1;
	int ours[2];
	char path[48];
	ssize_t n;

	buf_clear(&t->peeked);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, in);
	theirs = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (theirs < 0 || pipe2(ours, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	from = ours[0];
	to = ours[1];
	fcntl(to, F_SETPIPE_SZ, 1 << 20); /* as much as it may */
	n = tee(theirs, to, MIN(len, (uint64_t)1 << 20), SPLICE_F_NONBLOCK);
	if (n <= 0)
		return;
	n = read(from, buf_extend(&t->peeked, (size_t)n), (size_t)n);
	t->peeked.len = (size_t)MAX(n, (ssize_t)0);
}

/* Copies inside the kernel to our stdout: what is copied must be told to replay. It is read again from the file, or looked at in the pipe. */
static int enter_move(struct rec_task *t, int out, int in, uint64_t off_addr, uint64_t len)
{
	uint64_t off;

	if (!rec_echo(t, out) || (off_addr && eng_read(&t->t, off_addr, &off, sizeof(off)) < 0))
		return 0;
	if (rec_fd(t, in)->cls == FD_REGULAR) {
		buf_clear(&t->peeked);
		t->saved_pos = off_addr ? off : rec_file_position(t, in);
	} else {
		peek_pipe(t, in, len);
	}
	return 0;
}

static int enter_sendfile(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;

	(void)ret_result;
	return enter_move(t, (int)a[0], (int)a[1], a[2], a[3]);
}

static int enter_splice(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;

	(void)ret_result;
	return enter_move(t, (int)a[2], (int)a[0], a[1], a[4]);
}

static int enter_tee(struct rec_task *t, int64_t *ret_result)
{
	const uint64_t *a = t->outs.call.args;

	(void)ret_result;
	return enter_move(t, (int)a[1], (int)a[0], 0, a[2]);
}

static const struct rec_handler handlers[SYS_TABLE_MAX] = {
	[SYS_mmap] = { .enter = enter_mmap, .leave = leave_mmap },
	[SYS_munmap] = { .leave = leave_munmap },
	[SYS_mprotect] = { .leave = leave_mprotect },
	[SYS_pkey_mprotect] = { .leave = leave_mprotect },
	[SYS_pkey_alloc] = { .leave = leave_reexec },
	[SYS_pkey_free] = { .leave = leave_reexec },
	[SYS_mremap] = { .enter = enter_mremap, .leave = leave_mremap },
	[SYS_brk] = { .leave = leave_brk },
	[SYS_madvise] = { .enter = enter_madvise, .leave = leave_madvise },
	[SYS_shmat] = { .leave = leave_shmat },
	[SYS_shmdt] = { .leave = leave_shmdt },
	[SYS_process_vm_writev] = { .leave = leave_process_vm_writev },
	[SYS_execve] = { .enter = enter_exec },
	[SYS_execveat] = { .enter = enter_exec },
	[SYS_clone] = { .enter = enter_clone },
	[SYS_clone3] = { .enter = enter_clone3 },
	[SYS_set_tid_address] = { .leave = leave_set_tid_address },
	[SYS_set_robust_list] = { .leave = leave_set_robust_list },
	[SYS_rt_sigaction] = { .leave = leave_sigaction },
	[SYS_rt_sigprocmask] = { .leave = leave_sigprocmask },
	[SYS_rt_sigtimedwait] = { .leave = leave_sigtimedwait },
	[SYS_rt_sigreturn] = { .leave = leave_sigreturn },
	[SYS_sched_setaffinity] = { .enter = enter_sched_setaffinity },
	[SYS_sched_getaffinity] = { .leave = leave_sched_getaffinity },
	[SYS_prctl] = { .enter = enter_prctl },
	[SYS_seccomp] = { .enter = enter_seccomp },
	[SYS_arch_prctl] = { .enter = enter_arch_prctl, .leave = leave_arch_prctl },
	[SYS_read] = { .leave = leave_read },
	[SYS_pread64] = { .leave = leave_read },
	[SYS_sendfile] = { .enter = enter_sendfile },
	[SYS_splice] = { .enter = enter_splice },
	[SYS_copy_file_range] = { .enter = enter_splice },
	[SYS_tee] = { .enter = enter_tee },
};

const struct rec_handler *rec_handler(uint32_t nr)
{
	static const struct rec_handler none;

	return nr < ARRAY_SIZE(handlers) ? &handlers[nr] : &none;
}
