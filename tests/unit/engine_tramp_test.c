/* Trampolines, by running them: displaced instructions must do what they do in place, and a match must come in the
 * right pass with nothing changed. */
#include "engine/code.h"
#include "engine/engine.h"

#include <link.h>
#include <stdio.h>
#include <Zydis/Zydis.h>
#include "tests/unit/engine_machine.h"

enum { AT = M_CODE + 0x8000, PASSES = 16 };

static const struct sys_mem code_mem = { .read = machine_read };

/* --- instructions in place and displaced --- */

struct diff {
	struct machine m;
	uint64_t seed;
	struct mstate start, plain, moved;
	unsigned tried, faulted, jumped;
};

/* Pointers everywhere: general registers into MEM, words of memory and stack into CODE (where int3 waits). */
static void diff_start(struct diff *d)
{
	struct mstate *s = &d->start;

	machine_start(&d->m);
	machine_get(&d->m, s);
	machine_fill_vectors(s, &d->seed);
	for (unsigned i = 0; i < M_MEM_SIZE; i += 8) {
		uint64_t v = M_CODE + m_random(&d->seed) % 0x7000;

		memcpy(s->mem + i, &v, 8);
	}
	for (unsigned i = 0; i < M_STACK_SIZE; i += 8) {
		uint64_t v = M_CODE + m_random(&d->seed) % 0x7000;

		memcpy(s->stack + i, &v, 8);
	}
	s->regs.orig_rax = (unsigned long long)-1;
	s->regs.fs_base = M_MEM + 0x1000;
	s->regs.gs_base = M_MEM + 0x800;
}

static void diff_registers(struct diff *d, const uint8_t *code, size_t n)
{
	static const uint32_t flags = 0x8d5; /* CF PF AF ZF SF OF */
	struct user_regs_struct *r = &d->start.regs;
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	for (unsigned i = 0; i < 16; i++)
		*machine_gpr(r, i) = M_MEM + 0x2000 + m_random(&d->seed) % 16 * 64;
	r->rsp = M_STACK + 0x1000 + m_random(&d->seed) % 16 * 64;
	r->eflags = 0x202 | (m_random(&d->seed) & flags);
	r->rip = AT;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t off = 0; off < n && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + off, n - off, &in, op)); off += in.length)
		for (unsigned i = 0; i < in.operand_count; i++)
			if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && ZydisRegisterGetClass(op[i].mem.index) == ZYDIS_REGCLASS_GPR64 &&
			    op[i].mem.index != op[i].mem.base)
				*machine_gpr(r, (unsigned)ZydisRegisterGetId(op[i].mem.index)) = m_random(&d->seed) % 256;
}

/* Leads rip-relative operands into MEM. */
static void aim_operands(struct diff *d, uint8_t *code, size_t n)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t off = 0; off < n && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + off, n - off, &in)); off += in.length) {
		int32_t to = (int32_t)(M_MEM + 0x100 + m_random(&d->seed) % 128 * 64 - (AT + off + in.length));

		if (in.attributes & ZYDIS_ATTRIB_HAS_MODRM && in.raw.modrm.mod == 0 && in.raw.modrm.rm == 5 && in.raw.disp.size == 32)
			memcpy(code + off + in.raw.disp.offset, &to, 4);
	}
}

static void diff_fail(const struct diff *d, const struct code_plan *p, const char *what, const char *where)
{
	char hex[3 * sizeof(p->bytes) + 1];
	const struct user_regs_struct *a = &d->plain.regs, *b = &d->moved.regs;

	for (unsigned i = 0; i < p->len; i++)
		snprintf(hex + 3 * i, 4, "%02x ", p->bytes[i]);
	ck_abort_msg("%s: %s (%s) differs: rip %llx/%llx rsp %llx/%llx rax %llx/%llx rcx %llx/%llx rdx %llx/%llx flags %llx/%llx signal %d/%d at %lx/%lx", hex,
		     what, where, a->rip, b->rip, a->rsp, b->rsp, a->rax, b->rax, a->rcx, b->rcx, a->rdx, b->rdx, a->eflags, b->eflags,
		     d->plain.signo, d->moved.signo, d->plain.fault, d->moved.fault);
}

/* The bytes that a plan covers: a jump may stand there by now. */
static int plan_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct code_plan *p = ctx;
	uint8_t code[sizeof(p->bytes) + CODE_INSN_MAX] = { 0 };

	if (addr - p->at >= p->len || n > CODE_INSN_MAX)
		return -EFAULT;
	memcpy(code, p->bytes, p->len);
	memcpy(buf, code + (addr - p->at), n);
	return 0;
}

