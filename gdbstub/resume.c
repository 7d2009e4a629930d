/* Running: vCont, c, s, bc, bs; what stops it; and the replies that tell. The ends of history are stops of their own, never the end of
 * the process: gdb can go on backwards. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define GDB_SIGINT 2u
#define GDB_SIGTRAP 5u

/* --- stop replies --- */

static void put_break_reason(struct stub *s, const struct dbg_stop *stop)
{
	static const char *const watch[] = { [2] = "watch", [3] = "rwatch", [4] = "awatch" };
	const struct stub_break *b = stub_break_find(s, stop->break_id);

	if (!b)
		return;
	if (b->type >= 2)
		buf_printf(&s->reply, "%s:%" PRIx64 ";", watch[b->type], stop->addr ? stop->addr : b->addr);
	else if (b->type == 0 && s->c.swbreak)
		stub_puts(s, "swbreak:;");
	else if (b->type == 1 && s->c.hwbreak)
		stub_puts(s, "hwbreak:;");
}

static void put_reason(struct stub *s, const struct dbg_stop *stop)
{
	switch (stop->kind) {
	case DBG_STOP_BREAK:
	case DBG_STOP_WATCH:
		put_break_reason(s, stop);
		break;
	case DBG_STOP_CALL_ENTRY:
		buf_printf(&s->reply, "syscall_entry:%x;", stop->sysno);
		break;
	case DBG_STOP_CALL_RETURN:
		buf_printf(&s->reply, "syscall_return:%x;", stop->sysno);
		break;
	case DBG_STOP_BEGIN:
		stub_puts(s, "replaylog:begin;");
		break;
	case DBG_STOP_END:
		stub_puts(s, "replaylog:end;");
		break;
	default:
		break;
	}
}

static void put_registers(struct stub *s, pid_t tid)
{
	static const unsigned expedited[] = { REGS_RBP, REGS_RSP, REGS_RIP };
	const struct buf none = { 0 };
	struct user_regs_struct u;

	if (dbg_regs(s->d, tid, &u) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(expedited); i++) {
		uint8_t value[REGS_BYTES_MAX];

		regs_get(&s->layout, expedited[i], &u, &none, value);
		buf_printf(&s->reply, "%02x:", expedited[i]);
		rsp_put_hex(&s->reply, value, regs_size(&s->layout, expedited[i]));
		stub_puts(s, ";");
	}
}

static void put_stop(struct stub *s, const struct dbg_stop *stop)
{
	unsigned signal = stop->kind == DBG_STOP_SIGNAL ? stub_signal_to_gdb(stop->signo)
			: stop->kind == DBG_STOP_INTERRUPTED ? GDB_SIGINT
							     : GDB_SIGTRAP;

	/* a thread that gdb did not step comes to a stop for no reason: signal 0 is what gdb shows as "stopped" */
	if (stop->kind == DBG_STOP_SEEK && stop->tid != s->last_tid)
		signal = 0;
	buf_printf(&s->reply, "T%02x", signal);
	put_reason(s, stop);
	stub_puts(s, "thread:");
	stub_put_tid(s, &s->reply, stop->tid);
	stub_puts(s, ";");
	if (s->c.list_threads) {
		stub_puts(s, "threads:");
		stub_put_thread_list(s, ',', &s->reply);
		stub_puts(s, ";");
	}
	put_registers(s, stop->tid);
}

static void remember(struct stub *s, const struct dbg_stop *stop)
{
	s->last = *stop;
	if (s->last.tid <= 0)
		s->last.tid = stub_current(s);
	s->c.general = s->last.tid;
}

void stub_stopped(struct stub *s, const struct dbg_stop *stop)
{
	remember(s, stop);
	if (s->gone) {
		s->no_reply = true;
		return;
	}
	put_stop(s, &s->last);
	s->last_tid = s->last.tid;
}

void stub_moved(struct stub *s, const struct dbg_stop *stop)
{
	remember(s, stop);
	s->last_tid = s->last.tid;
}

int stub_why(struct stub *s, struct view *v)
{
	struct dbg_stop again = s->last;

	(void)v;
	s->last_tid = again.tid;
	stub_stopped(s, &again);
	return 0;
}

/* --- what the user is told beside --- */

