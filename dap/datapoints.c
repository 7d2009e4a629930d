/* Data breakpoints: which memory, as an id that needs no state of ours ("0x7ffd10|4|int|p.x": address, length, type, name), and gdb's watchpoints on it.
 * They watch memory, not expressions: a variable that is gone forwards of here comes back when one goes back. */
#define LOG_AREA "dap.data"
#include "dap/breaks_priv.h"
#include "dap/stack_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* What an editor may ask to watch; longer ranges are possible, slower, and nobody's intention. */
#define DATA_BYTES_MAX (16u << 20)

struct data {
	uint64_t addr, len;
	char *type, *name; /* owned; type "" = bytes */
};

static void data_done(struct data *m)
{
	freep(&m->type);
	freep(&m->name);
}

/* --- ids --- */

/* "a|rest": a as a new string, s moves on; the last one takes all. */
static char *next_field(const char **s, bool last)
{
	size_t n = last ? strlen(*s) : strcspn(*s, "|");
	char *field = strndup(*s, n);

	*s += n;
	*s += **s == '|';
	return field;
}

static int parse_id(const char *id, struct data *ret)
{
	struct data m = { 0 };
	char *addr CLEANUP(freep) = next_field(&id, false), *len CLEANUP(freep) = next_field(&id, false);

	if (!addr || !len)
		return -ENOMEM;
	if (str_parse_u64(addr, &m.addr) < 0 || str_parse_u64(len, &m.len) < 0 || !m.len || m.len > DATA_BYTES_MAX || m.addr + m.len < m.addr)
		return -EINVAL;
	m.type = next_field(&id, false);
	m.name = next_field(&id, true);
	*ret = m;
	return m.type && m.name ? 0 : -ENOMEM;
}

/* --- dataBreakpointInfo --- */

struct info_args {
	const char *name;
	int64_t reference, frame, bytes;
	bool as_address;
};

static const struct arg info_table[] = {
	ARG(STR, struct info_args, name, "name", .required = true),
	ARG(INT, struct info_args, reference, "variablesReference"),
	ARG(INT, struct info_args, frame, "frameId"),
	ARG(INT, struct info_args, bytes, "bytes"),
	ARG(BOOL, struct info_args, as_address, "asAddress"),
	{ .name = NULL },
};

/* gdb's name for the type of expr, "" when it has none that can be written. Owned. */
static int type_of(struct dap *d, int64_t frame_id, const char *expr, char **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct buf q CLEANUP(buf_done) = { 0 };
	struct errinfo ignored = { 0 };
	const char *type;
	int thread, level, r = stack_frame(d, frame_id, &thread, &level);

	mi_quote(&q, expr);
	if (r >= 0)
		r = mi_command(d->mi, &j, &ignored, "-var-create --thread %d --frame %d - * %s", thread, level, buf_cstr(&q));
	if (r < 0 && r != -EREMOTEIO)
		return r;
	type = r >= 0 ? mi_str(j, "type") : NULL;
	*ret = os_strdup(type && !strpbrk(type, "|[(") ? type : "");
	if (r >= 0)
		r = mi_command(d->mi, NULL, &ignored, "-var-delete %s", mi_str(j, "name"));
	return *ret ? (r == -EREMOTEIO ? 0 : r) : -ENOMEM;
}

static int find_variable(struct dap *d, const struct info_args *a, struct data *m)
{
	char *expr CLEANUP(freep) = NULL;
	int64_t frame = a->frame;
	int r = a->reference > 0 ? stack_variable(d, a->reference, a->name, &frame, &expr) : 0;

	if (r >= 0)
		r = stack_lvalue(d, frame, expr ? expr : a->name, &m->addr, &m->len);
	if (r >= 0)
		r = type_of(d, frame, expr ? expr : a->name, &m->type);
	if (r >= 0)
		m->name = os_strdup(expr ? expr : a->name);
	return r >= 0 && !m->name ? -ENOMEM : r;
}