/* A call to what is no address: faulted in place, with the address of nothing. */
static bool is_wild_call(const struct diff *d, const struct code_plan *p)
{
	const struct sys_mem mem = { .read = plan_read, .ctx = (void *)(uintptr_t)p };
	struct code_insn in;

	if (d->plain.signo != SIGSEGV || d->plain.fault != 0)
		return false;
	code_decode(&mem, d->plain.regs.rip, &in);
	return in.cls == CODE_CALL;
}

static void diff_compare(struct diff *d, const struct code_plan *p, const struct code_tramp *t, const char *where)
{
	const char *what;

	machine_run(&d->m, &d->moved);
	if (d->moved.signo != SIGTRAP)
		code_tramp_faulted(p, t, &d->moved.regs);
	if (is_wild_call(d, p)) /* as the header says */
		memcpy(d->moved.stack, d->plain.stack, sizeof(d->moved.stack));
	what = machine_differs(&d->plain, &d->moved);
	if (what)
		diff_fail(d, p, what, where);
}

/* Conditions that all hold but the last one. */
static unsigned diff_conditions(struct diff *d, struct code_cond *c)
{
	unsigned n = 1 + (unsigned)m_random(&d->seed) % 6;

	for (unsigned i = 0; i < n; i++) {
		unsigned reg = (unsigned)m_random(&d->seed) % 16;

		c[i] = (struct code_cond){ .kind = CODE_COND_REG, .reg = (uint8_t)reg, .value = *machine_gpr(&d->start.regs, reg) };
		if (m_random(&d->seed) % 3 == 0) {
			c[i] = (struct code_cond){ .kind = CODE_COND_WORD, .addr = M_MEM + m_random(&d->seed) % 512 * 8 };
			memcpy(&c[i].value, d->start.mem + (c[i].addr - M_MEM), 8);
		} else if (m_random(&d->seed) % 3 == 0) {
			unsigned x = (unsigned)m_random(&d->seed) % 16, w = (unsigned)m_random(&d->seed) % 2;

			c[i] = (struct code_cond){ .kind = CODE_COND_VEC, .reg = (uint8_t)x, .word = (uint8_t)w };
			memcpy(&c[i].value, d->start.xstate + 160 + 16 * x + 8 * w, 8);
		}
	}
	c[n - 1].value += 1 + (m_random(&d->seed) % 2 << 40);
	return n;
}

static bool leads_into(const struct code_plan *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct code_insn in;

		code_decode(&code_mem, p->at + p->off[i], &in);
		if (in.has_target && in.target - p->at < p->len)
			return true; /* may run forever */
	}
	return false;
}

/* Runs the code as it is, its copies, and with the jump in place. False: nothing there can be displaced. */
static bool diff_code(struct diff *d, const uint8_t *bytes, size_t n)
{
	uint8_t code[64], jump[CODE_JUMP_LEN];
	struct code_plan p, single;
	struct code_tramp t;
	struct code_cond c[8];
	bool has_jump;

	memcpy(code, bytes, n);
	aim_operands(d, code, n);
	memset(m_at(AT), 0xcc, sizeof(code));
	memcpy(m_at(AT), code, n);
	has_jump = code_plan(&code_mem, AT, &p);
	if ((!has_jump && !code_plan_breakpoint(&code_mem, AT, &p)) || leads_into(&p))
		return false;
	ck_assert(code_plan_breakpoint(&code_mem, AT, &single));
	memset(m_at(AT + p.len), 0xcc, sizeof(code) - p.len);
	diff_registers(d, code, p.len);
	machine_set(&d->m, &d->start);
	machine_run(&d->m, &d->plain);
	ck_assert_int_eq(code_tramp_build(&p, M_TRAMP, M_DATA, NULL, 0, &t), 0);
	memcpy(m_at(M_TRAMP), t.bytes, t.n);
	d->start.regs.rip = t.copy[0];
	machine_set(&d->m, &d->start);
	diff_compare(d, &p, &t, "copy");
	d->tried++;
	d->faulted += d->plain.signo != SIGTRAP;
	if (!has_jump)
		return true;
	d->jumped++;
	ck_assert_int_eq(code_tramp_build(&p, M_TRAMP, M_DATA, c, diff_conditions(d, c), &t), 0);
	memcpy(m_at(M_TRAMP), t.bytes, t.n);
	code_jump(&p, &t, jump);
	memcpy(m_at(AT), jump, sizeof(jump));
	d->start.regs.rip = AT;
	machine_set(&d->m, &d->start);
	diff_compare(d, &p, &t, "jump");
	return true;
}

