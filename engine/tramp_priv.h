/* Writing trampolines: what tramp.c (comparisons) and tramp_expr.c (expressions) share. */
#ifndef ENGINE_TRAMP_PRIV_H
#define ENGINE_TRAMP_PRIV_H

#include <assert.h>
#include "engine/code_priv.h"

enum {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI,
	REX_W = 0x48,
	REX_R = 4,
	REX_X = 2,
	REX_B = 1,
	OP_MOV_STORE = 0x89,
	OP_MOV_LOAD = 0x8b,
	OP_LEA = 0x8d,
};

/* Where in the data page what lies. */
enum {
	SLOT_RCX = 0,
	SLOT_RDX = 8,
	SLOT_TARGET = 16,
	SLOT_RAX = 24,
	SLOT_STATUS = 32, /* arithmetic flags: ah as lahf has it, al the overflow flag */
	SLOT_FLAGS = 40,  /* all flags; a push lands here when rsp is SLOT_RSP's address */
	SLOT_RSP = 48,
	SLOT_RSI = SLOT_STATUS, /* of sums; never both */
	SLOT_COUNTER = CODE_DATA_COUNTER,
	SLOT_VECTOR = 64, /* a whole cache line */
	SLOT_STACK = 128, /* of expressions */
};
static_assert(SLOT_VECTOR + 64 <= SLOT_STACK, "a vector register fits");
static_assert(SLOT_STACK + 8 * CODE_EXPR_DEPTH_MAX <= CODE_DATA_MAX, "the data area holds all slots");
static_assert(SLOT_FLAGS + 8 == SLOT_RSP, "pushf stores there");

struct tramp_builder {
	struct code_tramp *t;
	const struct code_plan *plan;
	bool wide;          /* rdx is in use */
	bool is_far;        /* some distance does not fit 32 bits */
	uint64_t fail;      /* address of that label */
	unsigned literals;  /* of calls: there is one at most */
	uint32_t literal_at; /* offset of the displacement that leads to it */
	uint64_t literal;
};

void tramp_emit(struct tramp_builder *b, const void *p, size_t n);
void tramp_emit32(struct tramp_builder *b, uint32_t v);
void tramp_emit64(struct tramp_builder *b, uint64_t v);
/* Address of what comes next. */
uint64_t tramp_here(const struct tramp_builder *b);
/* A displacement that is the last thing of its instruction. */
void tramp_emit_distance(struct tramp_builder *b, uint64_t to);
void tramp_emit_jump(struct tramp_builder *b, uint64_t to);
/* mov (or lea) between a low register and a slot */
void tramp_emit_slot(struct tramp_builder *b, uint8_t op, unsigned reg, uint64_t slot);
/* The displaced instructions, the jump behind them. */
void tramp_emit_copies(struct tramp_builder *b);
/* At the very end. */
void tramp_emit_literal(struct tramp_builder *b);
/* 0, or -ERANGE: no jump from the plan's place gets there. */
int tramp_reach(const struct code_plan *plan, uint64_t code) MUST_CHECK;

#define EMIT(b, ...) \
	do { \
		const uint8_t emit_[] = { __VA_ARGS__ }; \
\
		tramp_emit(b, emit_, sizeof(emit_)); \
	} while (0)

#endif
