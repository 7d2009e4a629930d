/* Printing of system calls, compared with what strace 6.1 shows for the same ones; and names of constants with the headers' values. */
#include "engine/sysprint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/membarrier.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "engine/sysnames_priv.h"
#include "tests/unit/engine_mem.h"
#include "tests/unit/test.h"

#define A 0x10000ull
#define B 0x20000ull
#define C 0x30000ull
#define CALL(nr, ...) (&(struct sys_call){ nr, { __VA_ARGS__ } })
#define UNFINISHED INT64_MIN

/* Entry and exit memory of the next print. */
struct scene {
	struct mem entry, exit;
};

#define ENTRY(s, addr, ...) mem_put(&(s)->entry, addr, &(__VA_ARGS__), sizeof(__VA_ARGS__))
#define EXIT(s, addr, ...) mem_put(&(s)->exit, addr, &(__VA_ARGS__), sizeof(__VA_ARGS__))
#define BOTH(s, addr, ...) (ENTRY(s, addr, __VA_ARGS__), EXIT(s, addr, __VA_ARGS__))

static void expect_with(struct scene *s, const struct sys_call *c, int64_t result, const char *text, const struct sysprint_options *opt)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	const struct sys_mem entry = { mem_read, &s->entry }, exit = { mem_read, &s->exit };

	sysprint_call(&out, c, result != UNFINISHED, result, &entry, &exit, opt);
	ck_assert_int_eq(buf_error(&out), 0);
	ck_assert_str_eq(buf_cstr(&out), text);
}

static void expect(struct scene *s, const struct sys_call *c, int64_t result, const char *text)
{
	expect_with(s, c, result, text, NULL);
}

