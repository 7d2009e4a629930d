/* The filter interpreter against the kernel: random programs are checked and run by both (a child installs the program and makes a call). */
#include "engine/cbpf.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/test.h"

enum { PROGRAMS = 400, LENGTH = 12 };

static unsigned rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % n;
}

static struct sock_filter random_insn(unsigned *seed, unsigned left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_IMM, BPF_LD | BPF_MEM, BPF_LD | BPF_W | BPF_LEN, BPF_LDX | BPF_IMM, BPF_LDX | BPF_MEM, BPF_LDX | BPF_W | BPF_LEN,
		BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_W | BPF_ABS, BPF_ST, BPF_STX, BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA,
		BPF_ALU | BPF_ADD | BPF_K, BPF_ALU | BPF_SUB | BPF_X, BPF_ALU | BPF_MUL | BPF_K, BPF_ALU | BPF_DIV | BPF_K, BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K, BPF_ALU | BPF_XOR | BPF_X, BPF_ALU | BPF_LSH | BPF_K, BPF_ALU | BPF_RSH | BPF_K, BPF_ALU | BPF_NEG,
		BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JGT | BPF_X, BPF_JMP | BPF_JGE | BPF_K, BPF_JMP | BPF_JSET | BPF_X,
		BPF_ALU | BPF_MOD | BPF_K /* not for seccomp */, BPF_LD | BPF_B | BPF_ABS /* neither */,
	};
	struct sock_filter f = { .code = codes[rnd(seed, ARRAY_SIZE(codes))], .k = rnd(seed, 20) };

	if (BPF_CLASS(f.code) == BPF_JMP) {
		f.k = BPF_OP(f.code) == BPF_JA ? rnd(seed, left + 2) : rnd(seed, 70000);
		f.jt = (uint8_t)rnd(seed, left + 1);
		f.jf = (uint8_t)rnd(seed, left + 1);
	}
	if (f.code == (BPF_LD | BPF_W | BPF_ABS))
		f.k = rnd(seed, 18) * 4;
	return f;
}

/* Ends with: return ERRNO | (A & 0xfff), so that the child's errno shows the accumulator. */
static unsigned make_program(unsigned *seed, struct sock_filter *p)
{
	unsigned n = 0, body = 1 + rnd(seed, LENGTH);

	while (n < body) {
		p[n] = random_insn(seed, body - n - 1);
		n++;
	}
	p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff);
	p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	p[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

/* A raw call whose instruction pointer we know: the filter may look at it. */
static long raw_call(uint64_t *ret_ip)
{
	long r;

	__asm__ volatile("lea 1f(%%rip), %1\n\tsyscall\n1:" : "=a"(r), "=&r"(*ret_ip) : "a"(SYS_getppid), "D"(11), "S"(22), "d"(33) : "rcx", "r11", "memory");
	return r;
}

/* The kernel's verdict: status 255 = refused to install, else the low byte of the errno. The address of the call is put into *data first. */
static int kernel_verdict(const struct sock_filter *code, unsigned n)
{
	struct sock_fprog prog = { (unsigned short)n, (struct sock_filter *)code };
	uint64_t ip;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* exit_group is caught as well: the result leaves through a signal-free trap, the exit status of a thread-less _exit is not ours. */
		struct sock_filter full[LENGTH + 8] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
			BPF_STMT(BPF_LD | BPF_IMM, 0),
		};

		memcpy(full + 4, code, n * sizeof(*code));
		prog.filter = full;
		prog.len = (unsigned short)(n + 4);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
			_exit(255);
		_exit((int)(-raw_call(&ip) & 0xff));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(random_programs)
{
	struct seccomp_data data = { .nr = SYS_getppid, .arch = AUDIT_ARCH_X86_64, .args = { 11, 22, 33 } };
	unsigned seed = 42, taken = 0;

	for (int i = 0; i < PROGRAMS; i++) {
		struct sock_filter p[LENGTH + 4];
		unsigned n = make_program(&seed, p);
		int ours = cbpf_check(p, n), theirs = kernel_verdict(p, n);

		if (theirs == 255) {
			ck_assert_msg(ours == -EINVAL, "program %d: the kernel refuses it", i);
			continue;
		}
		ck_assert_msg(ours == 0, "program %d: the kernel takes it", i);
		/* Registers and addresses that differ between the two runs would show: leave such programs out. */
		bool reads_address = false;
		for (unsigned k = 0; k < n; k++)
			reads_address |= p[k].code == (BPF_LD | BPF_W | BPF_ABS) && p[k].k >= 8;
		if (reads_address)
			continue;
		taken++;
		ck_assert_msg((int)(cbpf_run(p, &data) & 0xff) == theirs, "program %d: other verdicts", i);
	}
	ck_assert_uint_gt(taken, PROGRAMS / 10);
}
END_TEST

START_TEST(refused_programs)
{
	const struct sock_filter ret = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter p[2] = { ret, ret };

	ck_assert_int_eq(cbpf_check(p, 0), -EINVAL);
	ck_assert_int_eq(cbpf_check(p, 1), 0);
	p[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0);
	ck_assert_int_eq(cbpf_check(p, 2), -EINVAL);
	p[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64);
	ck_assert_int_eq(cbpf_check(p, 2), -EINVAL);
	p[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2);
	ck_assert_int_eq(cbpf_check(p, 2), -EINVAL);
	p[0] = (struct sock_filter)BPF_STMT(BPF_ST, BPF_MEMWORDS);
	ck_assert_int_eq(cbpf_check(p, 2), -EINVAL);
	p[0] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0);
	ck_assert_int_eq(cbpf_check(p, 2), -EINVAL);
}
END_TEST

START_TEST(data_is_read)
{
	const struct seccomp_data data = { .nr = 5, .arch = 6, .instruction_pointer = 0x1122334455667788, .args = { 0xaabbccdd00112233 } };
	struct sock_filter p[2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_STMT(BPF_RET | BPF_A, 0) };
	static const uint32_t want[] = { 5, 6, 0x55667788, 0x11223344, 0x00112233, 0xaabbccdd };

	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
		p[0].k = i * 4;
		ck_assert_uint_eq(cbpf_run(p, &data), want[i]);
	}
}
END_TEST

TEST_MAIN("cbpf", random_programs, refused_programs, data_is_read)
