/* Ways into a tracee's memory and registers: /proc/PID/mem, register sets, floating point registers, breakpoints
 * in shared text. */
#include "ptrace.h"

static volatile double number = 1.5;
static volatile int read_only_page_of[1024] __attribute__((aligned(4096)));
static const volatile int constant = 3;

__attribute__((noinline)) static int function(int x)
{
	return x + 1;
}

static void tracee(void)
{
	double d = 2.25;

	__asm__ volatile("movsd %0, %%xmm7\n int3\n movsd %%xmm7, %0\n" : "+m"(d) : : "xmm7");
	say("tracee: %g %d %d %d\n", d, read_only_page_of[7], constant, function(5));
	_exit(0);
}

int main(void)
{
	struct user_fpregs_struct f;
	struct user_regs_struct r;
	struct iovec iov = { &r, sizeof(r) };
	unsigned char area[8192], ret5[] = { 0x6a, 5, 0x58, 0xc3 }; /* push $5; pop %rax; ret */
	struct iovec x = { area, sizeof(area) };
	double nine = 9.5, got;
	int fd, v = 77, w = 0;
	char path[64];
	pid_t p;

	CK(mprotect((void *)read_only_page_of, 4096, PROT_READ));
	p = traced_fork();
	if (!p)
		tracee();
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("tracee", p);
	CK(ptrace(PTRACE_GETFPREGS, p, NULL, &f));
	memcpy(&got, (char *)f.xmm_space + 7 * 16, 8);
	say("xmm7 %g\n", got);
	CK(ptrace(PTRACE_GETREGSET, p, (void *)NT_X86_XSTATE, &x));
	memcpy(&got, area + 160 + 7 * 16, 8);
	say("xmm7 %g of %d bytes or more\n", got, x.iov_len >= 576 ? 576 : 0);
	memcpy((char *)f.xmm_space + 7 * 16, &nine, 8);
	CK(ptrace(PTRACE_SETFPREGS, p, NULL, &f));
	CK(ptrace(PTRACE_GETREGSET, p, (void *)NT_PRSTATUS, &iov));
	say("registers: %zu bytes, orig_rax %lld\n", iov.iov_len, (long long)r.orig_rax);
	CK(ptrace(PTRACE_SETREGSET, p, (void *)NT_PRSTATUS, &iov));
	show("strange set", ptrace(PTRACE_GETREGSET, p, (void *)0x7777, &iov));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p);
	fd = CK(open(path, O_RDWR | O_CLOEXEC));
	CHECK(pread(fd, &w, sizeof(w), (off_t)&constant) == sizeof(w) && w == 3);
	CHECK(pwrite(fd, &v, sizeof(v), (off_t)&read_only_page_of[7]) == sizeof(v));
	CHECK(lseek(fd, (off_t)&constant, SEEK_SET) == (off_t)&constant);
	CHECK(write(fd, &v, sizeof(v)) == sizeof(v));
	CHECK(pwrite(fd, ret5, sizeof(ret5), (off_t)&function) == sizeof(ret5));
	say("here: %d %d %d\n", read_only_page_of[7], constant, function(5));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("tracee", p);
	done();
	return 0;
}