START_TEST(special_cases)
{
	/* clang-format off */
	static const struct { const char *bytes; uint8_t n; } cases[] = {
#define CASE(s) { s, sizeof(s) - 1 }
		CASE("\x90"),
		CASE("\xf3\x0f\x1e\xfa"),                               /* endbr64 */
		CASE("\x48\x8b\x05\x00\x00\x00\x00"),                   /* mov rax, [rip] */
		CASE("\xc7\x05\x00\x00\x00\x00\x78\x56\x34\x12"),       /* mov dword [rip], imm32 */
		CASE("\x66\xc7\x05\x00\x00\x00\x00\x34\x12"),
		CASE("\x48\x81\x05\x00\x00\x00\x00\x78\x56\x34\x12"),   /* add qword [rip], imm32 */
		CASE("\x83\x05\x00\x00\x00\x00\x07"),                   /* add dword [rip], imm8 */
		CASE("\xf0\x48\x0f\xc1\x05\x00\x00\x00\x00"),           /* lock xadd [rip], rax */
		CASE("\xf0\x0f\xba\x2d\x00\x00\x00\x00\x03"),           /* lock bts dword [rip], 3 */
		CASE("\x67\x8b\x05\x00\x00\x00\x00"),                   /* mov eax, [eip] */
		CASE("\x48\x8d\x05\x00\x00\x00\x00"),                   /* lea rax, [rip] */
		CASE("\x0f\x10\x05\x00\x00\x00\x00"),                   /* movups xmm0, [rip] */
		CASE("\x66\x0f\x3a\x0f\x05\x00\x00\x00\x00\x05"),       /* palignr xmm0, [rip], 5 */
		CASE("\xc5\xfc\x10\x05\x00\x00\x00\x00"),               /* vmovups ymm0, [rip] */
		CASE("\xc4\xe3\x7d\x18\x05\x00\x00\x00\x00\x01"),       /* vinsertf128 ymm0, ymm0, [rip], 1 */
		CASE("\x62\xf1\x7c\x48\x10\x05\x00\x00\x00\x00"),       /* vmovups zmm0, [rip] */
		CASE("\x62\xf3\xf5\x48\x03\x05\x00\x00\x00\x00\x03"),   /* valignq zmm0, zmm1, [rip], 3 */
		CASE("\x62\xf1\xfe\x48\x7f\x05\x00\x00\x00\x00"),       /* vmovdqu64 [rip], zmm0 */
		CASE("\x74\x05"), CASE("\x75\xf0"), CASE("\x7c\x7f"), CASE("\x0f\x87\x00\x01\x00\x00"),
		CASE("\x2e\x74\x05"), CASE("\x3e\x75\x05"), CASE("\x3e\x0f\x84\x00\x01\x00\x00"), CASE("\x2e\x0f\x85\x00\x02\x00\x00"),
		CASE("\xf2\x74\x05"), CASE("\xf2\x0f\x85\x10\x00\x00\x00"), /* bnd */
		CASE("\xeb\x20"), CASE("\xe9\x00\xf0\xff\xff"), CASE("\xf2\xe9\x00\x01\x00\x00"),
		CASE("\xff\xe0"), CASE("\xff\xe4"), CASE("\x41\xff\xe4"), CASE("\x3e\xff\xe0"), CASE("\xff\x25\x00\x00\x00\x00"),
		CASE("\xff\x24\x24"), CASE("\xff\x64\x24\x08"), CASE("\xff\x24\xc3"), CASE("\x64\xff\x24\x25\x10\x00\x00\x00"),
		CASE("\xe8\x00\x01\x00\x00"), CASE("\xe8\x00\xf0\xff\xff"), CASE("\x66\x66\x48\xe8\x00\x01\x00\x00"), CASE("\x48\xe8\x00\x01\x00\x00"),
		CASE("\xf2\xe8\x00\x01\x00\x00"), CASE("\xe8\x00\x00\x00\x00"),
		CASE("\xff\xd0"), CASE("\xff\xd1"), CASE("\xff\xd2"), CASE("\xff\xd4"), CASE("\x41\xff\xd3"), CASE("\x41\xff\xd4"), CASE("\x49\xff\xd5"),
		CASE("\xff\x15\x00\x00\x00\x00"), CASE("\x67\xff\x15\x00\x00\x00\x00"), CASE("\x66\x48\xff\x15\x00\x00\x00\x00"),
		CASE("\xff\x10"), CASE("\xff\x11"), CASE("\xff\x14\x24"), CASE("\xff\x54\x24\x08"), CASE("\xff\x54\x24\xf8"),
		CASE("\xff\x94\x24\x80\x00\x00\x00"), CASE("\x41\xff\x14\x24"), CASE("\xff\x14\xc8"), CASE("\x42\xff\x14\xe1"), CASE("\x43\xff\x54\xf5\x08"),
		CASE("\x64\xff\x14\x25\x10\x00\x00\x00"), CASE("\x65\xff\x50\x08"), CASE("\xff\x14\x25\x00\x00\x30\x20"), CASE("\x67\xff\x10"),
		CASE("\x3e\xff\xd0"), CASE("\x3e\xff\x50\x18"),
		CASE("\xc3"), CASE("\xf3\xc3"), CASE("\xf2\xc3"), CASE("\xc2\x10\x00"), CASE("\xc2\x08\x01"),
		CASE("\x54"), CASE("\x5c"), CASE("\xff\x34\x24"), CASE("\xff\x74\x24\x08"), CASE("\x8f\x04\x24"), CASE("\x8f\x44\x24\x10"), CASE("\xff\x35\x00\x00\x00\x00"),
		CASE("\x8f\x05\x00\x00\x00\x00"), CASE("\x68\x78\x56\x34\x12"), CASE("\x6a\xff"), CASE("\x66\x50"), CASE("\x66\x6a\x01"),
		CASE("\xc9"), CASE("\xc8\x10\x00\x00"), CASE("\xa4"), CASE("\x48\xa5"), CASE("\x48\xab"), CASE("\xac"), CASE("\x48\xa7"), CASE("\xd7"),
		CASE("\xfd\x90\x90\x90\x90"), CASE("\xf9\xf5\x48\x11\xc0"), CASE("\x48\x89\x4c\x24\xf8"), CASE("\x48\x8b\x4c\x24\xf8\xff\xd1"),
		CASE("\x48\x89\x04\x25\x00\x00\x30\x20"), CASE("\x48\xa1\x00\x00\x30\x20\x00\x00\x00\x00"),
		CASE("\x55\x48\x89\xe5\x48\x83\xec\x10"), CASE("\x74\x10\x75\x20\x90"), CASE("\x51\xff\xd1\x90\x90"), CASE("\x52\x51\x50\xff\xd2\x90"),
		CASE("\x89\xc8\xff\x54\x24\x08"), CASE("\x5b\x5d\x41\x5c\xc3"), CASE("\x85\xc0\x0f\x84\x00\x01\x00\x00"),
		CASE("\x0f\xae\x00"), CASE("\x48\x0f\xae\x00"), CASE("\x0f\x01\xd0"), CASE("\x0f\x77"), CASE("\x48\xb9\x88\x77\x66\x55\x44\x33\x22\x11"),
		/* fault: address far away */
		CASE("\x48\x8b\x80\x00\x00\x00\x40"), CASE("\xff\x90\x00\x00\x00\x40"), CASE("\x48\xf7\x34\x24"), CASE("\x90\x90\x48\x89\x81\x00\x00\x00\x40"),
	};
	/* clang-format on */
	struct diff *d = calloc(1, sizeof(*d));

	d->seed = 7;
	diff_start(d);
	for (unsigned round = 0; round < 20; round++)
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			bool done = diff_code(d, (const uint8_t *)cases[i].bytes, cases[i].n);

			ck_assert_msg(done || memcmp(cases[i].bytes, "\xe8\0\0\0", 4) == 0, "case %zu is not run", i);
		}
	machine_stop(&d->m);
	free(d);
}
END_TEST

