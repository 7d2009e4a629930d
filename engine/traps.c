/* rdtsc and cpuid trapping of the tracer itself.
 *
 * When one task of a CPU traps them and the next does not, the kernel rewrites CR4 and an MSR at every switch between them. In a virtual machine the
 * MSR costs about 25 us each time, six times a whole ptrace stop. So the tracer joins its guests: it has both trapped as well while it runs them.
 * It must not use the vDSO's clocks then (os_mono_ns() is a real system call). Code that executes one of the instructions nevertheless gets
 * SIGSEGV; the handler here gives up the trap, which only costs speed. */
#define LOG_AREA "engine.traps"
#include "engine/engine.h"

#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

static void trap_tsc(bool on)
{
	prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0);
}

static void trap_cpuid(bool on)
{
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, on ? 0 : 1);
}

static void on_fault(int signo, siginfo_t *si, void *ctx)
{
	const ucontext_t *uc = ctx;
	const uint8_t *insn = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	(void)si;
	if (insn[0] == 0x0f && (insn[1] == 0x31 || (insn[1] == 0x01 && insn[2] == 0xf9))) {
		trap_tsc(false);
	} else if (insn[0] == 0x0f && insn[1] == 0xa2) {
		trap_cpuid(false);
	} else {
		signal(signo, SIG_DFL); /* a real fault: it happens again, for good */
	}
}

void eng_traps_join(struct eng_traps *tr, bool cpuid)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	tr->joined = true;
	tr->cpuid = cpuid;
	sigaction(SIGSEGV, &sa, &tr->old);
	trap_tsc(true);
	if (cpuid)
		trap_cpuid(true);
}

void eng_traps_leave(struct eng_traps *tr)
{
	if (!tr->joined)
		return;
	trap_tsc(false);
	if (tr->cpuid)
		trap_cpuid(false);
	sigaction(SIGSEGV, &tr->old, NULL);
	tr->joined = false;
}

uint64_t eng_traps_rdtscp(const struct eng_traps *tr, uint32_t *ret_aux)
{
	uint64_t tsc;

	if (tr->joined)
		trap_tsc(false);
	tsc = __builtin_ia32_rdtscp(ret_aux);
	if (tr->joined)
		trap_tsc(true);
	return tsc;
}

/* Leaves whose answer depends on ecx; for the others programs leave anything in it. */
static bool has_subleaves(uint32_t leaf)
{
	static const uint32_t leaves[] = { 4, 7, 0xb, 0xd, 0xf, 0x10, 0x12, 0x14, 0x17, 0x18, 0x1a, 0x1b, 0x1d, 0x1e, 0x1f, 0x20, 0x23, 0x24,
					   0x8000001d, 0x80000020, 0x80000026 };

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++)
		if (leaves[i] == leaf)
			return true;
	return false;
}

void eng_traps_prefetch(struct eng_traps *tr)
{
	static const struct {
		uint32_t leaf, subs;
	} usual[] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 4, 5 }, { 7, 2 }, { 0xb, 2 }, { 0xd, 8 }, { 0x14, 1 }, { 0x19, 1 },
		      { 0x80000000, 1 }, { 0x80000001, 1 }, { 0x80000007, 1 }, { 0x80000008, 1 } };
	uint32_t v[4];

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		for (uint32_t s = 0; s < usual[i].subs; s++)
			eng_traps_cpuid(tr, usual[i].leaf, s, v);
}

void eng_traps_cpuid(struct eng_traps *tr, uint32_t leaf, uint32_t sub, uint32_t ret[4])
{
	struct eng_cpuid *c;

	sub = has_subleaves(leaf) ? sub : 0;
	/* Constant on one CPU, and dear: remembered. */
	for (unsigned i = 0; i < tr->n_known; i++)
		if (tr->known[i].leaf == leaf && tr->known[i].sub == sub) {
			memcpy(ret, tr->known[i].v, sizeof(tr->known[i].v));
			return;
		}
	if (tr->joined && tr->cpuid)
		trap_cpuid(false);
	__cpuid_count(leaf, sub, ret[0], ret[1], ret[2], ret[3]);
	if (tr->joined && tr->cpuid)
		trap_cpuid(true);
	if (tr->n_known == ARRAY_SIZE(tr->known))
		return;
	c = &tr->known[tr->n_known++];
	*c = (struct eng_cpuid){ .leaf = leaf, .sub = sub };
	memcpy(c->v, ret, sizeof(c->v));
}

bool eng_traps_have_cpuid(void)
{
	/* Tried, not guessed from the CPU model. */
	return syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1) == 0;
}
