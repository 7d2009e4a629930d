/* Machine code of guests: where an instruction can be stopped at, and the jumps and trampolines that do it without
 * a stop for each pass.
 *
 * Replay finds an asynchronous point (docs/ASYNC.md) by putting a jump over the instruction at its address. The
 * jump leads to a trampoline that compares registers and memory with the wanted values, without touching flags or
 * stack, and goes on in the guest's code as long as one differs. The displaced instructions run as copies in the
 * trampoline.
 *
 * Nothing here changes a guest: bytes come in through struct sys_mem, bytes go out. Zydis decodes.
 * What mem->read gives must be the guest's own bytes, not our jumps and breakpoints. The look around a jump reaches
 * neighbouring pages: where those can change, recorder and replayer may come to different plans. Then replay has to
 * take a breakpoint, which is slow, not wrong.
 */
#ifndef ENGINE_CODE_H
#define ENGINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "base/err.h"
#include "engine/syscall.h"

#define CODE_INSN_MAX 15
#define CODE_JUMP_LEN 5 /* jmp rel32 */

/* What an instruction is to those who stop around it. */
enum code_class {
	CODE_BAD,     /* does not decode, or cannot be read */
	CODE_PLAIN,   /* can be copied elsewhere (rip-relative operands are rewritten), then runs on behind itself */
	CODE_JCC,     /* conditional jump on flags */
	CODE_JUMP,    /* jmp, direct or not */
	CODE_CALL,
	CODE_RET,
	CODE_REP,     /* string instruction with a repeat prefix: one instruction, many steps */
	CODE_KEEP,    /* must run where it stands: syscall, int, loop, jrcxz, xbegin, pushf, popf, iret, far control
		       * flow, mov ss, rdtsc, cpuid, x87 (fnstenv and signal frames show the address of the last one), near
		       * branches with a 0x66 prefix, privileged ones, ... */
	CODE_CLASS_MAX_
};

struct code_insn {
	enum code_class cls;
	uint8_t len;
	bool has_target;  /* direct jump or call (also loop, jrcxz, xbegin): */
	uint64_t target;
};

/* Decodes the instruction at addr. */
void code_decode(const struct sys_mem *mem, uint64_t addr, struct code_insn *ret);

/* A repeated movs or stos: between any two of its steps, rcx, rdi and rsi say how far it is, and nothing else does. */
struct code_string {
	uint8_t len;
	uint8_t size; /* bytes of an element */
	bool moves;   /* rsi moves along with rdi */
};

/* False: another instruction. */
bool code_string(const struct sys_mem *mem, uint64_t addr, struct code_string *ret);

/* --- operands, for those who want to know what the code ahead works with --- */

/* General registers by number as in instruction encodings (rax rcx rdx rbx rsp rbp rsi rdi r8..r15). */
struct code_regs {
	uint64_t gpr[16], rip, fs_base, gs_base;
};

/* Calls fn(ctx, address, bytes) for each memory operand of up to n instructions from addr on, read straight on,
 * along direct jumps, over calls, and following the first backward jump once, whose address follows from regs
 * (operands through registers that the code in between writes are left out, and so are the stack words of push,
 * pop, call and ret, gathers and scatters). An address may come more than once, and none is known to be mapped. */
typedef void (*code_operand_fn)(void *ctx, uint64_t addr, unsigned len);
void code_operands(const struct sys_mem *mem, uint64_t addr, unsigned n, const struct code_regs *regs, code_operand_fn fn, void *ctx);
/* The same for all code from start to end, read straight on, for what it names without registers: operands and lea
 * relative to rip (of which nobody knows the size: 0), absolute ones. Where code and data are mixed some are
 * nonsense. */
void code_named(const struct sys_mem *mem, uint64_t start, uint64_t end, code_operand_fn fn, void *ctx);

/* --- plans --- */

#define CODE_PLAN_INSNS 6

/* How to put a jump at an address: the instructions it covers. */
struct code_plan {
	uint64_t at;
	uint8_t n;                    /* instructions that are displaced */
	uint8_t off[CODE_PLAN_INSNS]; /* where each begins, from `at` on */
	uint8_t len;                  /* bytes of them together, >= CODE_JUMP_LEN */
	uint8_t bytes[CODE_PLAN_INSNS * CODE_INSN_MAX];
};

