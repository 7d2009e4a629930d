/* See agent_priv.h. The bytecode is documented in gdb's manual, "The GDB Agent Expression Mechanism". Each operation is a row: how many values it
 * takes from the stack and needs room for, how many bytes of operand follow, and its function. Operations of tracepoints have no row. */
#include "gdbstub/agent_priv.h"

#include <errno.h>
#include <string.h>

struct machine {
	const uint8_t *code;
	size_t n, pc;
	const struct agent_target *t;
	uint64_t stack[AGENT_STACK_MAX];
	unsigned depth;
	unsigned op;
	uint64_t operand; /* big-endian bytes after the operation */
	bool done;
};

struct op {
	uint8_t takes, gives, operand;
	int (*fn)(struct machine *m, uint64_t *top); /* top[-1] is the top of the stack before; takes and gives are applied after */
};

enum {
	OP_ADD = 0x02, OP_SUB, OP_MUL, OP_DIV_SIGNED, OP_DIV_UNSIGNED, OP_REM_SIGNED, OP_REM_UNSIGNED, OP_LSH, OP_RSH_SIGNED, OP_RSH_UNSIGNED,
	OP_LOG_NOT = 0x0e, OP_BIT_AND, OP_BIT_OR, OP_BIT_XOR, OP_BIT_NOT, OP_EQUAL, OP_LESS_SIGNED, OP_LESS_UNSIGNED, OP_EXT, OP_REF8, OP_REF16,
	OP_REF32, OP_REF64, OP_IF_GOTO = 0x20, OP_GOTO, OP_CONST8, OP_CONST16, OP_CONST32, OP_CONST64, OP_REG, OP_END, OP_DUP, OP_POP, OP_ZERO_EXT,
	OP_SWAP, OP_PICK = 0x32, OP_ROT,
};

static int divide(unsigned op, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	if (!b)
		return -EDOM;
	switch (op) {
	case OP_DIV_UNSIGNED:
		*ret = a / b;
		break;
	case OP_REM_UNSIGNED:
		*ret = a % b;
		break;
	case OP_DIV_SIGNED: /* INT64_MIN / -1 traps on x86 */
		*ret = sb == -1 ? -a : (uint64_t)(sa / sb);
		break;
	default:
		*ret = sb == -1 ? 0 : (uint64_t)(sa % sb);
	}
	return 0;
}

static uint64_t shift(unsigned op, uint64_t a, uint64_t b)
{
	bool negative = op == OP_RSH_SIGNED && (int64_t)a < 0;

	if (b > 63)
		return negative ? UINT64_MAX : 0;
	if (op == OP_LSH)
		return a << b;
	return op == OP_RSH_SIGNED ? (uint64_t)((int64_t)a >> b) : a >> b;
}

static int op_arith(struct machine *m, uint64_t *top)
{
	uint64_t a = top[-2], b = top[-1];

	switch (m->op) {
	case OP_ADD:
		top[-2] = a + b;
		return 0;
	case OP_SUB:
		top[-2] = a - b;
		return 0;
	case OP_MUL:
		top[-2] = a * b;
		return 0;
	}
	return divide(m->op, a, b, &top[-2]);
}

static int op_bits(struct machine *m, uint64_t *top)
{
	uint64_t a = top[-2], b = top[-1];

	switch (m->op) {
	case OP_BIT_AND:
		top[-2] = a & b;
		break;
	case OP_BIT_OR:
		top[-2] = a | b;
		break;
	case OP_BIT_XOR:
		top[-2] = a ^ b;
		break;
	default:
		top[-2] = shift(m->op, a, b);
	}
	return 0;
}

static int op_compare(struct machine *m, uint64_t *top)
{
	uint64_t a = top[-2], b = top[-1];

	top[-2] = m->op == OP_EQUAL ? a == b : m->op == OP_LESS_SIGNED ? (int64_t)a < (int64_t)b : a < b;
	return 0;
}

static int op_not(struct machine *m, uint64_t *top)
{
	top[-1] = m->op == OP_LOG_NOT ? !top[-1] : ~top[-1];
	return 0;
}

/* The operand is the number of low bits that count. */
static int op_extend(struct machine *m, uint64_t *top)
{
	unsigned bits = (unsigned)m->operand;

	if (!bits || bits >= 64)
		return bits == 64 ? 0 : ERR_PROTOCOL;
	top[-1] <<= 64 - bits;
	top[-1] = m->op == OP_EXT ? (uint64_t)((int64_t)top[-1] >> (64 - bits)) : top[-1] >> (64 - bits);
	return 0;
}

static int op_ref(struct machine *m, uint64_t *top)
{
	uint64_t value = 0;
	int r = m->t->read(m->t->ctx, top[-1], &value, (size_t)1 << (m->op - OP_REF8));

	if (r >= 0)
		top[-1] = value;
	return r < 0 ? r : 0;
}

static int op_const(struct machine *m, uint64_t *top)
{
	top[0] = m->operand;
	return 0;
}

