/* Requests that let the guest run: continue and steps, forwards and backwards. */
#include "dap/parts_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct step_args {
	int64_t thread;
	const char *granularity;
	bool single;
};

static const struct arg step_table[] = {
	ARG(INT, struct step_args, thread, "threadId"),
	ARG(STR, struct step_args, granularity, "granularity"),
	ARG(BOOL, struct step_args, single, "singleThread"),
	{ .name = NULL },
};

/* A movement: gdb's command for source lines and for instructions. */
struct movement {
	const char *line, *instruction;
	const char *title;
	bool reverse;
	enum run_kind kind;
};

static int move(struct dap *d, const struct step_args *a, const struct movement *m)
{
	bool instruction = a->granularity && strcmp(a->granularity, "instruction") == 0 && m->instruction;
	char command[128], thread[40] = "";
	struct run_request rq = { .kind = m->kind, .reverse = m->reverse, .command = command, .title = m->title };

	if (a->single)
		return errinfo_set(&d->ei, -EINVAL, "threads cannot run alone: a replay runs all of them as they were recorded");
	if (m->kind == RUN_STEP && a->thread > 0)
		snprintf(thread, sizeof(thread), " --thread %" PRId64, a->thread);
	snprintf(command, sizeof(command), "%s%s%s", instruction ? m->instruction : m->line, thread, m->reverse ? " --reverse" : "");
	return run_start(d, &rq);
}

/* clang-format off */
#define MOVEMENT(name_, ...) \
	static int name_(struct dap *d, const void *args, json_t *body) \
	{ \
		static const struct movement m = { __VA_ARGS__ }; \
\
		(void)body; \
		return move(d, args, &m); \
	} \
	DAP_METHOD(name_, step_table, struct step_args)

MOVEMENT(next, "-exec-next", "-exec-next-instruction", "Step over", false, RUN_STEP);
MOVEMENT(step_in, "-exec-step", "-exec-step-instruction", "Step into", false, RUN_STEP);
MOVEMENT(step_out, "-exec-finish", NULL, "Step out", false, RUN_STEP);
MOVEMENT(step_back, "-exec-next", "-exec-next-instruction", "Step back", true, RUN_STEP);
MOVEMENT(reverse_next, "-exec-next", "-exec-next-instruction", "Step back over", true, RUN_STEP);
MOVEMENT(reverse_step_in, "-exec-step", "-exec-step-instruction", "Step back into", true, RUN_STEP);
MOVEMENT(reverse_step_out, "-exec-finish", NULL, "Step back out", true, RUN_STEP);
MOVEMENT(reverse_continue, "-exec-continue", NULL, "Running backwards", true, RUN_CONTINUE);
/* clang-format on */

static int go_on(struct dap *d, const void *args, json_t *body)
{
	static const struct movement m = { "-exec-continue", NULL, "Running", false, RUN_CONTINUE };
	int r = move(d, args, &m);

	return r < 0 ? r : jsonx_set_bool(body, "allThreadsContinued", true);
}
DAP_METHOD(go_on, step_table, struct step_args);

static int pause(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->state == DAP_RUNNING)
		run_pause(d);
	return 0;
}
DAP_METHOD_PLAIN(pause);

static int restart(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->state == DAP_CONFIG)
		return errinfo_set(&d->ei, -EINVAL, "the session has not begun: configurationDone comes first");
	run_want_restart(d);
	return 0;
}
DAP_METHOD_PLAIN(restart);
