/* Decoding, plans, branch targets and operands. What trampolines do is in engine_tramp_test.c. */
#include "engine/code.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/engine_mem.h"
#include "tests/unit/test.h"

enum { BASE = 0x401000, PAGE = 4096 };

/* --- decoding --- */

/* clang-format off */
static const struct {
	const char *bytes;
	uint8_t n;
	enum code_class cls;
	int target; /* from the instruction's end; NO_TARGET */
} insns[] = {
#define NO_TARGET 0x7fffffff
#define INSN(s, c) { s, sizeof(s) - 1, CODE_##c, NO_TARGET }
#define BRANCH(s, c, t) { s, sizeof(s) - 1, CODE_##c, t }
	INSN("\x90", PLAIN), INSN("\x48\x89\xc3", PLAIN), INSN("\xf3\x0f\x1e\xfa", PLAIN), INSN("\xf3\x90", PLAIN),
	INSN("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", PLAIN), INSN("\xf0\x48\x0f\xb1\x15\x01\x02\x03\x04", PLAIN),
	INSN("\x62\xf1\x7c\x48\x10\x05\x00\x00\x00\x00", PLAIN), INSN("\xc5\xf8\x77", PLAIN), INSN("\xa4", PLAIN), INSN("\x48\xab", PLAIN),
	INSN("\x0f\x77", PLAIN), INSN("\x8e\xd8", PLAIN), INSN("\x0f\xae\xe8", PLAIN), INSN("\xf3\x0f\xb8\xc1", PLAIN), INSN("\x48\xb8\1\2\3\4\5\6\7\x08", PLAIN),
	BRANCH("\x74\x05", JCC, 5), BRANCH("\x7f\xfe", JCC, -2), BRANCH("\x0f\x84\x00\x01\x00\x00", JCC, 0x100), BRANCH("\x2e\x75\x05", JCC, 5),
	BRANCH("\x3e\x0f\x8f\xff\xff\xff\xff", JCC, -1), BRANCH("\xf2\x75\x05", JCC, 5),
	BRANCH("\xeb\x10", JUMP, 0x10), BRANCH("\xe9\x00\x00\x00\x80", JUMP, -0x7fffffff - 1), BRANCH("\xf2\xe9\x00\x01\x00\x00", JUMP, 0x100),
	INSN("\xff\xe0", JUMP), INSN("\x3e\xff\xe0", JUMP), INSN("\xff\x25\x01\x00\x00\x00", JUMP), INSN("\x41\xff\x24\xc4", JUMP),
	BRANCH("\xe8\x01\x00\x00\x00", CALL, 1), BRANCH("\x66\x66\x48\xe8\x00\x01\x00\x00", CALL, 0x100), INSN("\xff\xd0", CALL),
	INSN("\xff\x15\x01\x00\x00\x00", CALL), INSN("\xff\x54\x24\x08", CALL), INSN("\x66\x48\xff\x15\x00\x00\x00\x00", CALL),
	INSN("\xc3", RET), INSN("\xf3\xc3", RET), INSN("\xf2\xc3", RET), INSN("\xc2\x10\x00", RET),
	INSN("\xf3\xa4", REP), INSN("\xf3\x48\xab", REP), INSN("\xf2\xae", REP), INSN("\xf3\xa6", REP), INSN("\xf3\x48\xa5", REP), INSN("\xf3\xac", REP),
	INSN("\x0f\x05", KEEP), INSN("\x0f\x34", KEEP), INSN("\xcd\x80", KEEP), INSN("\xcc", KEEP), INSN("\xf1", KEEP), INSN("\x0f\x0b", KEEP), INSN("\x0f\xff\xc0", KEEP),
	INSN("\x0f\xb9\xc0", KEEP), INSN("\xf4", KEEP), INSN("\xfa", KEEP), INSN("\xfb", KEEP),
	BRANCH("\xe3\x10", KEEP, 0x10), BRANCH("\x67\xe3\x10", KEEP, 0x10), BRANCH("\xe2\xfe", KEEP, -2), BRANCH("\xe1\xf0", KEEP, -16), BRANCH("\xe0\xf0", KEEP, -16),
	BRANCH("\xc7\xf8\x10\x00\x00\x00", KEEP, 0x10), INSN("\xc6\xf8\x00", KEEP), INSN("\x0f\x01\xd5", KEEP), INSN("\x0f\x01\xd6", KEEP),
	INSN("\x9c", KEEP), INSN("\x9d", KEEP), INSN("\x66\x9c", KEEP), INSN("\x66\x9d", KEEP), INSN("\x48\xcf", KEEP), INSN("\xcf", KEEP), INSN("\xcb", KEEP), INSN("\xca\x08\x00", KEEP),
	INSN("\xff\x18", KEEP), INSN("\xff\x28", KEEP), INSN("\x48\xff\x28", KEEP), INSN("\x8e\xd0", KEEP), INSN("\x0f\xb2\x00", KEEP),
	INSN("\x0f\x31", KEEP), INSN("\x0f\x01\xf9", KEEP), INSN("\x0f\xa2", KEEP), INSN("\xec", KEEP), INSN("\xe4\x10", KEEP), INSN("\x6c", KEEP), INSN("\xf3\x6e", KEEP),
	INSN("\xd9\xc0", KEEP), INSN("\xdd\x18", KEEP), INSN("\xd9\x38", KEEP), INSN("\xda\xc1", KEEP), INSN("\x9b", KEEP), INSN("\xdb\xe3", KEEP),
	INSN("\x66\xc3", KEEP), INSN("\x66\xff\xe0", KEEP), INSN("\x66\xff\xd0", KEEP), INSN("\x0f\x32", KEEP), INSN("\x0f\x22\xc0", KEEP), INSN("\x0f\x01\xf8", KEEP),
	INSN("\x0f\x01\xc1", KEEP), INSN("\x0f\x01\xd7", KEEP), INSN("\x0f\x00\xc0", KEEP),
	INSN("\x06", BAD), INSN("\xea\x00\x00\x00\x00\x00\x00", BAD), INSN("\x0f\x04", BAD), INSN("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", BAD),
};
/* clang-format on */

