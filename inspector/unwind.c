/* From a frame to its caller: by call frame information (.eh_frame, .debug_frame), by the frame that the kernel lays down for a
 * handler of signals, and where there is neither by what compilers commonly do. Memory and registers are the session's; all of it may be nonsense. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct inspector *in = ctx;

	return dbg_read(in->dbg, addr, buf, n) == n;
}

static bool read_word(struct inspector *in, uint64_t addr, uint64_t *ret)
{
	return read_memory(in, addr, ret, sizeof(*ret));
}

void unwind_first(const struct user_regs_struct *u, struct unwind_frame *ret)
{
	*ret = (struct unwind_frame){
		.regs = { .v = { u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp, u->r8, u->r9, u->r10, u->r11, u->r12, u->r13,
				 u->r14, u->r15, u->rip },
			  .known = (1u << UNWIND_REGS) - 1 },
		.pc = u->rip,
		.exact = true,
	};
}

static void set(struct unwind_regs *r, unsigned n, uint64_t v)
{
	r->v[n] = v;
	r->known |= 1u << n;
}

/* --- call frame information --- */

static Dwarf_Frame *find_row(const struct module *m, uint64_t addr)
{
	Dwarf_Frame *row = NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;

	if (!m || !m->file->mod)
		return NULL;
	m->file->in->busy_with = m->file->path;
	cfi = dwfl_module_eh_cfi(m->file->mod, &bias);
	if (cfi && dwarf_cfi_addrframe(cfi, addr - m->bias - bias, &row) == 0)
		return row;
	if (!symfile_dwarf(m->file))
		return NULL;
	cfi = dwfl_module_dwarf_cfi(m->file->mod, &bias);
	return cfi && dwarf_cfi_addrframe(cfi, addr - m->bias - bias, &row) == 0 ? row : NULL;
}

/* The caller's value of one register. */
static void restore(const struct expr_context *x, Dwarf_Frame *row, unsigned reg, struct unwind_regs *to)
{
	Dwarf_Op mem[3], *ops;
	struct expr_result v;
	uint64_t word;
	size_t n;

	if (dwarf_frame_register(row, (int)reg, mem, &ops, &n) != 0)
		return;
	if (!n) {
		/* the same value, or undefined */
		if (!ops && x->regs->known >> reg & 1 && reg != UNWIND_RA)
			set(to, reg, x->regs->v[reg]);
		return;
	}
	if (expr_run(x, ops, n, &v) < 0)
		return;
	if (v.kind == EXPR_VALUE)
		set(to, reg, v.v);
	else if (v.kind == EXPR_REGISTER && v.v < UNWIND_REGS && x->regs->known >> v.v & 1)
		set(to, reg, x->regs->v[v.v]);
	else if (v.kind == EXPR_MEMORY && x->read(x->ctx, v.v, &word, sizeof(word)))
		set(to, reg, word);
}

/* Does the row say that there is no caller? */
static bool outermost(Dwarf_Frame *row)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(row, UNWIND_RA, mem, &ops, &n) == 0 && !n && ops == mem;
}

static int by_cfi(struct inspector *in, const struct module *m, Dwarf_Frame *row, struct unwind_frame *f, struct unwind_frame *ret, const char **note)
{
	struct expr_context x = { .regs = &f->regs, .read = read_memory, .ctx = in, .bias = m->bias };
	struct expr_result cfa;
	bool signal = false;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_info(row, NULL, NULL, &signal) == UNWIND_RA && dwarf_frame_cfa(row, &ops, &n) == 0 && n && expr_run(&x, ops, n, &cfa) == 0 &&
	    cfa.kind != EXPR_BLOCK) {
		f->has_cfa = true;
		/* "register 7" would be the value of rsp */
		f->cfa = cfa.kind == EXPR_REGISTER ? f->regs.v[cfa.v % UNWIND_REGS] : cfa.v;
	}
	f->signal = signal;
	if (outermost(row))
		return 0;
	if (!f->has_cfa) {
		*note = "the call frame information cannot be evaluated";
		return 0;
	}
	x.has_cfa = true;
	x.cfa = f->cfa;
	for (unsigned r = 0; r < UNWIND_REGS; r++)
		restore(&x, row, r, &ret->regs);
	if (!(ret->regs.known >> UNWIND_RSP & 1))
		set(&ret->regs, UNWIND_RSP, f->cfa);
	if (!(ret->regs.known >> UNWIND_RA & 1)) {
		*note = "the return address cannot be read";
		return 0;
	}
	ret->pc = ret->regs.v[UNWIND_RA];
	ret->exact = signal;
	return 1;
}

/* --- the kernel's frames --- */

/* What a handler returns to: rt_sigreturn. Linkers and Go have such code without call frame information. */
static bool is_sigreturn(struct inspector *in, uint64_t pc)
{
	static const uint8_t codes[][9] = { { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05, 0, 0 } };
	uint8_t at[9] = { 0 };
	size_t n = dbg_read(in->dbg, pc, at, sizeof(at));

	return (n >= 9 && !memcmp(at, codes[0], 9)) || (n >= 7 && !memcmp(at, codes[1], 7));
}

