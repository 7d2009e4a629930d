/* Trampolines: code that compares the guest's state with wanted values and goes on with it, leaving flags, stack
 * and registers alone.
 *
 *	stub:	jmp cond1                     (jrcxz reaches 127 bytes, and what stands between is longer)
 *	entry:	[mov [rdx slot], rdx]         only when a condition needs rdx
 *		mov [rcx slot], rcx
 *		rcx = cond 0's value - wanted
 *		jrcxz stub
 *	fail:	[mov rdx, [rdx slot]]         most passes come here: one compare
 *		mov rcx, [rcx slot]
 *		displaced instructions, jmp behind them
 *	cond1:	rcx = cond 1's value - wanted
 *		jrcxz cond2
 *		jmp fail
 *	cond2:	...
 *	match:	restore as above
 *		int3
 *
 * Where the first condition is a sum, too long for a jrcxz back to the stub, the stub stands before fail.
 *
 * lea subtracts, multiplies by 9 and jrcxz tests without flags. Slots lie in the data page: a store to a page that code runs in
 * costs a pipeline flush. What the code reads and never writes (return addresses) stands behind it.
 */
#include "engine/tramp_priv.h"
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

/* --- emitting --- */

void tramp_emit(struct tramp_builder *b, const void *p, size_t n)
{
	must(b->t->n + n <= CODE_TRAMP_MAX);
	memcpy(b->t->bytes + b->t->n, p, n);
	b->t->n += (uint32_t)n;
}

void tramp_emit32(struct tramp_builder *b, uint32_t v)
{
	tramp_emit(b, &v, sizeof(v));
}

void tramp_emit64(struct tramp_builder *b, uint64_t v)
{
	tramp_emit(b, &v, sizeof(v));
}

uint64_t tramp_here(const struct tramp_builder *b)
{
	return b->t->code + b->t->n;
}

/* Distance from an instruction's end. */
static uint32_t distance(struct tramp_builder *b, uint64_t from, uint64_t to)
{
	int64_t d = (int64_t)(to - from);

	b->is_far |= d != (int32_t)d;
	return (uint32_t)d;
}

void tramp_emit_distance(struct tramp_builder *b, uint64_t to)
{
	tramp_emit32(b, distance(b, tramp_here(b) + 4, to));
}

void tramp_emit_jump(struct tramp_builder *b, uint64_t to)
{
	EMIT(b, 0xe9);
	tramp_emit_distance(b, to);
}

void tramp_emit_slot(struct tramp_builder *b, uint8_t op, unsigned reg, uint64_t slot)
{
	EMIT(b, REX_W, op, (uint8_t)(reg << 3 | 5));
	tramp_emit_distance(b, b->t->data + slot);
}

static void emit_save(struct tramp_builder *b)
{
	if (b->wide)
		tramp_emit_slot(b, OP_MOV_STORE, RDX, SLOT_RDX);
	tramp_emit_slot(b, OP_MOV_STORE, RCX, SLOT_RCX);
}

static void emit_restore(struct tramp_builder *b)
{
	if (b->wide)
		tramp_emit_slot(b, OP_MOV_LOAD, RDX, SLOT_RDX);
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
}

/* --- conditions --- */

static bool is_wide(uint64_t value)
{
	return (int64_t)-value != (int32_t)-value;
}

/* rcx = reg - value, without flags. rdx is lost when the value is wide: reg is not rdx then. */
static void emit_difference(struct tramp_builder *b, unsigned reg, uint64_t value)
{
	uint8_t high = reg >= 8 ? REX_B : 0, low = reg & 7;

	if (is_wide(value)) {
		EMIT(b, REX_W, 0xb8 | RDX);
		tramp_emit64(b, -value);
		EMIT(b, REX_W | high, 0x8d, 0x44 | RCX << 3, (uint8_t)(RDX << 3 | low), 0); /* lea rcx, [reg + rdx + 0] */
		return;
	}
	EMIT(b, REX_W | high, 0x8d, (uint8_t)(0x80 | RCX << 3 | low));
	if (low == RSP)
		EMIT(b, 0x24);
	tramp_emit32(b, (uint32_t)-value);
}

