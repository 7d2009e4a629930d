/* Who runs next. One task runs at a time: it keeps running until it blocks, its slice ends at an event, or it
 * gives way.
 *
 * Nobody else gets the CPU between a task's run in user mode and the event that ends that run (t->ran): replay
 * runs it right before that event. A task that computes for longer than a slice is interrupted, and the place
 * where it stands becomes such an event (recorder/async.c). A process whose memory is all its own is interrupted
 * without one: nobody could see the difference.
 *
 * A stop of another task that arrives meanwhile is only noted (REC_STOPPED) and handled when the running one has
 * stopped: guests must not be touched while one of them runs. */
#define LOG_AREA "recorder.sched"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "base/log.h"

#define SLICE_NS 10000000ull
#define PATIENCE_NS 2000000000ull
#define SPIN_SLICE_NS 200000
#define TICK_MIN_US 20u

bool rec_runnable(const struct rec_task *t)
{
	return t->state == REC_STOPPED || t->state == REC_READY;
}

static void let_die(pid_t tid)
{
	struct eng_task probe = { .tid = tid };

	kill(tid, SIGKILL);
	if (eng_resume(&probe, ENG_RUN, 0) < 0)
		log_trace("%d is dying", tid);
}

static void note_unknown(struct rec *rec, pid_t tid, const struct eng_stop *st)
{
	struct rec_early *e = rec->early;

	while (e < rec->early + rec->n_early && e->tid != tid)
		e++;
	if (e == rec->early + rec->n_early) {
		if (st->kind == ENG_STOP_GONE)
			return;
		if (rec->n_early == ARRAY_SIZE(rec->early)) {
			let_die(tid);
			return;
		}
		rec->n_early++;
		*e = (struct rec_early){ .tid = tid };
	}
	e->stop = *st; /* killed meanwhile: the later stop counts */
	if (e->orphan && st->kind == ENG_STOP_GONE)
		*e = rec->early[--rec->n_early];
	else if (e->orphan)
		let_die(tid);
}

void rec_drop_orphans(struct rec *rec)
{
	for (const struct rec_task *t = rec->tasks; t; t = t->next) {
		uint32_t nr = t->outs.call.nr;

		if (t->in_call && (nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == SYS_clone3))
			return; /* a parent whose birth event is still to come */
	}
	for (unsigned i = 0; i < rec->n_early; i++)
		if (!rec->early[i].orphan) {
			rec->early[i].orphan = true;
			rec_warn(rec, "process %d was born while its parent was killed: it is killed too", rec->early[i].tid);
			let_die(rec->early[i].tid);
		}
}

/* A child's first stop may come before its parent's birth event is handled: it is kept in rec->early for rec_birth(). */
void rec_note_stop(struct rec *rec, pid_t tid, const struct eng_stop *st)
{
	struct rec_task *t = rec_task_find(rec, tid);
	unsigned long former;

	if (st->kind == ENG_STOP_EXEC) {
		struct eng_task probe = { .tid = tid };

		if (eng_message(&probe, &former) >= 0 && former != (unsigned long)tid) {
			struct rec_task *execer = rec_task_find(rec, (pid_t)former);

			/* A thread took over the leader's id; the old leader is gone without notice. */
			if (execer) {
				if (t)
					t->t.tid = 0;
				execer->t.tid = tid;
				t = execer;
			}
		}
	}
	if (!t) {
		note_unknown(rec, tid, st);
		return;
	}
	t->t.stop = *st;
	t->t.running = t->t.remoted = false;
	t->t.regs_valid = t->t.regs_dirty = false;
	t->t.gone = st->kind == ENG_STOP_GONE;
	t->state = REC_STOPPED;
}

static int drain(struct rec *rec)
{
	struct eng_stop st;
	pid_t tid;
	int r;

	while ((r = eng_wait_any(false, &tid, &st)) > 0)
		rec_note_stop(rec, tid, &st);
	return r == -ECHILD ? 0 : r;
}

