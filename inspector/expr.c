/* Evaluates DWARF expressions: where the frame of a caller is, and where an argument is. Those that need more than registers and memory of
 * the frame (values at the entry of a function, thread-local storage, pieces) say that they cannot be had. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <stdlib.h>

struct machine {
	const struct expr_context *x;
	uint64_t stack[INSPECT_STACK_MAX];
	unsigned n;
	int error;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->n == INSPECT_STACK_MAX)
		m->error = ERR_LIMIT;
	else
		m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (!m->n) {
		m->error = ERR_CORRUPT;
		return 0;
	}
	return m->stack[--m->n];
}

static uint64_t reg(struct machine *m, uint64_t n)
{
	if (n >= UNWIND_REGS || !(m->x->regs->known >> n & 1)) {
		m->error = ERR_NOT_FOUND;
		return 0;
	}
	return m->x->regs->v[n];
}

static void deref(struct machine *m, uint64_t size)
{
	uint64_t addr = pop(m), v = 0;

	if (size < 1 || size > 8)
		m->error = ERR_CORRUPT;
	else if (!m->error && !m->x->read(m->x->ctx, addr, &v, size))
		m->error = ERR_NOT_FOUND;
	push(m, v);
}

static void divide(struct machine *m, bool modulo)
{
	uint64_t b = pop(m), a = pop(m);

	if (!b || (b == UINT64_MAX && a == 1ull << 63)) {
		m->error = ERR_CORRUPT;
		return;
	}
	push(m, modulo ? a % b : (uint64_t)((int64_t)a / (int64_t)b));
}

static uint64_t shift(unsigned atom, uint64_t a, uint64_t by)
{
	if (by >= 64)
		return atom == DW_OP_shra && (int64_t)a < 0 ? UINT64_MAX : 0;
	return atom == DW_OP_shl ? a << by : atom == DW_OP_shr ? a >> by : (uint64_t)((int64_t)a >> by);
}

static bool binary(struct machine *m, unsigned atom)
{
	uint64_t a, b;

	if (atom == DW_OP_div || atom == DW_OP_mod) {
		divide(m, atom == DW_OP_mod);
		return true;
	}
	if (!(atom >= DW_OP_and && atom <= DW_OP_xor) && !(atom >= DW_OP_eq && atom <= DW_OP_ne))
		return false;
	if (atom == DW_OP_neg || atom == DW_OP_not || atom == DW_OP_plus_uconst || atom == DW_OP_abs)
		return false;
	b = pop(m);
	a = pop(m);
	switch (atom) {
	case DW_OP_and: push(m, a & b); break;
	case DW_OP_minus: push(m, a - b); break;
	case DW_OP_mul: push(m, a * b); break;
	case DW_OP_or: push(m, a | b); break;
	case DW_OP_plus: push(m, a + b); break;
	case DW_OP_xor: push(m, a ^ b); break;
	case DW_OP_eq: push(m, a == b); break;
	case DW_OP_ne: push(m, a != b); break;
	case DW_OP_ge: push(m, (int64_t)a >= (int64_t)b); break;
	case DW_OP_gt: push(m, (int64_t)a > (int64_t)b); break;
	case DW_OP_le: push(m, (int64_t)a <= (int64_t)b); break;
	case DW_OP_lt: push(m, (int64_t)a < (int64_t)b); break;
	default: push(m, shift(atom, a, b)); break;
	}
	return true;
}

static void shuffle(struct machine *m, unsigned atom, uint64_t number)
{
	uint64_t a, b, c;

	switch (atom) {
	case DW_OP_dup: number = 0; break;
	case DW_OP_over: number = 1; break;
	case DW_OP_drop: pop(m); return;
	case DW_OP_swap:
		a = pop(m);
		b = pop(m);
		push(m, a);
		push(m, b);
		return;
	case DW_OP_rot:
		a = pop(m);
		b = pop(m);
		c = pop(m);
		push(m, a);
		push(m, c);
		push(m, b);
		return;
	}
	if (number >= m->n)
		m->error = ERR_CORRUPT;
	else
		push(m, m->stack[m->n - 1 - number]);
}

static void unary(struct machine *m, unsigned atom, uint64_t number)
{
	uint64_t a = pop(m);

	switch (atom) {
	case DW_OP_abs: a = (int64_t)a < 0 ? 0 - a : a; break;
	case DW_OP_neg: a = 0 - a; break;
	case DW_OP_not: a = ~a; break;
	case DW_OP_plus_uconst: a += number; break;
	}
	push(m, a);
}

static void frame_value(struct machine *m, bool has, uint64_t v)
{
	if (!has)
		m->error = ERR_NOT_FOUND;
	push(m, v);
}

/* One that neither jumps nor says what the result is. */
static void step(struct machine *m, const Dwarf_Op *op)
{
	unsigned atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(m, atom - DW_OP_lit0);
		return;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		push(m, reg(m, atom - DW_OP_breg0) + op->number);
		return;
	}
	if (binary(m, atom))
		return;
	switch (atom) {
	case DW_OP_addr: push(m, op->number + m->x->bias); break;
	case DW_OP_const1u: case DW_OP_const1s: case DW_OP_const2u: case DW_OP_const2s: case DW_OP_const4u: case DW_OP_const4s:
	case DW_OP_const8u: case DW_OP_const8s: case DW_OP_constu: case DW_OP_consts:
		push(m, op->number);
		break;
	case DW_OP_bregx: push(m, reg(m, op->number) + op->number2); break;
	case DW_OP_fbreg: frame_value(m, m->x->has_frame_base, m->x->frame_base + op->number); break;
	case DW_OP_call_frame_cfa: frame_value(m, m->x->has_cfa, m->x->cfa); break;
	case DW_OP_deref: deref(m, 8); break;
	case DW_OP_deref_size: deref(m, op->number); break;
	case DW_OP_dup: case DW_OP_drop: case DW_OP_over: case DW_OP_pick: case DW_OP_swap: case DW_OP_rot:
		shuffle(m, atom, op->number);
		break;
	case DW_OP_abs: case DW_OP_neg: case DW_OP_not: case DW_OP_plus_uconst:
		unary(m, atom, op->number);
		break;
	case DW_OP_nop: break;
	default: m->error = ERR_NOT_FOUND;
	}
}

