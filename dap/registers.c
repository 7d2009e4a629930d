/* Registers of a frame, the rarer ones in groups. See stack_priv.h. */
#include "dap/stack_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"

enum { GROUP_GENERAL, GROUP_FLOAT, GROUP_VECTOR, GROUP_OTHER, GROUPS };

static const struct {
	const char *name; /* NULL: they are shown without one */
	char format; /* of gdb's */
} groups[GROUPS] = {
	[GROUP_GENERAL] = { NULL, 'x' },
	[GROUP_FLOAT] = { "Floating point", 'N' },
	[GROUP_VECTOR] = { "Vector", 'x' },
	[GROUP_OTHER] = { "Other", 'x' },
};

/* Blanks around each name. */
#define GENERAL \
	" rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip eflags cs ss ds es fs gs fs_base gs_base "
#define FLOATING " fctrl fstat ftag fiseg fioff foseg fooff fop "
/* Whose own way to be shown says more than a number. */
#define TOLD " rip eflags mxcsr "

static bool among(const char *names, const char *name)
{
	char padded[40] = " ";
	size_t n = strlen(name);

	if (n + 3 > sizeof(padded))
		return false;
	memcpy(padded + 1, name, n);
	memcpy(padded + 1 + n, " ", 2);
	return strstr(names, padded) != NULL;
}

/* "xmm0": the letters, and a number. */
static bool numbered(const char *name, const char *letters)
{
	size_t n = strlen(letters);

	return strncmp(name, letters, n) == 0 && isdigit((unsigned char)name[n]) && name[n + strspn(name + n, "0123456789")] == '\0';
}

static int group_of(const char *name)
{
	if (among(GENERAL, name))
		return GROUP_GENERAL;
	if (numbered(name, "st") || among(FLOATING, name))
		return GROUP_FLOAT;
	if (numbered(name, "xmm") || numbered(name, "ymm") || numbered(name, "zmm") || numbered(name, "k") || strcmp(name, "mxcsr") == 0)
		return GROUP_VECTOR;
	return GROUP_OTHER;
}

static int look_names(struct dap *d)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	int r = d->stack->registers ? 0 : mi_command(d->mi, &mi, &d->ei, "-data-list-register-names");

	if (r >= 0 && !d->stack->registers)
		d->stack->registers = json_incref(json_object_get(mi, "register-names"));
	return r < 0 || d->stack->registers ? r : -ENOMEM;
}

static const char *name_of(const struct dap_stack *s, size_t i)
{
	return json_string_value(json_array_get(s->registers, i)) ?: "";
}

/* The numbers of a group's registers, each behind a blank; with told: only those of TOLD. */
static void put_numbers(struct buf *b, const struct dap_stack *s, int group, bool told)
{
	for (size_t i = 0; i < json_array_size(s->registers); i++)
		if (*name_of(s, i) && group_of(name_of(s, i)) == group && (!told || among(TOLD, name_of(s, i))))
			buf_printf(b, " %zu", i);
}

static int ask_values(struct dap *d, const struct ref *ref, int group, char format, bool told, json_t **ret)
{
	CLEANUP(buf_done) struct buf line = { 0 };
	size_t empty;
	int r;

	buf_printf(&line, "-data-list-register-values --thread %d --frame %d --skip-unavailable %c", ref->thread, ref->level, format);
	empty = line.len;
	put_numbers(&line, d->stack, group, told);
	if (line.len == empty) { /* no number means all of them to gdb */
		*ret = json_object();
		return *ret ? 0 : -ENOMEM;
	}
	r = buf_error(&line) ? buf_error(&line) : mi_command(d->mi, ret, &d->ei, "%s", buf_cstr(&line));
	return r;
}

/* A vector register is a union of ways to see it: the one as a whole is shown. */
static void put_text(struct buf *b, const char *text)
{
	static const char *const whole[] = { "uint128 = ", "v2_int128 = ", "v4_int128 = ", "v2_int64 = ", "v4_int64 = ", "v8_int64 = " };
	const char *p = NULL;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(whole) && !p && *text == '{'; i++) {
		p = strstr(text, whole[i]);
		p = p ? p + strlen(whole[i]) : NULL;
	}
	if (!p) {
		buf_printf(b, "%s", text);
		return;
	}
	n = *p == '{' ? strcspn(p, "}") + 1 : strcspn(p, ",}");
	buf_put(b, p, MIN(n, strlen(p)));
}

static const char *told_text(const json_t *told, const char *number)
{
	const json_t *list = json_object_get(told, "register-values");

	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(mi_str(json_array_get(list, i), "number") ?: "", number) == 0)
			return mi_str(json_array_get(list, i), "value");
	return NULL;
}

static int add_register(struct dap *d, const struct ref *ref, const json_t *mi, const json_t *told, json_t *ret)
{
	static const char *const readonly[] = { "readOnly", NULL };
	CLEANUP(buf_done) struct buf text = { 0 };
	CLEANUP(buf_done) struct buf expr = { 0 };
	const char *number = mi_str(mi, "number") ?: "", *value = mi_str(mi, "value") ?: "";
	const char *better = told_text(told, number);
	struct value v = { .kind = "property", .attributes = readonly };
	struct ref child = { .kind = REF_VALUE, .thread = ref->thread, .level = ref->level, .elements = -1 };
	int r = 0;

	put_text(&text, better ?: value);
	v.name = name_of(d->stack, (size_t)MAX(mi_int(mi, "number", 0), 0));
	buf_printf(&expr, "$%s", v.name);
	v.text = buf_cstr(&text);
	v.expr = buf_cstr(&expr);
	if (ref->from == GROUP_GENERAL && str_has_prefix(value, "0x"))
		v.memory = strtoull(value, NULL, 16);
	child.expr = (char *)v.expr; /* copied */
	if (*value == '{')
		r = stack_ref_new(d, &child, &v.ref);
	return r < 0 ? r : json_array_append_new(ret, value_variable(&v)) < 0 ? -ENOMEM : 0;
}

int registers_list(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	CLEANUP(jsonx_unrefp) json_t *told = NULL;
	int group = (int)ref->from, r = look_names(d);
	const json_t *list;

	(void)hex;
	if (r >= 0)
		r = ask_values(d, ref, group, groups[group].format, false, &mi);
	if (r >= 0)
		r = ask_values(d, ref, group, 'N', true, &told);
	list = json_object_get(mi, "register-values");
	for (size_t i = 0; i < json_array_size(list) && r >= 0; i++)
		r = add_register(d, ref, json_array_get(list, i), told, ret);
	return r;
}

/* The general ones at once, the others in groups behind them. */
int registers_groups(struct dap *d, const struct ref *ref, bool hex, json_t *ret)
{
	struct ref general = { .kind = REF_GROUP, .thread = ref->thread, .level = ref->level, .from = GROUP_GENERAL };
	int r = registers_list(d, &general, hex, ret);

	for (int g = GROUP_GENERAL + 1; g < GROUPS && r >= 0; g++) {
		struct ref child = { .kind = REF_GROUP, .thread = ref->thread, .level = ref->level, .from = g, .elements = -1 };
		struct value v = { .name = groups[g].name, .text = "", .kind = "virtual" };
		CLEANUP(buf_done) struct buf numbers = { 0 };

		put_numbers(&numbers, d->stack, g, false);
		if (numbers.len == 0)
			continue;
		r = stack_ref_new(d, &child, &v.ref);
		if (r >= 0)
			r = json_array_append_new(ret, value_variable(&v)) < 0 ? -ENOMEM : 0;
	}
	return r;
}