void stub_put_status(struct buf *out, int status)
{
	if (WIFEXITED(status))
		buf_printf(out, "exited with code %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		buf_printf(out, "was killed by signal %d", WTERMSIG(status));
	else
		buf_printf(out, "ended with status 0x%x", (unsigned)status);
}

static void tell_stop(struct stub *s, const struct dbg_stop *stop)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	int status = dbg_exit_status(s->d);

	if (stop->kind == DBG_STOP_BEGIN) {
		stub_console(s, "[the recording of process %d begins here]\n", s->pid);
		return;
	}
	if (stop->kind != DBG_STOP_END)
		return;
	if (status >= 0)
		stub_put_status(&text, status);
	stub_console(s, "[the recording of process %d ends here%s%s]\n", s->pid, status >= 0 ? ": it " : "", buf_cstr(&text));
}

/* A run that failed is a stop all the same: gdb waits for one. Forwards it is the end of what can be shown. */
static void tell_failure(struct stub *s, int r, const struct errinfo *ei, bool backwards, struct dbg_stop *ret)
{
	*ret = (struct dbg_stop){ .kind = DBG_STOP_INTERRUPTED, .tid = stub_current(s) };
	if (r == ERR_INTERRUPTED)
		return;
	stub_console(s, "[%s]\n", ei->text[0] ? ei->text : err_str(r));
	if (!backwards && r == ERR_DIVERGED)
		ret->kind = DBG_STOP_END;
}

/* --- running --- */

int stub_go(struct stub *s, const struct stub_place *p, struct dbg_stop *ret, struct errinfo *ei)
{
	switch (p->kind) {
	case PLACE_POS:
		return dbg_seek(s->d, &p->pos, ret, ei);
	case PLACE_BEGIN:
		return dbg_seek_begin(s->d, ret, ei);
	case PLACE_END:
		return dbg_seek_end(s->d, ret, ei);
	case PLACE_TIME:
		return dbg_seek_time(s->d, p->time_ns, ret, ei);
	case PLACE_WRITE:
		return dbg_last_write(s->d, p->addr, p->len, ret, ei);
	case PLACE_NONE:
		break;
	}
	return -EINVAL;
}

static void go_armed(struct stub *s)
{
	struct stub_place to = s->armed;
	struct errinfo ei = { 0 };
	struct dbg_stop stop;
	int r;

	s->armed.kind = PLACE_NONE;
	stub_divert_drop(s, NULL);
	r = stub_go(s, &to, &stop, &ei);
	if (r < 0) {
		tell_failure(s, r, &ei, true, &stop);
	} else if (stop.kind != DBG_STOP_INTERRUPTED) {
		if (to.kind == PLACE_WRITE && stop.kind == DBG_STOP_BEGIN)
			stub_console(s, "[nothing recorded has written there before]\n");
		/* whatever the place is, gdb shall just show it: it looks for its own breakpoints otherwise */
		stop.kind = DBG_STOP_SEEK;
	}
	stub_stopped(s, &stop);
}

/* The copy is at its end, or cannot go on: the call is over without a result. */
static void copy_ended(struct stub *s, struct dbg_stop *stop)
{
	stub_divert_drop(s, "the called function ended the process: its copy is dropped, the session is where it was");
	*stop = (struct dbg_stop){ .kind = DBG_STOP_INTERRUPTED, .tid = stub_current(s) };
}

static void run(struct stub *s, struct dbg_resume *how)
{
	struct errinfo ei = { 0 };
	struct dbg_stop stop = { 0 };
	bool copy, unwanted;
	int r = 0;

	/* one that comes during a step is told always: gdb would stop in its handler otherwise, and not know why */
	how->stop_signals = how->how == DBG_CONTINUE ? ~s->c.pass_signals : UINT64_MAX;
	how->catch_calls = s->c.catch_calls ? s->c.calls : NULL;
	stub_run_begin(s);
	unwanted = stub_run_unwanted(s) && how->how == DBG_CONTINUE;
	copy = stub_divert_resume(s, how->backwards);
	s->last_tid = how->how == DBG_CONTINUE ? 0 : how->tid;
	if (s->armed.kind != PLACE_NONE) {
		go_armed(s);
	} else {
		if (unwanted)
			stop = (struct dbg_stop){ .kind = DBG_STOP_INTERRUPTED, .tid = stub_current(s) };
		else
			r = dbg_resume(s->d, how, &stop, &ei);
		if (r < 0)
			tell_failure(s, r, &ei, how->backwards, &stop);
		else if (copy && stop.kind == DBG_STOP_END)
			copy_ended(s, &stop);
		else
			tell_stop(s, &stop);
		stub_divert_ran(s);
		stub_stopped(s, &stop);
	}
	stub_run_end(s);
}