static bool writes_output(struct rec_task *t)
{
	return t->in_call && t->entered && (t->outs.res.row->flags & SYS_F_WRITES) && rec_echo(t, (int)t->outs.call.args[0]);
}

/* Waits for writers that were asleep and have been woken: they write before whoever comes now. */
static int await_woken_writers(struct rec *rec)
{
	enum { LOOKS = 10000 };
	int r = drain(rec);

	for (struct rec_task *t = rec->tasks; t && r >= 0; t = t->next)
		for (int i = 0; i < LOOKS && r >= 0 && t->state == REC_BLOCKED && writes_output(t) && eng_state(t->t.tid) == 'R'; i++) {
			sched_yield();
			r = drain(rec);
		}
	return r;
}

int rec_settle_writes(struct rec *rec)
{
	int r = await_woken_writers(rec);

	for (struct rec_task *t = rec->tasks; t && r >= 0; t = t->next)
		if (t->state == REC_STOPPED && t->t.stop.kind == ENG_STOP_SYSCALL && writes_output(t))
			r = rec_handle_stop(t);
	return r == ERR_GUEST_GONE ? 0 : r;
}

static bool others_runnable(struct rec *rec, const struct rec_task *than)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next)
		if (t != than && rec_runnable(t))
			return true;
	return false;
}

static int block(struct rec_task *t)
{
	t->state = REC_BLOCKED;
	return rec_park(t);
}

/* Waits for a stop of anybody; the running task counts as blocked if another one stops first. */
static int wait_for_anybody(struct rec *rec, struct rec_task *t)
{
	struct eng_stop st;
	pid_t tid;
	int r = eng_wait_any(true, &tid, &st);

	if (r == ERR_INTERRUPTED && eng_state(t->t.tid) == 'S') {
		/* Somebody who looks while it sleeps, or after a crash, shall see the call. */
		int rc = block(t);

		return rc < 0 ? rc : r;
	}
	if (r < 0)
		return r == -ECHILD ? ERR_GUEST_GONE : r;
	rec_note_stop(rec, tid, &st);
	return t->state == REC_RUNNING ? block(t) : 0;
}

static bool may_block(const struct rec_task *t)
{
	return t->next_how == ENG_TO_EXIT && t->in_call && t->outs.res.row && (t->outs.res.row->flags & SYS_F_BLOCK);
}

/* Exec takes the other threads with it: their stops must be served meanwhile. Without others nobody else is looked at: what exec does to shared
 * memory must be logged before those whom it wakes go on. */
static bool ends_threads(const struct rec_task *t)
{
	return t->proc->live > 1 && t->in_call && (t->outs.call.nr == SYS_execve || t->outs.call.nr == SYS_execveat);
}

/* A disk that is slow: the call will end by itself, and its buffer was not moved to scratch memory. Others of its address space must not see it
 * filled before it is logged. Only when it lasts (a file system served by the guest itself?) they go on. */
static bool may_let_go(struct rec_task *t)
{
	if (t->t.mm->refs == 1 || !t->outs.n || t->n_moves)
		return true;
	if (!t->asleep_since)
		t->asleep_since = t->rec->now;
	return t->rec->now - t->asleep_since > PATIENCE_NS;
}

/* The stop arrives like any other. Asked for again while it has not come: a remote call passes over it. */
static int interrupt(struct rec_task *t, bool want_point)
{
	t->want_point |= want_point;
	log_trace("thread %u computes: interrupted", t->num);
	t->interrupting = true;
	return eng_interrupt(&t->t);
}