START_TEST(numbers_and_flags)
{
	struct scene s = { 0 };

	BOTH(&s, A, "/etc/passwd");
	expect(&s, CALL(257, -100, A, O_RDONLY | O_CLOEXEC), 3, "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3");
	expect(&s, CALL(257, 5, A, O_WRONLY | O_CREAT | O_TRUNC, 0644), -ENOENT,
	       "openat(5, \"/etc/passwd\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = -1 ENOENT (No such file or directory)");
	expect(&s, CALL(2, 0x666, O_RDWR | 0x10000000), -EFAULT, "open(0x666, O_RDWR|0x10000000) = -1 EFAULT (Bad address)");
	expect(&s, CALL(9, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint32_t)-1, 0), 0x7f0123456000,
	       "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0123456000");
	expect(&s, CALL(9, 0, 1, 0, MAP_SHARED, 3, 0x1000), -ENODEV, "mmap(NULL, 1, PROT_NONE, MAP_SHARED, 3, 0x1000) = -1 ENODEV (No such device)");
	expect(&s, CALL(12, 0), 0x555500000000, "brk(NULL) = 0x555500000000");
	expect(&s, CALL(90, A, 04755), 0, "chmod(\"/etc/passwd\", 04755) = 0");
	expect(&s, CALL(95, 077), 022, "umask(077) = 022");
	expect(&s, CALL(92, A, -1ull, 1000), 0, "chown(\"/etc/passwd\", -1, 1000) = 0");
	expect(&s, CALL(133, A, S_IFIFO | 0600), 0, "mknod(\"/etc/passwd\", S_IFIFO|0600) = 0");
	expect(&s, CALL(133, A, S_IFCHR | 0600, 0x103), 0, "mknod(\"/etc/passwd\", S_IFCHR|0600, 0x103) = 0");
	expect(&s, CALL(62, 12, SIGTERM), 0, "kill(12, SIGTERM) = 0");
	expect(&s, CALL(62, -1ull, 35), 0, "kill(-1, SIGRT_3) = 0");
	expect(&s, CALL(62, 1, 0), -ESRCH, "kill(1, 0) = -1 ESRCH (No such process)");
	expect(&s, CALL(41, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 3, "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3");
	expect(&s, CALL(41, AF_UNIX, SOCK_DGRAM, 0), 3, "socket(AF_UNIX, SOCK_DGRAM, 0) = 3");
	expect(&s, CALL(41, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 3, "socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) = 3");
	expect(&s, CALL(8, 3, -5ull, SEEK_END), 95, "lseek(3, -5, SEEK_END) = 95");
	expect(&s, CALL(293, A, 0), -EMFILE, "pipe2(0x10000, 0) = -1 EMFILE (Too many open files)");
	expect(&s, CALL(29, 0, 4096, 01600), 7, "shmget(IPC_PRIVATE, 4096, IPC_CREAT|0600) = 7");
	expect(&s, CALL(25, A, 8192, 4096, 1), A, "mremap(0x10000, 8192, 4096, MREMAP_MAYMOVE) = 0x10000");
	expect(&s, CALL(25, A, 1, 2, 3, B), B, "mremap(0x10000, 1, 2, MREMAP_MAYMOVE|MREMAP_FIXED, 0x20000) = 0x20000");
	expect(&s, CALL(999, 1, 2, 3, 4, 5, 6), -ENOSYS, "syscall_999(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS (Function not implemented)");
	expect(&s, CALL(24), 0, "sched_yield() = 0");
}
END_TEST

START_TEST(results)
{
	struct scene s = { 0 };

	expect(&s, CALL(39), 123, "getpid() = 123");
	expect(&s, CALL(34), -514, "pause() = ? ERESTARTNOHAND");
	expect(&s, CALL(61, -1ull, 0, 0, 0), -512, "wait4(-1, NULL, 0, NULL) = ? ERESTARTSYS");
	expect(&s, CALL(39), -2000, "getpid() = -1 (errno 2000)");
	expect(&s, CALL(37, 5), 4294967295, "alarm(5) = 4294967295");
	expect(&s, CALL(231, 3), UNFINISHED, "exit_group(3) = ?");
	expect(&s, CALL(60, 3), 0, "exit(3) = ?");
	expect(&s, CALL(0, 0, A, 10), UNFINISHED, "read(0, <unfinished ...>");
	expect(&s, CALL(34), UNFINISHED, "pause( <unfinished ...>");
	expect(&s, CALL(202, A, 0x80, 2, 0), UNFINISHED, "futex(0x10000, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>");
	expect(&s, CALL(61, -1ull, A, 0, 0), UNFINISHED, "wait4(-1, <unfinished ...>");
	expect(&s, CALL(99, A), UNFINISHED, "sysinfo(<unfinished ...>");
	expect(&s, CALL(72, 3, F_GETFL), 0x8802, "fcntl(3, F_GETFL) = 0x8802 (flags O_RDWR|O_NONBLOCK|O_LARGEFILE)");
	expect(&s, CALL(72, 3, F_GETFD), 1, "fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)");
	expect(&s, CALL(72, 3, F_GETFD), 0, "fcntl(3, F_GETFD) = 0");
	expect(&s, CALL(135, 0x40000), 0, "personality(PER_LINUX|ADDR_NO_RANDOMIZE) = 0");
}
END_TEST

START_TEST(buffers)
{
	struct scene s = { 0 };
	static const char text[] = "0123456789012345678901234567890123456789";
	static const uint8_t odd[] = { '"', '\\', '\n', 0, 1, '9', 0x7f, 0xff, 'a', '\t' };
	struct sysprint_options some = { .string_max = 4, .array_max = 2 }, all = { .string_max = 100 };
	uint64_t v[] = { A, 3, B, 10, A, 5 };

	EXIT(&s, A, text);
	mem_put(&s.entry, A, text, sizeof(text));
	BOTH(&s, B, odd);
	BOTH(&s, C, v);
	expect(&s, CALL(0, 3, A, 100), 5, "read(3, \"01234\", 100) = 5");
	expect(&s, CALL(0, 3, A, 100), 0, "read(3, \"\", 100) = 0");
	expect(&s, CALL(0, 3, A, 100), -EAGAIN, "read(3, 0x10000, 100) = -1 EAGAIN (Resource temporarily unavailable)");
	expect(&s, CALL(0, 3, A, 100), 40, "read(3, \"01234567890123456789012345678901\"..., 100) = 40");
	expect(&s, CALL(0, 3, 0x666, 100), 40, "read(3, 0x666, 100) = 40");
	expect(&s, CALL(1, 3, B, 10), 10, "write(3, \"\\\"\\\\\\n\\0\\0019\\177\\377a\\t\", 10) = 10");
	expect(&s, CALL(1, 3, 0, 10), -EFAULT, "write(3, NULL, 10) = -1 EFAULT (Bad address)");
	expect_with(&s, CALL(1, 3, A, 40), 40, "write(3, \"0123\"..., 40) = 40", &some);
	expect_with(&s, CALL(1, 3, A, 40), 40, "write(3, \"0123456789012345678901234567890123456789\", 40) = 40", &all);
	expect(&s, CALL(1, 3, A, 1000), 40, "write(3, \"01234567890123456789012345678901\"..., 1000) = 40");
	expect(&s, CALL(20, 1, C, 3), 18,
	       "writev(1, [{iov_base=\"012\", iov_len=3}, {iov_base=\"\\\"\\\\\\n\\0\\0019\\177\\377a\\t\", iov_len=10}, {iov_base=\"01234\", iov_len=5}], 3) = 18");
	expect(&s, CALL(19, 1, C, 3), 5,
	       "readv(1, [{iov_base=\"012\", iov_len=3}, {iov_base=\"\\\"\\\\\", iov_len=10}, {iov_base=\"\", iov_len=5}], 3) = 5");
	expect_with(&s, CALL(19, 1, C, 3), 0, "readv(1, [{iov_base=\"\", iov_len=3}, {iov_base=\"\", iov_len=10}, ...], 3) = 0", &some);
	expect(&s, CALL(310, 7, C, 1, C, 1, 0), 3, "process_vm_readv(7, [{iov_base=\"012\", iov_len=3}], 1, [{iov_base=0x10000, iov_len=3}], 1, 0) = 3");
	expect(&s, CALL(79, A, 100), 41, "getcwd(\"0123456789012345678901234567890123456789\", 100) = 41");
}
END_TEST

START_TEST(strings)
{
	struct scene s = { 0 };
	uint64_t argv[] = { A, B, 0 }, many[20];

	BOTH(&s, A, "/bin/ls");
	BOTH(&s, B, "-l");
	BOTH(&s, C, argv);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = i == 19 ? 0 : B;
	ENTRY(&s, 0x40000, many);
	expect(&s, CALL(59, A, C, C), 0, "execve(\"/bin/ls\", [\"/bin/ls\", \"-l\"], 0x30000 /* 2 vars */) = 0");
	expect(&s, CALL(59, A, 0, 0x666), -EFAULT, "execve(\"/bin/ls\", NULL, 0x666) = -1 EFAULT (Bad address)");
	expect(&s, CALL(59, A, 0x40000, 0x40000), 0,
	       "execve(\"/bin/ls\", [\"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", \"-l\", ...],"
	       " 0x40000 /* 19 vars */) = 0");
	expect(&s, CALL(319, B, 3), 4, "memfd_create(\"-l\", MFD_CLOEXEC|MFD_ALLOW_SEALING) = 4");
}
END_TEST

START_TEST(files)
{
	struct scene s = { 0 };
	struct stat st = { .st_mode = S_IFREG | 0644, .st_size = 1234 }, dev = { .st_mode = S_IFCHR | 0666, .st_rdev = 0x103 };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	uint64_t how[3] = { O_RDONLY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS };
	struct timespec times[2] = { { 1, 2 }, { 0, UTIME_OMIT } };
	struct {
		uint64_t ino, off;
		uint16_t len;
		char rest[6];
	} dirents[3] = { { 1, 1, 24, "" }, { 2, 2, 24, "" }, { 3, 3, 24, "" } };

	EXIT(&s, A, st);
	EXIT(&s, B, dev);
	BOTH(&s, C, lock);
	BOTH(&s, 0x40000, how);
	BOTH(&s, 0x50000, times);
	BOTH(&s, 0x60000, dirents);
	expect(&s, CALL(5, 3, A), 0, "fstat(3, {st_mode=S_IFREG|0644, st_size=1234, ...}) = 0");
	expect(&s, CALL(5, 3, B), 0, "fstat(3, {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0");
	expect(&s, CALL(5, 3, A), -EBADF, "fstat(3, 0x10000) = -1 EBADF (Bad file descriptor)");
	expect(&s, CALL(72, 3, F_SETLK, C), 0, "fcntl(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=10}) = 0");
	expect(&s, CALL(437, 3, 0, 0x40000, 24), 4, "openat2(3, NULL, {flags=O_RDONLY|O_CLOEXEC, resolve=RESOLVE_NO_SYMLINKS}, 24) = 4");
	expect(&s, CALL(280, -100, 0, 0x50000, 0), 0,
	       "utimensat(AT_FDCWD, NULL, [{tv_sec=1, tv_nsec=2}, {tv_sec=0, tv_nsec=UTIME_OMIT}], 0) = 0");
	expect(&s, CALL(217, 3, 0x60000, 72), 72, "getdents64(3, 0x60000 /* 3 entries */, 72) = 72");
	expect(&s, CALL(217, 3, 0x60000, 72), 24, "getdents64(3, 0x60000 /* 1 entry */, 72) = 24");
	expect(&s, CALL(217, 3, 0x60000, 72), 0, "getdents64(3, 0x60000 /* 0 entries */, 72) = 0");
	expect(&s, CALL(72, 3, 0x999, 5), -EINVAL, "fcntl(3, 0x999, 0x5) = -1 EINVAL (Invalid argument)");
}
END_TEST

START_TEST(values_before_and_after)
{
	struct scene s = { 0 };
	int in = 112, out = 16, same = 16;
	long off[2] = { 1, 3 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	ENTRY(&s, A, in);
	EXIT(&s, A, out);
	BOTH(&s, B, same);
	EXIT(&s, C, sin);
	ENTRY(&s, 0x40000, off[0]);
	EXIT(&s, 0x40000, off[1]);
	expect(&s, CALL(43, 3, C, A), 4, "accept(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, [112 => 16]) = 4");
	expect(&s, CALL(51, 3, C, B), 0, "getsockname(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, [16]) = 0");
	expect(&s, CALL(43, 3, 0, 0), 4, "accept(3, NULL, NULL) = 4");
	expect(&s, CALL(43, 3, C, A), -EAGAIN, "accept(3, 0x30000, [112]) = -1 EAGAIN (Resource temporarily unavailable)");
	expect(&s, CALL(40, 1, 3, 0x40000, 2), 2, "sendfile(1, 3, [1] => [3], 2) = 2");
}
END_TEST

START_TEST(polling)
{
	struct scene s = { 0 };
	struct pollfd in[2] = { { 5, POLLIN, 0 }, { 6, POLLIN | POLLOUT, 0 } }, out[2] = { { 5, POLLIN, 0 }, { 6, POLLIN | POLLOUT, POLLOUT } };
	uint64_t set_in = 1 << 3 | 1 << 5, set_out = 1 << 5, none = 0;
	struct timeval tv = { 1, 0 }, left = { 0, 999 };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = 7 };

	ENTRY(&s, A, in);
	EXIT(&s, A, out);
	ENTRY(&s, B, set_in);
	EXIT(&s, B, set_out);
	ENTRY(&s, B + 64, set_in);
	EXIT(&s, B + 64, none);
	ENTRY(&s, C, tv);
	EXIT(&s, C, left);
	BOTH(&s, 0x40000, ev);
	expect(&s, CALL(7, A, 2, 1000), 1, "poll([{fd=5, events=POLLIN}, {fd=6, events=POLLIN|POLLOUT}], 2, 1000) = 1 ([{fd=6, revents=POLLOUT}])");
	expect(&s, CALL(7, A, 1, -1ull), 0, "poll([{fd=5, events=POLLIN}], 1, -1) = 0 (Timeout)");
	expect(&s, CALL(7, A, 1, 5), UNFINISHED, "poll([{fd=5, events=POLLIN}], 1, 5 <unfinished ...>");
	expect(&s, CALL(7, A, 1, 5), -516, "poll([{fd=5, events=POLLIN}], 1, 5) = ? ERESTART_RESTARTBLOCK");
	expect(&s, CALL(23, 6, B, B + 64, 0, C), 1, "select(6, [3 5], [3 5], NULL, {tv_sec=1, tv_usec=0}) = 1 (in [5], left {tv_sec=0, tv_usec=999})");
	expect(&s, CALL(23, 4, B, 0, 0, 0), 0, "select(4, [3], NULL, NULL, NULL) = 0 (Timeout)");
	expect(&s, CALL(233, 3, 1, 4, 0x40000), 0, "epoll_ctl(3, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, data={u32=7, u64=7}}) = 0");
	expect(&s, CALL(232, 3, 0x40000, 10, -1ull), 1, "epoll_wait(3, [{events=EPOLLIN|EPOLLET, data={u32=7, u64=7}}], 10, -1) = 1");
	expect(&s, CALL(232, 3, 0x40000, 10, 0), 0, "epoll_wait(3, [], 10, 0) = 0");
}
END_TEST

START_TEST(sockets)
{
	struct scene s = { 0 };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = in6addr_loopback };
	struct sockaddr_un path = { AF_UNIX, "/tmp/x" }, abstract = { AF_UNIX, "\0name" };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 5 };
	int one = 1;
	struct timeval tv = { 5, 0 };
	struct linger linger = { 1, 2 };

	BOTH(&s, A, sin6);
	BOTH(&s, A + 0x100, path);
	BOTH(&s, A + 0x200, abstract);
	BOTH(&s, A + 0x300, nl);
	BOTH(&s, B, one);
	BOTH(&s, B + 64, tv);
	BOTH(&s, C, linger);
	expect(&s, CALL(42, 3, A, 28), 0,
	       "connect(3, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"::1\", &sin6_addr), sin6_scope_id=0}, 28) = 0");
	expect(&s, CALL(42, 3, A + 0x100, 110), 0, "connect(3, {sa_family=AF_UNIX, sun_path=\"/tmp/x\"}, 110) = 0");
	expect(&s, CALL(42, 3, A + 0x200, 7), 0, "connect(3, {sa_family=AF_UNIX, sun_path=@\"name\"}, 7) = 0");
	expect(&s, CALL(42, 3, A + 0x300, 12), 0, "connect(3, {sa_family=AF_NETLINK, nl_pid=5, nl_groups=00000000}, 12) = 0");
	expect(&s, CALL(42, 3, A, 1), -EINVAL, "connect(3, 0x10000, 1) = -1 EINVAL (Invalid argument)");
	expect(&s, CALL(54, 3, SOL_SOCKET, SO_REUSEADDR, B, 4), 0, "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
	expect(&s, CALL(54, 3, IPPROTO_TCP, TCP_NODELAY, B, 4), 0, "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0");
	expect(&s, CALL(54, 3, SOL_SOCKET, SO_RCVTIMEO, B + 64, 16), 0, "setsockopt(3, SOL_SOCKET, SO_RCVTIMEO_OLD, {tv_sec=5, tv_usec=0}, 16) = 0");
	expect(&s, CALL(54, 3, SOL_SOCKET, SO_LINGER, C, 8), 0, "setsockopt(3, SOL_SOCKET, SO_LINGER, {l_onoff=1, l_linger=2}, 8) = 0");
	expect(&s, CALL(54, 3, 77, 88, B, 4), -EINVAL, "setsockopt(3, 0x4d, 0x58, [1], 4) = -1 EINVAL (Invalid argument)");
	expect(&s, CALL(44, 3, B, 4, MSG_NOSIGNAL, 0, 0), 4, "sendto(3, \"\\1\\0\\0\\0\", 4, MSG_NOSIGNAL, NULL, 0) = 4");
}
END_TEST

