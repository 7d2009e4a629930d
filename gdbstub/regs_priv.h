/* The registers as the target description counts and names them, and where they lie in what ptrace gives. Pure but for cpuid. */
#ifndef GDBSTUB_REGS_PRIV_H
#define GDBSTUB_REGS_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/user.h>
#include "base/buf.h"

#define REGS_COMPONENTS 20
#define REGS_XSAVE_MAX (64u << 10)
#define REGS_BYTES_MAX 64u /* of one register */

enum { REGS_RBP = 6, REGS_RSP = 7, REGS_RIP = 16, REGS_ORIG_RAX = 57 };

/* The standard format of the XSAVE area on this machine, and what of it the recorded machine had switched on. */
struct regs_layout {
	uint64_t have; /* bit n: component n (x87 and SSE always) */
	uint32_t offset[REGS_COMPONENTS];
	unsigned n;    /* registers */
};

/* cpu: the manifest's object, NULL = this machine. */
void regs_layout_init(struct regs_layout *l, const json_t *cpu);
/* Bytes of a register, 0: there is none of that number. */
size_t regs_size(const struct regs_layout *l, unsigned n);
/* xstate may be short: what is missing is in its initial state. */
void regs_get(const struct regs_layout *l, unsigned n, const struct user_regs_struct *u, const struct buf *xstate, uint8_t ret[REGS_BYTES_MAX]);
/* Sets it in u, or in xstate, which is grown to hold it. true: in xstate. */
bool regs_set(const struct regs_layout *l, unsigned n, struct user_regs_struct *u, struct buf *xstate, const uint8_t v[REGS_BYTES_MAX]);
/* target.xml; types = lldb's attributes are not needed: it knows the names. */
void regs_put_xml(const struct regs_layout *l, struct buf *out);

#endif