static int op_reg(struct machine *m, uint64_t *top)
{
	int r = m->t->reg(m->t->ctx, (unsigned)m->operand, &top[0]);

	return r < 0 ? r : 0;
}

static int op_goto(struct machine *m, uint64_t *top)
{
	if (m->op == OP_GOTO || top[-1])
		m->pc = (size_t)m->operand;
	return 0;
}

static int op_end(struct machine *m, uint64_t *top)
{
	(void)top;
	m->done = true;
	return 0;
}

static int op_stack(struct machine *m, uint64_t *top)
{
	uint64_t a;

	switch (m->op) {
	case OP_DUP:
		top[0] = top[-1];
		break;
	case OP_SWAP:
		a = top[-1];
		top[-1] = top[-2];
		top[-2] = a;
		break;
	case OP_ROT: /* a b c => c a b */
		a = top[-1];
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = a;
		break;
	}
	return 0;
}

/* The operand counts down from the top, which is 0. */
static int op_pick(struct machine *m, uint64_t *top)
{
	if (m->operand >= m->depth)
		return ERR_PROTOCOL;
	top[0] = top[-1 - (ptrdiff_t)m->operand];
	return 0;
}

/* clang-format off */
static const struct op ops[] = {
	[OP_ADD] = { 2, 1, 0, op_arith }, [OP_SUB] = { 2, 1, 0, op_arith }, [OP_MUL] = { 2, 1, 0, op_arith },
	[OP_DIV_SIGNED] = { 2, 1, 0, op_arith }, [OP_DIV_UNSIGNED] = { 2, 1, 0, op_arith },
	[OP_REM_SIGNED] = { 2, 1, 0, op_arith }, [OP_REM_UNSIGNED] = { 2, 1, 0, op_arith },
	[OP_LSH] = { 2, 1, 0, op_bits }, [OP_RSH_SIGNED] = { 2, 1, 0, op_bits }, [OP_RSH_UNSIGNED] = { 2, 1, 0, op_bits },
	[OP_BIT_AND] = { 2, 1, 0, op_bits }, [OP_BIT_OR] = { 2, 1, 0, op_bits }, [OP_BIT_XOR] = { 2, 1, 0, op_bits },
	[OP_LOG_NOT] = { 1, 1, 0, op_not }, [OP_BIT_NOT] = { 1, 1, 0, op_not },
	[OP_EQUAL] = { 2, 1, 0, op_compare }, [OP_LESS_SIGNED] = { 2, 1, 0, op_compare }, [OP_LESS_UNSIGNED] = { 2, 1, 0, op_compare },
	[OP_EXT] = { 1, 1, 1, op_extend }, [OP_ZERO_EXT] = { 1, 1, 1, op_extend },
	[OP_REF8] = { 1, 1, 0, op_ref }, [OP_REF16] = { 1, 1, 0, op_ref }, [OP_REF32] = { 1, 1, 0, op_ref }, [OP_REF64] = { 1, 1, 0, op_ref },
	[OP_IF_GOTO] = { 1, 0, 2, op_goto }, [OP_GOTO] = { 0, 0, 2, op_goto },
	[OP_CONST8] = { 0, 1, 1, op_const }, [OP_CONST16] = { 0, 1, 2, op_const }, [OP_CONST32] = { 0, 1, 4, op_const },
	[OP_CONST64] = { 0, 1, 8, op_const },
	[OP_REG] = { 0, 1, 2, op_reg }, [OP_END] = { 1, 1, 0, op_end },
	[OP_DUP] = { 1, 2, 0, op_stack }, [OP_POP] = { 1, 0, 0, op_stack }, [OP_SWAP] = { 2, 2, 0, op_stack }, [OP_ROT] = { 3, 3, 0, op_stack },
	[OP_PICK] = { 0, 1, 1, op_pick },
};
/* clang-format on */

static int step(struct machine *m)
{
	const struct op *op;
	int r;

	if (m->pc >= m->n)
		return ERR_PROTOCOL;
	m->op = m->code[m->pc++];
	op = m->op < ARRAY_SIZE(ops) ? &ops[m->op] : NULL;
	if (!op || !op->fn || m->n - m->pc < op->operand)
		return ERR_PROTOCOL;
	if (m->depth < op->takes || m->depth - op->takes + op->gives > AGENT_STACK_MAX)
		return ERR_PROTOCOL;
	m->operand = 0;
	for (unsigned i = 0; i < op->operand; i++)
		m->operand = m->operand << 8 | m->code[m->pc++];
	r = op->fn(m, m->stack + m->depth);
	m->depth = m->depth - op->takes + op->gives;
	return r;
}

int agent_eval(const uint8_t *code, size_t n, const struct agent_target *t, uint64_t *ret)
{
	struct machine m = { .code = code, .n = n, .t = t };

	for (unsigned i = 0; i < AGENT_STEPS_MAX; i++) {
		int r = step(&m);

		if (r < 0)
			return r;
		if (m.done) {
			*ret = m.stack[m.depth - 1];
			return 0;
		}
	}
	return ERR_LIMIT;
}
