/* Running and stops: see run_priv.h. gdb runs in the background (mi-async): a resume is answered at once, the stop comes as a record. */
#define LOG_AREA "dap.run"
#include "dap/parts_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

#define TICK_MS 100
#define PAUSE_AGAIN_NS 200000000u

struct dap_run {
	enum run_kind kind;
	bool reverse;
	char *command, *title, *describe; /* owned, of what runs or ran last; describe may be NULL */
	char *arm;          /* owned: the server is told before the command; NULL = nothing */
	json_t *stop;       /* owned: gdb's record that was not dealt with */
	bool want_pause;    /* the guest shall be stopped, */
	bool asked;         /* for the client, or for a handler that runs it by itself */
	bool pausing;       /* gdb was asked to */
	uint64_t paused_ns; /* when, last */
	bool halted;        /* run_halt() has stopped it: run_resume() goes on */
	enum { ENTRY_NONE, ENTRY_FIRST, ENTRY_AGAIN } want_entry;
	bool lost;
	bool step_mode;     /* gdb's: set_step_mode() */
	bool moved;         /* the client's frames have ended, and it was told of no stop since */
	struct entry entry; /* the breakpoint on the way to main */
	struct run_where where;
};

int run_new(struct dap_run **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void forget_request(struct dap_run *r)
{
	freep(&r->command);
	freep(&r->title);
	freep(&r->describe);
	freep(&r->arm);
	r->command = r->title = r->describe = r->arm = NULL;
}

void run_free(struct dap_run *r)
{
	if (!r)
		return;
	forget_request(r);
	jsonx_unrefp(&r->stop);
	free(r);
}

const struct run_where *run_where(const struct dap *d)
{
	return &d->run->where;
}

/* --- setting going --- */

static char *copy(const char *s, bool *failed)
{
	char *c = s ? os_strdup(s) : NULL;

	*failed |= s && !c;
	return c;
}

static int keep_request(struct dap_run *r, const struct run_request *rq, const char *arm)
{
	bool failed = false;
	char *command = copy(rq->command, &failed), *title = copy(rq->title, &failed), *describe = copy(rq->describe, &failed);
	char *arm_copy = copy(arm, &failed);

	forget_request(r);
	r->kind = rq->kind;
	r->reverse = rq->reverse;
	r->command = command;
	r->title = title;
	r->describe = describe;
	r->arm = arm_copy;
	return failed ? -ENOMEM : 0;
}

/* The request of before, anew. */
static int go(struct dap *d)
{
	struct dap_run *r = d->run;
	json_t *said CLEANUP(jsonx_unrefp) = NULL;
	int ret = r->arm ? mi_monitor(d->mi, &said, &d->ei, "arm %s", r->arm) : 0;

	jsonx_unrefp(&r->stop);
	r->stop = NULL;
	r->pausing = r->want_pause = r->asked = false;
	if (ret >= 0)
		ret = mi_command(d->mi, NULL, &d->ei, "%s", r->command);
	if (ret >= 0)
		d->state = DAP_RUNNING;
	return ret;
}

/* Back out of a function gdb goes on to the start of the process where the caller is code without symbol, unless steps may end there. */
static int set_step_mode(struct dap *d, const struct run_request *rq)
{
	bool on = rq->reverse && str_has_prefix(rq->command, "-exec-finish");
	int r = on == d->run->step_mode ? 0 : mi_command(d->mi, NULL, &d->ei, "-gdb-set step-mode %s", on ? "on" : "off");

	if (r >= 0)
		d->run->step_mode = on;
	return r;
}

static int start(struct dap *d, const struct run_request *rq, const char *arm)
{
	int r;

	if (d->state == DAP_RUNNING)
		return errinfo_set(&d->ei, -EBUSY, "the recording is being replayed: pause it first");
	r = breaks_leaving(d, rq->kind, rq->reverse);
	if (r >= 0)
		r = keep_request(d->run, rq, arm);
	if (r >= 0)
		r = set_step_mode(d, rq);
	if (r >= 0)
		r = go(d);
	if (r >= 0)
		d->run->moved = true;
	return r;
}

/* What the client holds of before the run is of no use any more. Not before it: a run that cannot begin takes nothing away. */
static void forget_references(struct dap *d)
{
	stack_forget(d);
	sources_forget(d);
}

static int start_for_client(struct dap *d, const struct run_request *rq, const char *arm)
{
	int r;

	if (d->state == DAP_CONFIG)
		return errinfo_set(&d->ei, -EINVAL, "the session has not begun: configurationDone comes first");
	places_leaving(d, rq->kind);
	r = start(d, rq, arm);
	if (r >= 0 && d->announce)
		dap_event(d, "continued", json_pack("{sI sb}", "threadId", (json_int_t)MAX(d->run->where.thread_id, 1), "allThreadsContinued", 1));
	return r;
}

int run_start(struct dap *d, const struct run_request *rq)
{
	return start_for_client(d, rq, NULL);
}

/* gdb is to continue backwards whichever way the place lies: then it sends one packet, to which the armed server answers; forwards it may first
 * step over a breakpoint. */
#define TO_PLACE "-exec-continue --reverse"

int run_to_place(struct dap *d, const char *place, const char *describe)
{
	struct run_request rq = { .kind = RUN_PLACE, .reverse = true, .command = TO_PLACE, .title = "Going to a place of the recording", .describe = describe };

	return start_for_client(d, &rq, place);
}

int run_to_last_write(struct dap *d, uint64_t addr, uint64_t len, const char *describe)
{
	struct run_request rq = {
		.kind = RUN_LAST_WRITE, .reverse = true, .command = TO_PLACE, .title = "Looking for the last write", .describe = describe
	};
	char *arm CLEANUP(freep) = os_asprintf("last-write 0x%" PRIx64 " %" PRIu64, addr, len);

	return arm ? start_for_client(d, &rq, arm) : -ENOMEM;
}

void run_pause(struct dap *d)
{
	d->run->want_pause = d->run->asked = true;
}

/* gdb is told that the client, or we, want it stopped. */
static int send_pause(struct dap *d)
{
	struct dap_run *r = d->run;

	struct errinfo ignored = { 0 };
	int ret;

	if (!r->want_pause || r->stop || d->state != DAP_RUNNING || (r->pausing && dap_now_ns() - r->paused_ns < PAUSE_AGAIN_NS))
		return 0;
	r->pausing = true;
	r->paused_ns = dap_now_ns();
	/* the server misses it while gdb looks at a hit that is none, and gdb may find that nothing runs just now */
	ret = mi_command(d->mi, NULL, &ignored, "-exec-interrupt");
	return ret == -EREMOTEIO ? 0 : ret < 0 ? errinfo_set(&d->ei, ret, "%s", ignored.text) : ret;
}

/* --- records --- */

void run_record(struct dap *d, const struct mi_record *rec)
{
	struct dap_run *r = d->run;

	if (rec->kind == MI_EXEC && strcmp(rec->name, "stopped") == 0) {
		jsonx_unrefp(&r->stop);
		r->stop = json_incref(rec->values);
	} else if (rec->kind == MI_NOTIFY && strcmp(rec->name, "thread-group-exited") == 0) {
		r->lost = true;
	}
}

bool run_has_stop(const struct dap *d)
{
	return d->run->stop;
}

void run_connected(struct dap *d)
{
	jsonx_unrefp(&d->run->stop);
	d->run->stop = NULL;
	d->run->lost = false;
}

/* Waits for the stop of what runs. */
static int await_stop(struct dap *d)
{
	while (!run_has_stop(d)) {
		int r = dap_pump(d, TICK_MS);

		if (r >= 0)
			r = send_pause(d);
		if (r < 0)
			return r;
		if (d->run->lost)
			return errinfo_set(&d->ei, ERR_GUEST_GONE, "the replay ended");
		if (d->run->title)
			dap_progress(d, d->run->title);
	}
	return 0;
}

/* On the way of a leap gdb sees no library come or go. */
static int look_libraries(struct dap *d)
{
	struct errinfo ignored = { 0 };
	int r = d->run->arm ? mi_console(d->mi, NULL, &ignored, "sharedlibrary") : 0;

	return r == -EREMOTEIO ? 0 : r < 0 ? errinfo_set(&d->ei, r, "%s", ignored.text) : r;
}

static int run_and_wait(struct dap *d, const struct run_request *rq, const char *arm, json_t **ret)
{
	int r = start(d, rq, arm);

	if (r < 0)
		return r;
	r = await_stop(d);
	d->state = r == ERR_GUEST_GONE || r == ERR_INTERRUPTED ? d->state : DAP_STOPPED;
	if (r < 0)
		return r;
	forget_references(d);
	if (ret)
		*ret = d->run->stop;
	else
		jsonx_unrefp(&d->run->stop);
	d->run->stop = NULL;
	r = look_libraries(d);
	return r < 0 ? r : d->cancelled ? ERR_INTERRUPTED : 0;
}

int run_quietly(struct dap *d, const struct run_request *rq, json_t **ret)
{
	return run_and_wait(d, rq, NULL, ret);
}

int run_quietly_to(struct dap *d, const char *place)
{
	struct run_request rq = { .kind = RUN_PLACE, .reverse = true, .command = TO_PLACE, .title = "Going to a place of the recording" };

	return run_and_wait(d, &rq, place, NULL);
}

int run_back_to(struct dap *d, const char *place)
{
	bool cancelled = d->cancelled;
	int r;

	do { /* the way back is not what the user wants to stop, however often */
		d->cancelled = false;
		r = run_quietly_to(d, place);
		cancelled |= d->cancelled;
	} while (r == ERR_INTERRUPTED && !d->leaving);
	d->cancelled = cancelled;
	return r;
}

/* True: the stop is the one that send_pause() asked for. */
static bool is_pause(const struct dap_run *r, const json_t *stop)
{
	const char *reason = mi_str(stop, "reason"), *name = mi_str(stop, "signal-name");

	if (!r->pausing)
		return false;
	return !reason || (strcmp(reason, "signal-received") == 0 && name && (strcmp(name, "SIGINT") == 0 || strcmp(name, "0") == 0));
}

int run_halt(struct dap *d)
{
	struct dap_run *r = d->run;
	int ret;

	if (d->state != DAP_RUNNING)
		return 0;
	r->want_pause = true;
	ret = send_pause(d);
	if (ret >= 0)
		ret = await_stop(d);
	/* a stop of the guest's own stays for run_stopped(); so does that of a step, which cannot be gone on with */
	r->halted = ret >= 0 && is_pause(r, r->stop) && r->kind != RUN_STEP;
	return ret;
}

int run_resume(struct dap *d)
{
	if (!d->run->halted)
		return 0;
	d->run->halted = false;
	/* a pause that was asked for meanwhile has stopped it already */
	return d->run->asked ? 0 : go(d);
}

/* --- stops for the client --- */

static int look_where(struct dap *d)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct run_where *w = &d->run->where;
	int r = mi_monitor(d->mi, &j, &d->ei, "where brief");

	if (r < 0)
		return r;
	w->event = (uint64_t)mi_int(j, "event", 0);
	w->events = (uint64_t)mi_int(j, "events", 0);
	w->time_ns = (uint64_t)mi_int(j, "time_ns", 0);
	w->thread = mi_int(j, "thread", 0);
	w->status = mi_int(j, "status", -1);
	w->at_start = json_is_true(json_object_get(j, "at_start"));
	w->at_end = json_is_true(json_object_get(j, "at_end"));
	return 0;
}

