/* Registers by name, as gdb calls them: general ones, flags, segments, and vectors as far as the recorded machine had them. */
#include "inspector/inspect_priv.h"

#include <cpuid.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"

#define XSAVE_HEADER 512u
#define XSAVE_MIN 576u
enum { C_SSE = 1, C_AVX = 2, C_OPMASK = 5, C_ZMM_HI256 = 6, C_HI16_ZMM = 7, C_PKRU = 9, C_MAX_ = 10 };

/* clang-format off */
static const struct general { const char *name, *group; size_t at; bool address; } general[] = {
#define G(reg, group, address) { #reg, group, offsetof(struct user_regs_struct, reg), address }
	G(rax, "general", true), G(rbx, "general", true), G(rcx, "general", true), G(rdx, "general", true), G(rsi, "general", true),
	G(rdi, "general", true), G(rbp, "general", true), G(rsp, "general", true), G(r8, "general", true), G(r9, "general", true),
	G(r10, "general", true), G(r11, "general", true), G(r12, "general", true), G(r13, "general", true), G(r14, "general", true),
	G(r15, "general", true), G(rip, "general", true), G(orig_rax, "general", false), G(eflags, "flags", false), G(cs, "segment", false),
	G(ss, "segment", false), G(ds, "segment", false), G(es, "segment", false), G(fs, "segment", false), G(gs, "segment", false),
	G(fs_base, "segment", false), G(gs_base, "segment", false),
};
static const struct flag { uint32_t bit; const char *name; } flags[] = {
	{ 0, "CF" }, { 2, "PF" }, { 4, "AF" }, { 6, "ZF" }, { 7, "SF" }, { 8, "TF" }, { 9, "IF" }, { 10, "DF" }, { 11, "OF" }, { 14, "NT" },
	{ 16, "RF" }, { 18, "AC" }, { 21, "ID" },
};
/* clang-format on */

struct area {
	const uint8_t *data;
	size_t len;
	uint64_t have; /* components that the recorded machine had */
	uint32_t offset[C_MAX_];
};

static bool add(json_t *list, const char *name, const char *group, const char *value, const char *text)
{
	json_t *j = json_object();
	bool ok = jsonx_set_str(j, "name", name) >= 0 && jsonx_set_str(j, "value", value) >= 0 && jsonx_set_str(j, "group", group) >= 0 &&
		  jsonx_set_new(j, "text", text ? jsonx_string_lossy(text, strlen(text)) : json_null()) >= 0;

	if (!ok) {
		json_decref(j);
		return false;
	}
	return json_array_append_new(list, j) >= 0;
}

static char *flags_text(uint64_t v)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	buf_printf(&b, "[");
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (v >> flags[i].bit & 1)
			buf_printf(&b, " %s", flags[i].name);
	buf_printf(&b, " ]");
	return strdup(buf_cstr(&b));
}

static bool add_general(struct inspector *in, json_t *list, const struct user_regs_struct *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(general); i++) {
		const struct general *g = &general[i];
		char *text CLEANUP(freep) = NULL;
		char value[24];
		uint64_t v;

		memcpy(&v, (const uint8_t *)u + g->at, sizeof(v));
		if (g->address)
			text = symbols_text(in, v);
		else if (!strcmp(g->name, "eflags"))
			text = flags_text(v);
		snprintf(value, sizeof(value), "0x%" PRIx64, v);
		if (!add(list, g->name, g->group, value, text))
			return false;
	}
	return true;
}

/* --- vectors --- */

static bool recorded_bit(const json_t *cpu, const char *leaf, size_t reg, unsigned bit)
{
	const json_t *words = json_object_get(json_object_get(cpu, "features"), leaf);

	return (uint64_t)json_integer_value(json_array_get(words, reg)) >> bit & 1;
}