/* --- real code --- */

struct text {
	const char *name;
	const uint8_t *p;
	size_t n;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct text *t = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, t->name))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			t->p = m_at(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
			t->n = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

/* Instructions whose results differ from run to run, or that lock the tests' memory. */
static bool is_fickle(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_RDRAND || m == ZYDIS_MNEMONIC_RDSEED || m == ZYDIS_MNEMONIC_RDPID || m == ZYDIS_MNEMONIC_WRPKRU ||
	       m == ZYDIS_MNEMONIC_XRSTOR || m == ZYDIS_MNEMONIC_XRSTOR64;
}

static bool is_sequence_fickle(const ZydisDecoder *decoder, const uint8_t *p, size_t n)
{
	ZydisDecodedInstruction in;

	for (size_t off = 0; off < n && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, p + off, n - off, &in)); off += in.length)
		if (is_fickle(in.mnemonic))
			return true;
	return false;
}

START_TEST(libc_code)
{
	enum { SAMPLES = 8000, LENGTH = 24 };
	struct text t = { .name = "libc.so" };
	struct diff *d = calloc(1, sizeof(*d));
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;
	unsigned every, k = 0;

	ck_assert_int_eq(dl_iterate_phdr(find_text, &t), 1);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	d->seed = 11;
	diff_start(d);
	every = (unsigned)(t.n / 4 / SAMPLES) | 1;
	for (size_t off = 0; off + LENGTH < t.n; off += in.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, t.p + off, t.n - off, &in))) {
			in.length = 1;
			continue;
		}
		if (k++ % every == 0 && !is_sequence_fickle(&decoder, t.p + off, LENGTH))
			diff_code(d, t.p + off, LENGTH);
	}
	printf("libc: %u pieces run in place and displaced, %u of them by a jump, %u faulted\n", d->tried, d->jumped, d->faulted);
	ck_assert_uint_gt(d->tried, SAMPLES / 2);
	ck_assert_uint_gt(d->jumped, d->tried / 2);
	ck_assert_uint_lt(d->faulted, d->tried / 3);
	machine_stop(&d->m);
	free(d);
}
END_TEST

/* --- conditions --- */