START_TEST(messages)
{
	struct scene s = { 0 };
	uint64_t v[4] = { B, 2, B + 2, 10 };
	struct {
		uint64_t len;
		int level, type, fd[2];
	} control = { 20, SOL_SOCKET, SCM_RIGHTS, { 4, 0 } };
	struct msghdr in = { .msg_name = (void *)(B + 64), .msg_namelen = 128, .msg_iov = (void *)A, .msg_iovlen = 2,
			     .msg_control = (void *)C, .msg_controllen = 100 };
	struct msghdr out = in;
	struct mmsghdr many[2] = { { .msg_hdr = { .msg_iov = (void *)A, .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = (void *)A, .msg_iovlen = 1 } } };
	struct mmsghdr done[2] = { many[0], many[1] };

	out.msg_namelen = 0;
	out.msg_controllen = 24;
	out.msg_flags = MSG_CMSG_CLOEXEC;
	done[0].msg_len = 2;
	BOTH(&s, A, v);
	BOTH(&s, B, "hello");
	BOTH(&s, C, control);
	ENTRY(&s, A + 0x1000, in);
	EXIT(&s, A + 0x1000, out);
	ENTRY(&s, A + 0x2000, out);
	ENTRY(&s, A + 0x3000, many);
	EXIT(&s, A + 0x3000, done);
	expect(&s, CALL(47, 3, A + 0x1000, 0), 5,
	       "recvmsg(3, {msg_name=0x20040, msg_namelen=128 => 0, msg_iov=[{iov_base=\"he\", iov_len=2}, {iov_base=\"llo\", iov_len=10}], msg_iovlen=2, "
	       "msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[4]}], msg_controllen=24, msg_flags=MSG_CMSG_CLOEXEC}, 0) = 5");
	expect(&s, CALL(47, 3, A + 0x1000, 0), -EAGAIN, "recvmsg(3, 0x11000, 0) = -1 EAGAIN (Resource temporarily unavailable)");
	expect(&s, CALL(46, 3, A + 0x2000, MSG_DONTWAIT), 5,
	       "sendmsg(3, {msg_name=0x20040, msg_namelen=0, msg_iov=[{iov_base=\"he\", iov_len=2}, {iov_base=\"llo\\0\"..., iov_len=10}], msg_iovlen=2, "
	       "msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[4]}], msg_controllen=24, msg_flags=MSG_CMSG_CLOEXEC}, "
	       "MSG_DONTWAIT) = 5");
	expect(&s, CALL(307, 3, A + 0x3000, 2, 0), 1,
	       "sendmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"he\", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=2}, "
	       "{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"he\", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}}], 2, 0) = 1");
	expect(&s, CALL(299, 3, A + 0x3000, 2, 0, 0), 1,
	       "recvmmsg(3, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"he\", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=2}], "
	       "2, 0, NULL) = 1");
}
END_TEST