static int stop_thread(struct dap *d, const json_t *stop, int64_t *ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = 0;

	*ret = mi_int(stop, "thread-id", 0);
	if (!*ret)
		r = mi_command(d->mi, &j, &d->ei, "-thread-info");
	if (!*ret && r >= 0)
		*ret = mi_int(j, "current-thread-id", 1);
	return r;
}

static void drop_temporary(struct dap *d)
{
	struct errinfo ignored = { 0 };

	/* it is gone when it was hit */
	if (d->run->entry.number && mi_command(d->mi, NULL, &ignored, "-break-delete %" PRId64, d->run->entry.number) < 0)
		log_debug("breakpoint at main: %s", ignored.text);
	d->run->entry.number = 0;
}

/* On the way to main: its breakpoint is gone with the hit. */
static int judge_entry(struct dap *d, struct run_stop *s)
{
	struct entry *e = &d->run->entry;
	const char *place = e->at == ENTRY_MAIN ? "main" : "Entry point of the program: nobody knows its main";
	int r = entry_next(d, e);

	s->go_on = e->number;
	return r < 0 ? r : run_stop_name(s, "entry", place);
}

/* Names, numbers, verdicts of the parts. */
static int judge(struct dap *d, struct run_stop *s)
{
	struct dap_run *r = d->run;
	int ret = stop_thread(d, s->mi, &s->thread);

	r->where.thread_id = s->thread;
	if (ret >= 0)
		ret = look_where(d);
	if (ret >= 0 && !s->reason)
		ret = stop_name(d, s);
	if (ret >= 0 && r->entry.number && mi_int(s->mi, "bkptno", 0) == r->entry.number)
		return judge_entry(d, s);
	if (ret >= 0)
		ret = breaks_judge(d, s);
	return ret >= 0 ? except_judge(d, s) : ret;
}

