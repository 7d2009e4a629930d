/* Decoding, plans, and the cache of branch targets.
 *
 * Everything that is not known to run alike at another address is CODE_KEEP: what uses its own address (loop,
 * jrcxz, xbegin), what stops or traps with it (syscalls, interrupts, rdtsc and cpuid, which are trapped in
 * guests), what keeps it in a register that the guest can read (x87: the pointer of the last instruction), what
 * delays a trap behind it (mov ss), and what a manufacturer understands differently (0x66 before near branches).
 */
#include "engine/code_priv.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
/* A page is decoded from this far before its first byte on, so that the decoder is in step when it arrives. */
#define RUN_IN 64u

/* --- reading --- */

/* As many bytes from addr on as can be read, up to n (<= a page): all, or those up to the page border. */
static size_t read_code(const struct sys_mem *mem, uint64_t addr, uint8_t *buf, size_t n)
{
	size_t first = PAGE - addr % PAGE;

	if (mem->read(mem->ctx, addr, buf, n) >= 0)
		return n;
	if (n > first && mem->read(mem->ctx, addr, buf, first) >= 0)
		return first;
	return 0;
}

/* --- decoding --- */

static void decoder_init(ZydisDecoder *d)
{
	/* cannot fail: the arguments are constants that Zydis knows */
	must(ZYAN_SUCCESS(ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
}

/* Branch targets only: the fast mode of Zydis tells lengths and immediates, no more. */
static void decoder_init_fast(ZydisDecoder *d)
{
	decoder_init(d);
	must(ZYAN_SUCCESS(ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)));
}

/* clang-format off */
static const bool kept_categories[ZYDIS_CATEGORY_MAX_VALUE + 1] = {
	[ZYDIS_CATEGORY_INTERRUPT] = true,
	[ZYDIS_CATEGORY_IO] = true,
	[ZYDIS_CATEGORY_IOSTRINGOP] = true,
	[ZYDIS_CATEGORY_KNC] = true,
	[ZYDIS_CATEGORY_PADLOCK] = true,
	[ZYDIS_CATEGORY_RDPRU] = true,
	[ZYDIS_CATEGORY_SGX] = true,
	[ZYDIS_CATEGORY_SYSCALL] = true,
	[ZYDIS_CATEGORY_SYSRET] = true,
	[ZYDIS_CATEGORY_SYSTEM] = true,
	[ZYDIS_CATEGORY_UINTR] = true,
	[ZYDIS_CATEGORY_VTX] = true,
	[ZYDIS_CATEGORY_X87_ALU] = true,
	[ZYDIS_CATEGORY_FCMOV] = true,
};

static const bool kept_mnemonics[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	[ZYDIS_MNEMONIC_CLI] = true,
	[ZYDIS_MNEMONIC_CPUID] = true,
	[ZYDIS_MNEMONIC_LSS] = true,
	[ZYDIS_MNEMONIC_MONITORX] = true,
	[ZYDIS_MNEMONIC_MWAITX] = true,
	[ZYDIS_MNEMONIC_POPF] = true,
	[ZYDIS_MNEMONIC_POPFD] = true,
	[ZYDIS_MNEMONIC_POPFQ] = true,
	[ZYDIS_MNEMONIC_PUSHF] = true,
	[ZYDIS_MNEMONIC_PUSHFD] = true,
	[ZYDIS_MNEMONIC_PUSHFQ] = true,
	[ZYDIS_MNEMONIC_RDTSC] = true,
	[ZYDIS_MNEMONIC_RDTSCP] = true,
	[ZYDIS_MNEMONIC_STI] = true,
	[ZYDIS_MNEMONIC_UD0] = true,
	[ZYDIS_MNEMONIC_UD1] = true,
	[ZYDIS_MNEMONIC_UD2] = true,
	[ZYDIS_MNEMONIC_XABORT] = true,
	[ZYDIS_MNEMONIC_XBEGIN] = true,
	[ZYDIS_MNEMONIC_XEND] = true,
	[ZYDIS_MNEMONIC_XTEST] = true,
};
/* clang-format on */

/* FF /reg in the one-byte map */
static bool is_group5(const ZydisDecodedInstruction *in, unsigned reg)
{
	return in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in->opcode == 0xff && in->raw.modrm.reg == reg;
}

static bool is_plain_opcode(const ZydisDecodedInstruction *in, unsigned a, unsigned b)
{
	return in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (in->opcode == a || in->opcode == b);
}

static bool is_jcc(const ZydisDecodedInstruction *in)
{
	return (in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (in->opcode & 0xf0) == 0x70) ||
	       (in->opcode_map == ZYDIS_OPCODE_MAP_0F && (in->opcode & 0xf0) == 0x80);
}

static bool is_mov_to_ss(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_MOV && is_plain_opcode(in, 0x8e, 0x8e) && in->raw.modrm.reg == 2;
}

/* Control transfers: only the forms that tramp.c can write anew are told from the rest. */
static enum code_class branch_class(const ZydisDecodedInstruction *in, const struct code_detail *d, bool is_narrow)
{
	/* 0x66 without REX.W: Intel ignores it, AMD cuts rip to 16 bits */
	if (is_narrow && !(d->rex & 8))
		return CODE_KEEP;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return is_jcc(in) ? CODE_JCC : CODE_KEEP;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_plain_opcode(in, 0xe9, 0xeb) || is_group5(in, 4) ? CODE_JUMP : CODE_KEEP;
	case ZYDIS_CATEGORY_CALL:
		return is_plain_opcode(in, 0xe8, 0xe8) || is_group5(in, 2) ? CODE_CALL : CODE_KEEP;
	default:
		return is_plain_opcode(in, 0xc2, 0xc3) ? CODE_RET : CODE_KEEP;
	}
}

