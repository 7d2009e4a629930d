/* Arguments of functions as text: numbers, pointers, short strings, names of enumerators. What is not kept any more at that place is said to be
 * optimised out; structures are not shown. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"

static const char optimized_out[] = "<optimized out>";

struct value {
	uint8_t bytes[16];
	size_t n;
};

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct inspector *in = ctx;

	return dbg_read(in->dbg, addr, buf, n) == n;
}

/* --- where it is --- */

/* DW_AT_frame_base of the function. */
static void find_frame_base(struct expr_context *x, Dwarf_Die *function, uint64_t addr)
{
	Dwarf_Attribute a;
	struct expr_result v;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &a) || dwarf_getlocation_addr(&a, addr, &ops, &n, 1) != 1)
		return;
	if (expr_run(x, ops, n, &v) < 0 || v.kind == EXPR_BLOCK)
		return;
	if (v.kind == EXPR_REGISTER && (v.v >= UNWIND_REGS || !(x->regs->known >> v.v & 1)))
		return;
	x->has_frame_base = true;
	x->frame_base = v.kind == EXPR_REGISTER ? x->regs->v[v.v] : v.v;
}

static bool take(const struct expr_context *x, Dwarf_Attribute *a, const struct expr_result *v, struct value *ret)
{
	Dwarf_Block block;
	uint64_t word = v->v;

	switch (v->kind) {
	case EXPR_MEMORY:
		return x->read(x->ctx, v->v, ret->bytes, ret->n);
	case EXPR_REGISTER:
		if (v->v >= UNWIND_REGS || !(x->regs->known >> v->v & 1))
			return false;
		word = x->regs->v[v->v];
		break;
	case EXPR_BLOCK:
		if (dwarf_getlocation_implicit_value(a, v->op, &block) < 0 || block.length < ret->n)
			return false;
		memcpy(ret->bytes, block.data, ret->n);
		return true;
	case EXPR_VALUE:
		break;
	}
	if (ret->n > sizeof(word))
		return false;
	memcpy(ret->bytes, &word, ret->n);
	return true;
}

/* The value of a parameter: as many bytes as ret->n says. */
static bool fetch(const struct expr_context *x, Dwarf_Die *die, uint64_t addr, struct value *ret)
{
	Dwarf_Attribute a;
	struct expr_result v;
	Dwarf_Sword constant;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr_integrate(die, DW_AT_const_value, &a) && dwarf_formsdata(&a, &constant) == 0) {
		memcpy(ret->bytes, &constant, MIN(ret->n, sizeof(constant)));
		return ret->n <= sizeof(constant);
	}
	if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_getlocation_addr(&a, addr, &ops, &n, 1) != 1)
		return false;
	return expr_run(x, ops, n, &v) == 0 && take(x, &a, &v, ret);
}

/* --- what it is --- */

/* Behind names and qualifiers. */
static bool peel(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute a;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &a) || !dwarf_formref_die(&a, &type))
		return false;
	return dwarf_peel_type(&type, ret) == 0;
}

static unsigned encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	return dwarf_tag(type) == DW_TAG_base_type && dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &a), &v) == 0 ? (unsigned)v : 0;
}

static bool is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type || tag == DW_TAG_ptr_to_member_type;
}

static int64_t as_signed(const struct value *v)
{
	int64_t word = 0;

	memcpy(&word, v->bytes, MIN(v->n, sizeof(word)));
	if (v->n < 8)
		word = (int64_t)((uint64_t)word << (64 - 8 * v->n)) >> (64 - 8 * v->n);
	return word;
}

static uint64_t as_unsigned(const struct value *v)
{
	uint64_t word = 0;

	memcpy(&word, v->bytes, MIN(v->n, sizeof(word)));
	return word;
}

static void put_char(struct buf *b, uint8_t c, char quote)
{
	if (c == (uint8_t)quote || c == '\\')
		buf_printf(b, "\\%c", c);
	else if (c == '\n')
		buf_printf(b, "\\n");
	else if (c < 0x20 || c == 0x7f)
		buf_printf(b, "\\%03o", c);
	else
		buf_put_u8(b, c);
}

/* A pointer to characters shows what is there. */
static void put_string(struct inspector *in, struct buf *b, uint64_t addr)
{
	char text[INSPECT_STRING_MAX];
	size_t n = addr ? dbg_read(in->dbg, addr, text, sizeof(text)) : 0, len = strnlen(text, n);

	if (!n)
		return;
	buf_printf(b, " \"");
	for (size_t i = 0; i < len; i++)
		put_char(b, (uint8_t)text[i], '"');
	buf_printf(b, len < n ? "\"" : "\"...");
}

