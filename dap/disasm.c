/* Machine code: the request `disassemble`, and decoding for listings.
 *
 * Backwards there is no sure way on x86: an instruction's start does not show in its bytes. But code that is decoded from anywhere falls into step within a
 * few instructions, and gdb tells where functions begin. So decoding begins a good deal too early, is begun anew at each function that it misses, and
 * what was decoded in front is dropped. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

#define INSN_BYTES_MAX 15u
/* Bytes that an instruction takes, rather more than on average, and those after which decoding is in step. */
#define INSN_BYTES_USUAL 6u
#define SLACK 96u
/* Functions that one decoding may miss. */
#define MISSES_MAX 64u
/* Functions that are asked for lines. */
#define PROBES_MAX 64u

/* --- lists --- */

void insns_done(struct insns *list)
{
	for (size_t i = 0; i < list->n; i++) {
		json_decref(list->v[i].mi);
		json_decref(list->v[i].group);
	}
	free(list->v);
	*list = (struct insns){ 0 };
}

/* Takes no references over. */
static int add(struct insns *list, const struct insn *in)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 256;
		struct insn *v = reallocarray(list->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		list->v = v;
		list->cap = cap;
	}
	list->v[list->n] = *in;
	json_incref(list->v[list->n].mi);
	json_incref(list->v[list->n].group);
	list->n++;
	return 0;
}

static void truncate_list(struct insns *list, size_t n)
{
	while (list->n > n) {
		list->n--;
		json_decref(list->v[list->n].mi);
		json_decref(list->v[list->n].group);
	}
}

static uint64_t end_of(const struct insn *in)
{
	return in->addr + in->size;
}

static int add_invalid(struct insns *list, uint64_t addr, uint64_t size)
{
	return add(list, &(struct insn){ .addr = addr, .size = (uint32_t)size });
}

/* --- decoding --- */

/* "48 89 e5" */
static uint32_t size_of(const char *opcodes)
{
	return opcodes ? (uint32_t)((strlen(opcodes) + 1) / 3) : 0;
}

static int add_tuple(struct insns *list, json_t *mi, json_t *group)
{
	struct insn in = { .addr = mi_addr(mi, "address"), .size = size_of(mi_str(mi, "opcodes")), .valid = true, .mi = mi, .group = group };

	if (!in.size)
		return ERR_PROTOCOL;
	return add(list, &in);
}