static enum code_class class_of(const ZydisDecodedInstruction *in, const struct code_detail *d, bool is_narrow)
{
	const uint64_t repeated = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || kept_categories[in->meta.category] ||
	    kept_mnemonics[in->mnemonic] || is_mov_to_ss(in))
		return CODE_KEEP;
	if (in->attributes & repeated)
		return CODE_REP;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return branch_class(in, d, is_narrow);
	default:
		return CODE_PLAIN;
	}
}

/* Prefixes that matter; true when 0x66 is one of them. */
static bool read_prefixes(const ZydisDecodedInstruction *in, struct code_detail *d)
{
	bool is_narrow = false;

	for (unsigned i = 0; i < in->raw.prefix_count; i++) {
		uint8_t v = in->raw.prefixes[i].value;

		if (v == 0x64 || v == 0x65)
			d->segment = v;
		d->short_address |= v == 0x67;
		is_narrow |= v == 0x66;
	}
	return is_narrow;
}

static void describe(const ZydisDecodedInstruction *in, const uint8_t *bytes, uint64_t addr, struct code_detail *ret)
{
	bool is_narrow = read_prefixes(in, ret);

	if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && in->attributes & ZYDIS_ATTRIB_HAS_REX)
		ret->rex = bytes[in->raw.rex.offset];
	if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		ret->modrm_off = in->raw.modrm.offset;
		if (in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5 && in->raw.disp.size == 32)
			ret->disp_off = in->raw.disp.offset;
	}
	ret->insn.len = in->length;
	ret->insn.cls = class_of(in, ret, is_narrow);
	if (in->raw.imm[0].is_relative) {
		ret->insn.has_target = true;
		ret->insn.target = addr + in->length + (uint64_t)in->raw.imm[0].value.s;
	}
	if (in->raw.imm[0].size == 64)
		ret->imm64_off = in->raw.imm[0].offset;
	ret->cond = in->opcode & 15;
}