static int by_signal_frame(struct inspector *in, struct unwind_frame *f, struct unwind_frame *ret, const char **note)
{
	static const uint8_t order[UNWIND_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
						    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
	greg_t g[NGREG];

	f->signal = true;
	if (!read_memory(in, f->regs.v[UNWIND_RSP] + offsetof(ucontext_t, uc_mcontext.gregs), g, sizeof(g))) {
		*note = "the frame of the signal cannot be read";
		return 0;
	}
	for (unsigned r = 0; r < UNWIND_REGS; r++)
		set(&ret->regs, r, (uint64_t)g[order[r]]);
	ret->pc = ret->regs.v[UNWIND_RA];
	ret->exact = true;
	return 1;
}

/* --- without information --- */

/* Is there a call right before it? */
static bool behind_call(struct inspector *in, uint64_t addr)
{
	uint8_t c[8];

	if (addr < sizeof(c) || !modules_executable(in, addr - 1) || !read_memory(in, addr - sizeof(c), c, sizeof(c)))
		return false;
	if (c[3] == 0xe8)
		return true;
	/* call through a register or memory: ff /2, 2 to 7 bytes */
	for (unsigned at = 1; at <= 6; at++)
		if (c[at] == 0xff && (c[at + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

static int caller_at(struct inspector *in, uint64_t at, struct unwind_frame *f, struct unwind_frame *ret)
{
	uint64_t ra;

	if (!read_word(in, at, &ra) || !behind_call(in, ra))
		return 0;
	f->has_cfa = true;
	f->cfa = at + 8;
	for (unsigned r = 0; r < UNWIND_REGS; r++)
		if ((1u << r & (1u << 3 | 1u << UNWIND_RBP | 0xf000u)) && f->regs.known >> r & 1)
			set(&ret->regs, r, f->regs.v[r]);
	set(&ret->regs, UNWIND_RSP, at + 8);
	set(&ret->regs, UNWIND_RA, ra);
	ret->pc = ra;
	return 1;
}

static int by_frame_pointer(struct inspector *in, struct unwind_frame *f, struct unwind_frame *ret)
{
	uint64_t rbp = f->regs.v[UNWIND_RBP], saved;

	if (!(f->regs.known >> UNWIND_RBP & 1) || rbp < f->regs.v[UNWIND_RSP] || rbp % 8 || !read_word(in, rbp, &saved))
		return 0;
	if (!caller_at(in, rbp + 8, f, ret))
		return 0;
	set(&ret->regs, UNWIND_RBP, saved);
	f->guess = "frame pointer";
	return 1;
}

/* Nobody calls it: the kernel jumped there. Not all of them say so by their call frame information. */
static bool is_entry(const struct module *m, const struct unwind_frame *f)
{
	static const char *const names[] = { "_start", "runtime.rt0_go", "runtime.clone", "runtime.goexit" };
	struct symbol s = { 0 };

	if (m)
		symbols_lookup(m->file, f->pc - m->bias - !f->exact, &s);
	for (size_t i = 0; s.name && i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		/* Go's are called so in its assembler */
		if (!strncmp(s.name, names[i], n) && (!s.name[n] || !strcmp(s.name + n, ".abi0")))
			return true;
	}
	return false;
}

/* How far the beginning of the function has come: bytes that were pushed, -1 = a frame pointer stands. */
static int prologue(struct inspector *in, const struct module *m, const struct unwind_frame *f)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t c[16] = { 0 };
	struct symbol s = { 0 };
	uint64_t start, at = 0;

	if (m)
		symbols_lookup(m->file, f->pc - m->bias, &s);
	if (!s.name || !s.function)
		return f->exact && !modules_executable(in, f->pc) ? 0 : -1;
	start = f->pc - s.offset;
	if (dbg_read(in->dbg, start, c, sizeof(c)) < sizeof(c))
		return -1;
	if (!memcmp(c, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	if (f->pc <= start + at)
		return 0;
	if (c[at] != 0x55) /* push %rbp */
		return 0;
	return f->pc == start + at + 1 ? 8 : -1;
}

static int by_habit(struct inspector *in, const struct module *m, struct unwind_frame *f, struct unwind_frame *ret, const char **note)
{
	int pushed = prologue(in, m, f), r = 0;
	uint64_t sp = f->regs.v[UNWIND_RSP], saved;

	if (pushed >= 0)
		r = caller_at(in, sp + (uint64_t)pushed, f, ret);
	if (r && pushed == 8 && read_word(in, sp, &saved))
		set(&ret->regs, UNWIND_RBP, saved);
	if (!r)
		r = by_frame_pointer(in, f, ret);
	if (!r && pushed < 0 && f->exact)
		r = caller_at(in, sp, f, ret);
	if (!r)
		*note = "there is no call frame information, and no frame pointer";
	else if (!f->guess)
		f->guess = "top of the stack";
	return r;
}

int unwind_next(struct inspector *in, struct unwind_frame *f, struct unwind_frame *ret, const char **note)
{
	uint64_t addr = f->pc - !f->exact;
	const struct module *m = modules_find(in, addr);
	Dwarf_Frame *row CLEANUP(freep) = NULL;
	int r;

	*note = NULL;
	*ret = (struct unwind_frame){ 0 };
	if (is_entry(m, f))
		return 0;
	if (!f->exact && !modules_executable(in, addr)) {
		*note = "the return address is not one of code";
		return 0;
	}
	/* the return to a handler's trampoline is no call: the address before it belongs to something else */
	if (!f->exact && is_sigreturn(in, f->pc)) {
		m = modules_find(in, f->pc);
		row = find_row(m, f->pc);
		f->exact = true;
	} else {
		row = find_row(m, addr);
	}
	if (row)
		r = by_cfi(in, m, row, f, ret, note);
	else if (is_sigreturn(in, f->pc))
		r = by_signal_frame(in, f, ret, note);
	else
		r = by_habit(in, m, f, ret, note);
	if (r <= 0 || ret->pc == 0)
		return 0;
	if (ret->pc == f->pc && ret->regs.v[UNWIND_RSP] == f->regs.v[UNWIND_RSP]) {
		*note = "the stack repeats itself";
		return 0;
	}
	return 1;
}