/* Where a register's value is found. The first condition finds rcx still in place. */
static unsigned emit_register(struct tramp_builder *b, unsigned reg, bool is_first)
{
	if (reg == RCX && !is_first)
		tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
	if (reg != RDX || !b->wide)
		return reg;
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RDX);
	return RCX;
}

/* Stores the vector register: the shortest form that the element needs (no more may be there), then loads the element. */
static void emit_vector(struct tramp_builder *b, unsigned reg, unsigned word)
{
	uint8_t modrm = (uint8_t)((reg & 7) << 3 | 5);

	if (reg >= 16 || word >= 4) /* vmovups [], zmm: R and R' are inverted bits 3 and 4 of the register */
		EMIT(b, 0x62, (uint8_t)(0x61 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10)), 0x7c, 0x48, 0x11, modrm);
	else if (word >= 2) /* vmovups [], ymm */
		EMIT(b, 0xc5, reg & 8 ? 0x7c : 0xfc, 0x11, modrm);
	else if (reg & 8) /* movups [], xmm */
		EMIT(b, 0x40 | REX_R, 0x0f, 0x11, modrm);
	else
		EMIT(b, 0x0f, 0x11, modrm);
	tramp_emit_distance(b, b->t->data + SLOT_VECTOR);
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_VECTOR + 8u * word);
}

/* rax = rax * 9 + word for n words from rdx on */
static void emit_sum_words(struct tramp_builder *b, unsigned n)
{
	static_assert(ENG_SUM_FACTOR == 9, "what lea multiplies by");
	for (unsigned i = 0; i < n; i++) {
		EMIT(b, REX_W, OP_MOV_LOAD, 0x40 | RSI << 3 | RDX, (uint8_t)(i * 8)); /* mov rsi, [rdx + i * 8] */
		EMIT(b, REX_W, 0x8d, 0x04, 3 << 6 | RAX << 3 | RAX);                  /* lea rax, [rax + rax * 8] */
		EMIT(b, REX_W, 0x8d, 0x04, RAX << 3 | RSI);                           /* lea rax, [rsi + rax] */
	}
}

/* Words at a time, so that a loop around them is within a short jump. */
#define SUM_UNROLL 8u

static void emit_sum_loop(struct tramp_builder *b, uint32_t times)
{
	uint32_t start;

	EMIT(b, 0xb8 | RCX);
	tramp_emit32(b, times);
	start = b->t->n;
	emit_sum_words(b, SUM_UNROLL);
	EMIT(b, REX_W, 0x8d, 0x40 | RDX << 3 | RDX, SUM_UNROLL * 8); /* lea rdx, [rdx + 64] */
	EMIT(b, REX_W, 0x8d, 0x40 | RCX << 3 | RCX, 0xff);           /* lea rcx, [rcx - 1] */
	EMIT(b, 0xe3, 2);
	EMIT(b, 0xeb, (uint8_t)(start - (b->t->n + 2)));
	must(b->t->n - start <= 128);
}

/* rcx = the sum. Uses rdx, which is saved. */
static void emit_sum(struct tramp_builder *b, const struct code_cond *c)
{
	unsigned words = c->len / 8;

	tramp_emit_slot(b, OP_MOV_STORE, RAX, SLOT_RAX);
	tramp_emit_slot(b, OP_MOV_STORE, RSI, SLOT_RSI);
	EMIT(b, REX_W, 0xb8 | RDX);
	tramp_emit64(b, c->addr);
	EMIT(b, 0xb8 | RAX);
	tramp_emit32(b, 0);
	if (words >= SUM_UNROLL)
		emit_sum_loop(b, words / SUM_UNROLL);
	emit_sum_words(b, words % SUM_UNROLL);
	EMIT(b, REX_W, OP_MOV_LOAD, 0xc0 | RCX << 3 | RAX);
	tramp_emit_slot(b, OP_MOV_LOAD, RSI, SLOT_RSI);
	tramp_emit_slot(b, OP_MOV_LOAD, RAX, SLOT_RAX);
}

