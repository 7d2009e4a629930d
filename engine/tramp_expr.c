/* Trampolines whose test is an expression. Stack machine to machine code, one operation after the other:
 *
 *		5 bytes of nothing
 *	entry:	rax, rcx, rdx to their slots; [rsp swapped: pushf to its slot, for those who ask for flags]
 *		flags to their slot                (lahf, seto: cheap both ways, other than pushf and popf)
 *		the operations: the top of the stack is in rax, what is below it in the data area; rcx, rdx are free
 *	end:	test rax, rax
 *		jnz true
 *		restore, displaced instructions, jmp behind them
 *	true:	restore
 *	match:	int3
 *	        restore
 *	undecided: int3                            where a reference that must not be made leads to, and too wide shifts
 *
 * All other registers, rsp among them, stay the guest's. At every instruction it is known what is in the slots: see code_tramp_rescue(). */
#include "engine/tramp_priv.h"

#include <errno.h>
#include <string.h>

#include "engine/expr_priv.h"

/* The longest: a reference with its check, behind a push. With many references not all of them can have many checks. */
#define OP_BYTES_MAX 40u
#define CHECK_BYTES_MAX 32u
#define CHECKS_MAX 64u
static_assert(CODE_EXPR_OPS_MAX * OP_BYTES_MAX + 1024 <= CODE_TRAMP_MAX, "any expression fits");
static_assert(CODE_EXPR_OPS_MAX * 31 + CHECKS_MAX * CHECK_BYTES_MAX + 1024 <= CODE_TRAMP_MAX, "and with as many checks as there may be");

#define ARITHMETIC_FLAGS 0x8d5ull /* overflow, and those that lahf has */
#define OVERFLOW_FLAG 0x800ull
#define TRAP_FLAG 0x100u
#define RESUME_FLAG 0x10000ull /* the processor sets it with a fault */

struct expr_builder {
	struct tramp_builder b;
	const struct code_expr *e;
	const struct code_hidden *hidden;
	unsigned n_hidden;
	uint32_t at[CODE_EXPR_OPS_MAX]; /* where the operation's code begins */
	/* Displacements of jumps: offset, and to which operation, or one of these. */
	struct expr_jump {
		uint32_t from;
		uint16_t to;
	} jump[2 * CODE_EXPR_OPS_MAX];
	unsigned jumps;
	uint32_t end, undecided;
};
enum { TO_END = 0xfffe, TO_UNDECIDED = 0xffff };

static void emit_jump_to(struct expr_builder *x, uint16_t to)
{
	x->jump[x->jumps++] = (struct expr_jump){ x->b.t->n, to };
	tramp_emit32(&x->b, 0);
}

static void resolve_jumps(struct expr_builder *x)
{
	for (unsigned i = 0; i < x->jumps; i++) {
		const struct expr_jump *j = &x->jump[i];
		uint32_t to = j->to == TO_END ? x->end : j->to == TO_UNDECIDED ? x->undecided : x->at[j->to];
		uint32_t d = to - (j->from + 4);

		memcpy(x->b.t->bytes + j->from, &d, sizeof(d));
	}
}

/* --- in and out --- */