/* A list of instructions, or of groups of them that stand for a source line each. */
static int add_all(struct insns *list, const json_t *all)
{
	json_t *e, *in;
	size_t i, k;
	int r = 0;

	json_array_foreach(all, i, e) {
		const json_t *part = json_object_get(e, "line_asm_insn");

		if (!part)
			r = add_tuple(list, e, NULL);
		json_array_foreach(part, k, in) {
			r = add_tuple(list, in, e);
			if (r < 0)
				break;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* All of [from, to), whose last instruction may reach over the end. -EREMOTEIO: some of it cannot be read. */
static int decode_once(struct dap *d, uint64_t from, uint64_t to, struct insns *list)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	int r = d->cancelled ? ERR_INTERRUPTED
			     : mi_command(d->mi, &values, &ei, "-data-disassemble -s 0x%" PRIx64 " -e 0x%" PRIx64 " -- 5", from, to);

	return r < 0 ? r : add_all(list, json_object_get(values, "asm_insns"));
}

static uint64_t function_start(const struct insn *in)
{
	return in->mi && mi_str(in->mi, "func-name") ? in->addr - (uint64_t)mi_int(in->mi, "offset", 0) : 0;
}

/* The first function in the list, from `at` on, whose code has lines. *ret: its index, or the list's length. */
static int find_lines(struct dap *d, const struct insns *list, size_t at, size_t *ret)
{
	unsigned probes = 0;

	for (*ret = list->n; at < list->n && probes < PROBES_MAX; at++) {
		struct insns one CLEANUP(insns_done) = { 0 };
		int r = 0;

		if (function_start(&list->v[at]) != list->v[at].addr)
			continue;
		probes++;
		r = decode_once(d, list->v[at].addr, list->v[at].addr + 1, &one);
		if (r < 0)
			return r;
		if (one.n && one.v[0].group) {
			*ret = at;
			break;
		}
	}
	return 0;
}

/* gdb gives no lines at all when the first instruction has none: it is asked again from where there are some. */
static int decode(struct dap *d, uint64_t from, uint64_t to, struct insns *list)
{
	size_t had = list->n, at;
	int r = decode_once(d, from, to, list);

	if (r < 0 || list->n - had < 2 || list->v[had].group)
		return r;
	r = find_lines(d, list, had + 1, &at);
	if (r < 0 || at == list->n)
		return r;
	from = list->v[at].addr;
	truncate_list(list, at);
	return decode_once(d, from, to, list);
}

/* How many bytes from addr on can be read, at most len. */
static int readable(struct dap *d, uint64_t addr, uint64_t len, uint64_t *ret)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	int r = memory_read(d, addr, len, &b);

	*ret = b.len;
	return r;
}

/* The last bytes in front of something that cannot be read: an instruction may reach into it. */
static int decode_to_edge(struct dap *d, uint64_t from, uint64_t edge, struct insns *list)
{
	while (from < edge) {
		size_t had = list->n;
		int r = decode(d, from, from + 1, list);

		if (r == -EREMOTEIO)
			r = add_invalid(list, from, 1);
		if (r < 0)
			return r;
		from = list->n > had ? end_of(&list->v[list->n - 1]) : edge;
	}
	return 0;
}

/* Appends instructions from addr on until there are n more, or nothing can be read. */
static int decode_forward(struct dap *d, uint64_t addr, size_t n, struct insns *list)
{
	size_t want = list->n + n;

	while (list->n < want) {
		uint64_t len = (want - list->n) * INSN_BYTES_USUAL + INSN_BYTES_MAX, got;
		size_t had = list->n;
		int r = readable(d, addr, len + INSN_BYTES_MAX, &got);

		if (r < 0 || !got)
			return r;
		if (got == len + INSN_BYTES_MAX) {
			r = decode(d, addr, addr + len, list);
		} else {
			/* the edge of what can be read */
			if (got > INSN_BYTES_MAX)
				r = decode(d, addr, addr + got - INSN_BYTES_MAX, list);
			if (r == 0)
				r = decode_to_edge(d, list->n > had ? end_of(&list->v[list->n - 1]) : addr, addr + got, list);
		}
		if (r < 0)
			return r == -EREMOTEIO ? 0 : r;
		if (list->n == had)
			return 0;
		addr = end_of(&list->v[list->n - 1]);
	}
	truncate_list(list, want);
	return 0;
}

/* --- backwards --- */

/* The first function that begins in the list, but not where an instruction begins. *ret_at: of the instruction that runs over its start. */
static uint64_t missed_function(const struct insns *list, size_t from, size_t *ret_at)
{
	for (size_t i = MAX(from, (size_t)1); i < list->n; i++) {
		uint64_t start = function_start(&list->v[i]);

		if (start && start < list->v[i].addr && start > list->v[i - 1].addr && start < end_of(&list->v[i - 1])) {
			*ret_at = i - 1;
			return start;
		}
	}
	return 0;
}

/* Where decoding missed the start of a function it begins there anew; the bytes in front, which belong to no instruction then, stand as one that is not valid. */
static int redo_missed(struct dap *d, uint64_t end, struct insns *list)
{
	size_t at = 0;

	for (unsigned i = 0; i < MISSES_MAX; i++) {
		uint64_t start = missed_function(list, at, &at), from;
		int r;

		if (!start)
			break;
		from = list->v[at].addr;
		truncate_list(list, at);
		r = add_invalid(list, from, start - from);
		if (r == 0)
			r = decode(d, start, end, list);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The list shall end at addr: an instruction that reaches over it is none. */
static int end_at(struct insns *list, uint64_t addr)
{
	uint64_t from;

	while (list->n && list->v[list->n - 1].addr >= addr)
		truncate_list(list, list->n - 1);
	if (!list->n || end_of(&list->v[list->n - 1]) == addr)
		return 0;
	from = list->v[list->n - 1].addr;
	if (end_of(&list->v[list->n - 1]) > addr)
		truncate_list(list, list->n - 1);
	else
		from = end_of(&list->v[list->n - 1]);
	return add_invalid(list, from, addr - from);
}

/* The lowest address from which all up to addr can be read, at most len below. */
static int readable_below(struct dap *d, uint64_t addr, uint64_t len, uint64_t *ret)
{
	uint64_t low = addr - MIN(len, addr), got;
	int r = readable(d, low, addr - low, &got);

	if (r < 0 || got == addr - low) {
		*ret = low;
		return r;
	}
	/* what can be read begins with a page */
	for (low = addr; len && low > addr - MIN(len, addr); low = ALIGN_DOWN(low - 1, (uint64_t)4096)) {
		uint64_t page = ALIGN_DOWN(low - 1, (uint64_t)4096);

		r = readable(d, page, 1, &got);
		if (r < 0)
			return r;
		if (!got)
			break;
	}
	*ret = low;
	return 0;
}

/* Decodes what lies in front of addr: len bytes, less where they cannot be read. Entries near the beginning may be out of step. */
static int decode_below(struct dap *d, uint64_t addr, uint64_t len, struct insns *list, bool *ret_all)
{
	uint64_t low = addr;
	int r = readable_below(d, addr, len, &low);

	*ret_all = low > addr - MIN(len, addr) || low == 0;
	if (r < 0 || low == addr)
		return r;
	r = decode(d, low, addr, list);
	if (r == 0)
		r = redo_missed(d, addr, list);
	return r < 0 ? r : end_at(list, addr);
}

static int pad_below(struct insns *list, uint64_t first, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		int r = add_invalid(list, first > i ? first - i : 0, 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static int backward(struct dap *d, uint64_t addr, size_t n, struct insns *ret)
{
	uint64_t len = n * INSN_BYTES_USUAL + SLACK;
	struct insns below CLEANUP(insns_done) = { 0 };
	bool all = false;
	int r = decode_below(d, addr, len, &below, &all);

	/* long instructions, or a page that cannot be read */
	if (r == 0 && !all && below.n < n + SLACK / INSN_BYTES_MAX) {
		insns_done(&below);
		r = decode_below(d, addr, n * INSN_BYTES_MAX + SLACK, &below, &all);
	}
	if (r == -EREMOTEIO)
		r = 0;
	if (r == 0 && below.n < n)
		r = pad_below(ret, below.n ? below.v[0].addr : addr, n - below.n);
	for (size_t i = below.n - MIN(n, below.n); r == 0 && i < below.n; i++)
		r = add(ret, &below.v[i]);
	return r;
}

int disasm_around(struct dap *d, uint64_t addr, size_t before, size_t after, struct insns *ret)
{
	struct insns list CLEANUP(insns_done) = { 0 };
	int r = before ? backward(d, addr, before, &list) : 0;

	if (r == 0)
		r = decode_forward(d, addr, after, &list);
	while (r == 0 && list.n < before + after) {
		uint64_t at = list.n > before ? end_of(&list.v[list.n - 1]) : addr;

		r = add_invalid(&list, at, at < UINT64_MAX);
	}
	if (r < 0)
		return r;
	*ret = list;
	list = (struct insns){ 0 };
	return 0;
}

int disasm_function(struct dap *d, uint64_t addr, uint64_t *ret_start, char **ret_name)
{
	struct insns list CLEANUP(insns_done) = { 0 };
	int r = decode(d, addr, addr + 1, &list);
	const char *name = r == 0 && list.n ? mi_str(list.v[0].mi, "func-name") : NULL;

	if (r < 0 && r != -EREMOTEIO)
		return r;
	if (ret_name) {
		*ret_name = name ? os_strdup(name) : NULL;
		if (name && !*ret_name)
			return -ENOMEM;
	}
	*ret_start = name ? function_start(&list.v[0]) : 0;
	return 0;
}

/* --- the request --- */

struct disasm_args {
	const char *reference;
	int64_t offset, instruction_offset, count;
	bool symbols;
};

static const struct arg disasm_table[] = {
	ARG(STR, struct disasm_args, reference, "memoryReference", .required = true),
	ARG(INT, struct disasm_args, offset, "offset"),
	ARG(INT, struct disasm_args, instruction_offset, "instructionOffset"),
	ARG(INT, struct disasm_args, count, "instructionCount", .required = true),
	ARG(BOOL, struct disasm_args, symbols, "resolveSymbols"),
	{ 0 },
};

static int check(struct dap *d, const struct disasm_args *a)
{
	if (a->count < 0 || a->count > DISASM_COUNT_MAX)
		return errinfo_set(&d->ei, -EINVAL, "instructionCount: %" PRId64 ": at most %d can be asked for at once", a->count, DISASM_COUNT_MAX);
	if (a->instruction_offset < -DISASM_OFFSET_MAX || a->instruction_offset > DISASM_OFFSET_MAX)
		return errinfo_set(&d->ei, -EINVAL, "instructionOffset: %" PRId64 ": at most %d away", a->instruction_offset, DISASM_OFFSET_MAX);
	return 0;
}

static const char *group_name(const json_t *group)
{
	const char *name = mi_str(group, "fullname");

	return name ? name : mi_str(group, "file");
}

/* A client takes the source of the instruction before when there is none; so one without a source has to say so: that is not provided for, and the line alone
 * changes with each group. */
static int put_location(struct dap *d, const struct insn *in, const struct insn *last, json_t *j)
{
	const char *name = group_name(in->group), *before = last ? group_name(last->group) : NULL;
	int64_t line = mi_int(in->group, "line", 0);

	if (!name || line <= 0)
		return 0;
	if ((!before || strcmp(name, before) != 0) &&
	    jsonx_set_new(j, "location", sources_of(d, mi_str(in->group, "file"), mi_str(in->group, "fullname"))) < 0)
		return -ENOMEM;
	return jsonx_set_i64(j, "line", sources_line_out(d, line));
}

/* Named where a function begins, and at the first of the answer. */
static int put_symbol(const struct insn *in, const struct insn *last, json_t *j)
{
	const char *name = mi_str(in->mi, "func-name"), *before = last ? mi_str(last->mi, "func-name") : NULL;
	int64_t offset = mi_int(in->mi, "offset", 0);
	char *text CLEANUP(freep) = NULL;

	if (!name || (before && !strcmp(name, before) && offset))
		return 0;
	text = offset ? os_asprintf("%s+%" PRId64, name, offset) : os_strdup(name);
	return jsonx_set_new(j, "symbol", jsonx_text(text));
}

static json_t *insn_json(struct dap *d, const struct insn *in, const struct insn *last, bool symbols)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	char addr[24];

	snprintf(addr, sizeof(addr), "0x%016" PRIx64, in->addr);
	if (!j || jsonx_set_str(j, "address", addr) < 0)
		return NULL;
	if (!in->valid) {
		if (jsonx_set_str(j, "instruction", in->size > 1 ? "(no instruction)" : "(cannot be read)") < 0 ||
		    jsonx_set_str(j, "presentationHint", "invalid") < 0)
			return NULL;
		return TAKE(j);
	}
	if (jsonx_set_new(j, "instructionBytes", jsonx_text(mi_str(in->mi, "opcodes"))) < 0 ||
	    jsonx_set_new(j, "instruction", jsonx_text(mi_str(in->mi, "inst"))) < 0 || (symbols && put_symbol(in, last, j) < 0) ||
	    put_location(d, in, last, j) < 0)
		return NULL;
	return TAKE(j);
}

static int disassemble(struct dap *d, const void *args, json_t *body)
{
	const struct disasm_args *a = args;
	struct insns list CLEANUP(insns_done) = { 0 };
	json_t *out = json_array();
	int64_t to = a->instruction_offset + a->count;
	size_t skip = a->instruction_offset > 0 ? (size_t)a->instruction_offset : 0;
	uint64_t addr;
	int r = jsonx_set_new(body, "instructions", out);

	if (r == 0)
		r = check(d, a);
	if (r == 0)
		r = memory_address(d, a->reference, a->offset, &addr);
	if (r == 0)
		r = disasm_around(d, addr, a->instruction_offset < 0 ? (size_t)-a->instruction_offset : 0, to > 0 ? (size_t)to : 0, &list);
	for (size_t i = skip; r == 0 && i < skip + (size_t)a->count; i++)
		if (json_array_append_new(out, insn_json(d, &list.v[i], i > skip ? &list.v[i - 1] : NULL, a->symbols)) < 0)
			r = -ENOMEM;
	return r;
}

DAP_METHOD(disassemble, disasm_table, struct disasm_args);
