/* See probe.h. Whatever could kill or change the process is tried in a child; children end by themselves after a few seconds, so that
 * nothing here can hang. Kernel interfaces newer than the headers of Debian 12 are declared here. */
#include "cli/probe.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "store/store.h"

#define CHILD_SECONDS 5
#define TRACE_OPTIONS \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static void found(struct probe_result *ret, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void missing(struct probe_result *ret, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void found(struct probe_result *ret, const char *fmt, ...)
{
	va_list ap;

	ret->ok = true;
	va_start(ap, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
}

static void missing(struct probe_result *ret, const char *fmt, ...)
{
	va_list ap;

	ret->ok = false;
	va_start(ap, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
}

/* Number in a file of /proc; -1 when it cannot be read. */
static int64_t setting(const char *path)
{
	char *text CLEANUP(freep) = NULL;
	size_t len;
	int64_t v;

	if (os_read_file(path, 4096, &text, &len) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	return str_parse_i64(text, &v) < 0 ? -1 : v;
}

/* --- children --- */

/* Starts fn in a child that leaves no core and does not outlive CHILD_SECONDS; its exit code is fn's result. */
static pid_t start_child(int (*fn)(int go), int go)
{
	struct rlimit none = { 0, 0 };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	signal(SIGALRM, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	alarm(CHILD_SECONDS);
	setrlimit(RLIMIT_CORE, &none);
	_exit(fn(go));
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

NORETURN static int sleep_forever(int go UNUSED)
{
	for (;;)
		pause();
}

/* Ends and reaps a child, in whatever state. */
static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int status = wait_for(pid); status != -1 && WIFSTOPPED(status); status = wait_for(pid))
		;
}

/* A seized and stopped child; 0, or the failed step in ret. */
static pid_t stopped_child(struct probe_result *ret)
{
	pid_t pid = start_child(sleep_forever, 0);
	const char *step = "fork";

	if (pid < 0) {
		missing(ret, "fork: %s", strerror(errno));
		return 0;
	}
	step = "PTRACE_SEIZE of a child";
	if (!ptrace(PTRACE_SEIZE, pid, NULL, (void *)TRACE_OPTIONS)) {
		step = "PTRACE_INTERRUPT of a child";
		if (!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) && WIFSTOPPED(wait_for(pid)))
			return pid;
	}
	missing(ret, "%s: %s", step, strerror(errno));
	end_child(pid);
	return 0;
}

/* --- what recording needs --- */

void probe_kernel(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u)) {
		missing(ret, "uname: %s", strerror(errno));
		return;
	}
	if (sscanf(u.release, "%u.%u", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 11)))
		found(ret, "Linux %s, %s", u.release, u.machine);
	else
		missing(ret, "Linux %s is too old", u.release);
}

void probe_ptrace(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };
	pid_t pid = stopped_child(ret);

	if (!pid)
		return;
	if (ptrace(PTRACE_GETREGSET, pid, (void *)1 /* NT_PRSTATUS */, &iov) || !regs.rip)
		missing(ret, "PTRACE_GETREGSET: %s", strerror(errno));
	else
		found(ret, "a child could be seized, stopped and read");
	end_child(pid);
}

static bool has_cap_ptrace(void)
{
	char *text CLEANUP(freep) = NULL, *line;
	size_t len;

	if (os_read_file("/proc/self/status", 65536, &text, &len) < 0)
		return false;
	line = strstr(text, "\nCapEff:");
	return line && (strtoull(line + 8, NULL, 16) >> 19 & 1); /* CAP_SYS_PTRACE */
}

void probe_yama(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	int64_t scope = setting("/proc/sys/kernel/yama/ptrace_scope");

	if (scope < 0)
		found(ret, "not active");
	else if (scope < 2)
		found(ret, "ptrace_scope is %" PRId64 ": own children may be traced", scope);
	else if (scope == 2 && has_cap_ptrace())
		found(ret, "ptrace_scope is 2, and you have CAP_SYS_PTRACE");
	else
		missing(ret, "ptrace_scope is %" PRId64 ": %s", scope, scope == 2 ? "only for CAP_SYS_PTRACE" : "ptrace is off");
}