START_TEST(classes)
{
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		uint8_t code[64];
		struct mem m = { 0 };
		const struct sys_mem mem = { mem_read, &m };
		struct code_insn in;

		memset(code, 0x90, sizeof(code));
		memcpy(code, insns[i].bytes, insns[i].n);
		mem_put(&m, BASE, code, sizeof(code));
		code_decode(&mem, BASE, &in);
		ck_assert_msg(in.cls == insns[i].cls, "row %zu (%02x %02x...): class %d, not %d", i, code[0], code[1], in.cls, insns[i].cls);
		if (in.cls == CODE_BAD)
			continue;
		ck_assert_msg(in.len == insns[i].n, "row %zu: %u bytes", i, in.len);
		ck_assert_msg(in.has_target == (insns[i].target != NO_TARGET), "row %zu: target", i);
		if (in.has_target)
			ck_assert_uint_eq(in.target, (uint64_t)BASE + in.len + (uint64_t)(int64_t)insns[i].target);
	}
}
END_TEST

START_TEST(strings)
{
	/* clang-format off */
	static const struct {
		const char *bytes;
		struct code_string want; /* size 0: none */
	} rows[] = {
		{ "\xf3\xa4", { 2, 1, true } }, { "\xf2\xa4", { 2, 1, true } }, { "\xf3\x66\xa5", { 3, 2, true } }, { "\x66\xf3\xa5", { 3, 2, true } },
		{ "\xf3\xa5", { 2, 4, true } }, { "\xf3\x48\xa5", { 3, 8, true } }, { "\x66\xf3\x48\xa5", { 4, 8, true } }, { "\x65\xf3\xa4", { 3, 1, true } },
		{ "\xf3\x48\xa4", { 3, 1, true } }, { "\xf3\xaa", { 2, 1, false } }, { "\xf3\x48\xab", { 3, 8, false } }, { "\xf3\xab", { 2, 4, false } },
		{ "\xf3\x66\xab", { 3, 2, false } }, { "\xa4", { 0 } }, { "\xf3\xa6", { 0 } }, { "\xf2\xae", { 0 } }, { "\xf3\xac", { 0 } },
		{ "\x67\xf3\xa4", { 0 } }, { "\xf3\x90", { 0 } }, { "\x48\x89\xc3", { 0 } },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t code[64];
		struct mem m = { 0 };
		const struct sys_mem mem = { mem_read, &m };
		struct code_string s = { 0 };

		memset(code, 0x90, sizeof(code));
		memcpy(code, rows[i].bytes, strlen(rows[i].bytes));
		mem_put(&m, BASE, code, sizeof(code));
		ck_assert_msg(code_string(&mem, BASE, &s) == (rows[i].want.size != 0), "row %zu", i);
		ck_assert_msg(!memcmp(&s, &rows[i].want, sizeof(s)), "row %zu: %u bytes, elements of %u, moves %d", i, s.len, s.size, s.moves);
	}
}
END_TEST

