/* See regs_priv.h. One table of groups of equal registers, in the order of gdb's own descriptions (gdb finds registers by name, the numbers are
 * ours). A group exists when its component of the XSAVE area does. */
#include "gdbstub/regs_priv.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum from { FROM_USER, FROM_XSAVE, FROM_X87 };

struct group {
	const char *name;    /* printf format when count > 1 */
	uint8_t count, first;
	uint16_t bits;
	const char *type;
	const char *attr;    /* more attributes */
	enum from from;
	uint8_t component;   /* of the XSAVE area */
	uint32_t offset, stride; /* in user_regs_struct, or from the start of the component */
};

enum { X87 = 0, SSE = 1, AVX = 2, OPMASK = 5, ZMM_HI256 = 6, HI16_ZMM = 7, PKRU = 9 };

/* What ptrace calls a register is as wide as a word there, whatever it is. */
#define USER(reg, width, kind) { #reg, 1, 0, width, kind, "", FROM_USER, X87, offsetof(struct user_regs_struct, reg), 0 }
/* x87 control registers: 16 bits there, 32 for gdb; converted one by one. */
#define CONTROL(name, at) { name, 1, 0, 32, "int", " group=\"float\"", FROM_X87, X87, at, 0 }

enum { X87_FCW = 0, X87_FSW = 2, X87_FTW = 4, X87_FOP = 6, X87_FIP = 8, X87_FCS = 12, X87_FDP = 16, X87_FDS = 20, X87_ST = 32 };
#define MXCSR_AT 24
#define MXCSR_INIT 0x1f80u
#define FCW_INIT 0x37fu
#define XSAVE_LEGACY 512u /* the header, and its XSTATE_BV, begin here */
#define XSAVE_FIRST 576u  /* of the components behind */

/* clang-format off */
static const struct group core[] = {
	USER(rax, 64, "int64"), USER(rbx, 64, "int64"), USER(rcx, 64, "int64"), USER(rdx, 64, "int64"), USER(rsi, 64, "int64"), USER(rdi, 64, "int64"),
	USER(rbp, 64, "data_ptr"), USER(rsp, 64, "data_ptr"), USER(r8, 64, "int64"), USER(r9, 64, "int64"), USER(r10, 64, "int64"),
	USER(r11, 64, "int64"), USER(r12, 64, "int64"), USER(r13, 64, "int64"), USER(r14, 64, "int64"), USER(r15, 64, "int64"),
	USER(rip, 64, "code_ptr"), { "eflags", 1, 0, 32, "i386_eflags", "", FROM_USER, X87, offsetof(struct user_regs_struct, eflags), 0 },
	USER(cs, 32, "int32"), USER(ss, 32, "int32"), USER(ds, 32, "int32"), USER(es, 32, "int32"), USER(fs, 32, "int32"), USER(gs, 32, "int32"),
	{ "st%u", 8, 0, 80, "i387_ext", "", FROM_XSAVE, X87, X87_ST, 16 },
	CONTROL("fctrl", X87_FCW), CONTROL("fstat", X87_FSW), CONTROL("ftag", X87_FTW), CONTROL("fiseg", X87_FCS), CONTROL("fioff", X87_FIP),
	CONTROL("foseg", X87_FDS), CONTROL("fooff", X87_FDP), CONTROL("fop", X87_FOP),
};
static const struct group sse[] = {
	{ "xmm%u", 16, 0, 128, "vec128", "", FROM_XSAVE, SSE, 160, 16 },
	{ "mxcsr", 1, 0, 32, "i386_mxcsr", " group=\"vector\"", FROM_XSAVE, SSE, MXCSR_AT, 0 },
};
static const struct group gnu_linux[] = {
	{ "orig_rax", 1, 0, 64, "int64", " group=\"system\"", FROM_USER, X87, offsetof(struct user_regs_struct, orig_rax), 0 },
};
static const struct group segments[] = { USER(fs_base, 64, "int64"), USER(gs_base, 64, "int64") };
static const struct group avx[] = { { "ymm%uh", 16, 0, 128, "uint128", "", FROM_XSAVE, AVX, 0, 16 } };
static const struct group avx512[] = {
	{ "xmm%u", 16, 16, 128, "vec128", "", FROM_XSAVE, HI16_ZMM, 0, 64 },
	{ "ymm%uh", 16, 16, 128, "uint128", "", FROM_XSAVE, HI16_ZMM, 16, 64 },
	{ "k%u", 8, 0, 64, "uint64", "", FROM_XSAVE, OPMASK, 0, 8 },
	{ "zmm%uh", 16, 0, 256, "v2ui128", "", FROM_XSAVE, ZMM_HI256, 0, 32 },
	{ "zmm%uh", 16, 16, 256, "v2ui128", "", FROM_XSAVE, HI16_ZMM, 32, 64 },
};
static const struct group pkeys[] = { { "pkru", 1, 0, 32, "uint32", "", FROM_XSAVE, PKRU, 0, 0 } };