/* What a loop counts in. */
struct counter {
	enum code_cond_kind kind;
	uint8_t reg, word;
};

enum { LEFT = M_MEM, WORD = M_MEM + 64, ADDEND = M_MEM + 128 };

/* Adds one to the counter, without flags as far as that can be. Gives the length. */
static size_t put_bump(uint8_t *p, const struct counter *c)
{
	const uint32_t addend = ADDEND, word = WORD;
	size_t n = 0;
	uint8_t x = c->reg & 7, high = c->reg & 8;

	if (c->kind == CODE_COND_REG) { /* lea reg, [reg + 1] */
		p[n++] = (uint8_t)(0x48 | (high ? 5 : 0));
		p[n++] = 0x8d;
		p[n++] = (uint8_t)(0x40 | x << 3 | x);
		if (x == 4)
			p[n++] = 0x24;
		p[n++] = 1;
		return n;
	}
	if (c->kind == CODE_COND_WORD || c->kind == CODE_COND_SUM) { /* add qword [WORD], 1 */
		memcpy(p, "\x48\x83\x04\x25", 4);
		memcpy(p + 4, &word, 4);
		p[8] = 1;
		return 9;
	}
	if (c->reg >= 16 || c->word >= 4) { /* vpaddq zmm, zmm, [ADDEND] */
		p[n++] = 0x62;
		p[n++] = (uint8_t)(0x61 | (high ? 0 : 0x80) | (c->reg & 16 ? 0 : 0x10));
		p[n++] = (uint8_t)(0x85 | (~c->reg & 15) << 3);
		p[n++] = (uint8_t)(0x40 | (c->reg & 16 ? 0 : 8));
	} else if (c->word >= 2) { /* vpaddq ymm, ymm, [ADDEND] */
		p[n++] = 0xc5;
		p[n++] = (uint8_t)((high ? 0 : 0x80) | (~c->reg & 15) << 3 | 5);
	} else { /* paddq xmm, [ADDEND] */
		p[n++] = 0x66;
		if (high)
			p[n++] = 0x44;
		p[n++] = 0x0f;
	}
	p[n++] = 0xd4;
	p[n++] = (uint8_t)(x << 3 | 4);
	p[n++] = 0x25;
	memcpy(p + n, &addend, 4);
	return n + 4;
}

/* AT: bump; sub qword [LEFT], 1; jnz AT; int3 */
static void put_loop(const struct counter *c)
{
	const uint32_t left = LEFT;
	uint8_t *p = m_at(AT);
	size_t n;

	memset(p, 0xcc, 64);
	n = put_bump(p, c);
	memcpy(p + n, "\x48\x83\x2c\x25", 4);
	memcpy(p + n + 4, &left, 4);
	p[n + 8] = 1;
	p[n + 9] = 0x75;
	p[n + 10] = (uint8_t)-(int)(n + 11);
}

/* A 64-bit element of a vector register in the XSAVE area. */
static uint8_t *vector_word(struct mstate *s, unsigned reg, unsigned word)
{
	unsigned size, high, high16, ymm, c, d;

	__cpuid_count(0xd, 2, size, ymm, c, d);
	if (reg < 16 && word < 4)
		return word < 2 ? s->xstate + 160 + 16 * reg + 8 * word : s->xstate + ymm + 16 * reg + 8 * (word - 2);
	__cpuid_count(0xd, 6, size, high, c, d);
	__cpuid_count(0xd, 7, size, high16, c, d);
	return reg < 16 ? s->xstate + high + 32 * reg + 8 * (word - 4) : s->xstate + high16 + 64 * (reg - 16) + 8 * word;
}

static uint8_t *place(struct mstate *s, enum code_cond_kind kind, unsigned reg, unsigned word, uint64_t addr)
{
	switch (kind) {
	case CODE_COND_REG:
		return (uint8_t *)machine_gpr(&s->regs, reg);
	case CODE_COND_WORD:
	case CODE_COND_SUM:
		return s->mem + (addr - M_MEM);
	default:
		return vector_word(s, reg, word);
	}
}

static bool is_supported(const struct mstate *s, unsigned reg, unsigned word)
{
	return reg >= 16 || word >= 4 ? machine_has(s, 5) : word < 2 || machine_has(s, 2);
}

/* Of a range that ends with the word at addr, or as far before it as there is memory. */
static void make_sum(struct diff *d, struct mstate *s, uint64_t addr, struct code_cond *ret)
{
	uint64_t before = m_random(&d->seed) % 3 ? m_random(&d->seed) % 40 : m_random(&d->seed) % 600, behind = m_random(&d->seed) % 20;

	before = MIN(before, (addr - M_MEM) / 8);
	*ret = (struct code_cond){ .kind = CODE_COND_SUM, .addr = addr - before * 8, .len = (uint32_t)(before + 1 + behind) * 8 };
	ret->value = eng_sum(s->mem + (ret->addr - M_MEM), ret->len);
}