/* Instructions at the end of what can be read. */
START_TEST(page_end)
{
	uint8_t page[PAGE];
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct code_insn in;
	struct code_plan p;

	memset(page, 0x90, sizeof(page));
	memcpy(page + PAGE - 5, "\xe9\x00\x01\x00\x00", 5);
	mem_put(&m, BASE, page, sizeof(page));
	code_decode(&mem, BASE + PAGE - 5, &in);
	ck_assert_int_eq(in.cls, CODE_JUMP);
	ck_assert_uint_eq(in.len, 5);
	code_decode(&mem, BASE + PAGE - 2, &in); /* 00 00: add [rax], al */
	ck_assert_int_eq(in.cls, CODE_PLAIN);
	ck_assert(code_plan_single(&mem, BASE + PAGE - 5, &p));
	ck_assert_uint_eq(p.len, 5);
	ck_assert(code_plan(&mem, BASE + PAGE - 5, &p));
	ck_assert(code_plan(&mem, BASE + PAGE - 6, &p)); /* nop, jmp */
	ck_assert_uint_eq(p.n, 2);
	ck_assert(!code_plan(&mem, BASE + PAGE - 2, &p));
	page[PAGE - 1] = 0xe9; /* cut off */
	code_decode(&mem, BASE + PAGE - 1, &in);
	ck_assert_int_eq(in.cls, CODE_BAD);
	code_decode(&mem, BASE + PAGE, &in);
	ck_assert_int_eq(in.cls, CODE_BAD);
	ck_assert(!code_plan_breakpoint(&mem, BASE + PAGE, &p));
}
END_TEST

/* --- plans --- */

/* clang-format off */
static const struct {
	const char *bytes;
	uint8_t n;
	uint8_t insns, len; /* of code_plan(); 0: refused */
	uint8_t single, breakpoint; /* length of those plans, 0: refused */
} plans[] = {
#define PLAN(s, ...) { s, sizeof(s) - 1, __VA_ARGS__ }
	PLAN("\x90\x90\x90\x90\x90", 5, 5, 0, 1),
	PLAN("\x48\x89\xc3\x48\x89\xc3", 2, 6, 0, 3),
	PLAN("\x48\xb8\1\2\3\4\5\6\7\x08", 0, 0, 0, 10),     /* a constant that other code may read */
	PLAN("\x90\x90\x48\xb8\1\2\3\4\5\6\7\x08", 0, 0, 0, 1),
	PLAN("\x90\x90\x90\x48\xb8\1\2\3\4\5\6\7\x08", 4, 13, 0, 1), /* behind the jump */
	PLAN("\x48\xc7\xc0\1\2\3\4", 1, 7, 7, 7),
	PLAN("\xe8\x00\x01\x00\x00", 1, 5, 5, 5),
	PLAN("\x90\xe8\x00\x01\x00\x00", 2, 6, 0, 1),
	PLAN("\xff\xd0\x90\x90\x90", 0, 0, 0, 2),                /* a return would land in the jump */
	PLAN("\x90\x90\xff\xd0\x90", 0, 0, 0, 1),
	PLAN("\x90\x90\x90\xff\xd0", 4, 5, 0, 1),
	PLAN("\xc3\x90\x90\x90\x90", 0, 0, 0, 1),
	PLAN("\x90\x90\x90\x90\xc3", 5, 5, 0, 1),
	PLAN("\xeb\x20\x90\x90\x90", 0, 0, 0, 2),
	PLAN("\xe9\x00\x01\x00\x00", 1, 5, 5, 5),
	PLAN("\xff\xe0\x90\x90\x90", 0, 0, 0, 2),
	PLAN("\x74\x20\x75\x30\x90", 3, 5, 0, 2),
	PLAN("\x74\x01\x90\x90\x90", 0, 0, 0, 2),                /* leads into the jump */
	PLAN("\x74\xfe\x90\x90\x90", 4, 5, 0, 2),                /* to its first byte */
	PLAN("\x74\x03\x90\x90\x90", 4, 5, 0, 2),                /* behind it */
	PLAN("\x90\x90\x90\x74\xfb", 4, 5, 0, 1),
	PLAN("\x90\x90\x90\x74\xfc", 0, 0, 0, 1),
	PLAN("\xf3\xa4\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x90\x90\x90\xf3\xa4", 0, 0, 0, 1),
	PLAN("\x0f\x05\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x90\x90\x90\x0f\x05", 0, 0, 0, 1),
	PLAN("\xe3\x10\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\xe2\x10\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x9c\x90\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x90\x9d\x90\x90\x90", 0, 0, 0, 1),
	PLAN("\xc7\xf8\x10\x00\x00\x00", 0, 0, 0, 0),            /* xbegin, long enough */
	PLAN("\xcc\x90\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x8e\xd0\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\xdb\x2c\x25\x00\x00\x30\x00", 0, 0, 0, 0),        /* fld, long enough */
	PLAN("\x06\x90\x90\x90\x90", 0, 0, 0, 0),
	PLAN("\x90\x06\x90\x90\x90", 0, 0, 0, 1),
};
/* clang-format on */