static void emit_condition(struct tramp_builder *b, const struct code_cond *c, bool is_first)
{
	unsigned reg = RCX;

	switch (c->kind) {
	case CODE_COND_REG:
		reg = emit_register(b, c->reg, is_first);
		break;
	case CODE_COND_COUNT:
		if (!c->value) {
			EMIT(b, REX_W, OP_LEA, 0x0c, 0x25); /* lea rcx, [0]: always */
			tramp_emit32(b, 0);
			return;
		}
		tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_COUNTER);
		break;
	case CODE_COND_WORD:
		EMIT(b, REX_W, 0xb8 | RCX);
		tramp_emit64(b, c->addr);
		EMIT(b, REX_W, OP_MOV_LOAD, RCX << 3 | RCX);
		break;
	case CODE_COND_SUM:
		emit_sum(b, c);
		break;
	default:
		emit_vector(b, c->reg, c->word);
		break;
	}
	emit_difference(b, reg, c->value);
}

static bool is_condition(const struct code_cond *c)
{
	switch (c->kind) {
	case CODE_COND_REG:
		return c->reg < 16;
	case CODE_COND_WORD:
	case CODE_COND_COUNT:
		return true;
	case CODE_COND_VEC:
		return c->reg < 32 && c->word < 8;
	case CODE_COND_SUM:
		return c->len && c->len % 8 == 0 && c->len <= CODE_SUM_MAX;
	default:
		return false;
	}
}

/* --- copies --- */

/* The instruction as it is, its rip-relative operand leading to the same place. */
static void emit_moved(struct tramp_builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	uint8_t copy[CODE_INSN_MAX];
	int32_t disp;

	memcpy(copy, bytes, d->insn.len);
	if (d->disp_off) {
		memcpy(&disp, copy + d->disp_off, sizeof(disp));
		disp = (int32_t)distance(b, tramp_here(b) + d->insn.len, at + d->insn.len + (uint64_t)(int64_t)disp);
		memcpy(copy + d->disp_off, &disp, sizeof(disp));
	}
	tramp_emit(b, copy, d->insn.len);
}

/* push [return address]: the one store that a call does, of the address it would store. */
static void emit_push_return(struct tramp_builder *b, uint64_t address)
{
	must(b->literals == 0); /* a call is the last of its plan */
	b->literals = 1;
	b->literal = address;
	EMIT(b, 0xff, 0x35);
	b->literal_at = b->t->n;
	tramp_emit32(b, 0);
}

void tramp_emit_literal(struct tramp_builder *b)
{
	uint32_t d;

	if (!b->literals)
		return;
	while (tramp_here(b) % sizeof(b->literal))
		EMIT(b, 0xcc);
	d = b->t->n - (b->literal_at + 4);
	memcpy(b->t->bytes + b->literal_at, &d, sizeof(d));
	tramp_emit64(b, b->literal);
}

/* mov rcx, r/m where the call has its r/m */
static void emit_load_target(struct tramp_builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	unsigned tail = d->insn.len - d->modrm_off;
	uint8_t operand[CODE_INSN_MAX];
	int32_t disp;

	if (d->segment)
		EMIT(b, d->segment);
	if (d->short_address)
		EMIT(b, 0x67);
	EMIT(b, (uint8_t)(REX_W | (d->rex & (REX_X | REX_B))), OP_MOV_LOAD);
	memcpy(operand, bytes + d->modrm_off, tail);
	operand[0] = (uint8_t)((operand[0] & 0xc7) | RCX << 3);
	if (d->disp_off) {
		memcpy(&disp, operand + 1, sizeof(disp));
		disp = (int32_t)distance(b, tramp_here(b) + tail, at + d->insn.len + (uint64_t)(int64_t)disp);
		memcpy(operand + 1, &disp, sizeof(disp));
	}
	tramp_emit(b, operand, tail);
}