/* Index of the operation at a byte, n = behind the last. */
static size_t jump(const Dwarf_Op *ops, size_t n, const Dwarf_Op *from, int *error)
{
	uint64_t to = from->offset + 3 + (uint64_t)(int64_t)(int16_t)from->number;

	for (size_t i = 0; i < n; i++)
		if (ops[i].offset == to)
			return i;
	if (n && to <= ops[n - 1].offset)
		*error = ERR_CORRUPT;
	return n;
}

/* Is it an operation that gives the result without the stack? */
static bool direct(const Dwarf_Op *op, struct expr_result *ret)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = (struct expr_result){ .kind = EXPR_REGISTER, .v = op->atom - DW_OP_reg0 };
	else if (op->atom == DW_OP_regx)
		*ret = (struct expr_result){ .kind = EXPR_REGISTER, .v = op->number };
	else if (op->atom == DW_OP_implicit_value)
		*ret = (struct expr_result){ .kind = EXPR_BLOCK, .op = op };
	else
		return false;
	return true;
}

int expr_run(const struct expr_context *x, const Dwarf_Op *ops, size_t n, struct expr_result *ret)
{
	struct machine m = { .x = x };
	unsigned steps = 0;
	size_t i = 0;

	if (!n)
		return ERR_NOT_FOUND;
	if (n == 1 && direct(&ops[0], ret))
		return 0;
	while (i < n && !m.error) {
		const Dwarf_Op *op = &ops[i++];

		if (++steps > INSPECT_OPS_MAX)
			return ERR_LIMIT;
		if (op->atom == DW_OP_stack_value) {
			*ret = (struct expr_result){ .kind = EXPR_VALUE, .v = pop(&m) };
			return m.error ? m.error : i == n ? 0 : ERR_NOT_FOUND;
		}
		if (op->atom == DW_OP_skip || (op->atom == DW_OP_bra && pop(&m)))
			i = jump(ops, n, op, &m.error);
		else if (op->atom != DW_OP_bra)
			step(&m, op);
	}
	*ret = (struct expr_result){ .kind = EXPR_MEMORY, .v = m.error ? 0 : pop(&m) };
	return m.error;
}