void code_detail(const uint8_t *bytes, size_t n, uint64_t addr, struct code_detail *ret)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;

	*ret = (struct code_detail){ .insn.cls = CODE_BAD };
	decoder_init(&decoder);
	if (n && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, MIN(n, (size_t)CODE_INSN_MAX), &in)))
		describe(&in, bytes, addr, ret);
}

void code_decode(const struct sys_mem *mem, uint64_t addr, struct code_insn *ret)
{
	uint8_t bytes[CODE_INSN_MAX];
	size_t n = read_code(mem, addr, bytes, sizeof(bytes));
	struct code_detail d;

	code_detail(bytes, n, addr, &d);
	*ret = d.insn;
}

bool code_string(const struct sys_mem *mem, uint64_t addr, struct code_string *ret)
{
	uint8_t bytes[CODE_INSN_MAX], opcode;
	size_t n = read_code(mem, addr, bytes, sizeof(bytes));
	struct code_detail d;
	bool is_narrow, is_wide;

	code_detail(bytes, n, addr, &d);
	if (d.insn.cls != CODE_REP || d.short_address)
		return false;
	opcode = bytes[d.insn.len - 1]; /* nothing follows it in a string instruction */
	if ((opcode & 0xfe) != 0xa4 && (opcode & 0xfe) != 0xaa)
		return false;
	is_narrow = memchr(bytes, 0x66, d.insn.len);
	is_wide = d.rex & 8;
	*ret = (struct code_string){ .len = d.insn.len, .size = !(opcode & 1) ? 1 : is_wide ? 8 : is_narrow ? 2 : 4, .moves = (opcode & 0xfe) == 0xa4 };
	return true;
}

/* --- branch targets --- */

/* What the direct branches of one page of code lead to, as far as it lies in the page itself and the two beside it. */
struct targets {
	uint64_t key, page; /* page: its address */
	uint64_t used;      /* when it was last asked for */
	uint8_t led_to[3 * PAGE / 8];
	uint8_t start[PAGE / 8]; /* where instructions begin */
};

static void bit_set(uint8_t *bits, uint64_t i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

static bool bit_get(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void note_insn(struct targets *t, uint64_t addr, const ZydisDecodedInstruction *in)
{
	uint64_t low = t->page - PAGE;

	if (addr >= t->page)
		bit_set(t->start, addr - t->page);
	if (in->raw.imm[0].is_relative) {
		uint64_t to = addr + in->length + (uint64_t)in->raw.imm[0].value.s;

		if (to - low < 3 * PAGE)
			bit_set(t->led_to, to - low);
	}
}

/* Decodes a page, straight on; what does not decode is skipped by the byte. Depends on the bytes from RUN_IN
 * before to one instruction behind it. False: it cannot be read, so nothing leads from it to anywhere. */
static bool targets_find(struct targets *t, uint64_t key, const struct sys_mem *mem, uint64_t page)
{
	uint8_t buf[RUN_IN + PAGE + CODE_INSN_MAX];
	size_t pos = RUN_IN, n = RUN_IN;
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;

	memset(t, 0, sizeof(*t));
	t->key = key;
	t->page = page;
	if (mem->read(mem->ctx, page, buf + RUN_IN, PAGE) < 0)
		return false;
	n += PAGE;
	n += mem->read(mem->ctx, page + PAGE, buf + n, CODE_INSN_MAX) < 0 ? 0 : CODE_INSN_MAX;
	if (mem->read(mem->ctx, page - RUN_IN, buf, RUN_IN) >= 0)
		pos = 0;
	decoder_init_fast(&decoder);
	while (pos < RUN_IN + PAGE) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, buf + pos, MIN(n - pos, (size_t)CODE_INSN_MAX), &in))) {
			pos++;
			continue;
		}
		note_insn(t, page + pos - RUN_IN, &in);
		pos += in.length;
	}
	return true;
}

/* --- the cache: sets of WAYS pages, the one that was not asked for for longest goes --- */

#define SETS 256u
#define WAYS 4u