#define FLAG(name, bit) "<field name=\"" name "\" start=\"" #bit "\" end=\"" #bit "\"/>"
static const char eflags_type[] =
	"<flags id=\"i386_eflags\" size=\"4\">" FLAG("CF", 0) FLAG("", 1) FLAG("PF", 2) FLAG("AF", 4) FLAG("ZF", 6) FLAG("SF", 7) FLAG("TF", 8)
	FLAG("IF", 9) FLAG("DF", 10) FLAG("OF", 11) FLAG("NT", 14) FLAG("RF", 16) FLAG("VM", 17) FLAG("AC", 18) FLAG("VIF", 19) FLAG("VIP", 20)
	FLAG("ID", 21) "</flags>";
static const char vector_types[] =
	"<vector id=\"v8bf16\" type=\"bfloat16\" count=\"8\"/><vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/><vector id=\"v8i16\" type=\"int16\" count=\"8\"/><vector id=\"v4i32\" type=\"int32\" count=\"4\"/>"
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/><union id=\"vec128\"><field name=\"v8_bfloat16\" type=\"v8bf16\"/>"
	"<field name=\"v4_float\" type=\"v4f\"/><field name=\"v2_double\" type=\"v2d\"/>"
	"<field name=\"v16_int8\" type=\"v16i8\"/><field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/></union>";
static const char mxcsr_type[] =
	"<flags id=\"i386_mxcsr\" size=\"4\">" FLAG("IE", 0) FLAG("DE", 1) FLAG("ZE", 2) FLAG("OE", 3) FLAG("UE", 4) FLAG("PE", 5) FLAG("DAZ", 6)
	FLAG("IM", 7) FLAG("DM", 8) FLAG("ZM", 9) FLAG("OM", 10) FLAG("UM", 11) FLAG("PM", 12)
	"<field name=\"RC\" start=\"13\" end=\"14\"/>" FLAG("FZ", 15) "</flags>";
static const char zmm_type[] = "<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>";

static const struct feature {
	const char *name;
	uint64_t needs; /* components */
	const char *types[2];
	const struct group *group;
	size_t n;
} features[] = {
	{ "org.gnu.gdb.i386.core", 0, { eflags_type, "" }, core, ARRAY_SIZE(core) },
	{ "org.gnu.gdb.i386.sse", 0, { vector_types, mxcsr_type }, sse, ARRAY_SIZE(sse) },
	{ "org.gnu.gdb.i386.linux", 0, { "", "" }, gnu_linux, ARRAY_SIZE(gnu_linux) },
	{ "org.gnu.gdb.i386.segments", 0, { "", "" }, segments, ARRAY_SIZE(segments) },
	{ "org.gnu.gdb.i386.avx", 1u << AVX, { "", "" }, avx, ARRAY_SIZE(avx) },
	{ "org.gnu.gdb.i386.avx512", 1u << OPMASK | 1u << ZMM_HI256 | 1u << HI16_ZMM, { vector_types, zmm_type }, avx512, ARRAY_SIZE(avx512) },
	{ "org.gnu.gdb.i386.pkeys", 1u << PKRU, { "", "" }, pkeys, ARRAY_SIZE(pkeys) },
};
/* clang-format on */

static bool has(const struct regs_layout *l, const struct feature *f)
{
	return (l->have & f->needs) == f->needs;
}

static bool recorded_bit(const json_t *cpu, const char *leaf, size_t reg, unsigned bit)
{
	const json_t *words = json_object_get(json_object_get(cpu, "features"), leaf);

	return (uint64_t)json_integer_value(json_array_get(words, reg)) >> bit & 1;
}