/* The target is read before the return address is stored: it may be rsp, relative to it, or lie where the address
 * goes. */
static void emit_call(struct tramp_builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	uint64_t back = at + d->insn.len;

	if (d->insn.has_target) {
		emit_push_return(b, back);
		tramp_emit_jump(b, d->insn.target);
		return;
	}
	tramp_emit_slot(b, OP_MOV_STORE, RCX, SLOT_RCX);
	emit_load_target(b, d, bytes, at);
	tramp_emit_slot(b, OP_MOV_STORE, RCX, SLOT_TARGET);
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
	emit_push_return(b, back);
	EMIT(b, 0xff, 0x25);
	tramp_emit_distance(b, b->t->data + SLOT_TARGET);
}

static void emit_copy(struct tramp_builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	if (d->insn.cls == CODE_CALL) {
		emit_call(b, d, bytes, at);
	} else if (d->insn.cls == CODE_JCC) {
		EMIT(b, 0x0f, 0x80 | d->cond);
		tramp_emit_distance(b, d->insn.target);
	} else if (d->insn.cls == CODE_JUMP && d->insn.has_target) {
		tramp_emit_jump(b, d->insn.target);
	} else {
		emit_moved(b, d, bytes, at);
	}
}

void tramp_emit_copies(struct tramp_builder *b)
{
	const struct code_plan *p = b->plan;
	enum code_class last = CODE_PLAIN;

	for (unsigned i = 0; i < p->n; i++) {
		uint64_t at = p->at + p->off[i];
		struct code_detail d;

		code_detail(p->bytes + p->off[i], p->len - p->off[i], at, &d);
		b->t->copy[i] = tramp_here(b);
		emit_copy(b, &d, p->bytes + p->off[i], at);
		last = d.insn.cls;
	}
	b->t->back = tramp_here(b);
	if (last == CODE_PLAIN || last == CODE_JCC)
		tramp_emit_jump(b, p->at + p->len);
}

/* --- the whole --- */

static void patch8(struct tramp_builder *b, uint32_t at)
{
	must(b->t->n - (at + 1) < 128);
	b->t->bytes[at] = (uint8_t)(b->t->n - (at + 1));
}

/* One more pass; without flags. */
static void emit_count(struct tramp_builder *b)
{
	tramp_emit_slot(b, OP_MOV_LOAD, RCX, SLOT_COUNTER);
	EMIT(b, REX_W, OP_LEA, 0x40 | RCX << 3 | RCX, 1);
	tramp_emit_slot(b, OP_MOV_STORE, RCX, SLOT_COUNTER);
}

/* The stub is written when its target is known. */
static void emit_first(struct tramp_builder *b, const struct code_cond *c, bool counts)
{
	uint32_t stub = 0, d;

	emit_save(b);
	if (counts)
		emit_count(b);
	emit_condition(b, c, !counts);
	if (c->kind == CODE_COND_SUM) {
		EMIT(b, 0xe3, 2, 0xeb, CODE_JUMP_LEN);
		stub = b->t->n;
		EMIT(b, 0xe9, 0, 0, 0, 0);
	} else {
		d = b->t->n + 2 - stub;
		must(d <= 128);
		EMIT(b, 0xe3, (uint8_t)-d);
	}
	b->fail = tramp_here(b);
	emit_restore(b);
	tramp_emit_copies(b);
	d = b->t->n - (stub + CODE_JUMP_LEN);
	memcpy(b->t->bytes + stub + 1, &d, sizeof(d));
}

static void emit_other(struct tramp_builder *b, const struct code_cond *c)
{
	uint32_t to;

	emit_condition(b, c, false);
	EMIT(b, 0xe3, 0);
	to = b->t->n - 1;
	tramp_emit_jump(b, b->fail);
	patch8(b, to);
}