/* Sets a filter that stops getppid(), when the tracer says go. */
static int filtered_child(int go)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };
	char c;

	if (read(go, &c, 1) != 1)
		return 1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 2;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 3;
	syscall(SYS_getppid);
	return 4;
}

static void judge_filter(int status, struct probe_result *ret)
{
	static const char *const steps[] = { "", "the child was not started", "PR_SET_NO_NEW_PRIVS was refused",
					     "setting a filter was refused", "the filter did not stop the system call" };

	if (WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8))
		found(ret, "an unprivileged filter stopped a system call of a child");
	else if (WIFEXITED(status) && WEXITSTATUS(status) < (int)ARRAY_SIZE(steps))
		missing(ret, "%s", steps[WEXITSTATUS(status)]);
	else
		missing(ret, "the child ended unexpectedly (wait status 0x%x)", status);
}

void probe_seccomp(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	int go[2], status;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC)) {
		missing(ret, "pipe: %s", strerror(errno));
		return;
	}
	pid = start_child(filtered_child, go[0]);
	if (pid < 0) {
		missing(ret, "fork: %s", strerror(errno));
	} else if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)TRACE_OPTIONS)) {
		missing(ret, "could not be tried without ptrace");
		end_child(pid);
	} else {
		status = write(go[1], "", 1) == 1 ? wait_for(pid) : 0x100;
		judge_filter(status, ret);
		if (WIFSTOPPED(status))
			end_child(pid);
	}
	close(go[0]);
	close(go[1]);
}

static void write_readonly(pid_t pid, uint64_t addr, struct probe_result *ret)
{
	char path[64], seen = 0;
	int fd CLEANUP(closep) = -1;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		missing(ret, "open %s: %s", path, strerror(errno));
	else if (pwrite(fd, "x", 1, (off_t)addr) != 1)
		missing(ret, "write to a read-only page through %s: %s", path, strerror(errno));
	else if (pread(fd, &seen, 1, (off_t)addr) != 1 || seen != 'x')
		missing(ret, "what was written through %s is not there", path);
	else
		found(ret, "read-only pages of a child could be written");
}

void probe_memory(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (page == MAP_FAILED) {
		missing(ret, "mmap: %s", strerror(errno));
		return;
	}
	pid = stopped_child(ret);
	if (pid) {
		write_readonly(pid, (uint64_t)(uintptr_t)page, ret);
		end_child(pid);
	}
	munmap(page, 4096);
}

/* The directory itself or the nearest one above it that is there; shortens dir in place. */
static void nearest_existing(char *dir)
{
	char *slash;

	while (access(dir, F_OK) && errno == ENOENT) {
		slash = strrchr(dir, '/');
		if (!slash) {
			memcpy(dir, ".", 2);
			return;
		}
		slash[slash == dir] = '\0';
	}
}

void probe_store(const struct probe_env *env, struct probe_result *ret)
{
	char *dir CLEANUP(freep) = NULL, *there CLEANUP(freep) = NULL;
	struct buf size CLEANUP(buf_done) = { 0 };
	struct statvfs vfs;
	struct stat st;

	if (store_default_dir(env->data_dir, &dir) < 0 || !(there = os_strdup(dir))) {
		missing(ret, "neither HOME nor XDG_DATA_HOME nor HERMIT_DATA_DIR is set");
		return;
	}
	nearest_existing(there);
	if (stat(there, &st) || statvfs(there, &vfs)) {
		missing(ret, "%s: %s", there, strerror(errno));
	} else if (!S_ISDIR(st.st_mode)) {
		missing(ret, "%s is no directory", there);
	} else if (access(there, W_OK | X_OK)) {
		missing(ret, "%s: %s", there, strerror(errno));
	} else {
		buf_put_size(&size, (uint64_t)vfs.f_bavail * vfs.f_frsize);
		found(ret, "%s%s, %s free", dir, strcmp(dir, there) ? " (not there yet)" : "", buf_cstr(&size));
	}
}