struct code_cache {
	uint64_t clock;
	struct targets *entry[SETS][WAYS]; /* owned, allocated when first used: 5 MiB at most */
};

struct code_cache *code_cache_new(void)
{
	return calloc(1, sizeof(struct code_cache));
}

void code_cache_free(struct code_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < SETS * WAYS; i++)
		free(c->entry[i / WAYS][i % WAYS]);
	free(c);
}

/* The place of a page in the cache: where it is, or where it may be put. */
static struct targets **cache_slot(struct code_cache *c, uint64_t key, uint64_t page)
{
	uint64_t hash = (key ^ page / PAGE) * 0x9e3779b97f4a7c15u;
	struct targets **set = c->entry[hash >> 32 & (SETS - 1)], **oldest = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (!set[i])
			return &set[i];
		if (set[i]->key == key && set[i]->page == page)
			return &set[i];
		if (set[i]->used < (*oldest)->used)
			oldest = &set[i];
	}
	return oldest;
}

/* The targets of a page, from the cache or found now, in *spare. What cannot be read is not remembered: it may be
 * there later. */
static const struct targets *targets_of(struct code_cache *c, uint64_t key, const struct sys_mem *mem, uint64_t page, struct targets *spare)
{
	struct targets **slot;

	if (!c || !key) {
		targets_find(spare, key, mem, page);
		return spare;
	}
	slot = cache_slot(c, key, page);
	if (!*slot || (*slot)->key != key || (*slot)->page != page) {
		if (!targets_find(spare, key, mem, page))
			return spare;
		if (!*slot)
			*slot = malloc(sizeof(**slot));
		if (!*slot)
			return spare;
		**slot = *spare;
	}
	(*slot)->used = ++c->clock;
	return *slot;
}

/* Does a direct branch of that page lead to one of the n bytes from addr on? */
static bool leads_to(const struct targets *t, uint64_t addr, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = addr + i - (t->page - PAGE);

		if (at < 3 * PAGE && bit_get(t->led_to, at))
			return true;
	}
	return false;
}

/* The page was decoded out of step with `at`: decodes from there on until both are in step. Does a branch lead to
 * one of the n bytes behind at? */
static bool leads_to_from(const struct targets *t, const struct sys_mem *mem, uint64_t at, unsigned n)
{
	uint64_t addr = at;

	while (addr - t->page < PAGE && !bit_get(t->start, addr - t->page)) {
		struct code_insn in;

		code_decode(mem, addr, &in);
		if (in.cls == CODE_BAD)
			return false;
		if (in.has_target && in.target - (at + 1) < n)
			return true;
		addr += in.len;
	}
	return false;
}

/* May nothing that is within a page or two of `at` jump directly behind the first byte of the jump? */
static bool is_undisturbed(struct code_cache *c, uint64_t key, const struct sys_mem *mem, uint64_t at)
{
	uint64_t page = ALIGN_DOWN(at, (uint64_t)PAGE);
	const unsigned behind = CODE_JUMP_LEN - 1;
	struct targets spare;
	const struct targets *t;

	for (int i = -1; i <= 1; i++) {
		t = targets_of(c, key, mem, page + (uint64_t)((int64_t)i * PAGE), &spare);
		if (leads_to(t, at + 1, behind))
			return false;
		if (i == 0 && leads_to_from(t, mem, at, behind))
			return false;
	}
	return true;
}

/* --- plans --- */

static bool can_be_copied(enum code_class cls)
{
	return cls == CODE_PLAIN || cls == CODE_JCC || cls == CODE_JUMP || cls == CODE_CALL || cls == CODE_RET;
}

/* Would a jump at p->at cover a part of this instruction, its last one so far, that code elsewhere may read? V8 loads
 * its 64-bit constants from where they stand in another instruction. */
static bool hides_constant(const struct code_plan *p, const struct code_detail *d)
{
	return d->imm64_off && p->len + d->imm64_off < CODE_JUMP_LEN;
}