static void put_base(struct buf *b, unsigned encoding, const struct value *v)
{
	float f;
	double d;

	switch (encoding) {
	case DW_ATE_boolean:
		buf_printf(b, "%s", as_unsigned(v) ? "true" : "false");
		break;
	case DW_ATE_float:
		memcpy(&f, v->bytes, sizeof(f));
		memcpy(&d, v->bytes, sizeof(d));
		if (v->n == sizeof(f) || v->n == sizeof(d))
			buf_printf(b, "%.*g", v->n == sizeof(f) ? 9 : 17, v->n == sizeof(f) ? (double)f : d);
		else
			buf_printf(b, "...");
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (v->n == 1) {
			buf_printf(b, "%d '", encoding == DW_ATE_signed_char ? (int)as_signed(v) : (int)as_unsigned(v));
			put_char(b, v->bytes[0], '\'');
			buf_printf(b, "'");
			break;
		}
		buf_printf(b, "%" PRIu64, as_unsigned(v));
		break;
	case DW_ATE_signed:
		buf_printf(b, "%" PRId64, as_signed(v));
		break;
	default:
		buf_printf(b, "%" PRIu64, as_unsigned(v));
	}
}

static void put_enum(struct buf *b, Dwarf_Die *type, const struct value *v)
{
	Dwarf_Die e;
	int r = dwarf_child(type, &e);

	for (; r == 0; r = dwarf_siblingof(&e, &e)) {
		Dwarf_Attribute a;
		Dwarf_Sword value;
		const char *name = dwarf_diename(&e);

		if (dwarf_tag(&e) == DW_TAG_enumerator && name && dwarf_formsdata(dwarf_attr(&e, DW_AT_const_value, &a), &value) == 0 &&
		    value == as_signed(v)) {
			buf_printf(b, "%.*s", (int)INSPECT_NAME_MAX, name);
			return;
		}
	}
	buf_printf(b, "%" PRId64, as_signed(v));
}

static void put_value(struct inspector *in, const struct expr_context *x, Dwarf_Die *die, uint64_t addr, struct buf *b)
{
	struct value v = { .n = 8 };
	Dwarf_Die type, to;
	int tag, size;

	if (!peel(die, &type)) {
		buf_printf(b, "?");
		return;
	}
	tag = dwarf_tag(&type);
	size = is_pointer(tag) ? 8 : dwarf_bytesize(&type);
	if (size <= 0 || (size_t)size > sizeof(v.bytes) || !(is_pointer(tag) || tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type)) {
		buf_printf(b, "...");
		return;
	}
	v.n = (size_t)size;
	if (!fetch(x, die, addr, &v)) {
		buf_printf(b, "%s", optimized_out);
	} else if (is_pointer(tag)) {
		buf_printf(b, "%#" PRIx64, as_unsigned(&v));
		if (tag == DW_TAG_pointer_type && peel(&type, &to) && dwarf_bytesize(&to) == 1 &&
		    (encoding_of(&to) == DW_ATE_signed_char || encoding_of(&to) == DW_ATE_unsigned_char))
			put_string(in, b, as_unsigned(&v));
	} else if (tag == DW_TAG_enumeration_type) {
		put_enum(b, &type, &v);
	} else {
		put_base(b, encoding_of(&type), &v);
	}
}

static json_t *arg_json(const char *name, const struct buf *text)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();

	if (jsonx_set_new(j, "name", jsonx_string_lossy(name, strnlen(name, INSPECT_NAME_MAX))) < 0 ||
	    jsonx_set_new(j, "value", jsonx_string_lossy((const char *)text->data, text->len)) < 0)
		return NULL;
	return TAKE(j);
}

json_t *args_of(struct inspector *in, const struct module *m, struct scope_chain *c, unsigned scope, const struct unwind_frame *f, uint64_t addr)
{
	struct expr_context x = { .regs = &f->regs, .read = read_memory, .ctx = in, .bias = m->bias, .has_cfa = f->has_cfa, .cfa = f->cfa };
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	Dwarf_Die *function = &c->scope[scope], die;
	unsigned n = 0, outer = scope;
	int r;

	while (outer > 0 && dwarf_tag(&c->scope[outer]) != DW_TAG_subprogram)
		outer--;
	find_frame_base(&x, &c->scope[outer], addr);
	for (r = dwarf_child(function, &die); r == 0 && n < INSPECT_ARGS_MAX; r = dwarf_siblingof(&die, &die)) {
		struct buf text CLEANUP(buf_done) = { 0 };
		Dwarf_Attribute a;
		const char *name;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &a));
		if (!name)
			continue;
		put_value(in, &x, &die, addr, &text);
		if (buf_error(&text) < 0 || json_array_append_new(list, arg_json(name, &text)) < 0)
			return NULL;
		n++;
	}
	return TAKE(list);
}