/* A condition on something, for the state s. */
static struct code_cond any_condition(struct diff *d, struct mstate *s)
{
	struct code_cond c = { .kind = (enum code_cond_kind)(m_random(&d->seed) % CODE_COND_COUNT) };

	c.reg = (uint8_t)(m_random(&d->seed) % (c.kind == CODE_COND_VEC ? 32 : 16));
	c.word = (uint8_t)(m_random(&d->seed) % 8);
	while (c.kind == CODE_COND_VEC && !is_supported(s, c.reg, c.word)) {
		c.reg /= 2;
		c.word /= 2;
	}
	c.addr = M_MEM + 256 + m_random(&d->seed) % 1024 * 8;
	memcpy(&c.value, place(s, c.kind, c.reg, c.word, c.addr), 8);
	if (c.kind == CODE_COND_SUM) /* not of the counter */
		make_sum(d, s, M_MEM + 0x1800 + m_random(&d->seed) % 64 * 8, &c);
	return c;
}

static uint64_t any_value(struct diff *d)
{
	/* around what fits a displacement, negated */
	static const uint64_t values[] = { 0, 5, (uint64_t)-20, 0x7ffffff8, 0x80000000, 0x80000001, 0xfffffff0, 0x123456789abcdef0, 0x7ffffffffffffff0,
					   0xffffffff7ffffff8, 0xffffffff80000000, 0xffffffff80000001 };

	return values[m_random(&d->seed) % ARRAY_SIZE(values)];
}

static void loop_start(struct diff *d, const struct counter *c)
{
	struct mstate *s = &d->start;
	const uint64_t passes = PASSES;
	uint64_t v = any_value(d);

	put_loop(c);
	for (unsigned i = 0; i < 16; i++)
		*machine_gpr(&s->regs, i) = any_value(d);
	s->regs.rip = AT;
	s->regs.eflags = 0x202;
	machine_fill_vectors(s, &d->seed);
	memset(s->mem + (ADDEND - M_MEM), 0, 64);
	s->mem[ADDEND - M_MEM + 8 * c->word] = c->kind == CODE_COND_VEC;
	memcpy(s->mem + (LEFT - M_MEM), &passes, 8);
	memcpy(place(s, c->kind, c->reg, c->word, WORD), &v, 8);
	machine_set(&d->m, s);
}

/* Steps to the wanted pass: the state that a match must show. */
static void loop_step(struct diff *d, unsigned pass)
{
	struct user_regs_struct r;
	unsigned seen = 0;

	while (seen < pass) {
		ck_assert_int_eq(machine_go(&d->m, true), SIGTRAP);
		ck_assert_int_eq(ptrace(PTRACE_GETREGS, d->m.pid, 0, &r), 0);
		seen += r.rip == AT;
	}
	machine_get(&d->m, &d->plain);
	d->plain.signo = SIGTRAP;
	d->plain.fault = 0;
}

static void loop_expect(struct diff *d, const struct code_plan *p, unsigned n, const char *where)
{
	const char *what = machine_differs(&d->plain, &d->moved);
	char text[64];

	snprintf(text, sizeof(text), "%s, %u conditions", where, n);
	if (what)
		diff_fail(d, p, what, text);
}

/* One loop, n conditions: the match comes in the wanted pass, and the rest of the loop without another one. */
static void loop_try(struct diff *d, const struct counter *c, unsigned n)
{
	unsigned pass = (unsigned)m_random(&d->seed) % PASSES, at;
	struct code_cond cond[CODE_CONDS_MAX];
	uint8_t jump[CODE_JUMP_LEN];
	struct code_plan p;
	struct code_tramp t;

	loop_start(d, c);
	ck_assert(code_plan(&code_mem, AT, &p));
	loop_step(d, pass);
	for (unsigned i = 0, sums = 1; i < n; sums += cond[i++].kind == CODE_COND_SUM) {
		cond[i] = any_condition(d, &d->plain);
		while (sums == CODE_SUMS_MAX && cond[i].kind == CODE_COND_SUM)
			cond[i] = any_condition(d, &d->plain);
	}
	at = (unsigned)m_random(&d->seed) % n;
	cond[at] = (struct code_cond){ .kind = c->kind, .reg = c->reg, .word = c->word, .addr = WORD };
	memcpy(&cond[at].value, place(&d->plain, c->kind, c->reg, c->word, WORD), 8);
	if (c->kind == CODE_COND_SUM) {
		cond[at] = (struct code_cond){ .kind = CODE_COND_SUM, .addr = WORD };
		cond[at].len = 8 + (uint32_t)m_random(&d->seed) % 40 * 8;
		cond[at].value = eng_sum(d->plain.mem + (WORD - M_MEM), cond[at].len);
	}
	ck_assert_int_eq(code_tramp_build(&p, M_TRAMP, M_DATA, cond, n, &t), 0);
	memcpy(m_at(M_TRAMP), t.bytes, t.n);
	code_jump(&p, &t, jump);
	memcpy(m_at(AT), jump, sizeof(jump));
	machine_set(&d->m, &d->start);
	machine_run(&d->m, &d->moved);
	ck_assert_uint_eq(d->moved.regs.rip, t.match + 1);
	ck_assert_uint_eq(code_tramp_origin(&p, &t, d->moved.regs.rip), AT);
	d->moved.regs.rip = AT;
	loop_expect(d, &p, n, "match");
	d->moved.regs.rip = t.copy[0];
	machine_set(&d->m, &d->moved);
	machine_run(&d->m, &d->moved);
	memcpy(m_at(AT), p.bytes, CODE_JUMP_LEN);
	machine_set(&d->m, &d->plain);
	machine_run(&d->m, &d->plain);
	loop_expect(d, &p, n, "end");
}

