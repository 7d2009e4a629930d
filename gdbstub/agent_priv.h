/* Interpreter of gdb's agent expressions: the conditions of breakpoints, compiled by gdb to bytecode.
 *
 * Pure: registers and memory come from callbacks. Hostile code ends: steps, stack and reads are bounded.
 */
#ifndef GDBSTUB_AGENT_PRIV_H
#define GDBSTUB_AGENT_PRIV_H

#include <stdbool.h>
#include "base/buf.h"

#define AGENT_CODE_MAX 65535u /* jumps have 16 bits */
#define AGENT_STACK_MAX 128u
#define AGENT_STEPS_MAX 65536u

struct agent_target {
	/* Register by number as the target description counts them. 0 or a negative error. */
	int (*reg)(void *ctx, unsigned number, uint64_t *ret);
	/* All n (<= 8) bytes or a negative error. */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	void *ctx;
};

/* Runs the code: 0 and the value on top of the stack at `end`. ERR_PROTOCOL: malformed or not supported; ERR_LIMIT: too many steps;
 * -EDOM: division by zero; else what a callback gave. */
int agent_eval(const uint8_t *code, size_t n, const struct agent_target *t, uint64_t *ret) MUST_CHECK;

#endif
