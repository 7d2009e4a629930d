/* Monitor commands about the recording: events, processes, output. Events are read by a reader of their own: the session's is in use. */
#include "gdbstub/monitor_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"
#include "engine/syscall.h"
#include "engine/sysprint.h"

#define EVENTS_MAX 1000u   /* of one answer */
#define EVENTS_AROUND 10u
#define OUTPUT_MAX (1u << 20)
#define TEXT_SHOWN 200

static void freep_reader(struct store_reader **r)
{
	store_reader_free(*r);
}

static bool has_result(const struct event *ev)
{
	return ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT;
}

static bool has_call(const struct event *ev)
{
	return has_result(ev) || ev->kind == EVENT_SYSCALL_ENTER || ev->kind == EVENT_BIRTH || ev->kind == EVENT_RESTART;
}

/* -ENOENT instead of a number of 20 digits. */
static const char *error_of(const struct event *ev)
{
	return has_result(ev) && ev->result < 0 && ev->result >= -4095 ? sysprint_errno((int)-ev->result) : NULL;
}

static void event_text(const struct event *ev, bool here, struct buf *out)
{
	char name[24];
	const char *error = error_of(ev);

	buf_printf(out, "%c%8" PRIu64 "  %10.6f s  thread %u  %s", here ? '>' : ' ', ev->number, (double)ev->time_ns / 1e9, ev->thread,
		   event_kind_name(ev->kind));
	if (has_call(ev))
		buf_printf(out, " %s", sys_name(ev->sysno, name));
	if (error)
		buf_printf(out, " = -%s", error);
	else if (has_result(ev))
		buf_printf(out, " = %" PRId64, ev->result);
	if (ev->kind == EVENT_SIGNAL)
		buf_printf(out, " %s", sysprint_signal((int)ev->signo, name));
	if (ev->kind == EVENT_BIRTH)
		buf_printf(out, " (thread %u, id %d)", ev->child, ev->tid);
	if (ev->kind == EVENT_EXIT)
		buf_printf(out, " (status 0x%" PRIx64 ")", (uint64_t)ev->result);
	if (ev->text && ev->text[0]) {
		char *text CLEANUP(freep) = strndup(ev->text, TEXT_SHOWN);

		buf_put_u8(out, ' ');
		monitor_put_safe(out, text ? text : "");
	}
	buf_put_u8(out, '\n');
}

static json_t *event_json(const struct event *ev)
{
	char name[24];
	json_t *j = json_pack("{sI ss sI sI}", "number", (json_int_t)ev->number, "kind", event_kind_name(ev->kind), "thread", (json_int_t)ev->thread,
			      "time_ns", (json_int_t)ev->time_ns);
	int r = j ? 0 : -ENOMEM;

	if (r >= 0 && has_call(ev))
		r = jsonx_set_str(j, "call", sys_name(ev->sysno, name));
	if (r >= 0 && has_result(ev))
		r = jsonx_set_i64(j, "result", ev->result);
	if (r >= 0 && ev->kind == EVENT_SIGNAL)
		r = jsonx_set_str(j, "signal", sysprint_signal((int)ev->signo, name));
	if (r >= 0 && ev->text && ev->text[0])
		r = jsonx_set_new(j, "text", jsonx_string_lossy(ev->text, strnlen(ev->text, TEXT_SHOWN)));
	if (r < 0)
		jsonx_unrefp(&j);
	return j;
}

/* "A-B", "A-", "A"; nothing: around the position. */
static int parse_events(struct monitor *m, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t here = dbg_events(m->s->d);
	char *text CLEANUP(freep) = NULL;
	char *dash;
	int r;

	*ret_first = here > EVENTS_AROUND ? here - EVENTS_AROUND : 1;
	*ret_last = here + EVENTS_AROUND;
	if (!m->words)
		return 0;
	text = strdup(m->word[0]);
	if (!text)
		return -ENOMEM;
	dash = strchr(text, '-');
	if (dash)
		*dash++ = '\0';
	r = str_parse_u64(text, ret_first);
	*ret_last = *ret_first;
	if (r >= 0 && dash && *dash)
		r = str_parse_u64(dash, ret_last);
	else if (r >= 0 && dash)
		*ret_last = UINT64_MAX;
	if (r < 0 || !*ret_first || *ret_last < *ret_first)
		return errinfo_set(&m->ei, -EINVAL, "%.40s is no range of events", m->word[0]);
	return 0;
}

static int list_events(struct monitor *m, struct store_reader *reader, uint64_t n, json_t *list)
{
	uint64_t here = dbg_events(m->s->d);
	const struct event *ev;
	int r = 0;

	for (; n; n--) {
		r = store_reader_next(reader, &ev, &m->ei);
		if (r <= 0)
			break;
		if (!m->json)
			event_text(ev, ev->number == here, m->out);
		else if (json_array_append_new(list, event_json(ev)) < 0)
			return -ENOMEM;
		if (!(n % 64) && stub_tick(m->s, NULL))
			return ERR_INTERRUPTED;
	}
	return r < 0 ? r : 0;
}

int monitor_events(struct monitor *m)
{
	struct store_reader *reader CLEANUP(freep_reader) = NULL;
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	uint64_t first, last, count, n;
	int r = parse_events(m, &first, &last);

	if (r >= 0)
		r = monitor_reader(m, &reader);
	if (r >= 0)
		r = store_reader_count(reader, &count, &m->ei);
	if (r < 0)
		return r;
	if (first > count)
		return errinfo_set(&m->ei, -EINVAL, "the recording has %" PRIu64 " events", count);
	n = MIN(last, count) - first + 1;
	r = store_reader_seek(reader, first, &m->ei);
	if (r >= 0)
		r = list_events(m, reader, MIN(n, (uint64_t)EVENTS_MAX), list);
	if (r < 0)
		return r;
	if (m->json)
		return monitor_set(m, "events", json_incref(list));
	if (n > EVENTS_MAX)
		buf_printf(m->out, "(%" PRIu64 " more: ask for %" PRIu64 "-)\n", n - EVENTS_MAX, first + EVENTS_MAX);
	return 0;
}

