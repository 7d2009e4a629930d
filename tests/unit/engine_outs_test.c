/* The table against the kernel: a child makes many system calls, the parent compares its memory before and after each and demands that every
 * byte that changed lies in a range that sys_outs_leave() names. Calls that this kernel or user cannot make fail and are checked as such. */
#include "engine/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/test.h"

/* All buffers of the child: so only this needs comparing. Poisoned, so that stored zeros show. */
#define ARENA_SIZE (256u << 10)
#define MARK 0xa5

static uint8_t *arena;
static size_t arena_used;

static void *get(size_t n)
{
	void *p = arena + arena_used;

	arena_used = ALIGN_UP(arena_used + n + 64, (size_t)16);
	if (arena_used > ARENA_SIZE)
		_exit(99);
	return p;
}

/* A buffer whose end is the end of readable memory: reading or reporting one byte too many fails. */
static void *get_at_end(size_t n)
{
	return arena + ARENA_SIZE - n;
}

static void *put(const void *v, size_t n)
{
	return memcpy(get(n), v, n);
}

#define OUT(type) get(sizeof(type))
#define IN(...) put(&(__VA_ARGS__), sizeof(__VA_ARGS__))

static long call(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Six arguments always: what is not named is zero. Pointers and numbers alike. */
#define CALL6(nr, a, b, c, d, e, f, ...) call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL(...) CALL6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

static void files(void)
{
	char *path = put("/proc/self/status", 18), *dir = put("/proc/self", 11), *link = put("/proc/self/exe", 15);
	int fd = (int)CALL(__NR_open, path, O_RDONLY), dfd = (int)CALL(__NR_open, dir, O_RDONLY | O_DIRECTORY);
	struct iovec v[3] = { { get(10), 10 }, { get(0), 0 }, { get(4000), 4000 } };
	int fs = (int)CALL(__NR_openat, AT_FDCWD, put("/", 2), O_RDONLY);

	CALL(__NR_read, fd, get(100), 100);
	CALL(__NR_read, fd, get_at_end(50), 5000);
	CALL(__NR_pread64, fd, get(300), 300, 5);
	CALL(__NR_readv, fd, put(v, sizeof(v)), 3);
	CALL(__NR_preadv, fd, put(v, sizeof(v)), 3, 1);
	CALL(__NR_preadv2, fd, put(v, sizeof(v)), 3, 1, 0, 0);
	CALL(__NR_readv, fd, get_at_end(16), 2);
	CALL(__NR_stat, path, OUT(struct stat));
	CALL(__NR_lstat, path, OUT(struct stat));
	CALL(__NR_fstat, fd, get_at_end(sizeof(struct stat)));
	CALL(__NR_newfstatat, dfd, put("status", 7), OUT(struct stat), 0);
	CALL(__NR_statx, dfd, put("status", 7), 0, 0xfff, get_at_end(256));
	CALL(__NR_statfs, path, get(120));
	CALL(__NR_fstatfs, fd, get(120));
	CALL(__NR_ustat, 1, get(32));
	CALL(__NR_getdents, dfd, get(1000), 1000);
	CALL(__NR_getdents64, dfd, get(1000), 1000);
	CALL(__NR_readlink, link, get(200), 200);
	CALL(__NR_readlink, link, get(3), 3);
	CALL(__NR_readlinkat, AT_FDCWD, link, get(200), 200);
	CALL(__NR_getcwd, get(200), 200);
	CALL(__NR_getcwd, get(2), 2);
	CALL(__NR_getxattr, path, put("user.none", 10), get(50), 50);
	CALL(__NR_listxattr, link, get(50), 50);
	CALL(__NR_listxattr, link, get(50), 0);
	CALL(__NR_name_to_handle_at, AT_FDCWD, path, put((int[]){ 0, 0 }, 8), OUT(int), 0);
	CALL(__NR_name_to_handle_at, AT_FDCWD, put("/", 2), put((int[34]){ 128 }, 136), OUT(int), 0);
	CALL(__NR_name_to_handle_at, AT_FDCWD, put("/", 2), put((int[34]){ 128 }, 136), OUT(long), 1);
	CALL(451, fd, put((long[]){ 0, 100 }, 16), get(40), 0); /* cachestat */
	CALL(__NR_sysfs, 2, 0, get(256));
	CALL(__NR_fcntl, fd, F_GETLK, IN((struct flock){ .l_type = F_RDLCK }));
	CALL(__NR_fcntl, fd, F_GETOWN_EX, OUT(struct f_owner_ex));
	CALL(__NR_fcntl, fd, 17 /* F_GETOWNER_UIDS */, get(8));
	CALL(__NR_fcntl, fd, F_GET_RW_HINT, get(8));
	CALL(__NR_ioctl, fs, 0x80086601 /* FS_IOC_GETFLAGS */, get(8));
	CALL(__NR_ioctl, fs, 0x80087601 /* FS_IOC_GETVERSION */, get(8));
	CALL(__NR_ioctl, fs, 2 /* FIGETBSZ */, get(4));
	CALL(__NR_ioctl, fs, 0x801c581f /* FS_IOC_FSGETXATTR */, get(28));
	CALL(__NR_ioctl, fd, FIONREAD, get(4));
	CALL(__NR_open_by_handle_at, AT_FDCWD, get(8), 0);
	CALL(__NR_close, fd);
	CALL(__NR_close, dfd);
	CALL(__NR_close, fs);
}

static void maps_of_files(void)
{
	int fd = (int)CALL(__NR_memfd_create, put("x", 2), 0), out = (int)CALL(__NR_memfd_create, put("y", 2), 0);
	long *extent = get(32 + 3 * 56);

	CALL(__NR_write, fd, get(5000), 5000);
	CALL(__NR_lseek, fd, 0, SEEK_SET);
	CALL(__NR_sendfile, out, fd, IN((long){ 10 }), 100);
	CALL(__NR_sendfile, 99, fd, IN((long){ 10 }), 100);
	CALL(__NR_copy_file_range, fd, IN((long){ 10 }), out, IN((long){ 20 }), 50, 0);
	memset(extent, 0, 32);
	extent[1] = 1 << 20;          /* fm_length */
	((int *)extent)[6] = 3;       /* fm_extent_count */
	CALL(__NR_ioctl, CALL(__NR_open, put("/proc/self/exe", 15), 0), 0xc020660b /* FS_IOC_FIEMAP */, extent);
	CALL(__NR_mincore, arena, 5 * 4096 - 1, get(5));
	CALL(__NR_mincore, arena, ARENA_SIZE, get(64));
	munmap(arena + ARENA_SIZE, 4096);
	CALL(__NR_mincore, arena, ARENA_SIZE + 4096, get(65));
	CALL(__NR_fallocate, fd, 0, 0, 8192);
	CALL(__NR_ftruncate, fd, 100);
}

static void waiting(void)
{
	int p[2], ep, efd;
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 0x1122334455667788 };
	int *pair = get(8);
	struct pollfd fds[2];
	fd_set *in = get(128), *out = get(128);

	CALL(__NR_pipe, pair);
	CALL(__NR_pipe2, get(8), O_CLOEXEC);
	memcpy(p, pair, sizeof(p));
	ep = (int)CALL(__NR_epoll_create1, 0);
	CALL(__NR_epoll_ctl, ep, EPOLL_CTL_ADD, p[0], IN(ev));
	fds[0] = (struct pollfd){ p[0], POLLIN, -1 };
	fds[1] = (struct pollfd){ p[1], POLLOUT, -1 };
	CALL(__NR_poll, put(fds, sizeof(fds)), 2, 0);
	CALL(__NR_poll, put(fds, sizeof(fds)), 1, 0);
	CALL(__NR_ppoll, put(fds, sizeof(fds)), 1, IN((struct timespec){ 0, 1000000 }), 0, 8);
	CALL(__NR_epoll_wait, ep, get(120), 10, 0);
	FD_ZERO(in);
	FD_ZERO(out);
	FD_SET(p[0], in);
	FD_SET(p[1], out);
	CALL(__NR_select, 70, in, out, 0, IN((struct timeval){ 0, 1000 }));
	FD_SET(p[0], in);
	CALL(__NR_pselect6, 70, in, 0, 0, IN((struct timespec){ 0, 1000 }), IN((long[]){ 0, 8 }));
	CALL(__NR_select, INT32_MAX, in, 0, 0, IN((struct timeval){ 0, 0 }));
	CALL(__NR_write, p[1], put("hello", 5), 5);
	CALL(__NR_poll, put(fds, sizeof(fds)), 2, 1000);
	CALL(__NR_epoll_wait, ep, get(120), 10, 0);
	CALL(__NR_epoll_pwait, ep, get(120), 10, 0, 0, 8);
	CALL(__NR_epoll_pwait2, ep, get(120), 10, IN((struct timespec){ 0, 0 }), 0, 8);
	CALL(__NR_ioctl, p[0], FIONREAD, get(4));
	CALL(__NR_tee, p[0], p[1], 1, SPLICE_F_NONBLOCK);
	CALL(__NR_read, p[0], get(10), 10);
	efd = (int)CALL(__NR_eventfd2, 3, 0);
	CALL(__NR_read, efd, get(8), 8);
	CALL(__NR_vmsplice, p[1], IN((struct iovec){ get(10), 10 }), 1, 0);
	CALL(__NR_vmsplice, p[0], IN((struct iovec){ get(10), 10 }), 1, 0);
}