static int find_address(struct dap *d, const struct info_args *a, struct data *m)
{
	int r = str_parse_u64(a->name, &m->addr);
	uint64_t len;

	/* a client may write any expression for an address */
	if (r < 0) {
		json_t *j CLEANUP(jsonx_unrefp) = NULL;
		struct buf q CLEANUP(buf_done) = { 0 };
		int thread, level;

		buf_printf(&q, "(unsigned long) (%s)", a->name);
		r = stack_frame(d, a->frame, &thread, &level);
		if (r >= 0) {
			struct buf quoted CLEANUP(buf_done) = { 0 };

			mi_quote(&quoted, buf_cstr(&q));
			stack_quiet(d);
			r = mi_command(d->mi, &j, &d->ei, "-data-evaluate-expression --thread %d --frame %d %s", thread, level, buf_cstr(&quoted));
			stack_loud(d);
		}
		if (r >= 0)
			m->addr = mi_addr(j, "value");
	}
	len = a->bytes > 0 ? (uint64_t)a->bytes : 1;
	m->len = len;
	m->type = os_strdup("");
	m->name = r >= 0 ? os_asprintf("%" PRIu64 " byte%s at 0x%" PRIx64, len, len == 1 ? "" : "s", m->addr) : NULL;
	return r >= 0 && (!m->type || !m->name) ? -ENOMEM : r;
}

/* What cannot be watched is an answer, not an error. */
static int refuse_info(struct dap *d, json_t *body)
{
	int r = jsonx_set_new(body, "dataId", json_null());

	if (r >= 0)
		r = jsonx_set_new(body, "description", jsonx_text(d->ei.text));
	d->ei = (struct errinfo){ 0 };
	return r;
}

static int put_info(const struct data *m, json_t *body)
{
	char *id CLEANUP(freep) = os_asprintf("0x%" PRIx64 "|%" PRIu64 "|%s|%s", m->addr, m->len, m->type, m->name);
	char *text CLEANUP(freep) =
		os_asprintf("%s (%" PRIu64 " byte%s at 0x%" PRIx64 ")", m->name, m->len, m->len == 1 ? "" : "s", m->addr);
	json_t *more CLEANUP(jsonx_unrefp) = json_pack("{s[sss] sb}", "accessTypes", "write", "read", "readWrite", "canPersist", 0);
	int r = id && text && more ? json_object_update(body, more) : -ENOMEM;

	if (r == 0)
		r = jsonx_set_str(body, "dataId", id);
	return r < 0 ? r : jsonx_set_str(body, "description", strstr(m->name, " at 0x") ? m->name : text);
}

static int data_breakpoint_info(struct dap *d, const void *args, json_t *body)
{
	const struct info_args *a = args;
	struct data m CLEANUP(data_done) = { 0 };
	int r;

	if (a->bytes < 0 || a->bytes > DATA_BYTES_MAX)
		return errinfo_set(&d->ei, -EINVAL, "\"bytes\" is 1 to %u", DATA_BYTES_MAX);
	r = a->as_address ? find_address(d, a, &m) : find_variable(d, a, &m);
	if (r >= 0 && a->bytes > 0 && !a->as_address && (uint64_t)a->bytes != m.len) {
		m.len = (uint64_t)a->bytes;
		*m.type = 0;
	}
	if (r >= 0 && (m.len == 0 || m.len > DATA_BYTES_MAX))
		r = errinfo_set(&d->ei, -EINVAL, "%.100s: %" PRIu64 " bytes cannot be watched", m.name, m.len);
	if (r == -EREMOTEIO || r == -EINVAL)
		return refuse_info(d, body);
	return r >= 0 ? put_info(&m, body) : r;
}
DAP_METHOD(data_breakpoint_info, info_table, struct info_args);

/* --- setDataBreakpoints --- */

static const struct {
	const char *access, *command;
} commands[] = { { "write", "watch" }, { "read", "rwatch" }, { "readWrite", "awatch" } };

static const char *command_of(const char *access)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].access, access) == 0)
			return commands[i].command;
	return NULL;
}

/* C's word for a whole number of that length; NULL: there is none. */
static const char *integer_of(uint64_t len)
{
	static const char *const names[] = { [1] = "signed char", [2] = "short", [4] = "int", [8] = "long" };

	return len < ARRAY_SIZE(names) ? names[len] : NULL;
}

static int watch(struct dap *d, const char *command, const struct data *m, const char *type)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (type)
		buf_printf(&b, "*(%s *) 0x%" PRIx64, type, m->addr);
	else
		buf_printf(&b, "*(unsigned char (*)[%" PRIu64 "]) 0x%" PRIx64, m->len, m->addr);
	return mi_console(d->mi, NULL, &d->ei, "%s -location %s", command, buf_cstr(&b));
}

