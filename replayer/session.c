/* Replays event by event: runs the event's thread to the event's place, compares, applies what is recorded. */
#define LOG_AREA "replayer.session"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <signal.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

typedef int (*phase_fn)(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei);

/* What replaying a kind needs. arrive runs the thread to the place and compares; NULL: nobody runs. It changes nothing else, so that it can be
 * called again after ERR_STOPPED. apply lets the event happen. */
static const struct rep_kind {
	phase_fn arrive, apply;
} kinds[EVENT_MAX_] = {
	[EVENT_EXEC] = { rep_exec_arrive, rep_exec },
	[EVENT_SYSCALL] = { rep_run_to_call, rep_syscall },
	[EVENT_SYSCALL_ENTER] = { rep_run_to_call, rep_syscall_enter },
	[EVENT_SYSCALL_EXIT] = { NULL, rep_syscall_exit },
	[EVENT_SIGNAL] = { rep_signal_arrive, rep_apply },
	[EVENT_TSC] = { rep_trap_arrive, rep_trap },
	[EVENT_CPUID] = { rep_trap_arrive, rep_trap },
	[EVENT_BIRTH] = { rep_birth_arrive, rep_birth },
	[EVENT_EXIT] = { NULL, rep_exit },
	[EVENT_CHECKSUM] = { NULL, rep_checksum },
	[EVENT_RESTART] = { NULL, rep_restart },
	[EVENT_ASYNC_POINT] = { rep_async_point, rep_apply },
	[EVENT_NOTE] = { NULL, rep_apply }, /* what the kernel wrote on its own */
};

static void pin(struct rep_session *s)
{
	json_t *j = json_object_get(s->manifest->cpu, "pinned_cpu");
	int cpu = json_is_integer(j) ? (int)json_integer_value(j) : -1;

	/* The recorded CPU number where there is one: a few instructions tell it. */
	if (eng_pin(cpu, &s->affinity, sizeof(s->affinity)) < 0 && eng_pin(-1, NULL, 0) < 0)
		log_debug("cannot pin to a CPU");
}

/* Blobs and shared objects are descriptors of ours. */
static void raise_own_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	signal(SIGXFSZ, SIG_IGN); /* recorded output beyond a limit of ours is an error, not a death */
	if (getrlimit(RLIMIT_STACK, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_STACK, &rl); /* recorded stacks may be larger than ours */
	}
}

/* The alarm that ends a search for an asynchronous point which takes too long: its work is to interrupt a wait. */
static void on_alarm(int signo)
{
	(void)signo;
}

static int make_template(struct rep_session *s, struct errinfo *ei)
{
	int r = eng_spawn_stub(s->cpuid_faulting, &s->template, ei);

	if (r < 0)
		return r;
	r = eng_mm_new(s->template, &s->template_mm);
	if (r < 0)
		return errinfo_set_r(ei, r, "open the memory of the empty process");
	s->template_mm->gate = ENG_STUB_GATE;
	return 0;
}