static void times_(void)
{
	int *timer = get(4), fd;
	struct itimerspec soon = { { 0, 0 }, { 100, 0 } };
	struct itimerval late = { { 0, 0 }, { 100, 0 } };

	CALL(__NR_nanosleep, IN((struct timespec){ 0, 1000 }), OUT(struct timespec));
	CALL(__NR_clock_nanosleep, CLOCK_MONOTONIC, 0, IN((struct timespec){ 0, 1000 }), OUT(struct timespec));
	CALL(__NR_gettimeofday, OUT(struct timeval), get(8));
	CALL(__NR_clock_gettime, CLOCK_MONOTONIC, OUT(struct timespec));
	CALL(__NR_clock_getres, CLOCK_MONOTONIC, OUT(struct timespec));
	CALL(__NR_time, get(8));
	CALL(__NR_times, get(32));
	CALL(__NR_setitimer, ITIMER_VIRTUAL, IN(late), OUT(struct itimerval));
	CALL(__NR_getitimer, ITIMER_VIRTUAL, OUT(struct itimerval));
	CALL(__NR_timer_create, CLOCK_MONOTONIC, 0, timer);
	CALL(__NR_timer_settime, *timer, 0, IN(soon), OUT(struct itimerspec));
	CALL(__NR_timer_gettime, *timer, OUT(struct itimerspec));
	CALL(__NR_timer_delete, *timer);
	fd = (int)CALL(__NR_timerfd_create, CLOCK_MONOTONIC, 0);
	CALL(__NR_timerfd_settime, fd, 0, IN(soon), OUT(struct itimerspec));
	CALL(__NR_timerfd_gettime, fd, OUT(struct itimerspec));
	CALL(__NR_adjtimex, memset(get(208), 0, 208));
	CALL(__NR_clock_adjtime, CLOCK_REALTIME, memset(get(208), 0, 208));
	CALL(__NR_sched_rr_get_interval, 0, OUT(struct timespec));
}

