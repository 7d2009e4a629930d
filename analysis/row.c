/* Rows: see row.h. JSON is written straight into the buffer: a page of rows is what the API is asked for most. */
#include "analysis/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"
#include "store/event_json.h"

void row_init(struct row_maker *m, struct store_reader *reader, const struct evindex_view *view, uint32_t string_max)
{
	*m = (struct row_maker){ .reader = reader, .view = view };
	evprint_init(&m->printer, reader, string_max);
}

void row_done(struct row_maker *m)
{
	evprint_done(&m->printer);
	evprint_row_done(&m->row);
}

static int read_event(struct row_maker *m, uint64_t number, const struct event **ret, struct errinfo *ei)
{
	int r = evindex_seek(m->view, m->reader, number, ei);

	if (r >= 0)
		r = store_reader_next(m->reader, ret, ei);
	return r == 0 ? -ERANGE : r;
}

/* The end of a call shows what its entry had. */
static int meet_entry(struct row_maker *m, uint64_t number, struct errinfo *ei)
{
	const struct evindex_record *rec = m->rec;
	const struct event *ev;
	int r;

	if (!rec || rec->kind != EVENT_SYSCALL_EXIT || !rec->partner || rec->partner >= number || evprint_knows(&m->printer, rec->thread, rec->partner))
		return 0;
	r = read_event(m, rec->partner, &ev, ei);
	if (r < 0)
		return r;
	evprint_skip(&m->printer, ev);
	return 0;
}

int row_make(struct row_maker *m, uint64_t number, struct errinfo *ei)
{
	int r;

	m->ev = NULL;
	m->rec = evindex_at(m->view, number);
	r = meet_entry(m, number, ei);
	if (r >= 0)
		r = read_event(m, number, &m->ev, ei);
	if (r >= 0)
		r = evprint_row(&m->printer, m->ev, &m->row);
	if (r >= 0)
		(void)buf_cstr(&m->row.line);
	if (r < 0)
		m->ev = NULL;
	return r < 0 ? r : 0;
}

/* --- JSON --- */

void row_put_json_string(struct buf *out, const char *s, size_t n)
{
	size_t plain = 0;

	buf_put_u8(out, '"');
	for (size_t i = 0; i < n;) {
		uint8_t c = (uint8_t)s[i];
		unsigned len = c < 0x80 ? 1 : str_utf8(s + i);

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && len && len <= n - i) {
			i += len;
			continue;
		}
		buf_put(out, s + plain, i - plain);
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x80)
			buf_printf(out, "\\u%04x", c);
		else
			buf_put(out, "\xef\xbf\xbd", 3);
		plain = ++i;
	}
	buf_put(out, s + plain, n - plain);
	buf_put_u8(out, '"');
}

static void put_member(struct buf *out, const char *name, const char *s, size_t n)
{
	buf_printf(out, ",\"%s\":", name);
	row_put_json_string(out, s, n);
}

static void put_text(struct buf *out, const char *name, const char *s)
{
	if (s)
		put_member(out, name, s, strlen(s));
	else
		buf_printf(out, ",\"%s\":null", name);
}

static const char *stream_of(const struct event *ev)
{
	return ev->flags & EVENT_F_STDOUT ? "stdout" : ev->flags & EVENT_F_STDERR ? "stderr" : NULL;
}

static void put_flags(struct buf *out, uint32_t flags)
{
	json_t *names CLEANUP(jsonx_unrefp) = flags ? event_flags_to_json(flags) : NULL, *name;
	size_t i;

	buf_printf(out, ",\"flags\":[");
	json_array_foreach(names, i, name)
		buf_printf(out, "%s\"%s\"", i ? "," : "", json_string_value(name));
	buf_printf(out, "]");
}

static const struct evindex_thread *thread_of(const struct row_maker *m)
{
	return m->ev->thread ? evindex_thread(m->view, m->ev->thread) : NULL;
}