/* --- what makes recordings better --- */

static int tsc_child(int go UNUSED)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 2;
	__builtin_ia32_rdtsc();
	return 1;
}

static int cpuid_child(int go UNUSED)
{
	uint32_t a = 0, b, c = 0, d;

	if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0))
		return 2;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return 1;
}

static void judge_trap(int (*fn)(int), const char *what, const char *refused, struct probe_result *ret)
{
	pid_t pid = start_child(fn, 0);
	int status = pid < 0 ? -1 : wait_for(pid);

	if (status == -1)
		missing(ret, "fork: %s", strerror(errno));
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		found(ret, "%s traps", what);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		missing(ret, "%s", refused);
	else
		missing(ret, "%s did not trap although it was asked for", what);
}

void probe_tsc(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	judge_trap(tsc_child, "rdtsc", "the kernel refuses PR_SET_TSC", ret);
}

void probe_cpuid(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	judge_trap(cpuid_child, "cpuid", "this CPU, or the virtual machine, cannot make cpuid trap", ret);
}

/* Linux 6.7; see Documentation/admin-guide/mm/pagemap.rst */
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
		category_anyof_mask, return_mask;
};
struct scan_region {
	uint64_t start, end, categories;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)
#define SCAN_WP_MATCHING 1
#define SCAN_CHECK_WPASYNC 2
#define SCAN_WRITTEN 2
#define UFFD_WP_ASYNC (1ull << 15)
#define UFFD_WP_UNPOPULATED_ (1ull << 13)
#define UFFD_USER_ONLY 1

#define SCAN_PAGES 8
#define SCAN_BYTES (SCAN_PAGES * 4096)

/* Pages written since the last scan, or a negative errno. */
static int scan(int pagemap, char *area)
{
	struct scan_region region[SCAN_PAGES];
	uint64_t pages = 0, start = (uint64_t)(uintptr_t)area;
	struct scan_arg arg = {
		.size = sizeof(arg), .flags = SCAN_WP_MATCHING | SCAN_CHECK_WPASYNC, .start = start, .end = start + SCAN_BYTES,
		.vec = (uint64_t)(uintptr_t)region, .vec_len = SCAN_PAGES, .category_mask = SCAN_WRITTEN, .return_mask = SCAN_WRITTEN,
	};
	int n = ioctl(pagemap, SCAN_IOCTL, &arg);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		pages += (region[i].end - region[i].start) / 4096;
	return (int)pages;
}

static void try_scan(int uffd, int pagemap, char *area, struct probe_result *ret)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_WP_ASYNC | UFFD_WP_UNPOPULATED_ };
	struct uffdio_register reg = { .range = { (uintptr_t)area, SCAN_BYTES }, .mode = UFFDIO_REGISTER_MODE_WP };
	int pages;

	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg)) {
		missing(ret, "userfaultfd with asynchronous write protection: %s", strerror(errno));
		return;
	}
	pages = scan(pagemap, area);
	if (pages < 0) {
		missing(ret, "PAGEMAP_SCAN: %s", strerror(-pages));
		return;
	}
	area[0] = area[3 * 4096] = 1;
	pages = scan(pagemap, area);
	if (pages == 2)
		found(ret, "finds the pages that were written");
	else
		missing(ret, "PAGEMAP_SCAN found %d written pages where 2 were written", pages);
}

void probe_pagemap(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	int pagemap CLEANUP(closep) = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int uffd CLEANUP(closep) = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_ONLY);
	char *area = mmap(NULL, SCAN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pagemap < 0 || area == MAP_FAILED)
		missing(ret, "/proc/self/pagemap: %s", strerror(errno));
	else if (uffd < 0)
		missing(ret, "userfaultfd is refused");
	else
		try_scan(uffd, pagemap, area, ret);
	if (area != MAP_FAILED)
		munmap(area, SCAN_BYTES);
}

