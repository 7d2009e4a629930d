/*
 * What a system call does to registers: rcx and r11 hold return address and flags, all others, flags, x87 and vector
 * registers are kept; also across calls that block and that fail. Deterministic.
 */
#include "guest.h"

struct regs {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags, expected_rcx;
};

static void one(const char *what, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	static struct regs r;
	static uint64_t in[4];

	in[0] = (uint64_t)nr;
	in[1] = a;
	in[2] = b;
	in[3] = c;
	memset(&r, 0, sizeof(r));
	__asm__ volatile("push %%rbp\n\tpush %%rbx\n\t"
			 "mov %1, %%rax\n\tmov 8+%1, %%rdi\n\tmov 16+%1, %%rsi\n\tmov 24+%1, %%rdx\n\t"
			 "mov $0x1111, %%rbx\n\tmov $0x2222, %%rbp\n\txor %%r10, %%r10\n\tmov $0x8888, %%r8\n\t"
			 "mov $0x9999, %%r9\n\tmov $0xcccc, %%r12\n\tmov $0xdddd, %%r13\n\tmov $0xeeee, %%r14\n\t"
			 "mov $0xffff, %%r15\n\tmov $0xbad, %%rcx\n\tmov $0xbad, %%r11\n\tstc\n\tstd\n\t"
			 "syscall\n"
			 "7:\n\tcld\n\t"
			 "mov %%rax, %0\n\tmov %%rbx, 8+%0\n\tmov %%rcx, 16+%0\n\tmov %%rdx, 24+%0\n\tmov %%rsi, 32+%0\n\t"
			 "mov %%rdi, 40+%0\n\tmov %%rbp, 48+%0\n\tmov %%r8, 56+%0\n\tmov %%r9, 64+%0\n\tmov %%r10, 72+%0\n\t"
			 "mov %%r11, 80+%0\n\tmov %%r12, 88+%0\n\tmov %%r13, 96+%0\n\tmov %%r14, 104+%0\n\t"
			 "mov %%r15, 112+%0\n\tlea 7b(%%rip), %%rax\n\tmov %%rax, 128+%0\n\t"
			 "pop %%rbx\n\tpop %%rbp"
			 : "=m"(r)
			 : "m"(in)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
			   "memory", "cc");
	say("%s: result %lld rbx %llx rbp %llx r8 %llx r9 %llx r10 %llx r12 %llx r13 %llx r14 %llx r15 %llx\n", what,
	    (long long)r.rax < 0 ? (long long)r.rax : 0, (unsigned long long)r.rbx, (unsigned long long)r.rbp,
	    (unsigned long long)r.r8, (unsigned long long)r.r9, (unsigned long long)r.r10, (unsigned long long)r.r12,
	    (unsigned long long)r.r13, (unsigned long long)r.r14, (unsigned long long)r.r15);
	say("  arguments kept %d, rcx is the return address %d, r11: carry %d direction %d\n",
	    r.rdi == a && r.rsi == b && r.rdx == c, r.rcx == r.expected_rcx, (int)(r.r11 & 1), (int)(r.r11 >> 10 & 1));
}

int main(void)
{
	struct timespec ts = { 0, 1000000 };
	static char buf[16];

	one("getpid", SYS_getpid, 1, 2, 3);
	one("getrandom", SYS_getrandom, (uintptr_t)buf, sizeof(buf), 0);
	one("nanosleep", SYS_nanosleep, (uintptr_t)&ts, 0, 3);
	one("bad fd", SYS_read, 999, (uintptr_t)buf, 1);
	one("no such call", 1234, 1, 2, 3);
	one("sched_yield", SYS_sched_yield, 1, 2, 3);
	one("clock_gettime", SYS_clock_gettime, CLOCK_MONOTONIC, (uintptr_t)&ts, 3);
	one("tgkill 0", SYS_tgkill, (uint64_t)getpid(), (uint64_t)gettid(), 0);
	done();
	return 0;
}