/* --- processes --- */

static json_t *process_json(const struct manifest_process *p, bool here)
{
	const char *command = p->command ? p->command : "", *exe = p->exe ? p->exe : "";

	return json_pack("{si so so si sI sI sI sb}", "pid", (int)p->pid, "command", jsonx_string_lossy(command, strlen(command)), "exe",
			 jsonx_string_lossy(exe, strlen(exe)), "status", p->status, "first_event", (json_int_t)p->first_event, "last_event",
			 (json_int_t)p->last_event, "threads", (json_int_t)p->threads, "current", here);
}

static void process_text(const struct manifest_process *p, bool here, struct buf *out)
{
	buf_printf(out, "%c %d  events %" PRIu64 "-%" PRIu64 "  ", here ? '*' : ' ', p->pid, p->first_event, p->last_event);
	monitor_put_safe(out, p->command ? p->command : p->exe ? p->exe : "?");
	buf_printf(out, "  ");
	if (p->status >= 0)
		stub_put_status(out, p->status);
	else
		buf_printf(out, "was still running at the end");
	buf_put_u8(out, '\n');
}

int monitor_processes(struct monitor *m)
{
	const struct manifest *mf = store_reader_manifest(dbg_reader(m->s->d));
	const struct manifest_process *ours = dbg_process(m->s->d);
	json_t *list CLEANUP(jsonx_unrefp) = json_array();

	for (uint64_t i = 0; i < mf->processes; i++) {
		const struct manifest_process *p = &mf->process[i];
		bool here = ours && ours->thread == p->thread;

		if (!m->json)
			process_text(p, here, m->out);
		else if (json_array_append_new(list, process_json(p, here)) < 0)
			return -ENOMEM;
	}
	return m->json ? monitor_set(m, "processes", json_incref(list)) : 0;
}

/* --- output --- */

static int put_effect(struct store_reader *reader, const struct effect *e, uint64_t max, struct buf *out, struct errinfo *ei)
{
	uint64_t most = MIN(max, (uint64_t)OUTPUT_MAX);
	size_t n = (size_t)MIN(e->len, most);
	void *p = buf_extend(out, n);

	return p ? store_reader_data(reader, e, 0, p, n, ei) : -ENOMEM;
}

/* What an event holds of the bytes that it wrote: all that did not come from guest memory, else the beginning. */
static int put_written(struct monitor *m, struct store_reader *reader, const struct event *ev, struct buf *out)
{
	uint64_t want = ev->result > 0 ? (uint64_t)ev->result : 0;
	size_t before = out->len;
	int r = 0;

	for (uint32_t i = 0; i < ev->n_effects && r >= 0; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EFFECT_OUTPUT || (e->kind == EFFECT_INPUT && ev->kind == EVENT_SYSCALL && e->addr == ev->args[1]))
			r = put_effect(reader, e, want - MIN(want, (uint64_t)(out->len - before)), out, &m->ei);
	}
	if (r >= 0 && out->len - before < want)
		buf_printf(out, "[... %" PRIu64 " more bytes]\n", want - (out->len - before));
	return r;
}

/* Without help from outside: the beginnings of the writes. Only the last OUTPUT_MAX bytes are kept. */
static int gather_output(struct monitor *m, struct buf *out)
{
	struct store_reader *reader CLEANUP(freep_reader) = NULL;
	uint64_t left = dbg_events(m->s->d);
	const struct event *ev;
	int r = monitor_reader(m, &reader);

	while (r >= 0 && left--) {
		r = store_reader_next(reader, &ev, &m->ei);
		if (r <= 0)
			break;
		if (ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR))
			r = put_written(m, reader, ev, out);
		if (out->len > 2 * OUTPUT_MAX) {
			memmove(out->data, out->data + out->len - OUTPUT_MAX, OUTPUT_MAX);
			out->len = OUTPUT_MAX;
		}
		if (!(left % 1024) && stub_tick(m->s, NULL))
			return ERR_INTERRUPTED;
	}
	return r < 0 ? r : buf_error(out);
}

/* Shown as it would be on a terminal, but for what drives one: only newlines and tabs stay. */
static void put_shown(struct buf *out, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n' || p[i] == '\t' || (p[i] >= 0x20 && p[i] != 0x7f))
			buf_put_u8(out, p[i]);
		else
			buf_printf(out, "\\x%02x", p[i]);
	}
}

int monitor_output(struct monitor *m)
{
	struct stub *s = m->s;
	struct buf raw CLEANUP(buf_done) = { 0 };
	size_t skip;
	int r = s->opt.output ? s->opt.output(s->opt.ctx, dbg_events(s->d), &raw) : gather_output(m, &raw);

	if (r < 0)
		return r;
	skip = raw.len > OUTPUT_MAX ? raw.len - OUTPUT_MAX : 0;
	if (m->json)
		return monitor_set(m, "output", jsonx_string_lossy((const char *)raw.data + skip, raw.len - skip));
	if (skip)
		buf_printf(m->out, "[the first %zu bytes are not shown]\n", skip);
	put_shown(m->out, raw.data + skip, raw.len - skip);
	return buf_error(m->out);
}