void probe_kcmp(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	int fd CLEANUP(closep) = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, fd, fd))
		missing(ret, "kcmp: %s", strerror(errno));
	else
		found(ret, "tells which descriptors are one open file");
}

/* --- what is only told --- */

#define PMU_LOOPS 1000000u

void probe_pmu(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd CLEANUP(closep) = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t before = 0, after = 0, n = PMU_LOOPS;

	if (fd < 0) {
		missing(ret, "perf_event_open: %s (perf_event_paranoid is %" PRId64 ")", strerror(errno),
			setting("/proc/sys/kernel/perf_event_paranoid"));
		return;
	}
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		before = 0;
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		after = 0;
	if (after - before >= PMU_LOOPS && after - before < PMU_LOOPS + PMU_LOOPS / 10)
		found(ret, "counts branches");
	else
		missing(ret, "counted %" PRIu64 " branches of %u", after - before, PMU_LOOPS);
}

static int userns_child(int go UNUSED)
{
	return unshare(CLONE_NEWUSER) ? errno : 0;
}

void probe_userns(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	pid_t pid = start_child(userns_child, 0);
	int status = pid < 0 ? -1 : wait_for(pid);

	if (status == 0)
		found(ret, "can be made");
	else if (status != -1 && WIFEXITED(status))
		missing(ret, "unshare(CLONE_NEWUSER): %s%s", strerror(WEXITSTATUS(status)),
			setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0 ? " (restricted by AppArmor)" : "");
	else
		missing(ret, "could not be tried");
}

void probe_cpus(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	cpu_set_t set[8]; /* more CPUs than one cpu_set_t holds */
	int usable;

	memset(set, 0, sizeof(set));
	if (sched_getaffinity(0, sizeof(set), set)) {
		missing(ret, "sched_getaffinity: %s", strerror(errno));
		return;
	}
	usable = CPU_COUNT_S(sizeof(set), set);
	found(ret, "%d usable of %ld; a recording runs on one of them at a time", usable, sysconf(_SC_NPROCESSORS_ONLN));
}

/* x86-64 levels by the flags of /proc/cpuinfo, without the baseline's. */
static const char *const level_flags[] = {
	[2] = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
	[3] = "avx avx2 bmi1 bmi2 f16c fma abm movbe",
	[4] = "avx512f avx512bw avx512cd avx512dq avx512vl",
};

/* Is the word, of n bytes, in the line, between blanks? */
static bool has_word(const char *line, const char *word, size_t n)
{
	size_t len = strcspn(line, "\n");

	for (const char *s = line + 1; s + n <= line + len; s++)
		if (s[-1] == ' ' && !strncmp(s, word, n) && (s[n] == ' ' || s[n] == '\n' || !s[n]))
			return true;
	return false;
}

static bool has_words(const char *line, const char *words)
{
	size_t n;

	for (; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (!has_word(line, words, n))
			return false;
	}
	return true;
}

void probe_cpu_level(const struct probe_env *env UNUSED, struct probe_result *ret)
{
	char *text CLEANUP(freep) = NULL;
	const char *model, *flags;
	unsigned level = 1;
	size_t len;

	if (os_read_file("/proc/cpuinfo", 16 << 20, &text, &len) < 0) {
		missing(ret, "/proc/cpuinfo cannot be read");
		return;
	}
	model = strstr(text, "model name\t: ");
	flags = strstr(text, "\nflags\t\t: ");
	for (unsigned i = 2; flags && i < ARRAY_SIZE(level_flags) && has_words(flags + 1, level_flags[i]); i++)
		level = i;
	found(ret, "%.*s, x86-64-v%u", model ? (int)strcspn(model + 13, "\n") : 7, model ? model + 13 : "unknown", level);
}
