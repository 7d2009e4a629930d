/* The details of one event: arguments, buffers, and what kinds have besides. See row.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "base/json.h"
#include "store/event_json.h"

#define EFFECTS_LISTED 4096u
#define DATA_LISTED 256u

static const char *const arg_kinds[SYS_ARG_KIND_MAX_] = {
	[SYS_ARG_UINT] = "uint",     [SYS_ARG_INT] = "int",	    [SYS_ARG_HEX] = "hex",	 [SYS_ARG_ADDR] = "addr",     [SYS_ARG_LEN] = "len",
	[SYS_ARG_OFF] = "off",	     [SYS_ARG_FD] = "fd",	    [SYS_ARG_DIRFD] = "dirfd",	 [SYS_ARG_PID] = "pid",	      [SYS_ARG_UID] = "uid",
	[SYS_ARG_MODE] = "mode",     [SYS_ARG_SIGNO] = "signo",	    [SYS_ARG_FLAGS] = "flags",	 [SYS_ARG_ENUM] = "enum",     [SYS_ARG_PATH] = "path",
	[SYS_ARG_STR] = "str",	     [SYS_ARG_STRV] = "strv",	    [SYS_ARG_BUF] = "buf",	 [SYS_ARG_STRUCT] = "struct", [SYS_ARG_IOV] = "iov",
	[SYS_ARG_MSGHDR] = "msghdr", [SYS_ARG_MMSGHDR] = "mmsghdr", [SYS_ARG_MSGBUF] = "msgbuf", [SYS_ARG_SOCKADDR] = "sockaddr",
	[SYS_ARG_SKIPPED] = "skipped", [SYS_ARG_COMMAND] = "command",
};

static int set_hex(json_t *obj, const char *key, uint64_t v)
{
	return jsonx_set_new(obj, key, json_sprintf("0x%" PRIx64, v));
}

static int set_text(json_t *obj, const char *key, const char *s, size_t n)
{
	return jsonx_set_new(obj, key, s ? jsonx_string_lossy(s, n) : json_null());
}

static int set_number(json_t *obj, const char *key, uint64_t v)
{
	return jsonx_set_new(obj, key, v ? json_integer((json_int_t)v) : json_null());
}

/* --- buffers --- */

/* Effects that are bytes of guest memory, or went to where output goes. Zeros may be as many as an address space has room for: those are not listed. */
static bool is_buffer(const struct effect *e)
{
	return (e->kind == EFFECT_MEM || e->kind == EFFECT_INPUT || e->kind == EFFECT_OUTPUT || e->kind == EFFECT_ZERO) && e->len && e->len <= EFFECT_DATA_MAX;
}

static const struct effect *find_buffer(const struct event *ev, size_t i)
{
	for (uint32_t k = 0; k < ev->n_effects; k++)
		if (is_buffer(&ev->effects[k]) && i-- == 0)
			return &ev->effects[k];
	return NULL;
}

int row_buffer(struct row_maker *m, size_t i, uint64_t *ret_len)
{
	const struct effect *e = find_buffer(m->ev, i);

	if (!e)
		return -ENOENT;
	*ret_len = e->len;
	return 0;
}

int row_buffer_read(struct row_maker *m, size_t i, uint64_t off, void *p, size_t n, struct errinfo *ei)
{
	const struct effect *e = find_buffer(m->ev, i);

	if (!e)
		return -ENOENT;
	if (e->kind == EFFECT_ZERO) {
		memset(p, 0, n);
		return 0;
	}
	return store_reader_data(m->reader, e, off, p, n, ei);
}

/* The argument that points to the effect's bytes; -1: none does. */
static int arg_of_effect(const struct row_maker *m, const struct effect *e)
{
	const struct sys_row *row = sys_row(m->row.made.nr);

	for (unsigned i = 0; m->row.call && i < row->nargs; i++)
		if (e->kind != EFFECT_OUTPUT && m->row.made.args[i] == e->addr && (!e->thread || e->thread == m->ev->thread))
			return (int)i;
	return -1;
}

static int add_buffer(struct row_maker *m, json_t *list, const struct effect *e)
{
	json_t *obj = json_object();
	int arg = arg_of_effect(m, e), r;

	r = jsonx_set_u64(obj, "index", json_array_size(list));
	if (r >= 0)
		r = jsonx_set_str(obj, "direction", e->kind == EFFECT_INPUT || e->kind == EFFECT_OUTPUT ? "in" : "out");
	if (r >= 0)
		r = jsonx_set_str(obj, "kind", effect_kind_name(e->kind));
	if (r >= 0)
		r = jsonx_set_new(obj, "argument", arg < 0 ? json_null() : json_integer(arg));
	if (r >= 0)
		r = set_hex(obj, "addr", e->addr);
	if (r >= 0)
		r = jsonx_set_u64(obj, "len", e->len);
	if (r >= 0)
		r = jsonx_set_u64(obj, "thread", e->thread ? e->thread : m->ev->thread);
	if (r < 0 || json_array_append_new(list, json_incref(obj)) < 0)
		r = r < 0 ? r : -ENOMEM;
	json_decref(obj);
	return r;
}