/* What the recorded kernel had switched on, less what was hidden from the program (--cpu-profile). */
static uint64_t recorded_components(const json_t *cpu)
{
	const char *xcr0 = json_string_value(json_object_get(cpu, "xcr0"));
	uint64_t have = xcr0 ? strtoull(xcr0, NULL, 16) : 3;

	if (!recorded_bit(cpu, "1", 2, 28))
		have &= ~(1ull << AVX);
	if (!recorded_bit(cpu, "7", 1, 16))
		have &= ~(7ull << OPMASK);
	if (!recorded_bit(cpu, "7", 2, 4))
		have &= ~(1ull << PKRU);
	return have;
}

void regs_layout_init(struct regs_layout *l, const json_t *cpu)
{
	unsigned a, b, c, d;

	*l = (struct regs_layout){ .have = UINT64_MAX };
	if (json_is_object(cpu))
		l->have = recorded_components(cpu);
	for (unsigned i = 2; i < REGS_COMPONENTS; i++) {
		bool here = __get_cpuid_max(0, NULL) >= 0xd;

		if (here) {
			__cpuid_count(0xd, i, a, b, c, d);
			/* c bit 0: supervisor state, not in this format */
			here = a && b >= XSAVE_FIRST && !(c & 1) && a + b <= REGS_XSAVE_MAX;
		}
		l->offset[i] = here ? b : 0;
		if (!here)
			l->have &= ~(1ull << i);
	}
	l->have &= (1ull << REGS_COMPONENTS) - 1;
	for (size_t f = 0; f < ARRAY_SIZE(features); f++)
		for (size_t g = 0; has(l, &features[f]) && g < features[f].n; g++)
			l->n += features[f].group[g].count;
}

/* The group that register n is in, and its index there. */
static const struct group *find(const struct regs_layout *l, unsigned n, unsigned *ret_index)
{
	for (size_t f = 0; f < ARRAY_SIZE(features); f++) {
		for (size_t g = 0; has(l, &features[f]) && g < features[f].n; g++) {
			const struct group *p = &features[f].group[g];

			if (n < p->count) {
				*ret_index = n;
				return p;
			}
			n -= p->count;
		}
	}
	return NULL;
}

size_t regs_size(const struct regs_layout *l, unsigned n)
{
	unsigned index;
	const struct group *g = find(l, n, &index);

	return g ? g->bits / 8 : 0;
}

/* --- values --- */

/* Bytes of the area, those of components in their initial state as they are then. */
static void peek(const struct buf *x, unsigned component, size_t at, void *ret, size_t n)
{
	uint64_t used = UINT64_MAX;

	memset(ret, 0, n);
	if (x->len >= XSAVE_LEGACY + 8)
		memcpy(&used, x->data + XSAVE_LEGACY, 8);
	/* the kernel writes the initial state of x87 and SSE out; MXCSR counts whatever XSTATE_BV says */
	if (component >= 2 && !(used >> component & 1))
		return;
	if (at < x->len)
		memcpy(ret, x->data + at, MIN(n, x->len - at));
}

static unsigned tag_of(const struct buf *x, unsigned st)
{
	uint8_t v[10];
	uint16_t exponent;
	uint64_t mantissa;

	peek(x, X87, X87_ST + 16 * st, v, sizeof(v));
	memcpy(&mantissa, v, 8);
	memcpy(&exponent, v + 8, 2);
	exponent &= 0x7fff;
	if (exponent == 0x7fff || (exponent && !(mantissa >> 63)) || (!exponent && mantissa))
		return 2; /* special */
	return exponent ? 0 : 1; /* valid, zero */
}

/* The two bits a register that FXSAVE reduces to one. */
static uint32_t full_tags(const struct buf *x)
{
	uint16_t fsw;
	uint8_t ftw;
	uint32_t full = 0;

	peek(x, X87, X87_FSW, &fsw, 2);
	peek(x, X87, X87_FTW, &ftw, 1);
	for (unsigned phys = 0; phys < 8; phys++) {
		unsigned st = (phys + 8 - (fsw >> 11 & 7)) % 8;

		full |= (ftw >> phys & 1 ? tag_of(x, st) : 3u) << 2 * phys;
	}
	return full;
}

static uint32_t control_get(const struct buf *x, unsigned at)
{
	uint32_t v = 0;

	if (at == X87_FTW)
		return full_tags(x);
	if (at == X87_FCW && !x->len)
		return FCW_INIT;
	peek(x, X87, at, &v, at == X87_FIP || at == X87_FDP ? 4 : 2);
	return at == X87_FOP ? v & 0x7ff : v;
}

static size_t place(const struct regs_layout *l, const struct group *g, unsigned index)
{
	return l->offset[g->component] + g->offset + (size_t)g->stride * index;
}