static size_t args_of(const struct row_maker *m, const char **ret)
{
	const struct sysprint_parts *parts = &m->row.parts;

	*ret = (const char *)m->row.line.data + parts->args;
	return parts->args_end > parts->args ? parts->args_end - parts->args : 0;
}

static const char *errno_of(const struct row_maker *m, char text[16])
{
	int e = evprint_errno(m->ev);
	const char *name = e ? sysprint_errno(e) : NULL;

	if (e && !name)
		snprintf(text, 16, "%d", e);
	return e && !name ? text : name;
}

/* From entry to end, for both halves. */
static uint64_t duration_of(const struct row_maker *m)
{
	return m->rec && m->rec->partner ? evindex_duration(m->view, m->ev->number) : 0;
}

void row_put_json(const struct row_maker *m, struct buf *out)
{
	const struct event *ev = m->ev;
	const struct evindex_thread *t = thread_of(m);
	const char *args;
	char text[16];
	size_t n = args_of(m, &args);
	uint64_t duration = duration_of(m);

	buf_printf(out, "{\"number\":%" PRIu64 ",\"time_ns\":\"%" PRIu64 "\",\"thread\":%u,\"pid\":%d,\"tid\":%d", ev->number, ev->time_ns, ev->thread,
		   t ? t->pid : 0, t ? t->tid : 0);
	put_text(out, "kind", event_kind_name(ev->kind));
	put_text(out, "name", m->row.name);
	put_member(out, "args", args, n);
	put_member(out, "result", m->row.result.len ? (const char *)m->row.result.data : "", m->row.result.len);
	put_text(out, "errno", errno_of(m, text));
	buf_printf(out, ",\"failed\":%s", evprint_errno(ev) ? "true" : "false");
	if (duration)
		buf_printf(out, ",\"duration_ns\":\"%" PRIu64 "\"", duration);
	else
		buf_printf(out, ",\"duration_ns\":null");
	put_text(out, "stream", stream_of(ev));
	put_flags(out, ev->flags);
	if (m->rec && m->rec->partner)
		buf_printf(out, ",\"partner\":%u}", m->rec->partner);
	else
		buf_printf(out, ",\"partner\":null}");
}

/* --- CSV and text --- */

void row_put_csv_head(struct buf *out)
{
	buf_printf(out, "number,time_ns,thread,pid,tid,kind,name,args,result,errno,duration_ns,stream,partner\r\n");
}

void row_put_csv(const struct row_maker *m, struct buf *out)
{
	const struct event *ev = m->ev;
	const struct evindex_thread *t = thread_of(m);
	const char *args, *stream = stream_of(ev), *error;
	char text[16];
	size_t n = args_of(m, &args);

	error = errno_of(m, text);
	buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%u,%d,%d,%s,%s", ev->number, ev->time_ns, ev->thread, t ? t->pid : 0, t ? t->tid : 0,
		   event_kind_name(ev->kind), m->row.name);
	buf_put_u8(out, ',');
	buf_put_csv(out, args, n);
	buf_put_u8(out, ',');
	buf_put_csv(out, m->row.result.len ? (const char *)m->row.result.data : "", m->row.result.len);
	buf_printf(out, ",%s,", error ? error : "");
	if (duration_of(m))
		buf_printf(out, "%" PRIu64, duration_of(m));
	buf_printf(out, ",%s,", stream ? stream : "");
	if (m->rec && m->rec->partner)
		buf_printf(out, "%u", m->rec->partner);
	buf_printf(out, "\r\n");
}

void row_put_text(const struct row_maker *m, struct buf *out)
{
	uint64_t us = m->ev->time_ns / 1000;

	buf_printf(out, "%7" PRIu64 " %4" PRIu64 ".%06" PRIu64 " ", m->ev->number, us / 1000000, us % 1000000);
	if (m->ev->thread)
		buf_printf(out, "T%-3u ", m->ev->thread);
	else
		buf_printf(out, "     ");
	buf_put(out, m->row.line.data, m->row.line.len);
	buf_put_u8(out, '\n');
}
