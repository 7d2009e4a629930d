/* Checks agent expressions and makes a list of operations of them, with what is known before they run: how deep the stack is at each, where
 * jumps lead. Jumps only lead forwards, so an expression ends, and one walk over it sees everything. */
#include "engine/expr_priv.h"

#include <errno.h>
#include <string.h>

#include "engine/code.h"

/* clang-format off */
static const struct expr_row {
	bool known;
	uint8_t operand; /* bytes of it, most significant first */
	uint8_t takes, gives;
} rows[EXPR_OPS] = {
	[EXPR_ADD] = { true, 0, 2, 1 },
	[EXPR_SUB] = { true, 0, 2, 1 },
	[EXPR_MUL] = { true, 0, 2, 1 },
	[EXPR_DIV_SIGNED] = { true, 0, 2, 1 },
	[EXPR_DIV_UNSIGNED] = { true, 0, 2, 1 },
	[EXPR_REM_SIGNED] = { true, 0, 2, 1 },
	[EXPR_REM_UNSIGNED] = { true, 0, 2, 1 },
	[EXPR_LSH] = { true, 0, 2, 1 },
	[EXPR_RSH_SIGNED] = { true, 0, 2, 1 },
	[EXPR_RSH_UNSIGNED] = { true, 0, 2, 1 },
	[EXPR_LOG_NOT] = { true, 0, 1, 1 },
	[EXPR_BIT_AND] = { true, 0, 2, 1 },
	[EXPR_BIT_OR] = { true, 0, 2, 1 },
	[EXPR_BIT_XOR] = { true, 0, 2, 1 },
	[EXPR_BIT_NOT] = { true, 0, 1, 1 },
	[EXPR_EQUAL] = { true, 0, 2, 1 },
	[EXPR_LESS_SIGNED] = { true, 0, 2, 1 },
	[EXPR_LESS_UNSIGNED] = { true, 0, 2, 1 },
	[EXPR_EXT] = { true, 1, 1, 1 },
	[EXPR_REF8] = { true, 0, 1, 1 },
	[EXPR_REF16] = { true, 0, 1, 1 },
	[EXPR_REF32] = { true, 0, 1, 1 },
	[EXPR_REF64] = { true, 0, 1, 1 },
	[EXPR_IF_GOTO] = { true, 2, 1, 0 },
	[EXPR_GOTO] = { true, 2, 0, 0 },
	[EXPR_CONST8] = { true, 1, 0, 1 },
	[EXPR_CONST16] = { true, 2, 0, 1 },
	[EXPR_CONST32] = { true, 4, 0, 1 },
	[EXPR_CONST64] = { true, 8, 0, 1 },
	[EXPR_REG] = { true, 2, 0, 1 },
	[EXPR_END] = { true, 0, 1, 1 },
	[EXPR_DUP] = { true, 0, 1, 2 },
	[EXPR_POP] = { true, 0, 1, 0 },
	[EXPR_ZERO_EXT] = { true, 1, 1, 1 },
	[EXPR_SWAP] = { true, 0, 2, 2 },
	[EXPR_PICK] = { true, 1, 0, 1 },
	[EXPR_ROT] = { true, 0, 3, 3 },
};
/* clang-format on */

#define NOWHERE -1 /* as a depth: nobody comes here */

struct walk {
	const uint8_t *code;
	size_t len, at;
	struct code_expr *e;
	int depth;
	bool flows; /* the operation before goes on here */
	int8_t depth_at[CODE_EXPR_BYTES_MAX];   /* that jumps bring along */
	int16_t index_of[CODE_EXPR_BYTES_MAX]; /* of the operation that begins there, -1: none */
};

static bool is_const(uint8_t op)
{
	return op >= EXPR_CONST8 && op <= EXPR_CONST64;
}