START_TEST(plan_rules)
{
	for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
		static uint8_t page[3 * PAGE];
		struct mem m = { 0 };
		const struct sys_mem mem = { mem_read, &m };
		const uint64_t at = BASE + PAGE + 0x100;
		struct code_plan p;
		bool done;

		memset(page, 0x90, sizeof(page));
		memcpy(page + PAGE + 0x100, plans[i].bytes, plans[i].n);
		mem_put(&m, BASE, page, sizeof(page));
		done = code_plan(&mem, at, &p);
		ck_assert_msg(done == (plans[i].insns > 0), "row %zu", i);
		if (done) {
			ck_assert_msg(p.n == plans[i].insns && p.len == plans[i].len && p.at == at, "row %zu: %u instructions, %u bytes", i, p.n, p.len);
			ck_assert_mem_eq(p.bytes, page + PAGE + 0x100, p.len);
			ck_assert_uint_eq(p.off[0], 0);
		}
		ck_assert_msg((code_plan_single(&mem, at, &p) ? p.len : 0) == plans[i].single, "row %zu: single", i);
		ck_assert_msg((code_plan_breakpoint(&mem, at, &p) ? p.len : 0) == plans[i].breakpoint, "row %zu: breakpoint", i);
	}
}
END_TEST

/* A branch of any kind, far from the jump, that leads to one of its bytes. */
static void put_branch(uint8_t *code, uint64_t from, uint64_t to, unsigned kind)
{
	int32_t near = (int32_t)(to - (from + 6));

	if (kind == 0) {
		code[0] = 0x0f;
		code[1] = 0x85;
		memcpy(code + 2, &near, 4);
	} else {
		near++;
		code[0] = kind == 1 ? 0xe9 : 0xe8;
		memcpy(code + 1, &near, 4);
	}
}

/* A branch between `at` + away and the jump's bytes: seen wherever both lie on their pages. */
static void try_branch(struct code_cache *cache, uint8_t *page, const struct sys_mem *mem, uint64_t at, int away, unsigned into, uint64_t key)
{
	uint64_t from = at + (uint64_t)(int64_t)away;
	bool expected = into == 0 || into == CODE_JUMP_LEN;
	struct code_plan p;

	memset(page, 0x90, 5 * PAGE);
	put_branch(page + (from - BASE), from, at + into, (unsigned)key % 3);
	ck_assert_msg(code_plan(mem, at, &p) == expected, "at %lx from %d into %u", at - BASE, away, into);
	for (int i = 0; i < 2; i++)
		ck_assert(code_plan_cached(cache, key, mem, at, &p) == expected);
}

