/* inspector/expr: DWARF expressions. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <string.h>
#include "tests/unit/test.h"

static const uint64_t memory[4] = { 0x1111, 0x8070605040302010, 0xffff, 0 };
#define BASE 0x5000ull

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	if (addr < BASE || addr + n > BASE + sizeof(memory) || addr + n < addr)
		return false;
	memcpy(buf, (const uint8_t *)memory + (addr - BASE), n);
	return true;
}

static const struct unwind_regs regs = { .v = { [0] = 7, [UNWIND_RBP] = BASE, [UNWIND_RSP] = BASE - 8 },
					 .known = 1u << 0 | 1u << UNWIND_RBP | 1u << UNWIND_RSP };

static struct expr_context context(void)
{
	return (struct expr_context){ .regs = &regs, .read = read_memory, .bias = 0x100000, .has_cfa = true, .cfa = BASE + 16 };
}

static int run(const Dwarf_Op *ops, size_t n, struct expr_result *ret)
{
	struct expr_context x = context();

	return expr_run(&x, ops, n, ret);
}

#define RUN(ret, ...) ({ const Dwarf_Op ops_[] = { __VA_ARGS__ }; run(ops_, ARRAY_SIZE(ops_), ret); })

static uint64_t value(const Dwarf_Op *ops, size_t n)
{
	struct expr_result v;

	ck_assert_int_eq(run(ops, n, &v), 0);
	ck_assert_int_eq(v.kind, EXPR_VALUE);
	return v.v;
}

#define VALUE(...) ({ const Dwarf_Op ops_[] = { __VA_ARGS__, { .atom = DW_OP_stack_value } }; value(ops_, ARRAY_SIZE(ops_)); })

START_TEST(kinds)
{
	struct expr_result v;

	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_reg3 }), 0);
	ck_assert(v.kind == EXPR_REGISTER && v.v == 3);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_regx, .number = 9 }), 0);
	ck_assert(v.kind == EXPR_REGISTER && v.v == 9);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_breg6, .number = (uint64_t)-8 }), 0);
	ck_assert(v.kind == EXPR_MEMORY && v.v == BASE - 8);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_call_frame_cfa }, { .atom = DW_OP_plus_uconst, .number = 4 }), 0);
	ck_assert(v.kind == EXPR_MEMORY && v.v == BASE + 20);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_addr, .number = 0x40 }), 0);
	ck_assert_uint_eq(v.v, 0x100040); /* where it is loaded */
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_implicit_value }), 0);
	ck_assert(v.kind == EXPR_BLOCK);
}
END_TEST

#define NUM(v) { .atom = DW_OP_consts, .number = (uint64_t)(v) }