static void wait_text(int status, const char *text)
{
	struct scene s = { 0 };
	char line[200];

	EXIT(&s, A, status);
	snprintf(line, sizeof(line), "wait4(5, %s, 0, NULL) = 5", text);
	expect(&s, CALL(61, 5, A, 0, 0), 5, line);
}

START_TEST(processes)
{
	struct scene s = { 0 };
	struct rlimit lim = { 8192 * 1024, RLIM_INFINITY };
	struct rusage ru = { .ru_utime = { 0, 88 } };
	uint64_t clone3[8] = { CLONE_VM | CLONE_FS, 0, 0x1000, 0, SIGCHLD, 0x2000, 0x3000, 0 };
	int tid = 77;

	wait_text(0, "[{WIFEXITED(s) && WEXITSTATUS(s) == 0}]");
	wait_text(7 << 8, "[{WIFEXITED(s) && WEXITSTATUS(s) == 7}]");
	wait_text(SIGSEGV, "[{WIFSIGNALED(s) && WTERMSIG(s) == SIGSEGV}]");
	wait_text(SIGABRT | 0x80, "[{WIFSIGNALED(s) && WTERMSIG(s) == SIGABRT && WCOREDUMP(s)}]");
	wait_text(0x7f | SIGSTOP << 8, "[{WIFSTOPPED(s) && WSTOPSIG(s) == SIGSTOP}]");
	wait_text(0x7f | SIGTRAP << 8 | 3 << 16, "[{WIFSTOPPED(s) && WSTOPSIG(s) == SIGTRAP} | 3 << 16]");
	wait_text(0xffff, "[{WIFCONTINUED(s)}]");
	EXIT(&s, A, lim);
	EXIT(&s, B, ru);
	ENTRY(&s, C, clone3);
	EXIT(&s, 0x40000, tid);
	expect(&s, CALL(302, 0, RLIMIT_STACK, 0, A), 0, "prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0");
	expect(&s, CALL(61, -1ull, A, WNOHANG, 0), 0, "wait4(-1, 0x10000, WNOHANG, NULL) = 0");
	expect(&s, CALL(98, 0, B), 0, "getrusage(RUSAGE_SELF, {ru_utime={tv_sec=0, tv_usec=88}, ru_stime={tv_sec=0, tv_usec=0}, ...}) = 0");
	expect(&s, CALL(435, C, 64), 9,
	       "clone3({flags=CLONE_VM|CLONE_FS, child_tid=0x1000, exit_signal=SIGCHLD, stack=0x2000, stack_size=0x3000}, 64) = 9");
	expect(&s, CALL(56, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD, 0, 0, 0x7f00), 9,
	       "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f00) = 9");
	expect(&s, CALL(56, CLONE_VM | CLONE_PARENT_SETTID | CLONE_SETTLS, 0x1000, 0x40000, 0, 0x99), 77,
	       "clone(child_stack=0x1000, flags=CLONE_VM|CLONE_SETTLS|CLONE_PARENT_SETTID, parent_tid=[77], tls=0x99) = 77");
	expect(&s, CALL(56, SIGCHLD, 0), UNFINISHED, "clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>");
}
END_TEST

