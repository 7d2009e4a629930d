/* Monitor commands about positions: where, goto, arm, last-write. */
#include "gdbstub/monitor_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"

static const char *pos_text(const struct dbg_pos *p, struct buf *b)
{
	buf_clear(b);
	dbg_pos_print(p, b);
	return buf_cstr(b);
}

/* The end that the process has in the recording, also before it comes. -1: not known. */
static int recorded_status(struct stub *s)
{
	const struct manifest_process *p = dbg_process(s->d);
	int status = dbg_exit_status(s->d);

	return status >= 0 || !p ? status : p->status;
}

static uint64_t total_events(struct stub *s)
{
	struct store_reader *r = dbg_reader(s->d);

	return r ? store_reader_manifest(r)->events : 0;
}

/* Members of "where"; position NULL: the brief form. */
static int where_json(struct monitor *m, const char *position)
{
	struct stub *s = m->s;
	json_t *j = json_pack("{ss* sI sI sI si si si sb sb sb sb}", "position", position, "event", (json_int_t)dbg_events(s->d), "events",
			      (json_int_t)total_events(s), "time_ns", (json_int_t)dbg_time_ns(s->d), "pid", (int)s->pid, "thread",
			      (int)stub_current(s), "status", recorded_status(s), "over", dbg_exit_status(s->d) >= 0, "at_start",
			      dbg_at_begin(s->d), "at_end", dbg_at_end(s->d), "diverted", dbg_diverted(s->d));
	int r = j ? json_object_update(m->result, j) : -1;

	jsonx_unrefp(&j);
	return r < 0 ? -ENOMEM : 0;
}

static void where_text(struct monitor *m, const char *position)
{
	struct stub *s = m->s;
	struct buf *out = m->out;
	const char *exe = dbg_exe(s->d);
	int status = recorded_status(s);

	if (position)
		buf_printf(out, "position %s: ", position);
	buf_printf(out, "%" PRIu64 " of %" PRIu64 " events, ", dbg_events(s->d), total_events(s));
	buf_put_duration(out, dbg_time_ns(s->d));
	buf_printf(out, " after the start%s\nprocess %d ", dbg_at_begin(s->d) ? " (start of the process)" : dbg_at_end(s->d) ? " (end)" : "", s->pid);
	monitor_put_safe(out, exe && exe[0] ? exe : "(no program)");
	buf_printf(out, ", thread %d\n", stub_current(s));
	if (status >= 0) {
		buf_printf(out, "in the recording it ");
		stub_put_status(out, status);
		buf_printf(out, "\n");
	}
	if (dbg_diverted(s->d))
		buf_printf(out, "a call of a function is going on in a copy\n");
}

/* To name a place inside of a long computation it has to be counted how often the thread came there, which takes up to seconds: "brief" leaves that out, a
 * duration gives it up after that. 1 and no position then. */
static int name_place(struct monitor *m, struct dbg_pos *ret)
{
	struct stub *s = m->s;
	uint64_t within_ns = 0;
	int r;

	if (m->words && strcmp(m->word[0], "brief") == 0)
		return 1;
	if (m->words && (str_parse_duration(m->word[0], &within_ns) < 0 || !within_ns))
		return errinfo_set(&m->ei, -EINVAL, "usage: monitor hermit where [brief|TIME]");
	*ret = (struct dbg_pos){ .events = dbg_events(s->d) };
	if (dbg_diverted(s->d))
		return 0;
	s->give_up_ns = within_ns ? os_mono_ns() + within_ns : 0;
	r = dbg_where(s->d, ret, &m->ei);
	s->give_up_ns = 0;
	return r == ERR_INTERRUPTED && within_ns && !s->interrupted ? 1 : r;
}

int monitor_where(struct monitor *m)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	const char *position = NULL;
	struct dbg_pos p;
	int r;

	stub_divert_read(m->s, 0);
	r = name_place(m, &p);
	if (r < 0)
		return r;
	if (r == 0)
		position = pos_text(&p, &text);
	if (m->json)
		return where_json(m, position);
	where_text(m, position);
	return 0;
}

/* --- going places --- */