START_TEST(arithmetic)
{
	/* operation, left, right, result */
	static const int64_t t[][4] = {
		{ DW_OP_plus, 5, -7, -2 },	 { DW_OP_minus, 5, 7, -2 },    { DW_OP_mul, -3, 4, -12 },  { DW_OP_div, -12, 4, -3 },
		{ DW_OP_mod, 13, 5, 3 },	 { DW_OP_and, 12, 10, 8 },     { DW_OP_or, 12, 10, 14 },   { DW_OP_xor, 12, 10, 6 },
		{ DW_OP_shl, 1, 4, 16 },	 { DW_OP_shl, 1, 64, 0 },      { DW_OP_shr, -1, 63, 1 },   { DW_OP_shra, -16, 2, -4 },
		{ DW_OP_shra, -16, 99, -1 },	 { DW_OP_eq, 4, 4, 1 },	       { DW_OP_ne, 4, 4, 0 },	   { DW_OP_lt, -1, 0, 1 },
		{ DW_OP_gt, -1, 0, 0 },		 { DW_OP_le, 3, 3, 1 },	       { DW_OP_ge, -1, 3, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_msg((int64_t)VALUE(NUM(t[i][1]), NUM(t[i][2]), { .atom = (uint8_t)t[i][0] }) == t[i][3], "row %zu", i);
	ck_assert_int_eq((int64_t)VALUE(NUM(5), { .atom = DW_OP_neg }), -5);
	ck_assert_int_eq((int64_t)VALUE(NUM(-5), { .atom = DW_OP_abs }), 5);
	ck_assert_int_eq((int64_t)VALUE(NUM(0), { .atom = DW_OP_not }), -1);
	ck_assert_uint_eq(VALUE({ .atom = DW_OP_lit31 }), 31);
}
END_TEST

START_TEST(the_stack)
{
	ck_assert_uint_eq(VALUE(NUM(1), NUM(2), { .atom = DW_OP_swap }, { .atom = DW_OP_minus }), 1);
	ck_assert_uint_eq(VALUE(NUM(1), NUM(2), { .atom = DW_OP_over }), 1);
	ck_assert_uint_eq(VALUE(NUM(9), NUM(2), { .atom = DW_OP_drop }), 9);
	ck_assert_uint_eq(VALUE(NUM(3), { .atom = DW_OP_dup }, { .atom = DW_OP_mul }), 9);
	ck_assert_uint_eq(VALUE(NUM(1), NUM(2), NUM(3), { .atom = DW_OP_pick, .number = 2 }), 1);
	/* the top goes to the third place */
	ck_assert_uint_eq(VALUE(NUM(1), NUM(2), NUM(3), { .atom = DW_OP_rot }), 2);
	ck_assert_uint_eq(VALUE({ .atom = DW_OP_breg6, .number = 8 }, { .atom = DW_OP_deref }), memory[1]);
	ck_assert_uint_eq(VALUE({ .atom = DW_OP_breg6, .number = 8 }, { .atom = DW_OP_deref_size, .number = 2 }), 0x2010);
}
END_TEST

START_TEST(jumps)
{
	/* offsets as they are in bytes: const 0, bra 2, lit1 5, skip 6, lit2 9 */
	const Dwarf_Op ops[] = {
		{ .atom = DW_OP_const1u, .number = 1, .offset = 0 }, { .atom = DW_OP_bra, .number = 4, .offset = 2 },
		{ .atom = DW_OP_lit1, .offset = 5 },		     { .atom = DW_OP_skip, .number = 1, .offset = 6 },
		{ .atom = DW_OP_lit2, .offset = 9 },		     { .atom = DW_OP_stack_value, .offset = 10 },
	};
	const Dwarf_Op loop[] = { { .atom = DW_OP_skip, .number = (uint64_t)-3, .offset = 0 } };
	struct expr_result v;

	ck_assert_uint_eq(value(ops, ARRAY_SIZE(ops)), 2);
	ck_assert_int_eq(run(loop, 1, &v), ERR_LIMIT);
}
END_TEST

START_TEST(refusals)
{
	static Dwarf_Op many[INSPECT_STACK_MAX + 1];
	struct expr_context x = context();
	struct expr_result v;

	ck_assert_int_eq(run(NULL, 0, &v), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_breg3 }), ERR_NOT_FOUND); /* a register that is not known */
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_bregx, .number = 99 }), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_plus }), ERR_CORRUPT);
	ck_assert_int_eq(RUN(&v, NUM(1), NUM(0), { .atom = DW_OP_div }), ERR_CORRUPT);
	ck_assert_int_eq(RUN(&v, NUM(INT64_MIN), NUM(-1), { .atom = DW_OP_div }), ERR_CORRUPT);
	ck_assert_int_eq(RUN(&v, NUM(1), { .atom = DW_OP_deref }), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_breg6 }, { .atom = DW_OP_deref_size, .number = 9 }), ERR_CORRUPT);
	ck_assert_int_eq(RUN(&v, NUM(1), { .atom = DW_OP_pick, .number = 1 }), ERR_CORRUPT);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_fbreg, .number = 8 }), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_reg3 }, { .atom = DW_OP_piece, .number = 8 }), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = DW_OP_GNU_entry_value }, { .atom = DW_OP_stack_value }), ERR_NOT_FOUND);
	ck_assert_int_eq(RUN(&v, { .atom = 0xff }), ERR_NOT_FOUND);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i].atom = DW_OP_lit0;
	ck_assert_int_eq(run(many, ARRAY_SIZE(many), &v), ERR_LIMIT);
	x.has_frame_base = true;
	x.frame_base = 0x100;
	ck_assert_int_eq(expr_run(&x, &(Dwarf_Op){ .atom = DW_OP_fbreg, .number = 8 }, 1, &v), 0);
	ck_assert_uint_eq(v.v, 0x108);
	x.has_cfa = false;
	ck_assert_int_eq(expr_run(&x, &(Dwarf_Op){ .atom = DW_OP_call_frame_cfa }, 1, &v), ERR_NOT_FOUND);
}
END_TEST

TEST_MAIN("inspector expr", kinds, arithmetic, the_stack, jumps, refusals)