START_TEST(neighbourhood)
{
	static const int aways[] = { -4096, -4095, -4090, -2048, -300, -64, -20, -9, -8, -7, 11, 12, 20, 64, 300, 2048, 4085, 4090 };
	static const unsigned offsets[] = { 0, 1, 0x7fe, PAGE - 5, PAGE - 3, PAGE - 1 };
	static uint8_t page[5 * PAGE];
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct code_cache *cache = code_cache_new();
	uint64_t key = 1;

	mem_put(&m, BASE, page, sizeof(page));
	for (unsigned k = 0; k < ARRAY_SIZE(offsets); k++)
		for (unsigned i = 0; i < ARRAY_SIZE(aways); i++)
			for (unsigned into = 0; into <= CODE_JUMP_LEN; into++)
				try_branch(cache, page, &mem, BASE + 2 * PAGE + offsets[k], aways[i], into, key++);
	code_cache_free(cache);
}
END_TEST

/* A page that could not be read is looked at again, one that could is not. */
START_TEST(cache_remembers)
{
	static uint8_t page[2][PAGE];
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };
	const uint64_t at = BASE + PAGE - 16;
	struct code_cache *cache = code_cache_new();
	struct code_plan p;
	unsigned long reads;

	memset(page, 0x90, sizeof(page));
	mem_put(&m, BASE, page[0], PAGE);
	put_branch(page[1], BASE + PAGE, at + 2, 1);
	ck_assert(code_plan_cached(cache, 1, &mem, at, &p));
	m.n = 0;
	mem_put(&m, BASE, page, sizeof(page));
	ck_assert(!code_plan_cached(cache, 1, &mem, at, &p));
	reads = m.reads;
	ck_assert(!code_plan_cached(cache, 1, &mem, at, &p));
	ck_assert_uint_le(m.reads - reads, 2); /* the bytes at `at`, and the page before that is not there */
	/* other code at the same place, and code that is not to be remembered */
	memset(page, 0x90, sizeof(page));
	ck_assert(!code_plan_cached(cache, 1, &mem, at, &p));
	ck_assert(code_plan_cached(cache, 2, &mem, at, &p));
	ck_assert(code_plan_cached(cache, 0, &mem, at, &p));
	put_branch(page[1], BASE + PAGE, at + 2, 1);
	ck_assert(code_plan_cached(cache, 2, &mem, at, &p));
	ck_assert(!code_plan_cached(cache, 0, &mem, at, &p));
	code_cache_free(cache);
	code_cache_free(NULL);
}
END_TEST

/* A byte of data before the code puts the decoder out of step; the branch behind `at` must be seen all the same. */
START_TEST(out_of_step)
{
	static uint8_t page[3 * PAGE];
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };
	const uint64_t at = BASE + PAGE + 0x200;
	uint8_t *code = page + PAGE + 0x200;
	struct code_plan p;

	memset(page, 0x90, sizeof(page));
	mem_put(&m, BASE, page, sizeof(page));
	/* seen from before: mov rax, imm64 over five nops, jnz and what follows */
	code[-2] = 0x48;
	code[-1] = 0xb8;
	memcpy(code, "\x90\x90\x90\x90\x90\x75\xfb\x90", 8); /* jnz at + 2 */
	ck_assert(!code_plan(&mem, at, &p));
	code[6] = 0xf9; /* jnz at */
	ck_assert(code_plan(&mem, at, &p));
	/* one instruction is replaced whatever leads into it */
	memcpy(code - 2, "\x90\x90\xb8\1\2\3\4\x75\xfa", 9); /* mov eax, imm32; jnz at + 1 */
	ck_assert(code_plan(&mem, at, &p));
	ck_assert_uint_eq(p.n, 1);
}
END_TEST

/* --- operands --- */

struct found {
	uint64_t addr[64];
	unsigned len[64], n;
};

static void note_operand(void *ctx, uint64_t addr, unsigned len)
{
	struct found *f = ctx;

	if (f->n < ARRAY_SIZE(f->addr)) {
		f->addr[f->n] = addr;
		f->len[f->n++] = len;
	}
}

