/* A child under ptrace as a processor: code, memory and all registers are set, it runs to a trap, and everything
 * can be looked at. For tests of what is done with machine code. Its memory is shared with the test and lies at
 * the same addresses. */
#ifndef TESTS_UNIT_ENGINE_MACHINE_H
#define TESTS_UNIT_ENGINE_MACHINE_H

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine/syscall.h"
#include "tests/unit/test.h"

enum {
	M_CODE = 0x20000000, M_CODE_SIZE = 0x10000,
	M_TRAMP = 0x20100000, M_TRAMP_SIZE = 0x4000,
	M_DATA = 0x20200000, M_DATA_SIZE = 0x1000,
	M_MEM = 0x20300000, M_MEM_SIZE = 0x4000,
	M_STACK = 0x20400000, M_STACK_SIZE = 0x2000,
	M_XSTATE_MAX = 16384,
};

/* Registers and what memory holds. */
struct mstate {
	struct user_regs_struct regs;
	size_t xlen;
	_Alignas(64) uint8_t xstate[M_XSTATE_MAX];
	uint8_t mem[M_MEM_SIZE], stack[M_STACK_SIZE];
	int signo;
	uint64_t fault;
};

struct machine {
	pid_t pid;
};

static inline void *m_at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static inline uint64_t m_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

static inline void machine_map(uint64_t addr, size_t n, int prot)
{
	ck_assert_ptr_eq(mmap(m_at(addr), n, prot, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), m_at(addr));
}

static inline void machine_start(struct machine *m)
{
	int status;

	machine_map(M_CODE, M_CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	machine_map(M_TRAMP, M_TRAMP_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	machine_map(M_DATA, M_DATA_SIZE, PROT_READ | PROT_WRITE);
	machine_map(M_MEM, M_MEM_SIZE, PROT_READ | PROT_WRITE);
	machine_map(M_STACK, M_STACK_SIZE, PROT_READ | PROT_WRITE);
	m->pid = fork();
	if (m->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* stores through wild pointers must not change the code under test */
		if (mprotect(m_at(M_CODE), M_CODE_SIZE, PROT_READ | PROT_EXEC) < 0 || mprotect(m_at(M_TRAMP), M_TRAMP_SIZE, PROT_READ | PROT_EXEC) < 0)
			_exit(1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_gt(m->pid, 0);
	ck_assert_int_eq(waitpid(m->pid, &status, 0), m->pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, m->pid, 0, PTRACE_O_EXITKILL), 0);
	memset(m_at(M_CODE), 0xcc, M_CODE_SIZE);
}

static inline void machine_stop(struct machine *m)
{
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
}

static inline void machine_get(const struct machine *m, struct mstate *s)
{
	struct iovec iov = { s->xstate, sizeof(s->xstate) };

	ck_assert_int_eq(ptrace(PTRACE_GETREGS, m->pid, 0, &s->regs), 0);
	ck_assert_int_eq(ptrace(PTRACE_GETREGSET, m->pid, NT_X86_XSTATE, &iov), 0);
	s->xlen = iov.iov_len;
	memcpy(s->mem, m_at(M_MEM), M_MEM_SIZE);
	memcpy(s->stack, m_at(M_STACK), M_STACK_SIZE);
}

static inline void machine_set(const struct machine *m, const struct mstate *s)
{
	struct iovec iov = { (void *)(uintptr_t)s->xstate, s->xlen };

	ck_assert_int_eq(ptrace(PTRACE_SETREGS, m->pid, 0, &s->regs), 0);
	ck_assert_int_eq(ptrace(PTRACE_SETREGSET, m->pid, NT_X86_XSTATE, &iov), 0);
	memcpy(m_at(M_MEM), s->mem, M_MEM_SIZE);
	memcpy(m_at(M_STACK), s->stack, M_STACK_SIZE);
}

/* Runs to the next trap or fault (or one step), tells the signal. */
static inline int machine_go(const struct machine *m, bool is_step)
{
	int status;

	ck_assert_int_eq(ptrace(is_step ? PTRACE_SINGLESTEP : PTRACE_CONT, m->pid, 0, 0), 0);
	ck_assert_int_eq(waitpid(m->pid, &status, 0), m->pid);
	ck_assert(WIFSTOPPED(status));
	return WSTOPSIG(status);
}

static inline void machine_run(const struct machine *m, struct mstate *ret)
{
	siginfo_t info;

	ret->signo = machine_go(m, false);
	ck_assert_int_eq(ptrace(PTRACE_GETSIGINFO, m->pid, 0, &info), 0);
	/* the other signals give the instruction's address */
	ret->fault = ret->signo == SIGSEGV || ret->signo == SIGBUS ? (uint64_t)(uintptr_t)info.si_addr : 0;
	machine_get(m, ret);
}

static inline uint64_t *machine_gpr(struct user_regs_struct *r, unsigned n)
{
	unsigned long long *const gpr[16] = { &r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi, &r->rdi,
					      &r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15 };

	return (uint64_t *)gpr[n];
}

/* Components of the XSAVE area that are filled: bit, and where (from cpuid). Their bytes are random. */
static inline void machine_fill_vectors(struct mstate *s, uint64_t *seed)
{
	uint64_t xcr0, bv;

	memcpy(&xcr0, s->xstate + 464, sizeof(xcr0));
	memcpy(&bv, s->xstate + 512, sizeof(bv));
	for (unsigned bit = 1; bit <= 7; bit++) {
		unsigned size = 256, offset = 160, c, d;

		if (!(xcr0 >> bit & 1) || bit == 3 || bit == 4)
			continue;
		if (bit > 1)
			__cpuid_count(0xd, bit, size, offset, c, d);
		for (unsigned i = 0; i < size; i++)
			s->xstate[offset + i] = (uint8_t)m_random(seed);
		bv |= 1u << bit;
	}
	memcpy(s->xstate + 512, &bv, sizeof(bv));
}

static inline bool machine_has(const struct mstate *s, unsigned bit)
{
	uint64_t xcr0;

	memcpy(&xcr0, s->xstate + 464, sizeof(xcr0));
	return xcr0 >> bit & 1;
}

/* NULL when alike, else what differs. */
static inline const char *machine_differs(const struct mstate *a, const struct mstate *b)
{
	if (a->signo != b->signo)
		return "signal";
	if (a->fault != b->fault)
		return "fault address";
	if (memcmp(&a->regs, &b->regs, sizeof(a->regs)) != 0)
		return "registers";
	/* all but the bits that tell which components are in their initial state: the processor may notice that
	 * (vzeroall) or not */
	if (a->xlen != b->xlen || memcmp(a->xstate, b->xstate, 512) != 0 || memcmp(a->xstate + 520, b->xstate + 520, a->xlen - 520) != 0)
		return "vector registers";
	if (memcmp(a->mem, b->mem, sizeof(a->mem)) != 0)
		return "memory";
	if (memcmp(a->stack, b->stack, sizeof(a->stack)) != 0)
		return "stack";
	return NULL;
}

static inline int machine_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	if (addr < M_CODE || addr - M_CODE > M_CODE_SIZE || n > M_CODE_SIZE - (addr - M_CODE))
		return -EFAULT;
	memcpy(buf, m_at(addr), n);
	return 0;
}

#endif
