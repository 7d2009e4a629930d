/* What a stop is called, and the event that tells the client. */
#include "dap/run_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "base/os.h"

void run_stop_done(struct run_stop *s)
{
	freep(&s->reason);
	freep(&s->description);
	jsonx_unrefp(&s->hits);
}

int run_stop_name(struct run_stop *s, const char *reason, const char *description)
{
	char *a = os_strdup(reason), *b = os_strdup(description);

	freep(&s->reason);
	freep(&s->description);
	s->reason = a;
	s->description = b;
	return a && b ? 0 : -ENOMEM;
}

static const struct {
	const char *mi, *reason, *description;
} reasons[] = {
	{ "breakpoint-hit", "breakpoint", "Breakpoint" },
	{ "end-stepping-range", "step", "Step" },
	{ "function-finished", "step", "Function finished" },
	{ "location-reached", "step", "Location reached" },
	{ "watchpoint-trigger", "data breakpoint", "Data breakpoint: written" },
	{ "read-watchpoint-trigger", "data breakpoint", "Data breakpoint: read" },
	{ "access-watchpoint-trigger", "data breakpoint", "Data breakpoint: used" },
	{ "watchpoint-scope", "data breakpoint", "Data breakpoint: the variable's block is left" },
	{ "signal-received", "exception", "Signal" },
	{ "fork", "exception", "fork" },
	{ "vfork", "exception", "vfork" },
	{ "exec", "exception", "exec" },
	{ "syscall-entry", "exception", "System call" },
	{ "syscall-return", "exception", "System call returned" },
};

void stop_put_ending(struct buf *b, int64_t status)
{
	int st = (int)status;

	if (status < 0)
		buf_printf(b, "End of the recording");
	else if (WIFSIGNALED(st))
		buf_printf(b, "End of the process: killed by SIG%s", sigabbrev_np(WTERMSIG(st)) ?: "?");
	else
		buf_printf(b, "End of the process: exit status %d", WEXITSTATUS(st));
}

const char *stop_reason_of(enum run_kind kind)
{
	static const char *const names[] = {
		[RUN_CONTINUE] = "pause", [RUN_STEP] = "step", [RUN_PLACE] = "goto", [RUN_LAST_WRITE] = "data breakpoint", [RUN_ENTRY] = "entry",
	};

	return names[kind];
}

static const char *describe_kind(enum run_kind kind)
{
	return kind == RUN_LAST_WRITE ? "Last write" : kind == RUN_STEP ? "Step" : "Place of the recording";
}

/* gdb names no reason: a place was reached, a function without debugging information was left, or an end of the recording. */
static const char *describe_place(struct dap *d, const struct run_stop *s, struct buf *b)
{
	const struct run_where *w = run_where(d);

	if (s->paused) {
		buf_printf(b, "Paused");
		return "pause";
	}
	if (s->kind == RUN_LAST_WRITE && w->at_start)
		buf_printf(b, "Nothing recorded has written there: start of the process");
	else if (w->at_start)
		buf_printf(b, "Start of the process");
	else if (w->at_end)
		stop_put_ending(b, w->status);
	else
		buf_printf(b, "%s", s->describe ?: describe_kind(s->kind));
	return stop_reason_of(s->kind);
}

/* An armed server says SIGTRAP where it has arrived, or no signal ("0") when that is another thread's turn. */
static bool arrived(const struct run_stop *s)
{
	const char *name = mi_str(s->mi, "signal-name");

	return (s->kind == RUN_PLACE || s->kind == RUN_LAST_WRITE) && name && (strcmp(name, "SIGTRAP") == 0 || strcmp(name, "0") == 0);
}

int stop_name(struct dap *d, struct run_stop *s)
{
	const char *mi = mi_str(s->mi, "reason"), *reason = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };
	bool plain = !mi || arrived(s) || s->paused;

	if (plain)
		reason = describe_place(d, s, &b);
	for (size_t i = 0; !plain && i < ARRAY_SIZE(reasons); i++) {
		if (strcmp(reasons[i].mi, mi))
			continue;
		reason = s->kind == RUN_STEP && strcmp(reasons[i].reason, "breakpoint") == 0 ? "step" : reasons[i].reason;
		buf_printf(&b, "%s", reasons[i].description);
		if (strcmp(mi, "signal-received") == 0)
			buf_printf(&b, " %s: %s", mi_str(s->mi, "signal-name") ?: "?", mi_str(s->mi, "signal-meaning") ?: "");
	}
	if (!reason) {
		reason = stop_reason_of(s->kind);
		buf_printf(&b, "%s", mi);
	}
	s->reason = os_strdup(reason);
	s->description = os_strdup(buf_cstr(&b));
	return s->reason && s->description ? 0 : -ENOMEM;
}

void stop_tell(struct dap *d, struct run_stop *s)
{
	const struct run_where *w = run_where(d);
	json_t *body = json_pack("{ss sI sb sO*}", "reason", s->reason, "threadId", (json_int_t)s->thread, "allThreadsStopped", 1, "hitBreakpointIds", s->hits);
	struct buf b CLEANUP(buf_done) = { 0 };

	buf_printf(&b, "%s (event %" PRIu64 " of %" PRIu64 ")", s->description, w->event, w->events);
	if (body && jsonx_set_new(body, "description", jsonx_string_lossy(buf_cstr(&b), b.len)) < 0)
		jsonx_unrefp(&body);
	dap_event(d, "stopped", body);
}