static void find_operands(const char *bytes, size_t n, size_t from, struct found *ret)
{
	static const struct code_regs regs = {
		.gpr = { 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 0x9000 }, .rip = BASE, .fs_base = 0x70000000, .gs_base = 0x80000000
	};
	uint8_t page[PAGE];
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };

	*ret = (struct found){ 0 };
	memset(page, 0xcc, sizeof(page));
	memcpy(page, bytes, n);
	mem_put(&m, BASE, page, sizeof(page));
	code_operands(&mem, BASE + from, 64, &regs, note_operand, ret);
}

START_TEST(operands)
{
	/* clang-format off */
	static const struct { const char *bytes; uint8_t n, from, count; struct { uint64_t addr; unsigned len; } op[5]; } rows[] = {
#define CODE(s) s, sizeof(s) - 1
		{ CODE("\x48\x8b\x03\xc3"), 0, 1, { { 0x4000, 8 } } },
		{ CODE("\x48\x8b\x44\x8b\x10\xc3"), 0, 1, { { 0x4000 + 0x2000 * 4 + 0x10, 8 } } },
		{ CODE("\x48\x8b\x05\x00\x01\x00\x00\xc3"), 0, 1, { { BASE + 7 + 0x100, 8 } } },
		{ CODE("\xc6\x05\x00\x01\x00\x00\x05\xc3"), 0, 1, { { BASE + 7 + 0x100, 1 } } },
		{ CODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xc3"), 0, 1, { { 0x70000028, 8 } } },
		{ CODE("\x65\x8b\x02\xc3"), 0, 1, { { 0x80003000, 4 } } },
		{ CODE("\xc5\xfc\x10\x06\xc3"), 0, 1, { { 0x7000, 32 } } },
		{ CODE("\x48\x8d\x03\x0f\x1f\x03\x0f\x18\x0b\xc3"), 0, 0, { { 0, 0 } } },          /* lea, nop, prefetch */
		{ CODE("\x48\x8b\x1b\x48\x8b\x03\xc3"), 0, 1, { { 0x4000, 8 } } },                  /* rbx is written */
		{ CODE("\x31\xdb\x8b\x03\xc3"), 0, 0, { { 0, 0 } } },
		{ CODE("\xb3\x01\x8b\x03\xc3"), 0, 0, { { 0, 0 } } },                              /* so is a part of it */
		{ CODE("\x48\xa5\x8b\x03\xc3"), 0, 3, { { 0x8000, 8 }, { 0x7000, 8 }, { 0x4000, 4 } } }, /* movsq */
		{ CODE("\x50\x8b\x03\xc3"), 0, 1, { { 0x4000, 4 } } },                             /* push: not told */
		{ CODE("\xe8\x00\x00\x00\x00\x8b\x02\x8b\x03\x8b\x04\x24\xc3"), 0, 2, { { 0x4000, 4 }, { 0x5000, 4 } } }, /* calls keep rbx and rsp, not rdx */
		{ CODE("\xeb\x02\x8b\x03\x8b\x02\xc3"), 0, 1, { { 0x3000, 4 } } },                  /* over what is jumped over */
		{ CODE("\x74\x02\x8b\x03\x8b\x02\xc3"), 0, 2, { { 0x4000, 4 }, { 0x3000, 4 } } },
		/* back once: [rbx] from the loop's head, then out of it */
		{ CODE("\x8b\x03\x8b\x02\x75\xfa\x8b\x06\xc3"), 2, 4, { { 0x3000, 4 }, { 0x4000, 4 }, { 0x3000, 4 }, { 0x7000, 4 } } },
		{ CODE("\x8b\x03\x8b\x02\xeb\xfa\x8b\x06\xc3"), 2, 3, { { 0x3000, 4 }, { 0x4000, 4 }, { 0x3000, 4 } } },
		{ CODE("\x67\x8b\x83\x00\x80\xff\xff\xc3"), 0, 1, { { 0xffffc000, 4 } } },
		{ CODE("\xff\xe0\x8b\x03"), 0, 0, { { 0, 0 } } },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct found f;

		find_operands(rows[i].bytes, rows[i].n, rows[i].from, &f);
		ck_assert_msg(f.n == rows[i].count, "row %zu: %u operands", i, f.n);
		for (unsigned k = 0; k < f.n; k++)
			ck_assert_msg(f.addr[k] == rows[i].op[k].addr && f.len[k] == rows[i].op[k].len, "row %zu: operand %u is %lx, %u bytes", i, k,
				      f.addr[k], f.len[k]);
	}
}
END_TEST

START_TEST(named)
{
	/* mov rax, [rip + 0x100]; mov rax, [rbx]; an unknown byte; lea rdx, [rip + 0x200]; ret; lea rdx, [rbx];
	 * add byte [rip - 8], 5; not looked at: .. */
	static const char code[] = "\x48\x8b\x05\x00\x01\x00\x00\x48\x8b\x03\x06\x48\x8d\x15\x00\x02\x00\x00\xc3\x48\x8d\x13"
				   "\x80\x05\xf8\xff\xff\xff\x05\x48\x8b\x05\x00\x01\x00\x00";
	uint8_t page[PAGE] = { 0 };
	struct mem m = { 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct found f = { 0 };

	memcpy(page, code, sizeof(code));
	mem_put(&m, BASE, page, sizeof(page));
	code_named(&mem, BASE, BASE + 29, note_operand, &f);
	ck_assert_uint_eq(f.n, 3);
	ck_assert(f.addr[0] == BASE + 7 + 0x100 && f.len[0] == 8);
	ck_assert(f.addr[1] == BASE + 18 + 0x200 && f.len[1] == 0);
	ck_assert(f.addr[2] == BASE + 29 - 8 && f.len[2] == 1);
	f.n = 0;
	code_named(&mem, BASE + 2 * PAGE, BASE + 3 * PAGE, note_operand, &f); /* nothing is there */
	ck_assert_uint_eq(f.n, 0);
}
END_TEST

/* --- real programs --- */

enum { SAMPLES = 100000 };

struct image {
	const uint8_t *file;
	size_t size;
	const uint8_t *text;
	size_t n;
};

static int image_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct image *im = ctx;

	if (addr < BASE || addr - BASE > im->n || n > im->n - (addr - BASE))
		return -EFAULT;
	memcpy(buf, im->text + (addr - BASE), n);
	return 0;
}

/* The largest executable segment of a file. */
static bool image_open(const char *path, struct image *ret)
{
	struct image im = { 0 };
	const Elf64_Phdr *ph;
	const Elf64_Ehdr *eh;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ck_assert_int_eq(fstat(fd, &st), 0);
	im.size = (size_t)st.st_size;
	im.file = mmap(NULL, im.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	ck_assert_ptr_ne(im.file, MAP_FAILED);
	eh = (const Elf64_Ehdr *)(const void *)im.file;
	if (im.size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	ph = (const Elf64_Phdr *)(const void *)(im.file + eh->e_phoff);
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X && ph[i].p_filesz > im.n) {
			im.text = im.file + ph[i].p_offset;
			im.n = ph[i].p_filesz;
		}
	*ret = im;
	return im.text != NULL;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Do its parts fit together? */
static bool is_sound(const struct image *im, const struct code_plan *p)
{
	return p->len >= CODE_JUMP_LEN && p->n >= 1 && p->n <= CODE_JUMP_LEN && p->off[p->n - 1] < CODE_JUMP_LEN &&
	       memcmp(p->bytes, im->text + (p->at - BASE), p->len) == 0;
}

struct tally {
	unsigned tried, taken, single;
};

/* code_plan() with the cache, and now and then without it: the same answer. */
static void sample_place(const struct image *im, struct code_cache *cache, uint64_t at, struct tally *t)
{
	const struct sys_mem mem = { image_read, (void *)(uintptr_t)im };
	struct code_plan p, q;
	bool done = code_plan_cached(cache, 1, &mem, at, &p);

	t->tried++;
	t->taken += done;
	/* an assertion that holds costs a system call: too much for each place */
	if (done && !is_sound(im, &p))
		ck_abort_msg("a plan of %u instructions, %u bytes", p.n, p.len);
	t->single += done && p.n == 1;
	if (t->tried % 128 == 0) {
		ck_assert(code_plan(&mem, at, &q) == done);
		ck_assert(!done || memcmp(&p, &q, sizeof(p)) == 0);
	}
}

/* Runs of instructions all over the text. The first ones of each are not tried: the decoder is not in step yet. */
static void sample(const char *name, const struct image *im)
{
	enum { RUNS = 1000, FIRST = 30, EACH = FIRST + SAMPLES / RUNS };
	const struct sys_mem mem = { image_read, (void *)(uintptr_t)im };
	struct code_cache *cache = code_cache_new();
	struct tally t = { 0 };

	for (uint64_t run = 0; run < RUNS; run++) {
		uint64_t at = BASE + run * (im->n / RUNS);

		for (unsigned k = 0; k < EACH; k++) {
			struct code_insn in;

			code_decode(&mem, at, &in);
			if (k >= FIRST)
				sample_place(im, cache, at, &t);
			at += in.cls == CODE_BAD ? 1 : in.len;
		}
	}
	printf("%s: %u places, a jump can stand at %.1f %%, over one instruction at %.1f %%\n", name, t.tried, 100.0 * t.taken / t.tried,
	       100.0 * t.single / t.tried);
	ck_assert_uint_gt(t.taken, t.tried / 2);
	code_cache_free(cache);
}

typedef bool (*plan_fn)(const struct sys_mem *mem, uint64_t at, struct code_plan *ret);

static void time_plans(const char *name, plan_fn fn, const struct sys_mem *mem, const uint64_t *at, unsigned n)
{
	double start = seconds();
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++) {
		struct code_plan p;

		taken += fn(mem, at[i], &p);
	}
	printf("%s: %.2f us (%u of %u)\n", name, (seconds() - start) / n * 1e6, taken, n);
}

/* Not checked: told for those who wonder. */
START_TEST(cost)
{
	enum { N = 2000 };
	struct image im;
	const struct sys_mem mem = { image_read, &im };
	struct code_cache *cache = code_cache_new();
	static uint64_t at[N];
	static struct code_tramp t;
	struct code_cond cond[16] = { 0 };
	struct code_plan p;
	struct code_insn in;
	unsigned n = 0;
	double start;

	if (!image_open("/usr/bin/python3", &im))
		return;
	for (uint64_t a = BASE, k = 0; a < BASE + im.n && n < N; a += in.cls == CODE_BAD ? 1 : in.len) {
		code_decode(&mem, a, &in);
		if (k++ % 37 == 0)
			at[n++] = a;
	}
	time_plans("code_plan_single", code_plan_single, &mem, at, n);
	time_plans("code_plan", code_plan, &mem, at, n);
	for (int round = 0; round < 2; round++) {
		start = seconds();
		for (unsigned i = 0; i < n; i++)
			code_plan_cached(cache, 1, &mem, at[i], &p);
		printf("code_plan_cached, %s: %.2f us\n", round ? "again" : "first", (seconds() - start) / n * 1e6);
	}
	ck_assert(code_plan_single(&mem, at[0], &p) || code_plan_breakpoint(&mem, at[0], &p));
	for (unsigned conds = 0; conds <= 16; conds += 8) {
		start = seconds();
		for (unsigned i = 0; i < N; i++)
			ck_assert_int_eq(code_tramp_build(&p, BASE + 0x1000000, BASE + 0x1010000, cond, conds, &t), 0);
		printf("code_tramp_build, %u conditions: %.2f us\n", conds, (seconds() - start) / N * 1e6);
	}
	code_cache_free(cache);
	munmap((void *)(uintptr_t)im.file, im.size);
}
END_TEST

START_TEST(programs)
{
	static const char *const files[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/bin/python3", "/usr/bin/node", "/usr/local/bin/node",
					     "/usr/lib/jvm/*/lib/server/libjvm.so" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		glob_t g;

		if (glob(files[i], 0, NULL, &g) == 0) {
			struct image im;

			if (image_open(g.gl_pathv[0], &im)) {
				sample(g.gl_pathv[0], &im);
				munmap((void *)(uintptr_t)im.file, im.size);
			}
			globfree(&g);
		}
	}
}
END_TEST

TEST_MAIN("engine_code", classes, strings, page_end, plan_rules, neighbourhood, cache_remembers, out_of_step, operands, named, programs, cost)