/* An alarm ends the sleep: what is left of it is stored with the error. */
static void on_alarm(int sig)
{
	(void)sig;
}

static void interrupted(void)
{
	struct itimerval soon = { { 0, 20000 }, { 0, 10000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct pollfd nothing = { -1, POLLIN, 0x55 };
	fd_set *none = memset(get(128), 0, 128);

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
	CALL(__NR_nanosleep, IN((struct timespec){ 5, 0 }), OUT(struct timespec));
	CALL(__NR_clock_nanosleep, CLOCK_MONOTONIC, 0, IN((struct timespec){ 5, 0 }), OUT(struct timespec));
	CALL(__NR_poll, IN(nothing), 1, 5000);
	CALL(__NR_ppoll, IN(nothing), 1, IN((struct timespec){ 5, 0 }), 0, 8);
	CALL(__NR_select, 1, none, 0, 0, IN((struct timeval){ 5, 0 }));
	CALL(__NR_rt_sigtimedwait, IN((long){ 1 << 20 }), get(128), IN((struct timespec){ 5, 0 }), 8);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void processes(void)
{
	pid_t pid = fork();
	siginfo_t *info = get(128);
	int *cpus = get(1024);

	if (!pid)
		_exit(3);
	CALL(__NR_waitid, P_PID, pid, info, WEXITED | WNOWAIT, get(144));
	CALL(__NR_waitid, P_PID, 1, get_at_end(28), WEXITED, get(144));
	CALL(__NR_wait4, pid, get(4), 0, get(144));
	CALL(__NR_wait4, pid, get(4), 0, get(144));
	CALL(__NR_getrlimit, 3, get(16));
	CALL(__NR_prlimit64, 0, 3, 0, get(16));
	CALL(__NR_getrusage, 0, get(144));
	CALL(__NR_sysinfo, get(112));
	CALL(__NR_uname, get(390));
	CALL(__NR_getgroups, 0, get(64));
	CALL(__NR_getgroups, 16, get(64));
	CALL(__NR_getresuid, get(4), get(4), get(4));
	CALL(__NR_getresgid, get(4), get(4), get(4));
	CALL(__NR_capget, put((int[]){ 0x20080522, 0 }, 8), get(24));
	CALL(__NR_capget, put((int[]){ 0x19980330, 0 }, 8), get(12));
	CALL(__NR_capget, put((int[]){ 77, 0 }, 8), get(24));
	CALL(__NR_sched_getparam, 0, get(4));
	CALL(__NR_sched_getattr, 0, get(56), 56, 0);
	CALL(__NR_sched_getattr, 0, get(48), 48, 0);
	CALL(__NR_sched_setattr, 0, put((int[16]){ 7 }, 64), 0);
	CALL(__NR_sched_getaffinity, 0, 1024, cpus);
	CALL(__NR_getcpu, get(4), get(4), 0);
	CALL(__NR_get_robust_list, 0, get(8), get(8));
	CALL(__NR_getrandom, get(20), 20, 0);
	CALL(__NR_get_mempolicy, get(4), get(128), 1024, 0, 0);
	CALL(__NR_move_pages, 0, 2, put((long[]){ (long)arena, 4096 }, 16), 0, get(8), 0);
	CALL(__NR_prctl, PR_GET_NAME, get(16));
	CALL(__NR_prctl, PR_GET_PDEATHSIG, get(4));
	CALL(__NR_prctl, PR_GET_CHILD_SUBREAPER, get(4));
	CALL(__NR_prctl, PR_GET_TSC, get(4));
	CALL(__NR_prctl, PR_GET_TID_ADDRESS, get(8));
	CALL(__NR_prctl, 0x41555856 /* PR_GET_AUXV */, get(100), 100);
	CALL(__NR_arch_prctl, 0x1003 /* ARCH_GET_FS */, get(8));
	CALL(__NR_arch_prctl, 0x1022 /* ARCH_GET_XCOMP_PERM */, get(8));
	CALL(__NR_seccomp, 3 /* SECCOMP_GET_NOTIF_SIZES */, 0, get(6));
	CALL(__NR_process_vm_readv, getpid(), IN((struct iovec){ get(20), 20 }), 1, IN((struct iovec){ arena, 20 }), 1, 0);
	CALL(__NR_syslog, 10, get(10), 10);
	CALL(__NR_syslog, 3, get(100), 100);
	CALL(__NR_modify_ldt, 0, get(64), 64);
	CALL(459, 100, get(100), IN((int){ 100 }), 0); /* lsm_get_self_attr */
	CALL(459, 100, get(2), IN((int){ 2 }), 0);
	CALL(461, get(64), IN((int){ 64 }), 0); /* lsm_list_modules */
	CALL(461, get(2), IN((int){ 2 }), 0);
	CALL(458, put((long[3]){ 24, -1 }, 24), get(80), 10, 0); /* listmount */
}

static void mounts(void)
{
	long *unique = get(256);
	char *root = put("/", 2);

	CALL(__NR_statx, AT_FDCWD, root, 0, 0x4000 /* STATX_MNT_ID_UNIQUE */, unique);
	CALL(457, put((long[3]){ 24, unique[18], 0x3f }, 24), get(2000), 2000, 0); /* statmount */
	CALL(457, put((long[3]){ 24, unique[18], 0x3f }, 24), get(8), 8, 0);
	CALL(468, AT_FDCWD, root, get(24), 24, 0); /* file_getattr: refused, but must not surprise */
}

static void signals(void)
{
	long mask = 1 << (SIGUSR1 - 1);

	CALL(__NR_rt_sigaction, SIGUSR1, 0, get(32), 8);
	CALL(__NR_rt_sigprocmask, SIG_BLOCK, IN(mask), get(8), 8);
	CALL(__NR_kill, getpid(), SIGUSR1);
	CALL(__NR_rt_sigpending, get(8), 8);
	CALL(__NR_rt_sigpending, get(4), 4);
	CALL(__NR_rt_sigtimedwait, IN(mask), get_at_end(128), IN((struct timespec){ 0, 0 }), 8);
	CALL(__NR_sigaltstack, 0, get(24));
}

static void sockets(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in *bound = get(sizeof(any));
	int s = (int)CALL(__NR_socket, AF_INET, SOCK_STREAM, 0), c = (int)CALL(__NR_socket, AF_INET, SOCK_STREAM, 0), a;

	CALL(__NR_bind, s, IN(any), sizeof(any));
	CALL(__NR_listen, s, 5);
	CALL(__NR_getsockname, s, bound, IN((int){ sizeof(any) }));
	CALL(__NR_getsockname, s, get(3), IN((int){ 3 }));
	CALL(__NR_getpeername, s, get(16), IN((int){ 16 }));
	CALL(__NR_connect, c, bound, sizeof(any));
	a = (int)CALL(__NR_accept4, s, get(128), IN((int){ 128 }), 0);
	CALL(__NR_sendto, c, put("0123456789", 10), 10, 0, 0, 0);
	CALL(__NR_recvfrom, a, get(4), 4, 0, get(128), IN((int){ 128 }));
	CALL(__NR_recvfrom, a, get(20), 20, MSG_DONTWAIT, 0, 0);
	CALL(__NR_recvfrom, a, get(20), 20, MSG_DONTWAIT, 0, 0);
	CALL(__NR_getsockopt, s, SOL_SOCKET, SO_TYPE, get(4), IN((int){ 4 }));
	CALL(__NR_getsockopt, s, SOL_SOCKET, SO_LINGER, get(8), IN((int){ 8 }));
	CALL(__NR_getsockopt, s, SOL_SOCKET, SO_SNDTIMEO, get(16), IN((int){ 16 }));
	CALL(__NR_getsockopt, c, IPPROTO_TCP, 11 /* TCP_INFO */, get(300), IN((int){ 300 }));
	CALL(__NR_getsockopt, c, IPPROTO_TCP, 13 /* TCP_CONGESTION */, get(16), IN((int){ 16 }));
	CALL(__NR_getsockopt, s, 77, 77, get(16), IN((int){ 16 }));
	CALL(__NR_ioctl, s, SIOCGIFCONF, IN((struct ifconf){ .ifc_len = 160, .ifc_buf = get(160) }));
	CALL(__NR_ioctl, s, SIOCGIFINDEX, IN((struct ifreq){ .ifr_name = "lo" }));
	CALL(__NR_ioctl, s, SIOCGIFADDR, IN((struct ifreq){ .ifr_name = "lo" }));
	CALL(__NR_ioctl, s, SIOCATMARK, get(4));
}

static struct msghdr *message(size_t name, size_t control, int vectors)
{
	struct iovec *v = get(sizeof(*v) * (size_t)vectors);

	for (int i = 0; i < vectors; i++)
		v[i] = (struct iovec){ get(4), 4 };
	return IN((struct msghdr){ .msg_name = name ? get(name) : NULL, .msg_namelen = (socklen_t)name, .msg_iov = v,
				    .msg_iovlen = (size_t)vectors, .msg_control = control ? get(control) : NULL, .msg_controllen = control });
}

static void messages(void)
{
	int *sv = get(8), one = 1;
	struct cmsghdr *c = get(32);
	struct sockaddr_un me = { AF_UNIX, "" };
	struct mmsghdr *many = get(4 * sizeof(*many));

	CALL(__NR_socketpair, AF_INET, SOCK_STREAM, 0, get(8));
	CALL(__NR_socketpair, AF_UNIX, SOCK_DGRAM, 0, sv);
	CALL(__NR_bind, sv[0], IN(me), 2); /* a name of the kernel's choice, for recvmsg() to give */
	CALL(__NR_setsockopt, sv[1], SOL_SOCKET, SO_PASSCRED, IN(one), 4);
	*c = (struct cmsghdr){ CMSG_LEN(4), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &sv[0], 4);
	CALL(__NR_sendmsg, sv[0], IN((struct msghdr){ .msg_iov = IN((struct iovec){ get(10), 10 }), .msg_iovlen = 1, .msg_control = c,
						      .msg_controllen = CMSG_SPACE(4) }), 0);
	CALL(__NR_recvmsg, sv[1], message(110, 100, 3), 0);
	for (int i = 0; i < 4; i++)
		many[i] = (struct mmsghdr){ *message(0, 0, 1), 0x5a5a5a5a };
	CALL(__NR_sendmmsg, sv[0], put(many, 3 * sizeof(*many)), 3, 0);
	for (int i = 0; i < 4; i++)
		many[i] = (struct mmsghdr){ *message(20, 40, 2), 0x5a5a5a5a };
	CALL(__NR_recvmmsg, sv[1], many, 4, MSG_DONTWAIT, IN((struct timespec){ 5, 0 }));
	CALL(__NR_recvmsg, sv[1], message(0, 0, 1), MSG_DONTWAIT);
	CALL(__NR_sendmsg, sv[0], message(0, 0, 3), 0);
	CALL(__NR_recvmsg, sv[1], message(5, 10, 1), MSG_TRUNC); /* everything too small */
	CALL(__NR_sendmsg, sv[0], message(0, 0, 3), 0);
	/* a buffer that ends in the middle: the first bytes are stored although the call fails */
	CALL(__NR_recvfrom, sv[1], get_at_end(6), 12, 0, 0, 0);
}

static void ipc(void)
{
	int shm = (int)CALL(__NR_shmget, IPC_PRIVATE, 4096, 0600), sem = (int)CALL(__NR_semget, IPC_PRIVATE, 3, 0600);
	int q = (int)CALL(__NR_msgget, IPC_PRIVATE, 0600), pi = 0;
	long *msg = get(32);
	struct mq_attr_ {
		long flags, maxmsg, msgsize, curmsgs, reserved[4];
	} attr = { 0, 2, 16, 0, { 0 } };
	int mq;

	CALL(__NR_shmctl, shm, IPC_STAT, get(112));
	CALL(__NR_shmctl, 0, IPC_INFO, get(72));
	CALL(__NR_shmctl, 0, 14 /* SHM_INFO */, get(48));
	CALL(__NR_shmctl, shm, IPC_RMID);
	CALL(__NR_semctl, sem, 0, IPC_STAT, get(104));
	CALL(__NR_semctl, sem, 0, 13 /* GETALL */, get(6));
	CALL(__NR_semctl, sem, 0, 13 /* GETALL */, get_at_end(6));
	CALL(__NR_semctl, 0, 0, IPC_INFO, get(40));
	CALL(__NR_semctl, sem, 0, IPC_RMID);
	msg[0] = 5;
	CALL(__NR_msgsnd, q, msg, 20, 0);
	CALL(__NR_msgsnd, q, msg, 0, 0);
	CALL(__NR_msgrcv, q, get(40), 32, 0, 0);
	CALL(__NR_msgrcv, q, get_at_end(8), 32, 0, 0);
	CALL(__NR_msgctl, q, IPC_STAT, get(120));
	CALL(__NR_msgctl, 0, IPC_INFO, get(32));
	CALL(__NR_msgctl, q, IPC_RMID);
	mq = (int)CALL(__NR_mq_open, put("hermit-test", 12), O_CREAT | O_RDWR, 0600, IN(attr));
	CALL(__NR_mq_unlink, put("hermit-test", 12));
	CALL(__NR_mq_timedsend, mq, put("hello", 5), 5, 7, 0);
	CALL(__NR_mq_timedreceive, mq, get(16), 16, get(4), 0);
	CALL(__NR_mq_getsetattr, mq, 0, get(64));
	CALL(__NR_futex, IN(pi), 6 /* FUTEX_LOCK_PI */, 0, 0, 0, 0);
	CALL(__NR_futex, IN(pi), 8 /* FUTEX_TRYLOCK_PI */, 0, 0, 0, 0);
	CALL(__NR_futex, get(4), 5 /* FUTEX_WAKE_OP */, 1, 1, IN(pi), 0x10001fff);
	CALL(__NR_futex, IN(pi), 1 /* FUTEX_WAKE */, 1, 0, 0, 0);
	CALL(__NR_keyctl, 0, -3, 0);
	CALL(__NR_keyctl, 6 /* KEYCTL_DESCRIBE */, -3, get(100), 100);
	CALL(__NR_keyctl, 6 /* KEYCTL_DESCRIBE */, -3, get(10), 10);
	CALL(__NR_keyctl, 11 /* KEYCTL_READ */, -3, get(10), 10);
	CALL(__NR_keyctl, 31 /* KEYCTL_CAPABILITIES */, get(10), 10);
}

static void terminals(void)
{
	int fd = (int)CALL(__NR_open, put("/dev/ptmx", 10), O_RDWR | O_NOCTTY), peer, rnd = (int)CALL(__NR_open, put("/dev/urandom", 13), 0);
	struct termios *t = get(44);

	CALL(__NR_ioctl, fd, TIOCSPTLCK, IN((int){ 0 }));
	CALL(__NR_ioctl, fd, TIOCGPTN, get(4));
	CALL(__NR_ioctl, fd, 0x80045439 /* TIOCGPTLCK */, get(4));
	CALL(__NR_ioctl, fd, TCGETS, get(36));
	CALL(__NR_ioctl, fd, 0x802c542a /* TCGETS2 */, t);
	CALL(__NR_ioctl, fd, TIOCGWINSZ, get(8));
	CALL(__NR_ioctl, fd, TIOCOUTQ, get(4));
	CALL(__NR_ioctl, fd, TIOCGETD, get(4));
	CALL(__NR_ioctl, fd, TIOCGPGRP, get(4));
	CALL(__NR_ioctl, fd, TIOCGSID, get(4));
	CALL(__NR_ioctl, fd, 0x5405 /* TCGETA */, get(18));
	peer = (int)CALL(__NR_ioctl, fd, 0x5441 /* TIOCGPTPEER */, O_RDWR | O_NOCTTY);
	CALL(__NR_write, peer, put("abc\n", 4), 4);
	CALL(__NR_read, fd, get(10), 10);
	CALL(__NR_ioctl, rnd, 0x80045200 /* RNDGETENTCNT */, get(4));
	CALL(__NR_read, rnd, get_at_end(16), 16);
	CALL(__NR_read, rnd, get_at_end(16), 32); /* short: the buffer ends */
}

/* The page behind the arena stays unmapped. */
static void map_arena(void)
{
	arena = mmap(NULL, ARENA_SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(arena != MAP_FAILED);
	ck_assert_int_eq(mprotect(arena + ARENA_SIZE, 4096, PROT_NONE), 0);
	memset(arena, MARK, ARENA_SIZE);
}

static void child(void (*scenario)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(97);
	raise(SIGSTOP);
	scenario();
	_exit(0);
}

struct range {
	uint64_t addr, len;
};

struct tracer {
	pid_t pid;
	uint64_t arena;
	uint8_t before[ARENA_SIZE], after[ARENA_SIZE];
	struct range range[512];
	size_t ranges;
	struct sys_outs outs;
	unsigned int calls, failed;
};

static int mem_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct tracer *t = ctx;
	struct iovec local = { buf, n }, remote = { (void *)addr, n };

	return process_vm_readv(t->pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static int note_range(void *ctx, uint64_t addr, uint64_t len)
{
	struct tracer *t = ctx;

	ck_assert_uint_lt(t->ranges, ARRAY_SIZE(t->range));
	t->range[t->ranges++] = (struct range){ addr, len };
	return 0;
}

static bool is_named(const struct tracer *t, uint64_t addr)
{
	for (size_t i = 0; i < t->ranges; i++)
		if (addr - t->range[i].addr < t->range[i].len)
			return true;
	return false;
}

static void check_arena(struct tracer *t, int64_t result)
{
	char name[24];

	ck_assert_int_eq(mem_read(t, t->arena, t->after, ARENA_SIZE), 0);
	for (size_t i = 0; i < ARENA_SIZE; i++)
		if (t->before[i] != t->after[i] && !is_named(t, t->arena + i))
			ck_abort_msg("%s(%s) = %ld wrote at arena+%zu, which no range names; arguments %#lx %#lx %#lx %#lx, arena %#lx",
				     sys_name(t->outs.call.nr, name), t->outs.res.command, result, i, t->outs.call.args[0],
				     t->outs.call.args[1], t->outs.call.args[2], t->outs.call.args[3], t->arena);
	/* every range must be readable: the recorder reads it as one */
	for (size_t i = 0; i < t->ranges; i++)
		if (t->range[i].addr - t->arena < ARENA_SIZE)
			ck_assert_msg(t->range[i].addr + t->range[i].len <= t->arena + ARENA_SIZE, "%s: range reaches beyond memory",
				      sys_name(t->outs.call.nr, name));
}

static void at_entry(struct tracer *t, const struct __ptrace_syscall_info *info)
{
	const struct sys_mem mem = { mem_read, t };
	struct sys_call c = { .nr = (uint32_t)info->entry.nr };

	memcpy(c.args, info->entry.args, sizeof(c.args));
	ck_assert_int_eq(sys_outs_enter(&t->outs, &c, &mem), 0);
	ck_assert_int_eq(mem_read(t, t->arena, t->before, ARENA_SIZE), 0);
}

static void at_exit(struct tracer *t, const struct __ptrace_syscall_info *info)
{
	const struct sys_mem mem = { mem_read, t };

	t->ranges = 0;
	ck_assert_int_eq(sys_outs_leave(&t->outs, info->exit.rval, &mem, note_range, t), 0);
	if (!t->outs.res.unknown && t->outs.res.row->cls != SYS_REFUSE)
		check_arena(t, info->exit.rval);
	t->calls++;
	t->failed += info->exit.rval < 0;
}

/* One stop of the child; false when it is gone. */
static bool step(struct tracer *t, int *sig)
{
	struct __ptrace_syscall_info info;
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SYSCALL, t->pid, 0, *sig), 0);
	*sig = 0;
	ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
	if (!WIFSTOPPED(status)) {
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child ended with status %#x", status);
		return false;
	}
	if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
		*sig = WSTOPSIG(status);
		return true;
	}
	ck_assert_int_gt(ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info), 0);
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		at_entry(t, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		at_exit(t, &info);
	return true;
}

static void trace(void (*scenario)(void))
{
	struct tracer *t = calloc(1, sizeof(*t));
	int status, sig = 0;

	ck_assert_ptr_nonnull(t);
	sys_outs_init(&t->outs);
	map_arena();
	t->arena = (uint64_t)arena;
	t->pid = fork();
	if (!t->pid)
		child(scenario);
	ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, t->pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	while (step(t, &sig))
		;
	ck_assert_uint_gt(t->calls, 3);
	sys_outs_done(&t->outs);
	munmap(arena, ARENA_SIZE + 4096);
	free(t);
}

#define SCENARIO(name) \
	START_TEST(test_##name) \
	{ \
		trace(name); \
	} \
	END_TEST

SCENARIO(files)
SCENARIO(maps_of_files)
SCENARIO(waiting)
SCENARIO(times_)
SCENARIO(interrupted)
SCENARIO(processes)
SCENARIO(mounts)
SCENARIO(signals)
SCENARIO(sockets)
SCENARIO(messages)
SCENARIO(ipc)
SCENARIO(terminals)

TEST_MAIN("outs", test_files, test_maps_of_files, test_waiting, test_times_, test_interrupted, test_processes, test_mounts, test_signals,
	  test_sockets, test_messages, test_ipc, test_terminals)
