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
#include "engine/code_priv.h"
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI,
	REX_W = 0x48,
	REX_R = 4,
	REX_X = 2,
	REX_B = 1,
	OP_MOV_STORE = 0x89,
	OP_MOV_LOAD = 0x8b,
};

/* Where in the data page what lies. */
enum {
	SLOT_RCX = 0,
	SLOT_RDX = 8,
	SLOT_TARGET = 16,
	SLOT_RAX = 24,
	SLOT_RSI = 32,
	SLOT_VECTOR = 64, /* a whole cache line */
};
static_assert(SLOT_VECTOR + 64 <= CODE_DATA_MAX, "the data area holds all slots");

struct builder {
	struct code_tramp *t;
	const struct code_plan *plan;
	bool wide;          /* rdx is in use */
	bool is_far;        /* some distance does not fit 32 bits */
	uint64_t fail;      /* address of that label */
	unsigned literals;  /* of calls: there is one at most */
	uint32_t literal_at; /* offset of the displacement that leads to it */
	uint64_t literal;
};

/* --- emitting --- */

static void emit(struct builder *b, const void *p, size_t n)
{
	must(b->t->n + n <= CODE_TRAMP_MAX);
	memcpy(b->t->bytes + b->t->n, p, n);
	b->t->n += (uint32_t)n;
}

#define EMIT(b, ...) \
	do { \
		const uint8_t emit_[] = { __VA_ARGS__ }; \
\
		emit(b, emit_, sizeof(emit_)); \
	} while (0)

static void emit32(struct builder *b, uint32_t v)
{
	emit(b, &v, sizeof(v));
}

static void emit64(struct builder *b, uint64_t v)
{
	emit(b, &v, sizeof(v));
}

static uint64_t here(const struct builder *b)
{
	return b->t->code + b->t->n;
}

/* Distance from an instruction's end. */
static uint32_t distance(struct builder *b, uint64_t from, uint64_t to)
{
	int64_t d = (int64_t)(to - from);

	b->is_far |= d != (int32_t)d;
	return (uint32_t)d;
}

/* A displacement that is the last thing of its instruction. */
static void emit_distance(struct builder *b, uint64_t to)
{
	emit32(b, distance(b, here(b) + 4, to));
}

static void emit_jump(struct builder *b, uint64_t to)
{
	EMIT(b, 0xe9);
	emit_distance(b, to);
}

/* mov between a low register and a slot */
static void emit_slot(struct builder *b, uint8_t op, unsigned reg, uint64_t slot)
{
	EMIT(b, REX_W, op, (uint8_t)(reg << 3 | 5));
	emit_distance(b, b->t->data + slot);
}

static void emit_save(struct builder *b)
{
	if (b->wide)
		emit_slot(b, OP_MOV_STORE, RDX, SLOT_RDX);
	emit_slot(b, OP_MOV_STORE, RCX, SLOT_RCX);
}

static void emit_restore(struct builder *b)
{
	if (b->wide)
		emit_slot(b, OP_MOV_LOAD, RDX, SLOT_RDX);
	emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
}

/* --- conditions --- */

static bool is_wide(uint64_t value)
{
	return (int64_t)-value != (int32_t)-value;
}

/* rcx = reg - value, without flags. rdx is lost when the value is wide: reg is not rdx then. */
static void emit_difference(struct builder *b, unsigned reg, uint64_t value)
{
	uint8_t high = reg >= 8 ? REX_B : 0, low = reg & 7;

	if (is_wide(value)) {
		EMIT(b, REX_W, 0xb8 | RDX);
		emit64(b, -value);
		EMIT(b, REX_W | high, 0x8d, 0x44 | RCX << 3, (uint8_t)(RDX << 3 | low), 0); /* lea rcx, [reg + rdx + 0] */
		return;
	}
	EMIT(b, REX_W | high, 0x8d, (uint8_t)(0x80 | RCX << 3 | low));
	if (low == RSP)
		EMIT(b, 0x24);
	emit32(b, (uint32_t)-value);
}

/* Where a register's value is found. The first condition finds rcx still in place. */
static unsigned emit_register(struct builder *b, unsigned reg, bool is_first)
{
	if (reg == RCX && !is_first)
		emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
	if (reg != RDX || !b->wide)
		return reg;
	emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RDX);
	return RCX;
}

/* Stores the vector register: the shortest form that the element needs (no more may be there), then loads the element. */
static void emit_vector(struct builder *b, unsigned reg, unsigned word)
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
	emit_distance(b, b->t->data + SLOT_VECTOR);
	emit_slot(b, OP_MOV_LOAD, RCX, SLOT_VECTOR + 8u * word);
}