static void emit_match(struct tramp_builder *b)
{
	b->t->match = tramp_here(b);
	EMIT(b, 0xcc);
}

static void emit_all(struct tramp_builder *b, const struct code_cond *cond, unsigned n)
{
	EMIT(b, 0xe9, 0, 0, 0, 0);
	static_assert(CODE_TRAMP_ENTRY == CODE_JUMP_LEN, "the stub stands before the entry");
	b->t->entry = tramp_here(b);
	if (n == 0) {
		emit_match(b);
		tramp_emit_copies(b);
	} else {
		bool counts = cond[0].kind == CODE_COND_COUNT;
		unsigned first = counts && !cond[0].value && n > 1 ? 1 : 0;

		emit_first(b, &cond[first], counts);
		for (unsigned i = first + 1; i < n; i++)
			emit_other(b, &cond[i]);
		emit_restore(b);
		emit_match(b);
	}
	tramp_emit_literal(b);
}

int tramp_reach(const struct code_plan *plan, uint64_t code)
{
	int64_t d = (int64_t)(code - (plan->at + CODE_JUMP_LEN));

	return d != (int32_t)d || d + CODE_TRAMP_MAX != (int32_t)(d + CODE_TRAMP_MAX) ? -ERANGE : 0;
}

int code_tramp_build(const struct code_plan *plan, uint64_t code, uint64_t data, const struct code_cond *cond, unsigned n,
		     struct code_tramp *ret)
{
	struct tramp_builder b = { .t = ret, .plan = plan };
	unsigned sums = 0;

	if (n > CODE_CONDS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (!is_condition(&cond[i]) || (cond[i].kind == CODE_COND_COUNT && i))
			return -EINVAL;
		b.wide |= is_wide(cond[i].value) || cond[i].kind == CODE_COND_SUM;
		sums += cond[i].kind == CODE_COND_SUM;
	}
	if (sums > CODE_SUMS_MAX)
		return -EINVAL;
	if (tramp_reach(plan, code) < 0)
		return -ERANGE;
	*ret = (struct code_tramp){ .code = code, .data = data };
	emit_all(&b, cond, n);
	return b.is_far ? -ERANGE : 0;
}

void code_jump(const struct code_plan *plan, const struct code_tramp *tr, uint8_t ret[CODE_JUMP_LEN])
{
	uint32_t d = (uint32_t)(tr->entry - (plan->at + CODE_JUMP_LEN));

	ret[0] = 0xe9;
	memcpy(ret + 1, &d, sizeof(d));
}

uint64_t code_tramp_origin(const struct code_plan *plan, const struct code_tramp *tr, uint64_t rip)
{
	if (rip == tr->match || rip == tr->match + 1 || rip == tr->entry)
		return plan->at;
	if (tr->undecided && (rip == tr->undecided || rip == tr->undecided + 1))
		return plan->at;
	if (rip == tr->back)
		return plan->at + plan->len;
	for (unsigned i = plan->n; i-- > 0;)
		if (rip >= tr->copy[i] && rip < tr->back)
			return plan->at + plan->off[i];
	return 0;
}

/* The jump that ends the copy of an indirect call: what was pushed before is the return address. */
static bool is_last_of_call(const struct code_plan *plan, const struct code_tramp *tr, uint64_t rip)
{
	static const uint8_t jump[] = { 0xff, 0x25 };

	return rip > tr->copy[plan->n - 1] && rip + sizeof(jump) <= tr->back && !memcmp(tr->bytes + (rip - tr->code), jump, sizeof(jump));
}

bool code_tramp_faulted(const struct code_plan *plan, const struct code_tramp *tr, struct user_regs_struct *regs)
{
	uint64_t rip = regs->rip;

	if (rip - tr->code >= tr->n || rip < tr->copy[0] || rip >= tr->back)
		return false;
	if (is_last_of_call(plan, tr, rip))
		regs->rsp += sizeof(uint64_t);
	regs->rip = code_tramp_origin(plan, tr, rip);
	return true;
}