static void loop_counters(struct diff *d, unsigned n)
{
	struct counter c = { .kind = CODE_COND_REG };

	for (c.reg = 0; c.reg < 16; c.reg++)
		loop_try(d, &c, n);
	c = (struct counter){ .kind = CODE_COND_WORD };
	loop_try(d, &c, n);
	c.kind = CODE_COND_SUM;
	for (unsigned i = 0; i < 8; i++)
		loop_try(d, &c, n);
	c.kind = CODE_COND_VEC;
	for (unsigned i = 0; i < 16; i++) {
		c.reg = (uint8_t)(m_random(&d->seed) % 32);
		c.word = (uint8_t)(i % 8);
		if (i < 8)
			c.reg &= 15;
		if (is_supported(&d->start, c.reg, c.word))
			loop_try(d, &c, n);
	}
}

START_TEST(conditions)
{
	struct diff *d = calloc(1, sizeof(*d));

	d->seed = 5;
	diff_start(d);
	for (unsigned n = 1; n <= CODE_CONDS_MAX; n += n < 8 ? 1 : 7)
		loop_counters(d, n);
	machine_stop(&d->m);
	free(d);
}
END_TEST

/* Without conditions every pass is a match. */
START_TEST(no_condition)
{
	struct counter c = { .kind = CODE_COND_REG, .reg = 1 };
	struct diff *d = calloc(1, sizeof(*d));
	uint8_t jump[CODE_JUMP_LEN];
	struct code_plan p;
	struct code_tramp t;

	d->seed = 3;
	diff_start(d);
	loop_start(d, &c);
	d->plain = d->start;
	ck_assert(code_plan(&code_mem, AT, &p));
	ck_assert_int_eq(code_tramp_build(&p, M_TRAMP, M_DATA, NULL, 0, &t), 0);
	memcpy(m_at(M_TRAMP), t.bytes, t.n);
	code_jump(&p, &t, jump);
	memcpy(m_at(AT), jump, sizeof(jump));
	for (uint64_t i = 0; i < PASSES; i++) {
		machine_run(&d->m, &d->moved);
		ck_assert_uint_eq(d->moved.regs.rip, t.match + 1);
		ck_assert_uint_eq(d->moved.regs.rcx, d->start.regs.rcx + i);
		d->moved.regs.rip = t.copy[0];
		machine_set(&d->m, &d->moved);
	}
	machine_run(&d->m, &d->moved);
	ck_assert_uint_eq(d->moved.regs.rip, AT + p.len + 3); /* behind jnz and int3 */
	ck_assert_uint_eq(p.n, 2);
	for (unsigned i = 0; i < p.n; i++)
		ck_assert_uint_eq(code_tramp_origin(&p, &t, t.copy[i]), AT + p.off[i]);
	ck_assert_uint_eq(code_tramp_origin(&p, &t, t.entry), AT);
	ck_assert_uint_eq(code_tramp_origin(&p, &t, t.back), AT + p.len);
	ck_assert_uint_eq(code_tramp_origin(&p, &t, t.back + 1), 0);
	ck_assert_uint_eq(code_tramp_origin(&p, &t, AT), 0);
	machine_stop(&d->m);
	free(d);
}
END_TEST