/* rax = rax * 9 + word for n words from rdx on */
static void emit_sum_words(struct builder *b, unsigned n)
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

static void emit_sum_loop(struct builder *b, uint32_t times)
{
	uint32_t start;

	EMIT(b, 0xb8 | RCX);
	emit32(b, times);
	start = b->t->n;
	emit_sum_words(b, SUM_UNROLL);
	EMIT(b, REX_W, 0x8d, 0x40 | RDX << 3 | RDX, SUM_UNROLL * 8); /* lea rdx, [rdx + 64] */
	EMIT(b, REX_W, 0x8d, 0x40 | RCX << 3 | RCX, 0xff);           /* lea rcx, [rcx - 1] */
	EMIT(b, 0xe3, 2);
	EMIT(b, 0xeb, (uint8_t)(start - (b->t->n + 2)));
	must(b->t->n - start <= 128);
}

/* rcx = the sum. Uses rdx, which is saved. */
static void emit_sum(struct builder *b, const struct code_cond *c)
{
	unsigned words = c->len / 8;

	emit_slot(b, OP_MOV_STORE, RAX, SLOT_RAX);
	emit_slot(b, OP_MOV_STORE, RSI, SLOT_RSI);
	EMIT(b, REX_W, 0xb8 | RDX);
	emit64(b, c->addr);
	EMIT(b, 0xb8 | RAX);
	emit32(b, 0);
	if (words >= SUM_UNROLL)
		emit_sum_loop(b, words / SUM_UNROLL);
	emit_sum_words(b, words % SUM_UNROLL);
	EMIT(b, REX_W, OP_MOV_LOAD, 0xc0 | RCX << 3 | RAX);
	emit_slot(b, OP_MOV_LOAD, RSI, SLOT_RSI);
	emit_slot(b, OP_MOV_LOAD, RAX, SLOT_RAX);
}