/* Shows a stop to the client, or goes on. What gdb cannot tell of it does not keep it from the client. */
static int present(struct dap *d, struct run_stop *s)
{
	int r = look_libraries(d);

	if (r >= 0)
		r = judge(d, s);
	if (r == -EREMOTEIO) {
		dap_say(d, "console", "hermit-dap: %s\n", d->ei.text);
		d->ei = (struct errinfo){ 0 };
		r = s->reason ? 0 : run_stop_name(s, stop_reason_of(s->kind), "Stopped");
	}
	if (r >= 0 && s->go_on && !d->run->pausing)
		return go(d);
	if (r < 0)
		return r;
	drop_temporary(d);
	dap_progress_end(d);
	output_upto(d, d->run->where.event);
	places_stopped(d);
	stack_stopped(d, s);
	stop_tell(d, s);
	d->run->moved = false;
	sources_stopped(d);
	return 0;
}

int run_stopped(struct dap *d)
{
	json_t *mi CLEANUP(jsonx_unrefp) = TAKE(d->run->stop);
	struct run_stop s CLEANUP(run_stop_done) = { .mi = mi, .kind = d->run->kind, .reverse = d->run->reverse,
						      .paused = is_pause(d->run, mi), .describe = d->run->describe };

	d->state = DAP_STOPPED;
	forget_references(d);
	return present(d, &s);
}