/* Covers at least `least` bytes with at most `most` instructions; only the last one may lead away for good. */
static bool plan_insns(const struct sys_mem *mem, uint64_t at, unsigned least, unsigned most, struct code_plan *ret)
{
	struct code_plan p = { .at = at };
	size_t have = read_code(mem, at, p.bytes, CODE_JUMP_LEN - 1 + CODE_INSN_MAX);
	enum code_class last = CODE_PLAIN;

	while (p.len < least) {
		struct code_detail d;

		if (p.n == most || !(last == CODE_PLAIN || last == CODE_JCC))
			return false;
		code_detail(p.bytes + p.len, have - p.len, at + p.len, &d);
		last = d.insn.cls;
		if (!can_be_copied(last) || (least == CODE_JUMP_LEN && hides_constant(&p, &d)))
			return false;
		p.off[p.n++] = p.len;
		p.len = (uint8_t)(p.len + d.insn.len);
	}
	memset(p.bytes + p.len, 0, sizeof(p.bytes) - p.len);
	*ret = p;
	return true;
}

bool code_plan_cached(struct code_cache *c, uint64_t key, const struct sys_mem *mem, uint64_t at, struct code_plan *ret)
{
	struct code_plan p;

	if (!plan_insns(mem, at, CODE_JUMP_LEN, CODE_PLAN_INSNS, &p))
		return false;
	if (p.n > 1 && !is_undisturbed(c, key, mem, at))
		return false;
	*ret = p;
	return true;
}

bool code_plan(const struct sys_mem *mem, uint64_t at, struct code_plan *ret)
{
	return code_plan_cached(NULL, 0, mem, at, ret);
}

bool code_plan_single(const struct sys_mem *mem, uint64_t at, struct code_plan *ret)
{
	return plan_insns(mem, at, CODE_JUMP_LEN, 1, ret);
}

bool code_plan_breakpoint(const struct sys_mem *mem, uint64_t at, struct code_plan *ret)
{
	return plan_insns(mem, at, 1, 1, ret);
}

/* --- operands --- */

#define WINDOW 256u

/* Walks over code; what is read stays for the next instructions. */
struct walk {
	const struct sys_mem *mem;
	const struct code_regs *regs;
	ZydisDecoder decoder;
	uint64_t pc;
	bool has_gone_back;
	uint16_t written;    /* general registers that the code so far has changed, by number */
	uint64_t base;       /* of the window */
	size_t n;
	uint8_t window[WINDOW];
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool walk_decode(struct walk *w)
{
	uint64_t off = w->pc - w->base;

	if (off >= w->n || w->n - off < CODE_INSN_MAX) {
		w->base = w->pc;
		w->n = read_code(w->mem, w->pc, w->window, WINDOW);
		off = 0;
	}
	return w->n > off && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, w->window + off, w->n - off, &w->in, w->op));
}

/* Number of the general register that this one is, or is part of; -1: another kind. */
static int gpr_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole) : -1;
}

/* Adds a register of an address; false when its value is not known here. */
static bool add_register(const struct walk *w, ZydisRegister reg, uint64_t scale, uint64_t *addr)
{
	int n;

	if (reg == ZYDIS_REGISTER_NONE)
		return true;
	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) {
		*addr += w->pc + w->in.length;
		return true;
	}
	n = gpr_number(reg);
	if (n < 0 || w->written >> n & 1)
		return false;
	*addr += w->regs->gpr[n] * scale;
	return true;
}

static bool operand_address(const struct walk *w, const ZydisDecodedOperand *op, uint64_t *ret_addr)
{
	uint64_t addr = op->mem.disp.has_displacement ? (uint64_t)op->mem.disp.value : 0;

	if (!add_register(w, op->mem.base, 1, &addr) || !add_register(w, op->mem.index, op->mem.scale, &addr))
		return false;
	if (w->in.address_width == 32)
		addr = (uint32_t)addr;
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		addr += w->regs->fs_base;
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		addr += w->regs->gs_base;
	*ret_addr = addr;
	return true;
}

