/*
 * Bad pointers in every argument position of many system calls, from a program without a C library: the answers must be as
 * natively (EFAULT mostly), and nothing may be written. Deterministic.
 * flags: -nostdlib -static -ffreestanding -fno-stack-protector -fno-pie -no-pie
 */
typedef unsigned long ul;

static long call6(long n, ul a, ul b, ul c, ul d, ul e, ul f)
{
	register ul r10 __asm__("r10") = d;
	register ul r8 __asm__("r8") = e;
	register ul r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

static char out[64];
static long out_n;

static void put(const char *s)
{
	while (*s)
		out[out_n++] = *s++;
}

static void put_number(long v)
{
	char t[20];
	int n = 0;

	if (v < 0) {
		out[out_n++] = '-';
		v = -v;
	}
	do
		t[n++] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	while (n)
		out[out_n++] = t[--n];
}

static void flush(void)
{
	out[out_n++] = '\n';
	call6(1, 1, (ul)out, (ul)out_n, 0, 0, 0);
	out_n = 0;
}

#define BAD 8ul		      /* the first page is never mapped */
#define KERNEL 0xffff800000000000ul /* above user space */
static char good[4096] __attribute__((aligned(4096)));
static const struct {
	long n;
	const char *name;
	ul a[6];
} calls[] = {
	{ 0, "read", { 0, BAD, 10 } }, /* stdin is at its end or /dev/null: 0 or EFAULT, the same as natively */
	{ 1, "write", { 1, BAD, 10 } },
	{ 1, "write kernel", { 1, KERNEL, 10 } },
	{ 2, "open", { BAD, 0, 0 } },
	{ 4, "stat", { BAD, (ul)good } },
	{ 4, "stat buf", { (ul) "/", BAD } },
	{ 5, "fstat", { 1, BAD } },
	{ 6, "lstat", { (ul) "/", KERNEL } },
	{ 7, "poll", { BAD, 1, 0 } },
	{ 13, "rt_sigaction", { 10, BAD, 0, 8 } },
	{ 13, "rt_sigaction old", { 10, 0, BAD, 8 } },
	{ 14, "rt_sigprocmask", { 0, BAD, 0, 8 } },
	{ 14, "rt_sigprocmask old", { 0, 0, BAD, 8 } },
	{ 16, "ioctl FIONREAD", { 0, 0x541b, BAD } },
	{ 16, "ioctl TCGETS", { 1, 0x5401, BAD } },
	{ 17, "pread64", { 0, BAD, 10, 0 } },
	{ 19, "readv", { 0, BAD, 2 } },
	{ 20, "writev", { 1, BAD, 2 } },
	{ 21, "access", { BAD, 0 } },
	{ 22, "pipe", { BAD } },
	{ 23, "select", { 1, BAD, 0, 0, (ul)good } },
	{ 23, "select timeout", { 0, 0, 0, 0, BAD } },
	{ 25, "mremap", { BAD, 4096, 8192, 1 } },
	{ 26, "msync", { 4096, 4096, 4 } },
	{ 27, "mincore", { (ul)good, 4096, BAD } },
	{ 28, "madvise", { 4096, 4096, 4 } },
	{ 35, "nanosleep", { BAD, 0 } },
	{ 36, "getitimer", { 0, BAD } },
	{ 38, "setitimer", { 0, BAD, 0 } },
	{ 38, "setitimer old", { 0, 0, BAD } },
	{ 40, "sendfile", { 1, 0, BAD, 10 } },
	{ 42, "connect", { 0, BAD, 16 } },
	{ 44, "sendto", { 0, BAD, 16, 0, 0, 0 } },
	{ 45, "recvfrom", { 0, BAD, 16, 0, BAD, BAD } },
	{ 46, "sendmsg", { 0, BAD, 0 } },
	{ 47, "recvmsg", { 0, BAD, 0 } },
	{ 51, "getsockname", { 0, BAD, BAD } },
	{ 53, "socketpair", { 1, 1, 0, BAD } },
	{ 54, "setsockopt", { 0, 1, 1, BAD, 4 } },
	{ 55, "getsockopt", { 0, 1, 1, BAD, BAD } },
	{ 59, "execve", { BAD, 0, 0 } },
	{ 59, "execve argv", { (ul) "/bin/true", BAD, 0 } },
	{ 59, "execve envp", { (ul) "/bin/true", 0, BAD } },
	{ 61, "wait4", { (ul)-1, BAD, 0, BAD } },
	{ 63, "uname", { BAD } },
	{ 72, "fcntl F_GETLK", { 1, 5, BAD } },
	{ 76, "truncate", { BAD, 0 } },
	{ 78, "getdents", { 0, BAD, 100 } },
	{ 79, "getcwd", { BAD, 100 } },
	{ 80, "chdir", { BAD } },
	{ 82, "rename", { BAD, BAD } },
	{ 83, "mkdir", { BAD, 0 } },
	{ 88, "symlink", { (ul) "x", BAD } },
	{ 89, "readlink", { (ul) "/proc/self/exe", BAD, 100 } },
	{ 90, "chmod", { BAD, 0 } },
	{ 96, "gettimeofday", { BAD, 0 } },
	{ 96, "gettimeofday zone", { 0, BAD } },
	{ 97, "getrlimit", { 7, BAD } },
	{ 98, "getrusage", { 0, BAD } },
	{ 99, "sysinfo", { BAD } },
	{ 100, "times", { BAD } },
	{ 118, "getresuid", { BAD, BAD, BAD } },
	{ 125, "capget", { BAD, BAD } },
	{ 127, "rt_sigpending", { BAD, 8 } },
	{ 128, "rt_sigtimedwait", { BAD, 0, 0, 8 } },
	{ 128, "rt_sigtimedwait time", { (ul)good, 0, BAD, 8 } },
	{ 129, "rt_sigqueueinfo", { 1, 10, BAD } },
	{ 130, "rt_sigsuspend", { BAD, 8 } },
	{ 131, "sigaltstack", { BAD, 0 } },
	{ 131, "sigaltstack old", { 0, BAD } },
	{ 137, "statfs", { (ul) "/", BAD } },
	{ 157, "prctl PR_GET_NAME", { 16, BAD } },
	{ 157, "prctl PR_GET_PDEATHSIG", { 2, BAD } },
	{ 157, "prctl PR_SET_NAME", { 15, BAD } },
	{ 158, "arch_prctl get fs", { 0x1003, BAD } },
	{ 188, "setxattr", { BAD, BAD, BAD, 1, 0 } },
	{ 201, "time", { BAD } },
	{ 202, "futex", { BAD, 1, 1, 0, 0, 0 } },
	{ 202, "futex timeout", { (ul)good, 0, 0, BAD, 0, 0 } },
	{ 203, "sched_setaffinity", { 0, 8, BAD } },
	{ 204, "sched_getaffinity", { 0, 128, BAD } },
	{ 217, "getdents64", { 0, BAD, 100 } },
	{ 222, "timer_create", { 1, BAD, BAD } },
	{ 228, "clock_gettime", { 1, BAD } },
	{ 229, "clock_getres", { 1, BAD } },
	{ 230, "clock_nanosleep", { 1, 0, BAD, 0 } },
	{ 232, "epoll_wait", { 0, BAD, 1, 0 } },
	{ 233, "epoll_ctl", { 0, 1, 0, BAD } },
	{ 247, "waitid", { 0, 0, BAD, 4, BAD } },
	{ 254, "inotify_add_watch", { 0, BAD, 1 } },
	{ 257, "openat", { (ul)-100, BAD, 0, 0 } },
	{ 262, "newfstatat", { (ul)-100, (ul) "/", BAD, 0 } },
	{ 267, "readlinkat", { (ul)-100, (ul) "/proc/self/exe", BAD, 10 } },
	{ 270, "pselect6", { 0, 0, 0, 0, BAD, 0 } },
	{ 270, "pselect6 mask", { 0, 0, 0, 0, (ul)good, BAD } },
	{ 271, "ppoll", { BAD, 1, 0, 0, 8 } },
	{ 273, "set_robust_list", { BAD, 24 } },
	{ 274, "get_robust_list", { 0, BAD, BAD } },
	{ 275, "splice", { 0, BAD, 1, BAD, 10, 0 } },
	{ 278, "vmsplice", { 1, BAD, 1, 0 } },
	{ 280, "utimensat", { (ul)-100, (ul) "/", BAD, 0 } },
	{ 282, "signalfd", { (ul)-1, BAD, 8 } },
	{ 286, "timerfd_settime", { 0, 0, BAD, 0 } },
	{ 289, "signalfd4", { (ul)-1, BAD, 8, 0 } },
	{ 293, "pipe2", { BAD, 0 } },
	{ 295, "preadv", { 0, BAD, 1, 0 } },
	{ 299, "recvmmsg", { 0, BAD, 1, 0x40, 0 } },
	{ 302, "prlimit64", { 0, 7, BAD, 0 } },
	{ 302, "prlimit64 old", { 0, 7, 0, BAD } },
	{ 309, "getcpu", { BAD, 0 } },
	{ 310, "process_vm_readv", { 1, BAD, 1, BAD, 1, 0 } },
	{ 315, "sched_getattr", { 0, BAD, 48, 0 } },
	{ 318, "getrandom", { BAD, 10, 0 } },
	{ 319, "memfd_create", { BAD, 0 } },
	{ 322, "execveat", { (ul)-100, BAD, 0, 0, 0 } },
	{ 326, "copy_file_range", { 0, BAD, 1, BAD, 10, 0 } },
	{ 332, "statx", { (ul)-100, (ul) "/", 0, 0xfff, BAD } },
	{ 332, "statx name", { (ul)-100, BAD, 0, 0xfff, (ul)good } },
	{ 435, "clone3", { BAD, 88 } },
	{ 437, "openat2", { (ul)-100, (ul) "/", BAD, 24 } },
	{ 439, "faccessat2", { (ul)-100, BAD, 0, 0 } },
	{ 449, "futex_waitv", { BAD, 1, 0, 0, 1 } },
	{ 999, "no such call", { BAD, BAD, BAD, BAD, BAD, BAD } },
	{ -7, "negative call", { BAD } },
};

__attribute__((noreturn, used)) void start_c(void);

void start_c(void)
{
	unsigned changed = 0;

	for (ul i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const ul *a = calls[i].a;
		long r = call6(calls[i].n, a[0], a[1], a[2], a[3], a[4], a[5]);

		put(calls[i].name);
		put(" ");
		/* Numbers that differ from run to run but are no errors. */
		if (r > 0)
			put("positive");
		else
			put_number(r);
		flush();
	}
	for (ul i = 0; i < sizeof(good); i++)
		changed += good[i] != 0;
	put("changed bytes ");
	put_number(changed);
	flush();
	put("ok");
	flush();
	call6(60, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\tand $-16, %rsp\n\tcall start_c\n");