/* --- the first stop --- */

void run_want_entry(struct dap *d)
{
	d->run->want_entry = ENTRY_FIRST;
}

static int run_to_main(struct dap *d)
{
	struct run_request rq = { .kind = RUN_ENTRY, .command = "-exec-continue", .title = "Running to main" };
	int r = entry_break(d, &d->run->entry);

	return r < 0 ? r : start(d, &rq, NULL);
}

/* gdb was told of no signal at the crash. */
static int name_crash(struct dap *d, struct run_stop *s)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	int r = look_where(d), status = (int)d->run->where.status;

	if (r < 0)
		return r;
	if (status >= 0 && WIFSIGNALED(status))
		buf_printf(&b, "SIG%s is about to end the process", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else
		buf_printf(&b, "The process is about to end");
	return run_stop_name(s, "exception", buf_cstr(&b));
}

/* The session stands where it shall: no run has led here. */
static int present_here(struct dap *d, const char *stop_at)
{
	json_t *none CLEANUP(jsonx_unrefp) = json_object();
	struct run_stop s CLEANUP(run_stop_done) = { .mi = none, .kind = RUN_ENTRY };
	int r = none ? 0 : -ENOMEM;

	if (r >= 0 && strcmp(stop_at, "crash") == 0)
		r = name_crash(d, &s);
	return r < 0 ? r : present(d, &s);
}