/* Can a jump stand at `at`? True and the plan when
 *   - the displaced instructions can all be copied; a call is the last of them and ends behind the jump's bytes (a
 *     return never lands within);
 *   - when there is more than one: nothing within 4 KiB around jumps directly behind the first byte of the jump.
 *     Indirect jumps (switch tables) are not seen;
 *   - no part of a 64-bit immediate is under the jump's bytes: other code may read it as data.
 * The answer depends on the guest's bytes alone: recorder and replayer come to the same one. */
bool code_plan(const struct sys_mem *mem, uint64_t at, struct code_plan *ret);
/* The cheap half: one instruction of at least five bytes, no look around. */
bool code_plan_single(const struct sys_mem *mem, uint64_t at, struct code_plan *ret);
/* One instruction of any length, for a breakpoint: its copy steps over it. */
bool code_plan_breakpoint(const struct sys_mem *mem, uint64_t at, struct code_plan *ret);

/* --- trampolines --- */

enum code_cond_kind {
	CODE_COND_REG,  /* general register .reg (encoding number) equals value */
	CODE_COND_WORD, /* the 8 bytes at addr equal value */
	CODE_COND_VEC,  /* 64-bit element .word (0..7) of vector register .reg (0..31) equals value. Elements 2, 3 need AVX;
			 * 4.. and registers 16.. AVX-512F */
	CODE_COND_COUNT, /* comes first: counts the pass (CODE_DATA_COUNTER); true when that makes value, or, with value 0, always */
	CODE_COND_SUM,  /* eng_sum() of the len bytes at addr equals value: 1 to 2 ns a word, for what nothing else tells */
	CODE_COND_MAX_
};

struct code_cond {
	enum code_cond_kind kind;
	uint8_t reg, word;
	uint32_t len; /* a multiple of 8, not 0, at most CODE_SUM_MAX */
	uint64_t addr;
	uint64_t value;
};

#define CODE_CONDS_MAX 64
#define CODE_SUMS_MAX 16 /* among them */
#define CODE_SUM_MAX (64u << 10)
/* Trampoline code fits into this much, its data (scratch words) into that; the two must not share a page. */
#define CODE_TRAMP_MAX 8192u
#define CODE_TRAMP_ENTRY 5u /* the entry's distance from where the code begins */
#define CODE_DATA_MAX 512u
#define CODE_DATA_COUNTER 56u /* CODE_COND_COUNT counts in the 8 bytes there in the data */

struct code_tramp {
	uint64_t code, data;              /* where it will lie */
	uint64_t entry;                   /* the jump leads here */
	uint64_t match;                   /* an int3: all conditions held. The stop's rip is match + 1; all other registers
					   * are the guest's */
	uint64_t copy[CODE_PLAN_INSNS];   /* copies of the displaced instructions: a thread that stands at plan->at + off[i]
					   * goes on at copy[i] */
	uint64_t back;                    /* end of the copies; the jump back, if the last of them does not lead away */
	/* Of an expression: an int3, it cannot be told here (0: none); and where which registers are in the data area. */
	uint64_t undecided;
	uint64_t swapped, saving, saved, restored, again;
	uint32_t n;                       /* bytes */
	uint8_t bytes[CODE_TRAMP_MAX];
};

/* Builds the trampoline for code at `code` and scratch data at `data` (both within 2 GiB of plan->at; 64-byte
 * aligned data is faster). With n = 0 every pass is a match. Only one thread may be in it at a time: the scratch
 * words hold its registers. The code must be readable. Conditions are compared in their order: put first what
 * differs in most passes.
 * -ERANGE: too far away, from the code or from what it refers to; -EINVAL: no such condition. *ret is not to be
 * used then. */
int code_tramp_build(const struct code_plan *plan, uint64_t code, uint64_t data, const struct code_cond *cond, unsigned n,
		     struct code_tramp *ret) MUST_CHECK;
/* Where in the guest's own code a thread is that is in a copy, stands at the beginning of one, or at entry, match, match + 1 or
 * back; 0: none of these. */