/* bs and bc name no thread: the one selected for running, else the one that gdb looks at. */
static pid_t back_tid(struct stub *s)
{
	return s->c.resume > 0 ? s->c.resume : s->c.general > 0 ? s->c.general : stub_current(s);
}

int stub_back_cont(struct stub *s, struct view *v)
{
	struct dbg_resume how = { .how = DBG_CONTINUE, .backwards = true, .tid = back_tid(s) };

	(void)v;
	run(s, &how);
	return 0;
}

int stub_back_step(struct stub *s, struct view *v)
{
	struct dbg_resume how = { .how = DBG_STEP, .backwards = true, .tid = back_tid(s) };

	(void)v;
	run(s, &how);
	return 0;
}

/* Signals that gdb wants delivered (C, S) are those of the recording: ignored. An address to go on at would change the past. */
static int simple(struct stub *s, struct view *v, enum dbg_how kind)
{
	struct dbg_resume how = { .how = kind, .tid = back_tid(s) };
	uint64_t signal;

	if (rsp_get_hex(v, &signal) >= 0 && s->request.data[0] >= 'a')
		return stub_refuse(s, -EROFS, "a recording cannot be made to go on elsewhere");
	run(s, &how);
	return 0;
}

int stub_cont(struct stub *s, struct view *v)
{
	return simple(s, v, DBG_CONTINUE);
}

int stub_step(struct stub *s, struct view *v)
{
	return simple(s, v, DBG_STEP);
}

int stub_vcont_query(struct stub *s, struct view *v)
{
	(void)v;
	stub_puts(s, "vCont;c;C;s;S;t;r");
	return 0;
}

/* One action: "s", "C11", "r40,50", each with ":THREAD" or without. */
static int get_action(struct stub *s, struct view *v, char *ret_kind, struct dbg_resume *ret)
{
	uint8_t kind;
	uint64_t signal;
	pid_t tid = 0;
	int r = view_get_u8(v, &kind);

	if (r < 0 || !strchr("cCsStr", kind))
		return ERR_PROTOCOL;
	if (kind == 'C' || kind == 'S')
		r = rsp_get_hex(v, &signal);
	else if (kind == 'r' && (rsp_get_hex(v, &ret->low) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, &ret->high) < 0))
		r = ERR_PROTOCOL;
	if (r >= 0 && rsp_get_char(v, ':'))
		r = stub_get_tid(s, v, &tid);
	if (r < 0 || view_left(v))
		return r < 0 ? r : ERR_PROTOCOL;
	ret->tid = tid > 0 ? tid : stub_current(s);
	ret->how = kind == 'r' ? DBG_RANGE : kind == 's' || kind == 'S' ? DBG_STEP : DBG_CONTINUE;
	*ret_kind = (char)kind;
	return 0;
}

/* Which threads run is decided by the recording; what counts is whether one of them is stepped. */
int stub_vcont(struct stub *s, struct view *v)
{
	struct dbg_resume how = { .tid = 0 };

	while (view_left(v)) {
		struct view item = rsp_get_until(v, ';');
		struct dbg_resume one = { .tid = 0 };
		char kind;
		int r = get_action(s, &item, &kind, &one);

		if (r < 0)
			return r;
		if (kind == 't')
			continue;
		if (!how.tid || (how.how == DBG_CONTINUE && one.how != DBG_CONTINUE))
			how = one;
	}
	if (!how.tid)
		return stub_why(s, v);
	run(s, &how);
	return 0;
}

/* "0", "1" (all of them), "1;N;N...": numbers in hex. */
int stub_catch_calls(struct stub *s, struct view *v)
{
	uint64_t calls[STUB_CALLS_MAX / 64] = { 0 }, on, n;

	if (rsp_get_hex(v, &on) < 0 || on > 1)
		return ERR_PROTOCOL;
	if (!view_left(v))
		memset(calls, 0xff, sizeof(calls));
	while (rsp_get_char(v, ';')) {
		if (rsp_get_hex(v, &n) < 0)
			return ERR_PROTOCOL;
		if (n < STUB_CALLS_MAX)
			calls[n / 64] |= 1ull << n % 64;
	}
	if (view_left(v))
		return ERR_PROTOCOL;
	s->c.catch_calls = on;
	memcpy(s->c.calls, calls, sizeof(calls));
	stub_puts(s, "OK");
	return 0;
}