int run_tell_moved(struct dap *d)
{
	json_t *none CLEANUP(jsonx_unrefp) = NULL;
	struct run_stop s CLEANUP(run_stop_done) = { .kind = RUN_PLACE, .describe = "Back at the place of before" };

	if (!d->run->moved || d->state != DAP_STOPPED || d->run->want_entry || d->run->stop)
		return 0;
	s.mi = none = json_object();
	return none ? present(d, &s) : -ENOMEM;
}

static int enter(struct dap *d)
{
	const char *stop_at = json_string_value(json_object_get(d->launch, "stopAt"));
	int r = -EREMOTEIO;

	if (strcmp(stop_at, "main") == 0)
		r = run_to_main(d);
	else if (json_is_true(json_object_get(d->launch, "seeks")))
		r = places_seek(d, stop_at);
	if (r == -EREMOTEIO && d->ei.text[0])
		dap_say(d, "console", "hermit-dap: %s\n", d->ei.text);
	if (r == -EREMOTEIO) /* the program has no main that anybody knows */
		r = present_here(d, stop_at);
	return r;
}

void run_want_restart(struct dap *d)
{
	d->run->want_entry = ENTRY_AGAIN;
	d->run->halted = false;
	d->run->moved = true; /* should it come to nothing */
	d->state = DAP_STOPPED;
}

static int restart(struct dap *d)
{
	const char *stop_at = json_string_value(json_object_get(d->launch, "stopAt"));
	int r;

	jsonx_unrefp(&d->run->stop);
	d->run->stop = NULL;
	places_leaving(d, RUN_PLACE);
	r = run_quietly_to(d, "start");
	if (r < 0)
		return r;
	/* a session that began at the crash begins at main when it is started again */
	r = strcmp(stop_at, "entry") && strcmp(stop_at, "here") ? run_to_main(d) : -EREMOTEIO;
	return r == -EREMOTEIO ? present_here(d, "entry") : r;
}

/* --- between requests --- */

int run_timeout(const struct dap *d)
{
	if (d->run->want_entry)
		return 0;
	return d->state == DAP_RUNNING ? TICK_MS : -1;
}

static int tick(struct dap *d)
{
	struct dap_run *r = d->run;

	if (r->lost)
		return errinfo_set(&d->ei, ERR_GUEST_GONE, "%s", d->server.said.len ? buf_cstr(&d->server.said) : "the replay server has gone");
	if (r->want_entry && d->state == DAP_STOPPED) {
		bool again = r->want_entry == ENTRY_AGAIN;

		r->want_entry = ENTRY_NONE;
		return again ? restart(d) : enter(d);
	}
	if (d->state == DAP_RUNNING && r->title)
		dap_progress(d, r->title);
	return send_pause(d);
}

int run_tick(struct dap *d)
{
	int r = d->mi && d->state >= DAP_STOPPED && d->state < DAP_ENDED ? tick(d) : 0;

	if (r != -EREMOTEIO)
		return r;
	dap_say(d, "important", "hermit-dap: %s\n", d->ei.text);
	d->ei = (struct errinfo){ 0 };
	return 0;
}