static int add_buffers(struct row_maker *m, json_t *obj)
{
	json_t *list = json_array();
	int r = jsonx_set_new(obj, "buffers", list);

	for (uint32_t i = 0; r >= 0 && i < m->ev->n_effects && json_array_size(list) < ROW_BUFFERS_MAX; i++)
		if (is_buffer(&m->ev->effects[i]))
			r = add_buffer(m, list, &m->ev->effects[i]);
	return r;
}

/* Number of the first buffer that an argument points to, or null. */
static json_t *buffer_of_arg(const json_t *buffers, int arg)
{
	json_t *b, *a;
	size_t i;

	json_array_foreach(buffers, i, b) {
		a = json_object_get(b, "argument");
		if (json_is_integer(a) && json_integer_value(a) == arg)
			return json_integer((json_int_t)i);
	}
	return json_null();
}

/* --- arguments --- */

/* What is behind a descriptor argument: the n-th one of the call. */
static const char *fd_path(const struct row_maker *m, unsigned nth, int fd)
{
	const struct evindex_record *rec = m->rec;
	bool second_path;

	if (!rec || nth > 1 || rec->fd[nth] != fd)
		return NULL;
	if (nth == 0)
		return evindex_name(m->view, rec->name[2]);
	second_path = false;
	for (unsigned i = 0, paths = 0; i < 6; i++) {
		paths += sys_row(rec->sysno)->arg[i].kind == SYS_ARG_PATH;
		second_path = paths > 1;
	}
	return second_path ? NULL : evindex_name(m->view, rec->name[1]);
}

static json_t *fd_of_arg(const struct row_maker *m, const struct sys_arg *a, uint64_t value, unsigned *nth)
{
	json_t *obj;
	const char *path;
	int fd = (int)value;

	if ((a->kind != SYS_ARG_FD && a->kind != SYS_ARG_DIRFD) || fd < 0)
		return json_null();
	path = fd_path(m, (*nth)++, fd);
	obj = json_object();
	if (!obj || jsonx_set_i64(obj, "number", fd) < 0 || set_text(obj, "path", path, path ? strlen(path) : 0) < 0) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

static int add_argument(struct row_maker *m, json_t *list, const json_t *buffers, unsigned i, unsigned *nth_fd)
{
	const struct evprint_row *row = &m->row;
	const struct sys_arg *a = &sys_row(row->made.nr)->arg[i];
	const char *text = (const char *)row->line.data + row->parts.arg[i].from;
	size_t n = row->parts.arg[i].to - row->parts.arg[i].from;
	json_t *obj = json_object();
	int r = jsonx_set_str(obj, "name", a->name && *a->name ? a->name : "arg");

	if (r >= 0)
		r = jsonx_set_str(obj, "kind", a->kind < SYS_ARG_KIND_MAX_ && arg_kinds[a->kind] ? arg_kinds[a->kind] : "hex");
	if (r >= 0)
		r = set_hex(obj, "value", row->made.args[i]);
	if (r >= 0)
		r = n ? set_text(obj, "text", text, n) : jsonx_set_new(obj, "text", json_sprintf("%#" PRIx64, row->made.args[i]));
	if (r >= 0)
		r = jsonx_set_new(obj, "fd", fd_of_arg(m, a, row->made.args[i], nth_fd));
	if (r >= 0)
		r = jsonx_set_new(obj, "buffer", buffer_of_arg(buffers, (int)i));
	if (r < 0 || json_array_append_new(list, json_incref(obj)) < 0)
		r = r < 0 ? r : -ENOMEM;
	json_decref(obj);
	return r;
}

static int add_arguments(struct row_maker *m, json_t *obj)
{
	json_t *list = json_array();
	unsigned nth_fd = 0, n = m->row.call ? sys_row(m->row.made.nr)->nargs : 0;
	int r = jsonx_set_new(obj, "arguments", list);

	for (unsigned i = 0; i < n && r >= 0; i++)
		r = add_argument(m, list, json_object_get(obj, "buffers"), i, &nth_fd);
	return r;
}

/* --- what kinds have --- */

static bool has_sysno(enum event_kind k)
{
	return k == EVENT_SYSCALL || k == EVENT_SYSCALL_ENTER || k == EVENT_SYSCALL_EXIT || k == EVENT_BIRTH || k == EVENT_RESTART || k == EVENT_EXEC;
}

static int add_returned(struct row_maker *m, json_t *obj)
{
	const struct event *ev = m->ev;
	json_t *ret;
	int r;

	if (ev->kind != EVENT_SYSCALL && ev->kind != EVENT_SYSCALL_EXIT)
		return jsonx_set_new(obj, "returned", json_null());
	ret = json_object();
	r = set_text(ret, "text", m->row.result.len ? (const char *)m->row.result.data : "", m->row.result.len);
	if (r >= 0)
		r = set_hex(ret, "value", (uint64_t)ev->result);
	if (r < 0) {
		json_decref(ret);
		return r;
	}
	return jsonx_set_new(obj, "returned", ret);
}

static int add_exec(const struct event *ev, json_t *obj)
{
	json_t *exec, *argv;
	const char *s = ev->blob, *end = s ? s + ev->blob_len : NULL;
	int r;

	if (ev->kind != EVENT_EXEC)
		return jsonx_set_new(obj, "exec", json_null());
	exec = json_object();
	argv = json_array();
	r = jsonx_set_new(obj, "exec", exec);
	if (r >= 0)
		r = set_text(exec, "path", ev->text, strlen(ev->text));
	r = r >= 0 ? jsonx_set_new(exec, "argv", argv) : r;
	while (r >= 0 && s < end) {
		size_t n = strnlen(s, (size_t)(end - s));

		r = json_array_append_new(argv, jsonx_string_lossy(s, n)) < 0 ? -ENOMEM : 0;
		s += n + 1;
	}
	return r;
}

static int add_child(const struct event *ev, json_t *obj)
{
	json_t *child;

	if (ev->kind != EVENT_BIRTH)
		return jsonx_set_new(obj, "child", json_null());
	child = json_pack("{s:I,s:i,s:i}", "thread", (json_int_t)ev->child, "pid", (int)ev->pid, "tid", (int)ev->tid);
	return jsonx_set_new(obj, "child", child);
}

static int add_status(const struct event *ev, json_t *obj)
{
	int status = (int)ev->result;
	char name[24];
	json_t *j;

	if (ev->kind != EVENT_EXIT)
		return jsonx_set_new(obj, "status", json_null());
	if (status & 0x7f)
		j = json_pack("{s:s,s:s}", "kind", "signaled", "signal", sysprint_signal(status & 0x7f, name));
	else
		j = json_pack("{s:s,s:i}", "kind", "exited", "code", status >> 8 & 0xff);
	return jsonx_set_new(obj, "status", j);
}

static int add_siginfo(const struct event *ev, json_t *obj)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (ev->kind != EVENT_SIGNAL)
		return jsonx_set_new(obj, "siginfo", json_null());
	sysprint_siginfo(&b, ev->siginfo);
	return buf_error(&b) ? buf_error(&b) : set_text(obj, "siginfo", (const char *)b.data, b.len);
}