/* Does the instruction work with that memory? Hidden operands but those of string instructions are the stack
 * around rsp, which callers know anyway. */
static bool is_told(const struct walk *w, const ZydisDecodedOperand *op)
{
	bool is_hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && w->in.meta.category != ZYDIS_CATEGORY_STRINGOP;

	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM && !is_hidden && op->size >= 8;
}

static void report_operands(const struct walk *w, code_operand_fn fn, void *ctx)
{
	ZydisInstructionCategory category = w->in.meta.category;

	if (category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP || category == ZYDIS_CATEGORY_PREFETCH)
		return;
	for (unsigned i = 0; i < w->in.operand_count; i++) {
		uint64_t addr;

		if (is_told(w, &w->op[i]) && operand_address(w, &w->op[i], &addr))
			fn(ctx, addr, w->op[i].size / 8u);
	}
}

static void note_written(struct walk *w)
{
	/* what a called function may change by the ABI; it gives rsp back */
	const uint16_t call_clobbers = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 0xf << 8;

	if (w->in.meta.category == ZYDIS_CATEGORY_CALL) {
		w->written |= call_clobbers;
		return;
	}
	for (unsigned i = 0; i < w->in.operand_count; i++) {
		int n;

		if (w->op[i].type != ZYDIS_OPERAND_TYPE_REGISTER || !(w->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		n = gpr_number(w->op[i].reg.value);
		if (n >= 0)
			w->written |= (uint16_t)(1u << n);
	}
}

/* To the next instruction: straight on, along direct jumps, once along a branch that leads back. False: nobody
 * knows where. */
static bool walk_on(struct walk *w)
{
	ZydisInstructionCategory category = w->in.meta.category;
	bool is_branch = category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR;
	uint64_t next = w->pc + w->in.length, target = next + (uint64_t)w->in.raw.imm[0].value.s;

	if (category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_SYSRET)
		return false;
	if (is_branch && w->in.raw.imm[0].is_relative) {
		bool is_back = target <= w->pc;

		if (is_back && !w->has_gone_back) {
			w->has_gone_back = true;
			next = target;
		} else if (category == ZYDIS_CATEGORY_UNCOND_BR) {
			if (is_back)
				return false;
			next = target;
		}
	} else if (category == ZYDIS_CATEGORY_UNCOND_BR) {
		return false;
	}
	w->pc = next;
	return true;
}

void code_operands(const struct sys_mem *mem, uint64_t addr, unsigned n, const struct code_regs *regs, code_operand_fn fn, void *ctx)
{
	struct walk w = { .mem = mem, .regs = regs, .pc = addr };

	decoder_init(&w.decoder);
	while (n-- && walk_decode(&w)) {
		report_operands(&w, fn, ctx);
		note_written(&w);
		if (!walk_on(&w))
			return;
	}
}

static void report_lea(const struct walk *w, code_operand_fn fn, void *ctx)
{
	const ZydisDecodedOperand *op = &w->op[1];
	uint64_t addr;

	if (w->in.mnemonic == ZYDIS_MNEMONIC_LEA && op->mem.base == ZYDIS_REGISTER_RIP && operand_address(w, op, &addr))
		fn(ctx, addr, 0);
}

void code_named(const struct sys_mem *mem, uint64_t start, uint64_t end, code_operand_fn fn, void *ctx)
{
	const struct code_regs none = { 0 };
	struct walk w = { .mem = mem, .regs = &none, .pc = start, .written = UINT16_MAX };

	decoder_init(&w.decoder);
	while (w.pc < end) {
		if (!walk_decode(&w)) {
			if (!w.n)
				return;
			w.pc++;
			continue;
		}
		report_operands(&w, fn, ctx);
		report_lea(&w, fn, ctx);
		w.pc += w.in.length;
	}
}