static uint64_t extended(uint8_t op, uint64_t v, uint64_t bits)
{
	if (bits >= 64)
		return v;
	if (op == EXPR_ZERO_EXT)
		return v & ((1ull << bits) - 1);
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

/* Are the operands of this operation such that it can be done? */
static bool is_possible(const struct walk *w, uint8_t op, uint64_t v)
{
	switch (op) {
	case EXPR_REG:
		return v < EXPR_REGS;
	case EXPR_EXT:
	case EXPR_ZERO_EXT:
		return v > 0 && v <= 64;
	case EXPR_PICK:
		return (int64_t)v < w->depth;
	case EXPR_GOTO:
	case EXPR_IF_GOTO:
		return v > w->at && v < w->len;
	default:
		return true;
	}
}

static int leave_for(struct walk *w, uint64_t to)
{
	if (w->depth_at[to] != NOWHERE && w->depth_at[to] != w->depth)
		return -ENOTSUP;
	w->depth_at[to] = (int8_t)w->depth;
	return 0;
}

static int add(struct walk *w, uint8_t op, uint64_t v, bool is_target)
{
	struct code_expr *e = w->e;

	if ((op == EXPR_EXT || op == EXPR_ZERO_EXT) && !is_target && w->flows && is_const(e->op[e->n - 1].op)) {
		e->op[e->n - 1].value = extended(op, e->op[e->n - 1].value, v);
		return 0;
	}
	if (e->n == CODE_EXPR_OPS_MAX)
		return -ENOTSUP;
	w->index_of[w->at] = (int16_t)e->n;
	e->wants_flags |= op == EXPR_REG && v == EXPR_REG_FLAGS;
	e->op[e->n++] = (struct code_expr_op){ .op = op, .depth = (uint8_t)w->depth, .is_target = is_target, .value = v };
	return 0;
}

/* The operation at w->at, which the walk gets to with w->depth values. */
static int take(struct walk *w, uint8_t op, uint64_t v, bool is_target)
{
	const struct expr_row *row = &rows[op];
	int r;

	if (w->depth < row->takes || !is_possible(w, op, v))
		return -ENOTSUP;
	r = add(w, op, v, is_target);
	w->depth += row->gives - row->takes;
	if (w->depth > (int)CODE_EXPR_DEPTH_MAX)
		r = -ENOTSUP;
	if (r >= 0 && (op == EXPR_GOTO || op == EXPR_IF_GOTO))
		r = leave_for(w, v);
	w->flows = true;
	if (op == EXPR_GOTO || op == EXPR_END) {
		w->depth = NOWHERE;
		w->flows = false;
	}
	return r;
}

static int walk_one(struct walk *w)
{
	uint8_t op = w->code[w->at];
	int jumped = w->depth_at[w->at];
	uint64_t v = 0;
	int r = 0;

	if (op >= EXPR_OPS || !rows[op].known || w->len - w->at - 1 < rows[op].operand)
		return -ENOTSUP;
	for (unsigned i = 0; i < rows[op].operand; i++)
		v = v << 8 | w->code[w->at + 1 + i];
	if (jumped != NOWHERE && w->depth != NOWHERE && jumped != w->depth)
		return -ENOTSUP;
	if (jumped != NOWHERE)
		w->depth = jumped;
	if (w->depth != NOWHERE)
		r = take(w, op, v, jumped != NOWHERE);
	w->at += 1u + rows[op].operand;
	return r;
}

/* From places in the bytecode to operations. */
static int resolve(struct walk *w)
{
	for (unsigned i = 0; i < w->e->n; i++) {
		struct code_expr_op *op = &w->e->op[i];

		if (op->op != EXPR_GOTO && op->op != EXPR_IF_GOTO)
			continue;
		if (w->index_of[op->value] < 0)
			return -ENOTSUP;
		op->to = (uint16_t)w->index_of[op->value];
	}
	return 0;
}

int code_expr_compile(const uint8_t *bytecode, size_t len, struct code_expr *ret)
{
	struct code_expr e = { 0 };
	struct walk w = { .code = bytecode, .len = len, .e = &e };
	int r = 0;

	if (!len || len > CODE_EXPR_BYTES_MAX)
		return -ENOTSUP;
	memset(w.depth_at, NOWHERE, sizeof(w.depth_at));
	memset(w.index_of, 0xff, sizeof(w.index_of));
	while (w.at < len && r >= 0)
		r = walk_one(&w);
	if (r >= 0 && w.depth != NOWHERE) /* it runs out of the end */
		r = -ENOTSUP;
	if (r >= 0)
		r = resolve(&w);
	if (r >= 0)
		*ret = e;
	return r;
}