int rep_session_new(struct store_reader *r, const struct rep_options *opt, struct rep_session **ret, struct errinfo *ei)
{
	struct rep_session *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return errinfo_set_r(ei, -ENOMEM, "start the replay");
	s->reader = r;
	s->opt = *opt;
	s->manifest = store_reader_manifest(r);
	s->total = s->manifest->events;
	s->first_status = s->manifest->status;
	CPU_ZERO(&s->affinity);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, &s->old_alarm);
	s->code = code_cache_new(); /* without it searches only cost more */
	rc = rep_check_machine(s, ei);
	if (rc >= 0) {
		pin(s);
		raise_own_limits();
		rc = make_template(s, ei);
		if (rc >= 0)
			eng_traps_join(&s->traps, s->cpuid_faulting);
	}
	if (rc < 0) {
		rep_session_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void rep_session_free(struct rep_session *s)
{
	if (!s)
		return;
	while (s->snapshots)
		rep_snapshot_free(s, s->snapshots);
	rep_kill_all(s);
	eng_traps_leave(&s->traps);
	sigaction(SIGALRM, &s->old_alarm, NULL);
	code_cache_free(s->code);
	for (uint32_t i = 0; i < s->cap_tasks; i++)
		if (s->tasks[i])
			rep_task_free(s, s->tasks[i]);
	free(s->tasks);
	eng_mm_unref(s->template_mm);
	rep_objects_free(s);
	rep_blobs_free(s);
	if (CPU_COUNT(&s->affinity))
		sched_setaffinity(0, sizeof(s->affinity), &s->affinity);
	free(s);
}

static void remember(struct rep_session *s, const struct event *ev)
{
	struct event *slot = &s->past[ev->number % ARRAY_SIZE(s->past)].ev;

	*slot = *ev;
	slot->text = "";
	slot->blob = NULL;
	slot->blob_len = 0;
	slot->effects = NULL;
	slot->n_effects = 0;
}

/* An error of one of the phases, with the event it belongs to. */
static int failed(struct rep_session *s, const struct event *ev, int r, struct errinfo *ei)
{
	s->diverged_thread = ev->thread;
	if (ei && !ei->event)
		ei->event = ev->number;
	if (r == ERR_GUEST_GONE)
		return errinfo_set(ei, r, "event %" PRIu64 " (%s of thread %u): the replayed process died; was it killed from outside?",
				   ev->number, event_kind_name(ev->kind), ev->thread);
	return errinfo_set_r(ei, r, "event %" PRIu64 " (%s of thread %u)", ev->number, event_kind_name(ev->kind), ev->thread);
}

static int phase(struct rep_session *s, const struct event *ev, bool apply, struct errinfo *ei)
{
	struct rep_task *t;
	phase_fn fn;
	int r;

	if (ev->kind == EVENT_END || (ev->kind == EVENT_NOTE && !ev->n_effects))
		return 0;
	if (ev->kind >= EVENT_MAX_ || !kinds[ev->kind].apply)
		return failed(s, ev, errinfo_set(ei, ERR_NEWER_FORMAT, "event %" PRIu64 " is of kind %s, which this hermit cannot replay", ev->number,
						 event_kind_name(ev->kind)), ei);
	t = rep_task(s, ev->thread);
	if (!t && ev->kind != EVENT_EXEC)
		return failed(s, ev, errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 " belongs to thread %u, which is not alive", ev->number, ev->thread), ei);
	fn = apply ? kinds[ev->kind].apply : kinds[ev->kind].arrive;
	r = fn ? fn(s, t, ev, ei) : 0;
	return r < 0 && r != ERR_STOPPED ? failed(s, ev, r, ei) : r;
}

int rep_session_pending(struct rep_session *s, const struct event **ret, struct errinfo *ei)
{
	int r = 1;

	if (!s->pending) {
		r = store_reader_next(s->reader, &s->pending, ei);
		if (r <= 0) {
			s->pending = NULL;
			s->ended = r == 0;
			/* Its end may be there when only the manifest was not finished. */
			s->truncated = r == 0 && (store_reader_truncated(s->reader) || s->manifest->state == RECORDING_TRUNCATED);
			return r;
		}
		remember(s, s->pending);
		s->arrived = false;
	}
	*ret = s->pending;
	return r;
}

int rep_session_arrive(struct rep_session *s, struct errinfo *ei)
{
	const struct event *ev;
	int r = rep_session_pending(s, &ev, ei);

	if (r <= 0 || s->arrived)
		return r;
	log_trace("event %" PRIu64 " %s thread %u", ev->number, event_kind_name(ev->kind), ev->thread);
	r = phase(s, ev, false, ei);
	s->arrived = r >= 0;
	return r < 0 ? r : 1;
}

int rep_session_step(struct rep_session *s, struct errinfo *ei)
{
	int r = rep_session_arrive(s, ei);

	if (r <= 0)
		return r;
	r = phase(s, s->pending, true, ei);
	if (r < 0)
		return r;
	s->event = s->pending->number;
	s->pending = NULL;
	return 1;
}

int rep_session_run(struct rep_session *s, struct rep_result *ret, struct errinfo *ei)
{
	int r;

	while ((r = rep_session_step(s, ei)) > 0) {
		if (s->opt.progress && s->event % 1024 == 0)
			s->opt.progress(s->opt.progress_ctx, s->event, s->total);
		if (s->opt.stop_at && s->event + 1 >= s->opt.stop_at)
			break;
	}
	*ret = (struct rep_result){ .status = s->first_status, .events = s->event, .truncated = s->truncated };
	return r < 0 ? r : 0;
}