static void emit_condition(struct builder *b, const struct code_cond *c, bool is_first)
{
	unsigned reg = RCX;

	switch (c->kind) {
	case CODE_COND_REG:
		reg = emit_register(b, c->reg, is_first);
		break;
	case CODE_COND_WORD:
		EMIT(b, REX_W, 0xb8 | RCX);
		emit64(b, c->addr);
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
static void emit_moved(struct builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	uint8_t copy[CODE_INSN_MAX];
	int32_t disp;

	memcpy(copy, bytes, d->insn.len);
	if (d->disp_off) {
		memcpy(&disp, copy + d->disp_off, sizeof(disp));
		disp = (int32_t)distance(b, here(b) + d->insn.len, at + d->insn.len + (uint64_t)(int64_t)disp);
		memcpy(copy + d->disp_off, &disp, sizeof(disp));
	}
	emit(b, copy, d->insn.len);
}

/* push [return address]: the one store that a call does, of the address it would store. */
static void emit_push_return(struct builder *b, uint64_t address)
{
	must(b->literals == 0); /* a call is the last of its plan */
	b->literals = 1;
	b->literal = address;
	EMIT(b, 0xff, 0x35);
	b->literal_at = b->t->n;
	emit32(b, 0);
}

static void emit_literal(struct builder *b)
{
	uint32_t d;

	if (!b->literals)
		return;
	while (here(b) % sizeof(b->literal))
		EMIT(b, 0xcc);
	d = b->t->n - (b->literal_at + 4);
	memcpy(b->t->bytes + b->literal_at, &d, sizeof(d));
	emit64(b, b->literal);
}

/* mov rcx, r/m where the call has its r/m */
static void emit_load_target(struct builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
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
		disp = (int32_t)distance(b, here(b) + tail, at + d->insn.len + (uint64_t)(int64_t)disp);
		memcpy(operand + 1, &disp, sizeof(disp));
	}
	emit(b, operand, tail);
}

/* The target is read before the return address is stored: it may be rsp, relative to it, or lie where the address
 * goes. */
static void emit_call(struct builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	uint64_t back = at + d->insn.len;

	if (d->insn.has_target) {
		emit_push_return(b, back);
		emit_jump(b, d->insn.target);
		return;
	}
	emit_slot(b, OP_MOV_STORE, RCX, SLOT_RCX);
	emit_load_target(b, d, bytes, at);
	emit_slot(b, OP_MOV_STORE, RCX, SLOT_TARGET);
	emit_slot(b, OP_MOV_LOAD, RCX, SLOT_RCX);
	emit_push_return(b, back);
	EMIT(b, 0xff, 0x25);
	emit_distance(b, b->t->data + SLOT_TARGET);
}

static void emit_copy(struct builder *b, const struct code_detail *d, const uint8_t *bytes, uint64_t at)
{
	if (d->insn.cls == CODE_CALL) {
		emit_call(b, d, bytes, at);
	} else if (d->insn.cls == CODE_JCC) {
		EMIT(b, 0x0f, 0x80 | d->cond);
		emit_distance(b, d->insn.target);
	} else if (d->insn.cls == CODE_JUMP && d->insn.has_target) {
		emit_jump(b, d->insn.target);
	} else {
		emit_moved(b, d, bytes, at);
	}
}

static void emit_copies(struct builder *b)
{
	const struct code_plan *p = b->plan;
	enum code_class last = CODE_PLAIN;

	for (unsigned i = 0; i < p->n; i++) {
		uint64_t at = p->at + p->off[i];
		struct code_detail d;

		code_detail(p->bytes + p->off[i], p->len - p->off[i], at, &d);
		b->t->copy[i] = here(b);
		emit_copy(b, &d, p->bytes + p->off[i], at);
		last = d.insn.cls;
	}
	b->t->back = here(b);
	if (last == CODE_PLAIN || last == CODE_JCC)
		emit_jump(b, p->at + p->len);
}

/* --- the whole --- */

static void patch8(struct builder *b, uint32_t at)
{
	must(b->t->n - (at + 1) < 128);
	b->t->bytes[at] = (uint8_t)(b->t->n - (at + 1));
}

/* The stub is written when its target is known. */
static void emit_first(struct builder *b, const struct code_cond *c)
{
	uint32_t stub = 0, d;

	emit_save(b);
	emit_condition(b, c, true);
	if (c->kind == CODE_COND_SUM) {
		EMIT(b, 0xe3, 2, 0xeb, CODE_JUMP_LEN);
		stub = b->t->n;
		EMIT(b, 0xe9, 0, 0, 0, 0);
	} else {
		d = b->t->n + 2 - stub;
		must(d <= 128);
		EMIT(b, 0xe3, (uint8_t)-d);
	}
	b->fail = here(b);
	emit_restore(b);
	emit_copies(b);
	d = b->t->n - (stub + CODE_JUMP_LEN);
	memcpy(b->t->bytes + stub + 1, &d, sizeof(d));
}

static void emit_other(struct builder *b, const struct code_cond *c)
{
	uint32_t to;

	emit_condition(b, c, false);
	EMIT(b, 0xe3, 0);
	to = b->t->n - 1;
	emit_jump(b, b->fail);
	patch8(b, to);
}

static void emit_match(struct builder *b)
{
	b->t->match = here(b);
	EMIT(b, 0xcc);
}

static void emit_all(struct builder *b, const struct code_cond *cond, unsigned n)
{
	EMIT(b, 0xe9, 0, 0, 0, 0);
	static_assert(CODE_TRAMP_ENTRY == CODE_JUMP_LEN, "the stub stands before the entry");
	b->t->entry = here(b);
	if (n == 0) {
		emit_match(b);
		emit_copies(b);
	} else {
		emit_first(b, &cond[0]);
		for (unsigned i = 1; i < n; i++)
			emit_other(b, &cond[i]);
		emit_restore(b);
		emit_match(b);
	}
	emit_literal(b);
}

int code_tramp_build(const struct code_plan *plan, uint64_t code, uint64_t data, const struct code_cond *cond, unsigned n,
		     struct code_tramp *ret)
{
	struct builder b = { .t = ret, .plan = plan };
	int64_t d = (int64_t)(code - (plan->at + CODE_JUMP_LEN));
	unsigned sums = 0;

	if (n > CODE_CONDS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (!is_condition(&cond[i]))
			return -EINVAL;
		b.wide |= is_wide(cond[i].value) || cond[i].kind == CODE_COND_SUM;
		sums += cond[i].kind == CODE_COND_SUM;
	}
	if (sums > CODE_SUMS_MAX)
		return -EINVAL;
	if (d != (int32_t)d || d + CODE_TRAMP_MAX != (int32_t)(d + CODE_TRAMP_MAX))
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
	if (rip == tr->back)
		return plan->at + plan->len;
	for (unsigned i = plan->n; i-- > 0;)
		if (rip >= tr->copy[i] && rip < tr->back)
			return plan->at + plan->off[i];
	return 0;
}
