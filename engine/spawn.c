/* Starts tracees: guests to record, and the empty processes that replay fills.
 *
 * Both wait until they are seized before they install the filter that traps every system call. libseccomp writes that filter. */
#include "engine/engine.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "engine/ptrace_priv.h"

/* Children are traced and die with us. */
static long seize_options(void)
{
	return PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	       PTRACE_O_TRACEEXIT | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
}

/* The filter that traps every call; those of other architectures (int 0x80) end in ENOSYS, recorded and replayed alike. libseccomp
 * writes it in the parent: a child only makes system calls between fork and exec, since it may hold anybody's locks and has rdtsc
 * trapping. */
struct filter {
	struct sock_filter code[64];
	struct sock_fprog prog;
};

static int filter_build(struct filter *f)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_TRACE(0));
	CLEANUP(closep) int fd = memfd_create("hermit-filter", MFD_CLOEXEC);
	ssize_t n;
	int r;

	if (!ctx || fd < 0) {
		r = ctx ? -errno : -ENOMEM;
		goto out;
	}
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r >= 0)
		r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		goto out;
	n = os_pread_full(fd, f->code, sizeof(f->code), 0);
	if (n <= 0 || (size_t)n == sizeof(f->code) || n % sizeof(f->code[0])) {
		r = n < 0 ? (int)n : -EINVAL;
		goto out;
	}
	f->prog = (struct sock_fprog){ (unsigned short)((size_t)n / sizeof(f->code[0])), f->code };
out:
	if (ctx)
		seccomp_release(ctx);
	return r;
}

/* NO_NEW_PRIVS lets anybody install a filter. */
static int filter_install(const struct filter *f)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f->prog) < 0 ? -errno : 0;
}

/* What a child tells its parent when it cannot go on. */
struct handshake {
	volatile int go;
	volatile int error;
	const char *volatile step;
};

NORETURN static void child_fail(struct handshake *h, const char *step, int error)
{
	h->step = step;
	h->error = error;
	_exit(125);
}