START_TEST(signals)
{
	struct scene s = { 0 };
	struct {
		uint64_t handler, flags, restorer, mask;
	} act = { 0x4000, SA_RESTART | 0x4000000, 0x5000, 1 << (SIGINT - 1) }, ignore = { 1, SA_SIGINFO, 0, 0 };
	uint64_t some = 1ull << (SIGUSR1 - 1) | 1ull << 34, most = ~(1ull << (SIGKILL - 1));
	siginfo_t info = { .si_signo = SIGCHLD, .si_code = CLD_EXITED };
	char name[24];
	CLEANUP(buf_done) struct buf out = { 0 };

	info.si_pid = 12;
	info.si_status = 3;
	BOTH(&s, A, act);
	BOTH(&s, A + 0x100, ignore);
	BOTH(&s, B, some);
	BOTH(&s, B + 8, most);
	EXIT(&s, C, info);
	expect(&s, CALL(13, SIGUSR1, A, A + 0x100, 8), 0,
	       "rt_sigaction(SIGUSR1, {sa_handler=0x4000, sa_mask=[INT], sa_flags=SA_RESTORER|SA_RESTART, sa_restorer=0x5000}, "
	       "{sa_sigaction=SIG_IGN, sa_mask=[], sa_flags=SA_SIGINFO}, 8) = 0");
	expect(&s, CALL(14, SIG_BLOCK, B, 0, 8), 0, "rt_sigprocmask(SIG_BLOCK, [USR1 RT_3], NULL, 8) = 0");
	expect(&s, CALL(14, SIG_SETMASK, B + 8, 0, 8), 0, "rt_sigprocmask(SIG_SETMASK, ~[KILL], NULL, 8) = 0");
	expect(&s, CALL(128, B, C, 0, 8), SIGCHLD,
	       "rt_sigtimedwait([USR1 RT_3], {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, si_uid=0, si_status=3, si_utime=0, si_stime=0}, NULL, 8) = 17 (SIGCHLD)");
	ck_assert_str_eq(sysprint_signal(SIGSEGV, name), "SIGSEGV");
	ck_assert_str_eq(sysprint_signal(35, name), "SIGRT_3");
	ck_assert_str_eq(sysprint_signal(32, name), "SIGRTMIN");
	ck_assert_str_eq(sysprint_signal(99, name), "signal 99");
	ck_assert_str_eq(sysprint_signal(-5, name), "signal -5");
	sysprint_siginfo(&out, &info);
	ck_assert_str_eq(buf_cstr(&out), "SIGCHLD {si_code=CLD_EXITED, si_pid=12, si_uid=0, si_status=3, si_utime=0, si_stime=0}");
	buf_clear(&out);
	info = (siginfo_t){ .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	info.si_addr = (void *)0x123;
	sysprint_siginfo(&out, &info);
	ck_assert_str_eq(buf_cstr(&out), "SIGSEGV {si_code=SEGV_MAPERR, si_addr=0x123}");
	buf_clear(&out);
	info = (siginfo_t){ .si_signo = SIGUSR1, .si_code = SI_TKILL };
	info.si_pid = 5;
	sysprint_siginfo(&out, &info);
	ck_assert_str_eq(buf_cstr(&out), "SIGUSR1 {si_code=SI_TKILL, si_pid=5, si_uid=0}");
	ck_assert_str_eq(sysprint_errno(ENOENT), "ENOENT");
	ck_assert_str_eq(sysprint_errno(512), "ERESTARTSYS");
	ck_assert_ptr_null(sysprint_errno(999));
}
END_TEST

START_TEST(commands)
{
	struct scene s = { 0 };
	uint16_t ws[4] = { 24, 80, 0, 0 };
	uint32_t tio[9] = { 0, 1, 15, 013 }, word = 0, tid = 5;
	char name[16] = "thread";
	int n = 7;

	BOTH(&s, A, ws);
	BOTH(&s, B, tio);
	BOTH(&s, C, name);
	BOTH(&s, 0x40000, n);
	ENTRY(&s, 0x50000, word);
	EXIT(&s, 0x50000, tid);
	expect(&s, CALL(16, 1, 0x5413, A), 0, "ioctl(1, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0");
	expect(&s, CALL(16, 1, 0x5401, B), 0, "ioctl(1, TCGETS, {B38400 opost isig icanon echo ...}) = 0");
	expect(&s, CALL(16, 1, 0x5401, B), -ENOTTY, "ioctl(1, TCGETS, 0x20000) = -1 ENOTTY (Inappropriate ioctl for device)");
	expect(&s, CALL(16, 1, 0x541b, 0x40000), 0, "ioctl(1, FIONREAD, [7]) = 0");
	expect(&s, CALL(16, 1, 0x1234, 5), -ENOTTY, "ioctl(1, _IOC(_IOC_NONE, 0x12, 0x34, 0), 0x5) = -1 ENOTTY (Inappropriate ioctl for device)");
	expect(&s, CALL(157, PR_SET_NAME, C), 0, "prctl(PR_SET_NAME, \"thread\") = 0");
	expect(&s, CALL(157, 0x999, 1, 2, 3, 4), -EINVAL, "prctl(0x999, 0x1, 0x2, 0x3, 0x4) = -1 EINVAL (Invalid argument)");
	expect(&s, CALL(158, 0x1002, 0x7f00), 0, "arch_prctl(ARCH_SET_FS, 0x7f00) = 0");
	expect(&s, CALL(202, A, 0x81, 1), 1, "futex(0x10000, FUTEX_WAKE_PRIVATE, 1) = 1");
	expect(&s, CALL(202, A, 0x189, 5, 0, 0, 0xffffffff), -ETIMEDOUT,
	       "futex(0x10000, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, NULL, FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (Connection timed out)");
	expect(&s, CALL(202, 0x50000, 6, 0, 0), 0, "futex([0] => [0x5], FUTEX_LOCK_PI, 0, NULL) = 0");
	expect(&s, CALL(72, 3, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE), 0, "fcntl(3, F_ADD_SEALS, F_SEAL_GROW|F_SEAL_WRITE) = 0");
	expect(&s, CALL(66, 3, 0, 0x100), 0, "semctl(3, 0, IPC_RMID) = 0");
	expect(&s, CALL(179, 0x80000701, 0, 5, 0), -ESRCH, "quotactl(QCMD(Q_GETQUOTA, GRPQUOTA), NULL, 5, NULL) = -1 ESRCH (No such process)");
}
END_TEST

/* Where the machine's headers have a constant, it must be ours. */
START_TEST(names_have_the_headers_values)
{
	static const struct {
		enum sys_names table;
		const char *name;
		uint64_t value;
	} known[] = {
#define KNOWN(table, name) { SYS_NAMES_##table, #name, (uint32_t)(name) }
		KNOWN(OPEN, O_CREAT), KNOWN(OPEN, O_TMPFILE), KNOWN(OPEN, O_SYNC), KNOWN(OPEN, O_PATH), KNOWN(AT, AT_EMPTY_PATH), KNOWN(PROT, PROT_EXEC),
		KNOWN(MAP, MAP_FIXED_NOREPLACE), KNOWN(MADV, MADV_PAGEOUT), KNOWN(CLONE, CLONE_NEWUSER), KNOWN(WAIT, WNOWAIT),
		KNOWN(RLIMIT, RLIMIT_RTTIME), KNOWN(SIGNAL, SIGSYS), KNOWN(SA_FLAGS, SA_RESETHAND), KNOWN(CLOCK, CLOCK_REALTIME_ALARM), KNOWN(POLL, POLLRDHUP),
		KNOWN(EPOLL, EPOLLET), KNOWN(IN_MASK, IN_ONESHOT), KNOWN(SOCK_FAMILY, AF_VSOCK), KNOWN(SOCK_TYPE, SOCK_SEQPACKET),
		KNOWN(MSG, MSG_CMSG_CLOEXEC), KNOWN(SO, SO_ZEROCOPY), KNOWN(SO_TCP, TCP_USER_TIMEOUT), KNOWN(SO_IP, IP_PKTINFO),
		KNOWN(SO_IPV6, IPV6_V6ONLY), KNOWN(NETLINK_PROTO, NETLINK_GENERIC), KNOWN(CAPABILITY, CAP_BPF), KNOWN(SECCOMP_MODE, SECCOMP_MODE_FILTER),
		KNOWN(PTRACE_OPTIONS, PTRACE_O_EXITKILL), KNOWN(MOUNT, MS_LAZYTIME), KNOWN(RESOLVE, RESOLVE_IN_ROOT), KNOWN(FALLOC, FALLOC_FL_UNSHARE_RANGE),
		KNOWN(PERSONALITY, ADDR_NO_RANDOMIZE), KNOWN(GRND, GRND_RANDOM), KNOWN(EFD, EFD_SEMAPHORE), KNOWN(SPLICE, SPLICE_F_GIFT),
		KNOWN(PERF, PERF_FLAG_FD_CLOEXEC), KNOWN(ADJ, ADJ_SETOFFSET), KNOWN(KEY_SERIAL, KEY_SPEC_SESSION_KEYRING),
		KNOWN(PR_TSC, PR_TSC_SIGSEGV), KNOWN(ERRNO, ERFKILL), KNOWN(ERRNO, EOPNOTSUPP), KNOWN(LANDLOCK_RULE, LANDLOCK_RULE_PATH_BENEATH),
		KNOWN(MEMBARRIER, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ), KNOWN(STATX_MASK, STATX_BTIME), KNOWN(ST_FLAGS, ST_RELATIME),
#undef KNOWN
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const struct sys_name_table *t = sys_name_table(known[i].table);
		bool found = false;

		for (size_t k = 0; k < t->n; k++)
			if (!strcmp(t->names[k].name, known[i].name)) {
				ck_assert_msg(t->names[k].value == known[i].value, "%s is %#lx", known[i].name, t->names[k].value);
				found = true;
			}
		ck_assert_msg(found, "%s is not in its table", known[i].name);
	}
}
END_TEST

START_TEST(tables_are_consistent)
{
	for (enum sys_names table = SYS_NAMES_NONE + 1; table < SYS_NAMES_MAX_; table++) {
		const struct sys_name_table *t = sys_name_table(table);

		ck_assert_uint_gt(t->n, 0);
		for (size_t i = 0; i < t->n; i++) {
			ck_assert_msg((t->names[i].value & ~t->names[i].mask) == 0, "%s is not within its mask", t->names[i].name);
			for (size_t k = 0; k < i; k++)
				ck_assert_msg(strcmp(t->names[i].name, t->names[k].name), "%s twice in table %d", t->names[i].name, table);
		}
	}
	ck_assert_uint_eq(sys_name_table(SYS_NAMES_NONE)->n, 0);
	ck_assert_uint_eq(sys_name_table(SYS_NAMES_MAX_ + 5)->n, 0);
	ck_assert_ptr_null(sys_name_of(SYS_NAMES_NONE, 0));
}
END_TEST

/* Every call with arguments from anywhere, with memory and without: no crash, and text that ends. */
START_TEST(anything_prints)
{
	static uint8_t junk[0x10000];
	static const int64_t outcomes[] = { 0, 1, 5, -EINVAL, -512, INT64_MAX, -5000 };
	struct scene s = { 0 };
	const struct sys_mem entry = { mem_read, &s.entry }, exit = { mem_read, &s.exit };
	CLEANUP(buf_done) struct buf out = { 0 };
	uint32_t seed = 7;

	for (size_t i = 0; i < sizeof(junk); i++) {
		seed = seed * 1103515245 + 12345;
		junk[i] = (uint8_t)(seed >> 16);
	}
	mem_put(&s.entry, A, junk, sizeof(junk));
	mem_put(&s.exit, A, junk + 1, sizeof(junk) - 1);
	for (uint32_t i = 0; i < 20000; i++) {
		struct sys_call c = { .nr = i % 475 };

		for (unsigned int k = 0; k < 6; k++) {
			seed = seed * 1103515245 + 12345;
			c.args[k] = seed & 0x10000000 ? A + (seed >> 12 & 0xffff) : seed & 0x20000000 ? (seed >> 8 & 0xff) : (uint64_t)(int32_t)seed;
		}
		buf_clear(&out);
		sysprint_call(&out, &c, i % 9, outcomes[i % ARRAY_SIZE(outcomes)], &entry, &exit, NULL);
		ck_assert_int_eq(buf_error(&out), 0);
		ck_assert_uint_lt(out.len, 1 << 20);
		ck_assert_ptr_nonnull(strchr(buf_cstr(&out), '('));
	}
}
END_TEST

TEST_MAIN("sysprint", numbers_and_flags, results, buffers, strings, files, values_before_and_after, polling, sockets, messages, processes, signals,
	  commands, names_have_the_headers_values, tables_are_consistent, anything_prints)