/* Events of a thread lie close together, mostly. */
static uint64_t same_thread(const struct row_maker *m, int step)
{
	uint64_t n = m->ev->number;

	for (n += (uint64_t)step; n && n <= m->view->n; n += (uint64_t)step)
		if (m->view->record[n - 1].thread == m->ev->thread)
			return n;
	return 0;
}

static int add_neighbours(struct row_maker *m, json_t *obj)
{
	int r = set_number(obj, "previous_same_thread", same_thread(m, -1));

	return r < 0 ? r : set_number(obj, "next_same_thread", same_thread(m, 1));
}

/* The effects as event_to_json() has them; of an event with thousands the first ones. */
static int add_effects(const struct event *ev, json_t *obj)
{
	struct event some = *ev;
	json_t *all CLEANUP(jsonx_unrefp) = NULL, *effects;
	int r;

	some.n_effects = MIN(ev->n_effects, EFFECTS_LISTED);
	some.blob_len = 0;
	r = event_to_json(&some, DATA_LISTED, &all);
	if (r < 0)
		return r;
	effects = json_object_get(all, "effects");
	r = jsonx_set_new(obj, "effects", effects ? json_incref(effects) : json_array());
	return r < 0 ? r : jsonx_set_u64(obj, "effects_total", ev->n_effects);
}

static int row_object(const struct row_maker *m, json_t **ret, struct errinfo *ei)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	row_put_json(m, &b);
	return buf_error(&b) ? buf_error(&b) : jsonx_parse((const char *)b.data, b.len, ret, ei);
}

int row_detail(struct row_maker *m, json_t **ret, struct errinfo *ei)
{
	const struct event *ev = m->ev;
	json_t *obj CLEANUP(jsonx_unrefp) = NULL;
	int r = row_object(m, &obj, ei);

	if (r >= 0)
		r = set_text(obj, "line", (const char *)m->row.line.data, m->row.line.len);
	if (r >= 0)
		r = set_hex(obj, "rip", ev->rip);
	if (r >= 0)
		r = jsonx_set_new(obj, "sysno", has_sysno(ev->kind) ? json_integer(ev->sysno) : json_null());
	if (r >= 0)
		r = add_buffers(m, obj);
	if (r >= 0)
		r = add_arguments(m, obj);
	if (r >= 0)
		r = add_returned(m, obj);
	if (r >= 0)
		r = add_effects(ev, obj);
	if (r >= 0)
		r = add_siginfo(ev, obj);
	if (r >= 0)
		r = add_exec(ev, obj);
	if (r >= 0)
		r = add_child(ev, obj);
	if (r >= 0)
		r = add_status(ev, obj);
	if (r >= 0)
		r = ev->kind == EVENT_NOTE ? set_text(obj, "text", ev->text, strlen(ev->text)) : jsonx_set_new(obj, "text", json_null());
	if (r >= 0)
		r = add_neighbours(m, obj);
	if (r < 0)
		return r;
	*ret = TAKE(obj);
	return 0;
}