/* Is type, in gdb's eyes, one of m's length? Structs are watched as bytes: gdb would print all of them. */
static bool usable_type(struct dap *d, const struct data *m)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ignored = { 0 };
	struct buf q CLEANUP(buf_done) = { 0 }, e CLEANUP(buf_done) = { 0 };

	if (!*m->type || m->len > 16)
		return false;
	buf_printf(&e, "sizeof(%s)", m->type);
	mi_quote(&q, buf_cstr(&e));
	return mi_command(d->mi, &j, &ignored, "-data-evaluate-expression %s", buf_cstr(&q)) >= 0 && mi_int(j, "value", 0) == (int64_t)m->len;
}

static int watch_best(struct dap *d, const char *command, const struct data *m)
{
	int r = -EREMOTEIO;

	if (usable_type(d, m))
		r = watch(d, command, m, m->type);
	if (r == -EREMOTEIO && integer_of(m->len)) {
		d->ei = (struct errinfo){ 0 };
		r = watch(d, command, m, integer_of(m->len));
	}
	if (r == -EREMOTEIO) {
		d->ei = (struct errinfo){ 0 };
		r = watch(d, command, m, NULL);
	}
	return r;
}

static int take_number(struct dap *d, struct point *p)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = mi_command(d->mi, &j, &d->ei, "-data-evaluate-expression $bpnum");

	if (r >= 0)
		p->number = mi_int(j, "value", 0);
	return r >= 0 && !p->number ? errinfo_set(&d->ei, -EREMOTEIO, "gdb does not tell the number of a watchpoint") : r;
}

/* Types are written in C, whatever the program's language is. */
static int insert_data(struct dap *d, struct point *p)
{
	const char *command = command_of(mi_str(p->spec, "accessType"));
	struct data m CLEANUP(data_done) = { 0 };
	int r = parse_id(mi_str(p->spec, "where"), &m), r2;

	if (r == -EINVAL)
		return errinfo_set(&d->ei, r, "this id names no memory");
	if (r >= 0)
		r = mi_command(d->mi, NULL, &d->ei, "-gdb-set language c++");
	if (r < 0)
		return r;
	r = watch_best(d, command, &m);
	if (r >= 0)
		r = take_number(d, p);
	r2 = mi_command(d->mi, NULL, &d->ei, "-gdb-set language auto");
	return r < 0 ? r : r2;
}

struct wanted_data {
	const char *id, *access, *condition, *hit;
};

static const struct arg wanted_table[] = {
	ARG(STR, struct wanted_data, id, "dataId", .required = true),
	ARG(STR, struct wanted_data, access, "accessType"),
	ARG(STR, struct wanted_data, condition, "condition"),
	ARG(STR, struct wanted_data, hit, "hitCondition"),
	{ .name = NULL },
};

static int data_spec(struct dap *d, const json_t *item, json_t *specs)
{
	struct data m CLEANUP(data_done) = { 0 };
	struct wanted_data w = { 0 };
	const char *access, *error;
	json_t *spec;
	int r = args_decode(wanted_table, item, &w, &d->ei);

	if (r < 0)
		return r;
	access = w.access ? w.access : "write";
	r = parse_id(w.id, &m);
	if (r == -ENOMEM)
		return r;
	error = r < 0 ? "this id names no memory" : command_of(access) ? NULL : "the access is \"write\", \"read\" or \"readWrite\"";
	spec = json_pack("{ss ss ss* ss* ss* ss*}", "where", w.id, "accessType", access, "name", m.name, "condition", w.condition, "hitCondition", w.hit,
			 "error", error);
	return spec && json_array_append_new(specs, spec) == 0 ? 0 : -ENOMEM;
}

struct set_data_args {
	json_t *breakpoints;
};

static const struct arg set_data_table[] = {
	ARG(ARRAY, struct set_data_args, breakpoints, "breakpoints", .required = true),
	{ .name = NULL },
};

static int set_data_breakpoints(struct dap *d, const void *args, json_t *body)
{
	const json_t *items = ((const struct set_data_args *)args)->breakpoints;
	json_t *specs CLEANUP(jsonx_unrefp) = json_array();
	int r = specs ? 0 : -ENOMEM;

	for (size_t i = 0; i < json_array_size(items) && r >= 0; i++)
		r = data_spec(d, json_array_get(items, i), specs);
	return r >= 0 ? points_set(d, POINT_DATA, "", specs, insert_data, body) : r;
}
DAP_METHOD(set_data_breakpoints, set_data_table, struct set_data_args);
