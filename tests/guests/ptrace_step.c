/* Single-steps, breakpoints, and what of them the tracee can see. */
#include "ptrace.h"

static volatile uint64_t flags_seen;
static volatile int handled;

extern const char step_start[], step_nop[], step_call[], step_int3[], step_end[];

__attribute__((noinline)) static void stepped(void)
{
	__asm__ volatile("	.globl step_start, step_nop, step_call, step_int3, step_end\n"
			 "step_start:\n"
			 "	xor %%eax, %%eax\n"
			 "	inc %%eax\n"
			 "step_nop:\n"
			 "	nop\n"
			 "	pushf\n"
			 "	pop %0\n"
			 "step_call:\n"
			 "	mov $39, %%eax\n" /* getpid */
			 "	syscall\n"
			 "	rdtsc\n"
			 "	cpuid\n"
			 "	mov $3, %%ecx\n"
			 "	cld\n"
			 "	lea -256(%%rsp), %%rdi\n"
			 "	rep stosb\n"
			 "step_int3:\n"
			 "	nop\n"
			 "	nop\n"
			 "step_end:\n"
			 : "=m"(flags_seen)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rdi", "r11", "memory", "cc");
}

static void on_usr1(int s UNUSED)
{
	handled++;
}

static long poke_byte(pid_t p, const char *at, uint8_t byte)
{
	long old;

	errno = 0;
	old = ptrace(PTRACE_PEEKTEXT, p, at, NULL);
	CHECK(!errno);
	CK(ptrace(PTRACE_POKETEXT, p, at, (void *)((old & ~0xffl) | byte)));
	return old & 0xff;
}

/* From a breakpoint at `at`. */
static void run_to(pid_t p, const char *at)
{
	uint8_t old = (uint8_t)poke_byte(p, at, 0xcc);
	struct user_regs_struct r;
	siginfo_t si;

	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	CHECK(await_quiet(p) == (SIGTRAP << 8 | 0x7f));
	r = regs_of(p);
	CHECK(r.rip == (uint64_t)at + 1);
	CK(ptrace(PTRACE_GETSIGINFO, p, NULL, &si));
	CHECK(si.si_code == SI_KERNEL);
	r.rip--;
	CK(ptrace(PTRACE_SETREGS, p, NULL, &r));
	CHECK(poke_byte(p, at, old) == 0xcc);
}

static int step(pid_t p)
{
	CK(ptrace(PTRACE_SINGLESTEP, p, NULL, NULL));
	return await_quiet(p);
}

static void count_steps(pid_t p)
{
	struct user_regs_struct r;
	siginfo_t si;
	int n = 0;

	for (;;) {
		CHECK(step(p) == (SIGTRAP << 8 | 0x7f));
		n++;
		r = regs_of(p);
		CK(ptrace(PTRACE_GETSIGINFO, p, NULL, &si));
		say("step %d: at +%lld, code %d\n", n, r.rip - (uint64_t)step_start, si.si_code);
		if (r.rip == (uint64_t)step_end)
			break;
		CHECK(n < 100);
	}
}

int main(void)
{
	struct user_regs_struct r;
	pid_t p;

	signal(SIGUSR1, on_usr1);
	p = traced_fork();
	if (!p) {
		stepped();
		say("tracee: trap flag %d, handled %d\n", (int)(flags_seen >> 8 & 1), handled);
		stepped();
		say("tracee: trap flag %d, handled %d\n", (int)(flags_seen >> 8 & 1), handled);
		_exit(0);
	}
	run_to(p, step_start);
	say("at the breakpoint\n");
	count_steps(p);
	run_to(p, step_nop);
	CK(ptrace(PTRACE_SINGLESTEP, p, NULL, (void *)SIGUSR1)); /* into the handler, before its first instruction */
	await("step with a signal", p);
	r = regs_of(p);
	say("in the handler: %d, signal %lld\n", r.rip == (uint64_t)on_usr1, r.rdi);
	CHECK(step(p) == (SIGTRAP << 8 | 0x7f));
	run_to(p, step_int3);
	CK(ptrace(PTRACE_DETACH, p, NULL, NULL));
	await("tracee", p);
	done();
	return 0;
}