static void emit_enter(struct expr_builder *x)
{
	struct tramp_builder *b = &x->b;

	tramp_emit_slot(b, OP_MOV_STORE, RAX, SLOT_RAX);
	tramp_emit_slot(b, OP_MOV_STORE, RCX, SLOT_RCX);
	tramp_emit_slot(b, OP_MOV_STORE, RDX, SLOT_RDX);
	if (x->e->wants_flags) {
		tramp_emit_slot(b, OP_MOV_STORE, RSP, SLOT_RSP);
		b->t->swapped = tramp_here(b);
		tramp_emit_slot(b, OP_LEA, RSP, SLOT_RSP);
		EMIT(b, 0x9c); /* pushf */
		tramp_emit_slot(b, OP_MOV_LOAD, RSP, SLOT_RSP);
	}
	b->t->saving = tramp_here(b);
	EMIT(b, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	tramp_emit_slot(b, OP_MOV_STORE, RAX, SLOT_STATUS);
	b->t->saved = tramp_here(b);
}

static void emit_leave(struct tramp_builder *b)
{
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
	tramp_emit_slot(b, OP_MOV_LOAD, RDX, SLOT_RDX);
	tramp_emit_slot(b, OP_MOV_LOAD, RAX, SLOT_STATUS);
	EMIT(b, 0x04, 0x7f, 0x9e); /* add al, 127: overflows for 1; sahf */
	tramp_emit_slot(b, OP_MOV_LOAD, RAX, SLOT_RAX);
}

/* --- operations --- */

/* The value with that index, counted from the bottom. */
static uint64_t stack_slot(unsigned i)
{
	return SLOT_STACK + 8u * i;
}

static void emit_constant(struct tramp_builder *b, unsigned reg, uint64_t v)
{
	if (v <= UINT32_MAX) {
		EMIT(b, (uint8_t)(0xb8 | reg)); /* mov r32, imm32 */
		tramp_emit32(b, (uint32_t)v);
	} else if ((int64_t)v == (int32_t)v) {
		EMIT(b, REX_W, 0xc7, (uint8_t)(0xc0 | reg)); /* mov r64, imm32 */
		tramp_emit32(b, (uint32_t)v);
	} else {
		EMIT(b, REX_W, (uint8_t)(0xb8 | reg));
		tramp_emit64(b, v);
	}
}

/* The guest's register of gdb's number n, to rax or rcx. */
static void emit_register(struct expr_builder *x, unsigned to, uint64_t n)
{
	static const uint8_t number[] = { 0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct tramp_builder *b = &x->b;
	unsigned reg;

	if (n == EXPR_REG_RIP) {
		emit_constant(b, to, b->plan->at);
		return;
	}
	if (n == EXPR_REG_FLAGS) {
		tramp_emit_slot(b, OP_MOV_LOAD, to, SLOT_FLAGS);
		EMIT(b, 0x81, (uint8_t)(0xe0 | to)); /* and r32, imm32: a tracer that steps is not the guest's business */
		tramp_emit32(b, ~TRAP_FLAG);
		return;
	}
	reg = number[n];
	if (reg == RAX || reg == RCX || reg == RDX)
		tramp_emit_slot(b, OP_MOV_LOAD, to, reg == RAX ? SLOT_RAX : reg == RCX ? SLOT_RCX : SLOT_RDX);
	else
		EMIT(b, (uint8_t)(REX_W | (reg >= 8 ? REX_R : 0)), OP_MOV_STORE, (uint8_t)(0xc0 | (reg & 7) << 3 | to));
}

static bool is_value(const struct code_expr_op *op)
{
	return op->op == EXPR_REG || (op->op >= EXPR_CONST8 && op->op <= EXPR_CONST64);
}

static void emit_value(struct expr_builder *x, unsigned to, const struct code_expr_op *op)
{
	if (op->op == EXPR_REG)
		emit_register(x, to, op->value);
	else
		emit_constant(&x->b, to, op->value);
}

struct machine_bytes {
	uint8_t n, code[11];
};

/* clang-format off */
/* rax = rax op rcx; rdx is lost */
static const struct machine_bytes binary[EXPR_OPS] = {
	[EXPR_ADD] = { 3, { 0x48, 0x01, 0xc8 } },
	[EXPR_SUB] = { 3, { 0x48, 0x29, 0xc8 } },
	[EXPR_MUL] = { 4, { 0x48, 0x0f, 0xaf, 0xc1 } },
	[EXPR_DIV_SIGNED] = { 5, { 0x48, 0x99, 0x48, 0xf7, 0xf9 } },
	[EXPR_DIV_UNSIGNED] = { 5, { 0x31, 0xd2, 0x48, 0xf7, 0xf1 } },
	[EXPR_REM_SIGNED] = { 8, { 0x48, 0x99, 0x48, 0xf7, 0xf9, 0x48, 0x89, 0xd0 } },
	[EXPR_REM_UNSIGNED] = { 8, { 0x31, 0xd2, 0x48, 0xf7, 0xf1, 0x48, 0x89, 0xd0 } },
	[EXPR_LSH] = { 3, { 0x48, 0xd3, 0xe0 } },
	[EXPR_RSH_SIGNED] = { 3, { 0x48, 0xd3, 0xf8 } },
	[EXPR_RSH_UNSIGNED] = { 3, { 0x48, 0xd3, 0xe8 } },
	[EXPR_BIT_AND] = { 3, { 0x48, 0x21, 0xc8 } },
	[EXPR_BIT_OR] = { 3, { 0x48, 0x09, 0xc8 } },
	[EXPR_BIT_XOR] = { 3, { 0x48, 0x31, 0xc8 } },
	/* cmp rax, rcx; setcc al; movzx eax, al */
	[EXPR_EQUAL] = { 9, { 0x48, 0x39, 0xc8, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0 } },
	[EXPR_LESS_SIGNED] = { 9, { 0x48, 0x39, 0xc8, 0x0f, 0x9c, 0xc0, 0x0f, 0xb6, 0xc0 } },
	[EXPR_LESS_UNSIGNED] = { 9, { 0x48, 0x39, 0xc8, 0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0 } },
};

/* rax = op rax */
static const struct machine_bytes unary[EXPR_OPS] = {
	[EXPR_LOG_NOT] = { 9, { 0x48, 0x85, 0xc0, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0 } },
	[EXPR_BIT_NOT] = { 3, { 0x48, 0xf7, 0xd0 } },
	[EXPR_REF8] = { 3, { 0x0f, 0xb6, 0x00 } },
	[EXPR_REF16] = { 3, { 0x0f, 0xb7, 0x00 } },
	[EXPR_REF32] = { 2, { 0x8b, 0x00 } },
	[EXPR_REF64] = { 3, { 0x48, 0x8b, 0x00 } },
};
/* clang-format on */

static void emit_bytes(struct tramp_builder *b, const struct machine_bytes *m)
{
	tramp_emit(b, m->code, m->n);
}

/* To the undecided end when a byte of [rax, rax + size) is hidden. */
static void emit_checks(struct expr_builder *x, unsigned size)
{
	struct tramp_builder *b = &x->b;

	for (unsigned i = 0; i < x->n_hidden; i++) {
		emit_constant(b, RCX, size - 1 - x->hidden[i].addr);
		EMIT(b, REX_W, 0x01, 0xc1); /* add rcx, rax */
		emit_constant(b, RDX, x->hidden[i].len + size - 1);
		EMIT(b, REX_W, 0x39, 0xd1, 0x0f, 0x82); /* cmp rcx, rdx; jb */
		emit_jump_to(x, TO_UNDECIDED);
	}
}

static bool is_shift(uint8_t op)
{
	return op == EXPR_LSH || op == EXPR_RSH_SIGNED || op == EXPR_RSH_UNSIGNED;
}

/* Processors take the count modulo 64. */
static void emit_shift_check(struct expr_builder *x)
{
	EMIT(&x->b, REX_W, 0x83, 0xf9, 63, 0x0f, 0x87); /* cmp rcx, 63; ja */
	emit_jump_to(x, TO_UNDECIDED);
}

static void emit_extension(struct tramp_builder *b, const struct code_expr_op *op)
{
	uint8_t shift = (uint8_t)(64 - op->value), right = op->op == EXPR_EXT ? 0xf8 : 0xe8;

	if (op->value >= 64)
		return;
	if (op->op == EXPR_ZERO_EXT && op->value == 0)
		emit_constant(b, RAX, 0);
	else
		EMIT(b, REX_W, 0xc1, 0xe0, shift, REX_W, 0xc1, right, shift);
}

static void emit_push(struct tramp_builder *b, unsigned depth)
{
	if (depth)
		tramp_emit_slot(b, OP_MOV_STORE, RAX, stack_slot(depth - 1));
}

static void emit_pop(struct tramp_builder *b, unsigned depth)
{
	if (depth > 1)
		tramp_emit_slot(b, OP_MOV_LOAD, RAX, stack_slot(depth - 2));
}

static void emit_shuffle(struct tramp_builder *b, const struct code_expr_op *op)
{
	unsigned d = op->depth;

	switch (op->op) {
	case EXPR_DUP:
		emit_push(b, d);
		break;
	case EXPR_POP:
		emit_pop(b, d);
		break;
	case EXPR_PICK:
		emit_push(b, d);
		tramp_emit_slot(b, OP_MOV_LOAD, RAX, stack_slot(d - 1 - (unsigned)op->value));
		break;
	case EXPR_SWAP:
		tramp_emit_slot(b, OP_MOV_LOAD, RCX, stack_slot(d - 2));
		tramp_emit_slot(b, OP_MOV_STORE, RAX, stack_slot(d - 2));
		EMIT(b, REX_W, OP_MOV_STORE, 0xc8); /* mov rax, rcx */
		break;
	default: /* EXPR_ROT: a b c to c a b */
		tramp_emit_slot(b, OP_MOV_LOAD, RCX, stack_slot(d - 2));
		tramp_emit_slot(b, OP_MOV_LOAD, RDX, stack_slot(d - 3));
		tramp_emit_slot(b, OP_MOV_STORE, RAX, stack_slot(d - 3));
		tramp_emit_slot(b, OP_MOV_STORE, RDX, stack_slot(d - 2));
		EMIT(b, REX_W, OP_MOV_STORE, 0xc8);
		break;
	}
}

static void emit_control(struct expr_builder *x, const struct code_expr_op *op, bool is_last)
{
	struct tramp_builder *b = &x->b;

	if (op->op == EXPR_END) {
		if (!is_last) {
			EMIT(b, 0xe9);
			emit_jump_to(x, TO_END);
		}
		return;
	}
	if (op->op == EXPR_GOTO) {
		EMIT(b, 0xe9);
	} else {
		EMIT(b, REX_W, 0x85, 0xc0); /* test rax, rax */
		emit_pop(b, op->depth);
		EMIT(b, 0x0f, 0x85); /* jnz */
	}
	emit_jump_to(x, op->to);
}

/* A value right before an operation of two needs no stack: how many operations this did. */
static unsigned emit_op(struct expr_builder *x, unsigned i)
{
	const struct code_expr_op *op = &x->e->op[i], *next = op + 1;
	struct tramp_builder *b = &x->b;
	bool is_last = i + 1u == x->e->n;

	if (is_value(op) && op->depth && !is_last && binary[next->op].n && !next->is_target) {
		emit_value(x, RCX, op);
		if (is_shift(next->op) && (op->op == EXPR_REG || op->value > 63))
			emit_shift_check(x);
		emit_bytes(b, &binary[next->op]);
		return 2;
	}
	if (is_value(op)) {
		emit_push(b, op->depth);
		emit_value(x, RAX, op);
	} else if (binary[op->op].n) {
		EMIT(b, REX_W, OP_MOV_STORE, 0xc1); /* mov rcx, rax */
		emit_pop(b, op->depth);
		if (is_shift(op->op))
			emit_shift_check(x);
		emit_bytes(b, &binary[op->op]);
	} else if (unary[op->op].n) {
		if (op->op >= EXPR_REF8 && op->op <= EXPR_REF64)
			emit_checks(x, 1u << (op->op - EXPR_REF8));
		emit_bytes(b, &unary[op->op]);
	} else if (op->op == EXPR_EXT || op->op == EXPR_ZERO_EXT) {
		emit_extension(b, op);
	} else if (op->op == EXPR_GOTO || op->op == EXPR_IF_GOTO || op->op == EXPR_END) {
		emit_control(x, op, is_last);
	} else {
		emit_shuffle(b, op);
	}
	return 1;
}

static void emit_ops(struct expr_builder *x)
{
	for (unsigned i = 0; i < x->e->n;) {
		uint32_t begin = x->b.t->n;

		x->at[i] = begin;
		i += emit_op(x, i);
		must(x->b.t->n - begin <= OP_BYTES_MAX + (x->n_hidden > 1 ? (x->n_hidden - 1) * CHECK_BYTES_MAX : 0));
	}
	x->end = x->b.t->n;
}

/* --- the whole --- */

static void emit_all(struct expr_builder *x)
{
	struct tramp_builder *b = &x->b;
	struct code_tramp *t = b->t;
	uint32_t to_true, d;

	EMIT(b, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc);
	static_assert(CODE_TRAMP_ENTRY == 5, "what stands before the entry");
	t->entry = tramp_here(b);
	emit_enter(x);
	emit_ops(x);
	EMIT(b, REX_W, 0x85, 0xc0, 0x0f, 0x85, 0, 0, 0, 0); /* test rax, rax; jnz true */
	to_true = t->n;
	emit_leave(b);
	t->restored = tramp_here(b);
	tramp_emit_copies(b);
	d = t->n - to_true;
	memcpy(t->bytes + to_true - sizeof(d), &d, sizeof(d));
	t->again = tramp_here(b);
	emit_leave(b);
	t->match = tramp_here(b);
	EMIT(b, 0xcc, 0xcc); /* nobody else stands behind it */
	x->undecided = t->n;
	emit_leave(b);
	t->undecided = tramp_here(b);
	EMIT(b, 0xcc, 0xcc);
	resolve_jumps(x);
	tramp_emit_literal(b);
}

/* May there be a check of each range at each reference? */
static bool may_check(const struct code_expr *e, unsigned n_hidden)
{
	unsigned refs = 0;

	for (unsigned i = 0; i < e->n; i++)
		refs += e->op[i].op >= EXPR_REF8 && e->op[i].op <= EXPR_REF64;
	return n_hidden <= 1 || refs * n_hidden <= CHECKS_MAX;
}

int code_tramp_build_expr(const struct code_plan *plan, uint64_t code, uint64_t data, const struct code_expr *e, const struct code_hidden *hidden, unsigned n,
			  struct code_tramp *ret)
{
	struct expr_builder x = { .b = { .t = ret, .plan = plan }, .e = e, .hidden = hidden, .n_hidden = n };

	if (tramp_reach(plan, code) < 0 || n > CODE_HIDDEN_MAX || !may_check(e, n))
		return -ERANGE;
	for (unsigned i = 0; i < n; i++)
		if (hidden[i].len > 1ull << 47)
			return -EINVAL;
	*ret = (struct code_tramp){ .code = code, .data = data };
	emit_all(&x);
	return x.b.is_far ? -ERANGE : 0;
}

/* --- back out of it --- */

static uint64_t slot(const uint8_t *data, unsigned at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

static uint64_t saved_flags(const uint8_t *data, uint64_t live)
{
	uint64_t status = slot(data, SLOT_STATUS);

	return (live & ~(ARITHMETIC_FLAGS | RESUME_FLAG)) | ((status >> 8) & ARITHMETIC_FLAGS & 0xff) | (status & 1 ? OVERFLOW_FLAG : 0);
}

/* Before the copies, or behind the decision. */
static void take_slots(const struct code_tramp *tr, const uint8_t *data, struct user_regs_struct *regs)
{
	uint64_t rip = regs->rip;

	if (rip == tr->match || rip == tr->match + 1 || (tr->undecided && rip >= tr->undecided))
		return;
	if (tr->swapped && rip > tr->swapped && rip < tr->saving)
		regs->rsp = slot(data, SLOT_RSP);
	if (rip <= tr->saving)
		return;
	regs->rax = slot(data, SLOT_RAX);
	if (rip < tr->saved)
		return;
	regs->rcx = slot(data, SLOT_RCX);
	regs->rdx = slot(data, SLOT_RDX);
	regs->eflags = saved_flags(data, regs->eflags);
}

enum code_where code_tramp_rescue(const struct code_plan *plan, const struct code_tramp *tr, const uint8_t data[CODE_DATA_MAX], struct user_regs_struct *regs)
{
	uint64_t rip = regs->rip;
	bool is_match = rip == tr->match || rip == tr->match + 1;

	if (rip - tr->code >= tr->n)
		return CODE_OUTSIDE;
	if (tr->saved && (rip < tr->restored || rip >= tr->again)) {
		take_slots(tr, data, regs);
		regs->rip = plan->at;
		return is_match ? CODE_MATCHED : CODE_AT;
	}
	for (unsigned i = 0; i < plan->n; i++)
		if (rip == tr->copy[i]) {
			regs->rip = plan->at + plan->off[i];
			return CODE_BEHIND;
		}
	if (rip == tr->back) {
		regs->rip = plan->at + plan->len;
		return CODE_BEHIND;
	}
	if (is_match || rip == tr->entry) {
		regs->rip = plan->at;
		return is_match ? CODE_MATCHED : CODE_AT;
	}
	return CODE_MIXED;
}
