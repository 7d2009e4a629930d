/* What the trampolines need to know of an instruction beyond its class. Zydis stays in code.c. */
#ifndef ENGINE_CODE_PRIV_H
#define ENGINE_CODE_PRIV_H

#include "engine/code.h"

struct code_detail {
	struct code_insn insn;
	uint8_t disp_off;   /* where the 32-bit displacement of a rip-relative operand stands; 0 = there is none */
	uint8_t modrm_off;  /* 0 = there is no ModRM byte */
	uint8_t imm64_off;  /* where an immediate of 64 bits stands; 0 = there is none */
	uint8_t cond;       /* CODE_JCC: the condition, 0..15 */
	uint8_t rex;        /* the REX prefix or 0 (legacy encodings only) */
	uint8_t segment;    /* 0x64, 0x65 or 0 */
	bool short_address; /* prefix 0x67 */
};

/* Decodes the instruction in n bytes that would stand at addr. CODE_BAD when it does not. */
void code_detail(const uint8_t *bytes, size_t n, uint64_t addr, struct code_detail *ret);

#endif
