/* Request threads. See stack_priv.h. */
#include "dap/stack_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/str.h"

/* "Thread 123.456" or "LWP 456": the last number. */
static int64_t target_tid(const char *target)
{
	const char *p = target + strlen(target);
	uint64_t n;

	while (p > target && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return str_parse_u64(p, &n) < 0 ? 0 : (int64_t)n;
}

static json_t *make_thread(int64_t id, const char *name, int64_t tid)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	CLEANUP(jsonx_unrefp) json_t *ret = json_object();

	buf_printf(&b, "%s", name && *name ? name : "thread");
	if (tid)
		buf_printf(&b, " (%" PRId64 ")", tid);
	if (!ret || jsonx_set_i64(ret, "id", id) < 0 || jsonx_set_new(ret, "name", jsonx_text(buf_cstr(&b))) < 0)
		return NULL;
	return TAKE(ret);
}

/* gdb gives the newest first; by number they stay in place as others come and go. */
static int insert_thread(json_t *list, int64_t id, const char *name, int64_t tid)
{
	size_t at = json_array_size(list);

	while (at > 0 && json_integer_value(json_object_get(json_array_get(list, at - 1), "id")) > id)
		at--;
	return json_array_insert_new(list, at, make_thread(id, name, tid)) < 0 ? -ENOMEM : 0;
}

/* gdb's machine interface reads the registers of all threads to tell their frames too, which takes milliseconds for each: its Python does not. */
static int ask_python(struct dap *d, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *rows = NULL;
	int r = python_ask(d, 0, 0, &rows, NULL, "threads()");

	for (size_t i = 0; i < json_array_size(rows) && r >= 0; i++) {
		const json_t *row = json_array_get(rows, i);

		r = insert_thread(ret, json_integer_value(json_array_get(row, 0)), json_string_value(json_array_get(row, 1)),
				  json_integer_value(json_array_get(row, 2)));
	}
	return r;
}

static int ask_mi(struct dap *d, json_t *ret)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	int r = mi_command(d->mi, &mi, &d->ei, "-thread-info");
	const json_t *list = json_object_get(mi, "threads");

	for (size_t i = 0; i < json_array_size(list) && r >= 0; i++) {
		const json_t *t = json_array_get(list, i);

		r = insert_thread(ret, mi_int(t, "id", 0), mi_str(t, "name"), target_tid(mi_str(t, "target-id") ?: ""));
	}
	return r;
}

static int look_threads(struct dap *d)
{
	CLEANUP(jsonx_unrefp) json_t *list = json_array();
	int r = list ? ask_python(d, list) : -ENOMEM;

	if (r == -EREMOTEIO || r == ERR_CORRUPT) { /* a gdb without Python */
		(void)json_array_clear(list);
		r = ask_mi(d, list);
	}
	if (r < 0)
		return r;
	jsonx_unrefp(&d->stack->threads);
	d->stack->threads = TAKE(list);
	d->stack->threads_old = false;
	return 0;
}

static int threads(struct dap *d, const void *args, json_t *body)
{
	bool stopped = WHEN_STOPPED & 1u << d->state;
	int r = stopped && (!d->stack->threads || d->stack->threads_old) ? look_threads(d) : 0;

	(void)args;
	if (r < 0)
		return r;
	return jsonx_set_new(body, "threads", d->stack->threads ? json_incref(d->stack->threads) : json_array());
}
DAP_METHOD_PLAIN(threads);