/* The n-th pass, alone and with another condition that holds or not; and counting for ever. */
START_TEST(counts)
{
	const struct counter c = { .kind = CODE_COND_REG, .reg = 1 };
	struct diff *d = calloc(1, sizeof(*d));
	uint8_t jump[CODE_JUMP_LEN];
	struct code_plan p;
	struct code_tramp t;

	d->seed = 8;
	diff_start(d);
	for (unsigned i = 0; i < 3 * PASSES; i++) {
		uint64_t pass = i % PASSES, count = 0;
		struct code_cond cond[2] = { { .kind = CODE_COND_COUNT, .value = pass + 1 }, { .kind = CODE_COND_REG, .reg = 1 } };
		unsigned n = 1 + i / PASSES;

		loop_start(d, &c);
		ck_assert(code_plan(&code_mem, AT, &p));
		loop_step(d, (unsigned)pass);
		cond[1].value = d->plain.regs.rcx;
		if (n == 3)
			cond[0].value = 0;
		ck_assert_int_eq(code_tramp_build(&p, M_TRAMP, M_DATA, cond, MIN(n, 2u), &t), 0);
		memcpy(m_at(M_TRAMP), t.bytes, t.n);
		memcpy(m_at(M_DATA + CODE_DATA_COUNTER), &count, 8);
		code_jump(&p, &t, jump);
		memcpy(m_at(AT), jump, sizeof(jump));
		machine_set(&d->m, &d->start);
		machine_run(&d->m, &d->moved);
		ck_assert_uint_eq(d->moved.regs.rip, t.match + 1);
		memcpy(&count, m_at(M_DATA + CODE_DATA_COUNTER), 8);
		ck_assert_uint_eq(count, pass + 1);
		d->moved.regs.rip = AT;
		loop_expect(d, &p, n, "count");
	}
	machine_stop(&d->m);
	free(d);
}
END_TEST

START_TEST(limits)
{
	struct code_cond cond[CODE_CONDS_MAX + 1] = { 0 };
	uint8_t code[64] = "\x48\x8b\x05\x00\x00\x00\x00"; /* mov rax, [rip] */
	struct code_plan p = { .at = 0x500000000000, .n = 1, .len = 7 };
	struct code_tramp t;
	const uint64_t gib2 = 0x80000000;

	memcpy(p.bytes, code, 7);
	/* the largest there is fits */
	for (unsigned i = 0; i < CODE_CONDS_MAX; i++)
		cond[i] = (struct code_cond){ .kind = i % 2 ? CODE_COND_VEC : CODE_COND_WORD, .reg = 31, .word = 7, .value = 1ull << 40 };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000000, p.at + 0x10010000, cond, CODE_CONDS_MAX, &t), 0);
	ck_assert_uint_le(t.n, CODE_TRAMP_MAX);
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000000, p.at + 0x10010000, cond, CODE_CONDS_MAX + 1, &t), -EINVAL);
	for (unsigned i = 0; i < CODE_SUMS_MAX; i++)
		cond[4 * i] = (struct code_cond){ .kind = CODE_COND_SUM, .len = CODE_SUM_MAX - 8, .value = 1ull << 40 };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000000, p.at + 0x10010000, cond, CODE_CONDS_MAX, &t), 0);
	ck_assert_uint_le(t.n, CODE_TRAMP_MAX);
	cond[1] = cond[0];
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000000, p.at + 0x10010000, cond, CODE_CONDS_MAX, &t), -EINVAL);
	/* distances: jump, data, operand */
	ck_assert_int_eq(code_tramp_build(&p, p.at - gib2 + 0x10000, p.at, cond, 1, &t), 0);
	ck_assert_int_eq(code_tramp_build(&p, p.at - gib2 - 0x10000, p.at, cond, 1, &t), -ERANGE);
	ck_assert_int_eq(code_tramp_build(&p, p.at + gib2 - 0x1000, p.at, cond, 1, &t), -ERANGE);
	ck_assert_int_eq(code_tramp_build(&p, p.at + gib2 + 0x10000, p.at, cond, 1, &t), -ERANGE);
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at + gib2 + 0x100000, cond, 1, &t), -ERANGE);
	p.bytes[6] = 0x70;
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), 0);
	ck_assert_int_eq(code_tramp_build(&p, p.at - 0x20000000, p.at, cond, 1, &t), -ERANGE);
	/* conditions that cannot be */
	cond[0] = (struct code_cond){ .kind = CODE_COND_REG, .reg = 16 };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), -EINVAL);
	cond[0] = (struct code_cond){ .kind = CODE_COND_VEC, .reg = 32 };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), -EINVAL);
	cond[0] = (struct code_cond){ .kind = CODE_COND_VEC, .word = 8 };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), -EINVAL);
	cond[1] = (struct code_cond){ .kind = CODE_COND_COUNT };
	cond[0] = (struct code_cond){ .kind = CODE_COND_REG };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 2, &t), -EINVAL); /* comes first */
	for (unsigned i = 0; i < 3; i++) {
		cond[0] = (struct code_cond){ .kind = CODE_COND_SUM, .len = (const uint32_t[]){ 0, 12, CODE_SUM_MAX + 8 }[i] };
		ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), -EINVAL);
	}
	cond[0] = (struct code_cond){ .kind = CODE_COND_MAX_ };
	ck_assert_int_eq(code_tramp_build(&p, p.at + 0x10000, p.at, cond, 1, &t), -EINVAL);
}
END_TEST

TEST_MAIN("engine_tramp", special_cases, libc_code, conditions, no_condition, counts, limits)