/* What the recorded machine had switched on and did not hide; where it lies is this machine's way to write the area. */
static void look(struct area *a, const json_t *cpu)
{
	const char *xcr0 = json_string_value(json_object_get(cpu, "xcr0"));
	unsigned size, at, c, d;

	a->have = xcr0 ? strtoull(xcr0, NULL, 16) : 3;
	if (!recorded_bit(cpu, "1", 2, 28))
		a->have &= ~(1ull << C_AVX);
	if (!recorded_bit(cpu, "7", 1, 16))
		a->have &= ~(7ull << C_OPMASK);
	if (!recorded_bit(cpu, "7", 2, 4))
		a->have &= ~(1ull << C_PKRU);
	for (unsigned i = C_AVX; i < C_MAX_; i++) {
		size = 0;
		if (__get_cpuid_max(0, NULL) >= 0xd) {
			__cpuid_count(0xd, i, size, at, c, d);
			(void)c;
			(void)d;
		}
		if (!size || at < XSAVE_MIN)
			a->have &= ~(1ull << i);
		else
			a->offset[i] = at;
	}
}

/* Bytes of a component; those in their initial state, or not in the area at all, are zero. */
static void peek(const struct area *a, unsigned component, size_t at, void *ret, size_t n)
{
	uint64_t used = 3;

	memset(ret, 0, n);
	if (a->len >= XSAVE_MIN)
		memcpy(&used, a->data + XSAVE_HEADER, sizeof(used));
	at += a->offset[component];
	if (component >= C_AVX && !(used >> component & 1))
		return;
	if (at < a->len)
		memcpy(ret, a->data + at, MIN(n, a->len - at));
}

static bool has(const struct area *a, unsigned component)
{
	return a->have >> component & 1;
}

/* The widest there is of one number, little end first in v. *n: bytes. */
static const char *vector(const struct area *a, unsigned i, uint8_t v[64], size_t *n)
{
	if (i >= 16) {
		peek(a, C_HI16_ZMM, 64u * (i - 16), v, 64);
		*n = 64;
		return "zmm";
	}
	peek(a, C_SSE, 160 + 16 * i, v, 16);
	*n = 16;
	if (!has(a, C_AVX))
		return "xmm";
	peek(a, C_AVX, 16 * i, v + 16, 16);
	*n = 32;
	if (!has(a, C_ZMM_HI256))
		return "ymm";
	peek(a, C_ZMM_HI256, 32 * i, v + 32, 32);
	*n = 64;
	return "zmm";
}

static bool add_vector(json_t *list, const char *kind, unsigned i, const uint8_t *v, size_t n)
{
	char name[16], value[2 + 2 * 64 + 1] = "0x0";
	size_t top = n;

	snprintf(name, sizeof(name), "%s%u", kind, i);
	while (top && !v[top - 1])
		top--;
	for (size_t b = top; b-- > 0;)
		snprintf(value + 2 + 2 * (top - 1 - b), 3, "%02x", v[b]);
	return add(list, name, "vector", value, NULL);
}

static bool add_word(json_t *list, const char *name, uint64_t v)
{
	char value[24];

	snprintf(value, sizeof(value), "0x%" PRIx64, v);
	return add(list, name, "vector", value, NULL);
}

static bool add_vectors(json_t *list, const struct area *a)
{
	unsigned n = has(a, C_HI16_ZMM) ? 32 : 16;
	uint8_t v[64];
	uint32_t mxcsr;
	uint64_t k;
	bool ok = true;

	for (unsigned i = 0; ok && i < n; i++) {
		size_t len;
		const char *kind = vector(a, i, v, &len);

		ok = add_vector(list, kind, i, v, len);
	}
	for (unsigned i = 0; ok && has(a, C_OPMASK) && i < 8; i++) {
		char name[8];

		peek(a, C_OPMASK, 8 * i, &k, sizeof(k));
		snprintf(name, sizeof(name), "k%u", i);
		ok = add_word(list, name, k);
	}
	peek(a, C_SSE, 24, &mxcsr, sizeof(mxcsr));
	return ok && add_word(list, "mxcsr", mxcsr);
}

json_t *regs_list(struct inspector *in, const struct user_regs_struct *u, const void *xstate, size_t xstate_len, const json_t *cpu)
{
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	struct area a = { .data = xstate, .len = xstate_len };

	if (!list || !add_general(in, list, u))
		return NULL;
	look(&a, cpu);
	if (xstate_len >= XSAVE_HEADER && !add_vectors(list, &a))
		return NULL;
	return TAKE(list);
}