uint64_t code_tramp_origin(const struct code_plan *plan, const struct code_tramp *tr, uint64_t rip);
/* Makes regs, of a thread that faulted in a copy, those with which it would have faulted in place. False: it did not. A call through a
 * pointer that is no address at all (non-canonical) leaves its return address below the stack; in place it would not have pushed it. */
bool code_tramp_faulted(const struct code_plan *plan, const struct code_tramp *tr, struct user_regs_struct *regs);
/* The five bytes of the jump. */
void code_jump(const struct code_plan *plan, const struct code_tramp *tr, uint8_t ret[CODE_JUMP_LEN]);

/* --- conditions as expressions --- */

#define CODE_EXPR_BYTES_MAX 1024u
#define CODE_EXPR_OPS_MAX 160u
#define CODE_EXPR_DEPTH_MAX 32u

struct code_expr_op {
	uint8_t op;      /* its bytecode */
	uint8_t depth;   /* values on the stack before it */
	bool is_target;  /* somebody jumps here */
	uint16_t to;     /* jumps: index of the operation */
	uint64_t value;  /* its operand */
};

struct code_expr {
	uint16_t n;
	bool wants_flags; /* the flags register as a value */
	struct code_expr_op op[CODE_EXPR_OPS_MAX];
};

/* From the bytecode of gdb's agent expressions (gdb manual, appendix of that name; registers 0..17 by gdb's numbers for amd64). -ENOTSUP:
 * something that is not done in the guest: other registers, floating point, trace state variables, tracing, jumps backwards, too
 * long, or nothing valid. */
int code_expr_compile(const uint8_t *bytecode, size_t len, struct code_expr *ret) MUST_CHECK;

/* Memory of the guest that shows something of ours now. */
#define CODE_HIDDEN_MAX 8u
struct code_hidden {
	uint64_t addr, len;
};

/* As code_tramp_build(), but a pass is a match when the expression is not zero. It is evaluated with the registers of the guest as they are
 * there (rip: plan->at), on memory of the data area; nothing of the guest is touched. Where it cannot be, the pass stops too:
 *   - at ret->undecided, when it would read one of the bytes of the n ranges `hidden`, or shift by more than 63 bits, or
 *   - with the signal of a fault of its own (SIGSEGV, SIGBUS, SIGFPE) within.
 * Then code_tramp_rescue() tells, and the caller has to evaluate it and may go on at copy[0]. */
int code_tramp_build_expr(const struct code_plan *plan, uint64_t code, uint64_t data, const struct code_expr *e, const struct code_hidden *hidden, unsigned n,
			  struct code_tramp *ret) MUST_CHECK;

enum code_where {
	CODE_OUTSIDE,   /* not in the trampoline: nothing is changed */
	CODE_AT,        /* the pass is not decided: it stands at plan->at again */
	CODE_MATCHED,   /* likewise, after a match */
	CODE_BEHIND,    /* in the copies, between two instructions: it stands at the one that comes next, or behind them */
	CODE_MIXED,     /* within what was one instruction: a fault happened there (code_tramp_origin()), or it has to be stepped */
};
/* Makes regs, of a thread that stopped anywhere, those of the guest, as if there were no trampoline. data: what its data area holds now. */
enum code_where code_tramp_rescue(const struct code_plan *plan, const struct code_tramp *tr, const uint8_t data[CODE_DATA_MAX], struct user_regs_struct *regs);

/* --- branch targets, remembered --- */

/* code_plan() looks through the page of `at` and the two beside it for jumps; a cache remembers what it found per
 * page of code that cannot change, at most 5 MiB of it. One per recording or replay; NULL is fine everywhere. The
 * answers are those of code_plan().
 * key: says which code is readable there and around, (device, inode, offset) of the mapping or the like hashed by
 * the caller (the address is added here); 0 = not to be remembered. */
struct code_cache;
/* NULL: no memory. */
struct code_cache *code_cache_new(void);
void code_cache_free(struct code_cache *c);
bool code_plan_cached(struct code_cache *c, uint64_t key, const struct sys_mem *mem, uint64_t at, struct code_plan *ret);

#endif