static int parse_place(struct monitor *m, const char *text, struct stub_place *ret)
{
	struct stub_place p = { .kind = PLACE_POS };

	if (strcmp(text, "start") == 0)
		p.kind = PLACE_BEGIN;
	else if (strcmp(text, "end") == 0)
		p.kind = PLACE_END;
	else if (dbg_pos_parse(text, &p.pos) < 0 && !monitor_find_bookmark(m, text, &p.pos)) {
		/* a plain number is one of events, so a time has a unit */
		if (!*text || !isalpha((unsigned char)text[strlen(text) - 1]) || str_parse_duration(text, &p.time_ns) < 0)
			return errinfo_set(&m->ei, -EINVAL, "%.80s is no position: use a number of events, a time like 1.5s, start, end or a bookmark",
					   text);
		p.kind = PLACE_TIME;
	}
	*ret = p;
	return 0;
}

static int parse_range(struct monitor *m, unsigned first, struct stub_place *ret)
{
	struct stub_place p = { .kind = PLACE_WRITE };

	if (m->words != first + 2 || str_parse_u64(m->word[first], &p.addr) < 0 || str_parse_u64(m->word[first + 1], &p.len) < 0 || !p.len ||
	    p.addr + p.len < p.addr)
		return errinfo_set(&m->ei, -EINVAL, "last-write wants an address and a length");
	*ret = p;
	return 0;
}

/* "position 120+3" of where the session is. */
static int say_position(struct monitor *m, const char *before)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	struct dbg_pos p;
	int r = dbg_where(m->s->d, &p, &m->ei);

	if (r < 0)
		return r;
	if (m->json)
		return monitor_set_str(m, "position", pos_text(&p, &text));
	buf_printf(m->out, "%s%s\n", before, pos_text(&p, &text));
	return 0;
}

int monitor_goto(struct monitor *m)
{
	struct stub *s = m->s;
	struct stub_place to;
	struct dbg_stop stop;
	int r = parse_place(m, m->word[0], &to);

	if (r < 0)
		return r;
	stub_divert_drop(s, NULL);
	r = stub_go(s, &to, &stop, &m->ei);
	if (r < 0)
		return r;
	stub_moved(s, &stop);
	r = say_position(m, "now at position ");
	if (r >= 0 && !m->json)
		buf_printf(m->out, "gdb still shows the old place: enter `maintenance flush register-cache` and `maintenance flush dcache`, "
				   "or go with goto-event of hermit.gdb\n");
	return r;
}

int monitor_arm(struct monitor *m)
{
	struct stub_place to = { .kind = PLACE_NONE };
	int r = 0;

	if (strcmp(m->word[0], "last-write") == 0)
		r = parse_range(m, 1, &to);
	else if (m->words > 1)
		r = errinfo_set(&m->ei, -EINVAL, "arm wants one position");
	else if (strcmp(m->word[0], "none") != 0)
		r = parse_place(m, m->word[0], &to);
	if (r < 0)
		return r;
	m->s->armed = to;
	return m->json ? monitor_set(m, "armed", json_boolean(to.kind != PLACE_NONE)) : 0;
}

/* Looks and comes back: gdb goes on showing where it is. */
int monitor_last_write(struct monitor *m)
{
	struct stub *s = m->s;
	struct stub_place to;
	struct dbg_pos home;
	struct dbg_stop stop, back;
	struct errinfo ignored = { 0 };
	int r = parse_range(m, 0, &to), r2;

	if (r < 0)
		return r;
	stub_divert_drop(s, NULL);
	r = dbg_where(s->d, &home, &m->ei);
	if (r < 0)
		return r;
	r = stub_go(s, &to, &stop, &m->ei);
	if (r >= 0 && stop.kind == DBG_STOP_INTERRUPTED)
		r = ERR_INTERRUPTED;
	if (r >= 0 && stop.kind == DBG_STOP_WATCH)
		r = say_position(m, "last written right after position ");
	else if (r >= 0 && !m->json)
		buf_printf(m->out, "nothing recorded has written there before\n");
	else if (r >= 0)
		r = monitor_set(m, "position", json_null());
	s->interrupted = false; /* the way back is not what the user wanted to stop */
	r2 = dbg_seek(s->d, &home, &back, r < 0 ? &ignored : &m->ei);
	if (r >= 0 && r2 >= 0 && back.kind == DBG_STOP_INTERRUPTED)
		return errinfo_set(&m->ei, ERR_INTERRUPTED, "interrupted on the way back: the session is elsewhere now, see monitor hermit where");
	return r < 0 ? r : r2;
}