/* Dies with the parent while it is not traced yet (then PTRACE_O_EXITKILL takes over). */
static void await_parent(struct handshake *h, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (!h->go) {
		if (getppid() != parent)
			_exit(125);
		sched_yield();
	}
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

NORETURN static void guest_child(struct handshake *h, pid_t parent, const struct eng_spawn *sp, const struct filter *f)
{
	int r;

	for (int i = 0; i < 3; i++)
		if (sp->fds[i] != i && dup2(sp->fds[i], i) < 0)
			child_fail(h, "give the guest its standard descriptors", errno);
	if (sp->workdir && chdir(sp->workdir) < 0)
		child_fail(h, "change to the working directory", errno);
	await_parent(h, parent);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		child_fail(h, "trap rdtsc", errno);
	r = filter_install(f);
	if (r < 0)
		child_fail(h, "install the seccomp filter", -r);
	syscall(SYS_execve, sp->path, sp->argv, sp->envp);
	_exit(127);
}

static int seize(pid_t tid)
{
	return ptrace_call(PTRACE_SEIZE, tid, NULL, (void *)seize_options());
}

static struct handshake *handshake_new(void)
{
	void *p = mmap(NULL, sizeof(struct handshake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Lets the child run to the SECCOMP stop of call nr. */
static int run_to_call(struct eng_task *t, uint64_t nr)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	int rc;

	for (;;) {
		do
			rc = eng_wait_task(t, &st);
		while (rc == ERR_INTERRUPTED);
		if (rc < 0)
			return rc;
		if (st.kind == ENG_STOP_GONE || st.kind == ENG_STOP_EXITING)
			return ERR_GUEST_GONE;
		if (st.kind == ENG_STOP_SECCOMP) {
			rc = eng_regs(t, &r);
			if (rc < 0 || r->orig_rax == nr)
				return rc;
		}
		rc = eng_resume(t, ENG_RUN, st.kind == ENG_STOP_SIGNAL ? st.signo : 0);
		if (rc < 0)
			return rc;
	}
}

static int seize_failed(struct errinfo *ei, int r)
{
	if (r == -EPERM || r == -EACCES || r == -ENOSYS)
		return errinfo_set(ei, ERR_NO_PTRACE, "this machine does not let us trace our own child process (%s): see `hermit doctor`",
				   err_str(r));
	return errinfo_set_r(ei, r, "trace the new process");
}

static int kill_child(pid_t tid)
{
	kill(tid, SIGKILL);
	while (waitpid(tid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return 0;
}

static int start_failed(struct handshake *h, int r, struct errinfo *ei)
{
	if (h->step)
		return errinfo_set_r(ei, -h->error, "%s", h->step);
	return errinfo_set_r(ei, r, "start the guest process");
}

int eng_spawn(const struct eng_spawn *sp, pid_t *ret_tid, struct errinfo *ei)
{
	struct handshake *h;
	pid_t parent = getpid(), pid;
	struct eng_task t;
	struct filter f;
	int r = filter_build(&f);

	if (r < 0)
		return errinfo_set_r(ei, r, "make the seccomp filter");
	h = handshake_new();
	if (!h)
		return errinfo_set_r(ei, -ENOMEM, "start the guest process");
	pid = fork();
	if (pid == 0)
		guest_child(h, parent, sp, &f);
	if (pid < 0) {
		r = errinfo_set_r(ei, -errno, "fork the guest process");
		goto out;
	}
	r = seize(pid);
	if (r < 0) {
		kill_child(pid);
		r = h->step ? start_failed(h, r, ei) : seize_failed(ei, r);
		goto out;
	}
	h->go = 1;
	eng_task_init(&t, pid, pid, NULL);
	r = run_to_call(&t, SYS_execve);
	if (r < 0) {
		kill_child(pid);
		r = start_failed(h, r, ei);
		goto out;
	}
	*ret_tid = pid;
out:
	munmap(h, sizeof(*h));
	return r;
}

/* --- replay's empty process --- */

/* glibc registered this thread with the kernel, which would write to the area after we have unmapped it. */
static void leave_rseq(void)
{
	enum { UNREGISTER = 1, GLIBC_SIGNATURE = 0x53053053, AREA = 32 };

	if (__rseq_size)
		syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, AREA, UNREGISTER, GLIBC_SIGNATURE);
}

NORETURN static void stub_child(struct handshake *h, pid_t parent, bool trap_cpuid, const struct filter *f)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0xeb, 0xfc }; /* 1: syscall; jmp 1b */
	struct rlimit core = { 0 };
	void *gate = mmap((void *)ENG_STUB_GATE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int r;

	if (gate == MAP_FAILED)
		child_fail(h, "map the gate page", errno);
	memcpy(gate, code, sizeof(code));
	if (mprotect(gate, 4096, PROT_READ | PROT_EXEC) < 0)
		child_fail(h, "protect the gate page", errno);
	setsid(); /* no terminal signals */
	leave_rseq();
	setrlimit(RLIMIT_CORE, &core);
	await_parent(h, parent);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		child_fail(h, "trap rdtsc", errno);
	if (trap_cpuid && syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) < 0)
		child_fail(h, "trap cpuid", errno);
	r = filter_install(f);
	if (r < 0)
		child_fail(h, "install the seccomp filter", -r);
	__asm__ volatile("jmp *%0" : : "r"(gate), "a"(SYS_getppid));
	__builtin_unreachable();
}

/* Empties the address space: everything below and above the gate page. */
static int stub_empty(struct eng_task *t)
{
	const uint64_t top = 0x7ffffffff000ULL;
	int64_t res;
	int r = eng_remote(t, SYS_munmap, (uint64_t[6]){ 0, ENG_STUB_GATE }, &res);

	if (r >= 0 && res == 0)
		r = eng_remote(t, SYS_munmap, (uint64_t[6]){ ENG_STUB_GATE + 4096, top - ENG_STUB_GATE - 4096 }, &res);
	return r < 0 ? r : (int)res;
}

static int stub_setup(pid_t pid)
{
	struct user_regs_struct *regs;
	struct eng_task t;
	struct eng_stop st;
	struct eng_mm *mm;
	int r = eng_mm_new(pid, &mm);

	if (r < 0)
		return r;
	mm->gate = ENG_STUB_GATE;
	eng_task_init(&t, pid, pid, mm);
	r = run_to_call(&t, SYS_getppid);
	if (r < 0)
		goto out;
	r = eng_resume(&t, ENG_TO_EXIT, 0);
	if (r >= 0)
		r = eng_wait_task(&t, &st);
	if (r >= 0 && st.kind != ENG_STOP_SYSCALL)
		r = ERR_GUEST;
	if (r >= 0)
		r = stub_empty(&t);
	if (r >= 0)
		r = eng_regs(&t, &regs);
	if (r >= 0 && t.regs_dirty)
		r = ptrace_call(PTRACE_SETREGS, pid, NULL, &t.regs);
out:
	eng_task_done(&t);
	return r;
}

int eng_spawn_stub(bool trap_cpuid, pid_t *ret_tid, struct errinfo *ei)
{
	struct handshake *h;
	pid_t parent = getpid(), pid;
	struct filter f;
	int r = filter_build(&f);

	if (r < 0)
		return errinfo_set_r(ei, r, "make the seccomp filter");
	h = handshake_new();
	if (!h)
		return errinfo_set_r(ei, -ENOMEM, "start a replay process");
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		stub_child(h, parent, trap_cpuid, &f);
	if (pid < 0) {
		r = errinfo_set_r(ei, -errno, "fork a replay process");
		goto out;
	}
	r = seize(pid);
	if (r < 0) {
		kill_child(pid);
		r = seize_failed(ei, r);
		goto out;
	}
	h->go = 1;
	r = stub_setup(pid);
	if (r < 0) {
		kill_child(pid);
		r = h->step ? errinfo_set_r(ei, -h->error, "%s", h->step) : errinfo_set_r(ei, r, "empty a replay process");
		goto out;
	}
	*ret_tid = pid;
out:
	munmap(h, sizeof(*h));
	return r;
}

int eng_pin(int cpu, void *ret_old, size_t n)
{
	cpu_set_t old[8], one;

	CPU_ZERO_S(sizeof(old), old);
	if (sched_getaffinity(0, sizeof(old), old) < 0)
		return -errno;
	if (ret_old)
		memcpy(ret_old, old, MIN(n, sizeof(old)));
	if (cpu < 0)
		cpu = sched_getcpu(); /* the scheduler put us where there is room: two recordings side by side get two CPUs */
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : cpu;
}