void regs_get(const struct regs_layout *l, unsigned n, const struct user_regs_struct *u, const struct buf *xstate, uint8_t ret[REGS_BYTES_MAX])
{
	unsigned index;
	const struct group *g = find(l, n, &index);
	uint32_t v;

	if (!g)
		return;
	switch (g->from) {
	case FROM_USER:
		memcpy(ret, (const uint8_t *)u + g->offset, g->bits / 8);
		break;
	case FROM_X87:
		v = control_get(xstate, g->offset);
		memcpy(ret, &v, sizeof(v));
		break;
	case FROM_XSAVE:
		peek(xstate, g->component, place(l, g, index), ret, g->bits / 8);
		v = MXCSR_INIT;
		if (g->component == SSE && g->offset == MXCSR_AT && !xstate->len)
			memcpy(ret, &v, sizeof(v));
		break;
	}
}

static bool grow(struct buf *x, size_t to)
{
	while (x->len < to)
		buf_put_u8(x, 0);
	return buf_error(x) == 0;
}

static void control_set(struct buf *x, unsigned at, uint32_t v)
{
	uint8_t ftw = 0;

	if (at == X87_FTW) {
		for (unsigned phys = 0; phys < 8; phys++)
			if ((v >> 2 * phys & 3) != 3)
				ftw |= (uint8_t)(1u << phys);
		x->data[at] = ftw;
		return;
	}
	memcpy(x->data + at, &v, at == X87_FIP || at == X87_FDP ? 4 : 2);
}

/* Marks the component as used; what was in its initial state becomes zeros first. */
static void use_component(struct buf *x, unsigned component, size_t start, size_t end)
{
	uint64_t used;

	memcpy(&used, x->data + XSAVE_LEGACY, 8);
	if (component >= 2 && !(used >> component & 1) && start < x->len)
		memset(x->data + start, 0, MIN(end, x->len) - start);
	used |= 1ull << component;
	memcpy(x->data + XSAVE_LEGACY, &used, 8);
}

static size_t component_end(const struct regs_layout *l, const struct group *g)
{
	unsigned a, b, c, d;

	if (g->component < 2)
		return XSAVE_LEGACY;
	__cpuid_count(0xd, g->component, a, b, c, d);
	(void)b;
	(void)c;
	(void)d;
	return l->offset[g->component] + a;
}

bool regs_set(const struct regs_layout *l, unsigned n, struct user_regs_struct *u, struct buf *xstate, const uint8_t v[REGS_BYTES_MAX])
{
	unsigned index;
	const struct group *g = find(l, n, &index);
	size_t end;
	uint32_t word;

	if (!g)
		return false;
	if (g->from == FROM_USER) {
		/* fields are words: the high half of narrow ones is zero */
		memset((uint8_t *)u + g->offset, 0, 8);
		memcpy((uint8_t *)u + g->offset, v, g->bits / 8);
		return false;
	}
	end = component_end(l, g);
	if (!grow(xstate, MAX(end, (size_t)XSAVE_FIRST)))
		return true;
	use_component(xstate, g->component, l->offset[g->component], end);
	if (g->from == FROM_X87) {
		memcpy(&word, v, sizeof(word));
		control_set(xstate, g->offset, word);
	} else {
		memcpy(xstate->data + place(l, g, index), v, g->bits / 8);
	}
	return true;
}

/* --- target.xml --- */

static void put_group(const struct group *g, unsigned *number, struct buf *out)
{
	for (unsigned i = 0; i < g->count; i++) {
		char name[16];

		if (g->count > 1) {
			const char *at = strstr(g->name, "%u");

			snprintf(name, sizeof(name), "%.*s%u%s", (int)(at - g->name), g->name, g->first + i, at + 2);
		}
		buf_printf(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"%s/>", g->count > 1 ? name : g->name, g->bits, g->type,
			   (*number)++, g->attr);
	}
}

void regs_put_xml(const struct regs_layout *l, struct buf *out)
{
	unsigned number = 0;

	buf_printf(out, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
			"<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>");
	for (size_t f = 0; f < ARRAY_SIZE(features); f++) {
		if (!has(l, &features[f]))
			continue;
		buf_printf(out, "<feature name=\"%s\">%s%s", features[f].name, features[f].types[0], features[f].types[1]);
		for (size_t g = 0; g < features[f].n; g++)
			put_group(&features[f].group[g], &number, out);
		buf_printf(out, "</feature>");
	}
	buf_printf(out, "</target>");
}