/* CPU time of a process of ours: the clock of clock_getcpuclockid(3). Half a microsecond. */
static uint64_t process_cpu(pid_t pid)
{
	struct timespec ts;

	if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t rec_slice_used(const struct rec_task *t)
{
	uint64_t now = process_cpu(t->t.tgid), then = t->rec->slice_cpu;

	return now > then ? now - then : 0;
}

/* Makes the next tick come after ns, when that is sooner than it would by itself. */
static void arm(struct rec *rec, uint64_t ns)
{
	struct itimerval it = { .it_interval.tv_usec = (suseconds_t)(rec->tick_ns / 1000) };

	if (ns >= rec->tick_ns)
		return;
	it.it_value.tv_usec = (suseconds_t)MAX(ns / 1000, (uint64_t)TICK_MIN_US);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* One that spins for another gets a smaller part each time. */
static uint64_t slice_of(const struct rec_task *t)
{
	uint64_t full = t->rec->opt->timeslice_ns, part = full >> 2 * MIN(t->spins, 4u);

	if (t->rec->chaos)
		return rec_chaos_slice(t->rec);
	return t->spins ? MIN(full, MAX(part, (uint64_t)SPIN_SLICE_NS)) : full;
}

/* What the current task has used of its slice is on its account. */
static void settle(struct rec *rec)
{
	uint64_t used;

	if (!rec->chaos || !rec->cur)
		return;
	used = rec_slice_used(rec->cur);
	rec->slice_cpu += used; /* counted once, also where nobody is there to begin a slice */
	rec_fair_ran(rec->cur, used);
}

static void begin_slice(struct rec *rec, const struct rec_task *t)
{
	rec->slice_start = rec->now;
	rec->slice_cpu = process_cpu(t->t.tgid);
	rec->slice_ns = slice_of(t);
	if (rec->slice_ns)
		arm(rec, rec->slice_ns);
}

void rec_sched_tick(struct rec *rec)
{
	arm(rec, MAX(rec->slice_ns, (uint64_t)SPIN_SLICE_NS));
}

/* t computes while others wait, or a signal waits for it. */
static int preempt(struct rec *rec, struct rec_task *t)
{
	uint64_t slice = rec->slice_ns, used;

	if (t->n_stash)
		return interrupt(t, true);
	if (!others_runnable(rec, t))
		return 0;
	if (rec_memory_private(t)) {
		rec->give_way = true;
		return interrupt(t, false);
	}
	if (!slice)
		return 0;
	used = rec_slice_used(t);
	if (used + slice / 4 < slice) { /* a tick that comes a little early counts */
		arm(rec, slice - used);
		return 0;
	}
	rec->give_way = true;
	if (rec->chaos)
		rec_chaos_slice_ended(t);
	return interrupt(t, true);
}

/* The running task was interrupted by our tick: is it asleep in a call that we thought would not block? */
static int check_unexpected_sleep(struct rec *rec, struct rec_task *t)
{
	int r = drain(rec);
	char state;

	if (r < 0 || t->state != REC_RUNNING)
		return r < 0 ? r : 0;
	if (t->in_call && t->next_how == ENG_TO_EXIT && others_runnable(rec, t)) {
		state = eng_state(t->t.tid);
		if ((state == 'S' || state == 'D') && may_let_go(t))
			return block(t);
	}
	if (!t->in_call)
		r = preempt(rec, t);
	return r < 0 ? r : ERR_INTERRUPTED;
}

/* Waits until t (RUNNING) has stopped or is found asleep. */
static int wait_running(struct rec *rec, struct rec_task *t)
{
	struct eng_stop st;
	int r;

	if (may_block(t)) {
		r = drain(rec);
		if (r < 0 || t->state != REC_RUNNING)
			return r;
		if (!others_runnable(rec, t))
			return wait_for_anybody(rec, t);
		r = eng_wait_brief(&t->t, &st);
		if (r == 0)
			return block(t);
	} else if (ends_threads(t)) {
		return wait_for_anybody(rec, t);
	} else {
		r = eng_wait_task(&t->t, &st);
		if (r == ERR_INTERRUPTED)
			return check_unexpected_sleep(rec, t);
	}
	if (r < 0)
		return r;
	if (t->t.stop.kind == ENG_STOP_EXEC)
		rec_note_stop(rec, t->t.tid, &st);
	t->state = REC_STOPPED;
	return 0;
}

static int start(struct rec_task *t)
{
	int r = 0;

	if (t->regroup && t->next_how == ENG_RUN && !t->ran && !t->in_call) {
		t->regroup = false;
		t->interrupting = true;
		r = eng_interrupt(&t->t);
	}
	if (r >= 0)
		r = eng_resume(&t->t, t->next_how, t->next_signo);
	if (r < 0)
		return r;
	t->state = t->next_how == ENG_LISTEN ? REC_LISTENING : REC_RUNNING;
	if (t->next_how == ENG_RUN || t->next_how == ENG_STEP)
		t->ran = true;
	return 0;
}

/* Round robin after the current one; the list is in order of birth, newest first. */
static struct rec_task *pick(struct rec *rec)
{
	struct rec_task *from = rec->cur ? rec->cur->next : rec->tasks;

	if (rec->chaos)
		return rec_chaos_pick(rec);
	for (struct rec_task *t = from; t; t = t->next)
		if (rec_runnable(t))
			return t;
	for (struct rec_task *t = rec->tasks; t; t = t->next)
		if (rec_runnable(t))
			return t;
	return NULL;
}

static bool stays(struct rec *rec, const struct rec_task *t, uint64_t now)
{
	uint64_t slice = rec->slice_ns ? MIN(rec->slice_ns, SLICE_NS) : SLICE_NS;

	if (!rec->give_way && now - rec->slice_start < slice)
		return true;
	return t->ran && !rec_memory_private(t);
}

static struct rec_task *choose(struct rec *rec, uint64_t now)
{
	struct rec_task *t = rec->cur;

	if (t && t->state == REC_STOPPED)
		return t;
	if (t && t->state == REC_READY && stays(rec, t, now))
		return t;
	if (drain(rec) < 0)
		return t && rec_runnable(t) ? t : NULL;
	rec->give_way = false;
	settle(rec);
	t = pick(rec);
	if (t && t != rec->cur) {
		log_trace("switch to thread %u", t->num);
		rec->cur = t;
	}
	if (t)
		begin_slice(rec, t);
	return t;
}

/* Everybody sleeps. */
static int wait_for_nobody(struct rec *rec)
{
	struct eng_stop st;
	pid_t tid;
	int r = eng_wait_any(true, &tid, &st);

	if (r == -ECHILD) { /* tasks whose end was never reported (a leader replaced by exec) */
		while (rec->tasks)
			rec_task_remove(rec, rec->tasks);
		return 0;
	}
	if (r < 0)
		return r;
	rec_note_stop(rec, tid, &st);
	return 2;
}

static int step(struct rec *rec, struct rec_task **ret)
{
	struct rec_task *t = rec->cur && rec->cur->state == REC_RUNNING ? rec->cur : NULL;
	int r;

	if (!t) {
		t = choose(rec, rec->now);
		if (!t)
			return rec->tasks ? wait_for_nobody(rec) : 0;
		if (t->state == REC_STOPPED) {
			*ret = t;
			return 1;
		}
		if (rec->chaos && t->next_how == ENG_RUN) {
			r = rec_chaos_before_run(t);
			if (r)
				goto out;
		}
		r = start(t);
		if (r < 0 || t->state != REC_RUNNING)
			goto out;
	}
	r = wait_running(rec, t);
out:
	if (r == ERR_GUEST_GONE) {
		t->state = REC_DYING;
		fx_reset(&rec->fx); /* of an event that it did not live to see */
		r = 0;
	}
	return r < 0 ? r : 2;
}

int rec_sched(struct rec *rec, struct rec_task **ret)
{
	int r;

	do
		r = step(rec, ret);
	while (r == 2);
	return r;
}
