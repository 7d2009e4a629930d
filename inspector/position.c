/* Where the session stands. One is kept, for one process of the recorded tree: another process needs a new one. */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/json.h"

static bool tick(void *ctx, const struct dbg_progress *p)
{
	struct inspector *in = ctx;

	return in->interrupted(in->ctx, p);
}

static void close_session(struct inspector *in)
{
	dbg_free(in->dbg);
	in->dbg = NULL;
	in->pid = 0;
	in->stands = false;
	in->modules_valid = false;
}

void position_done(struct inspector *in)
{
	close_session(in);
	thread_table_done(&in->threads);
	store_reader_free(in->reader);
	in->reader = NULL;
}

static int open_reader(struct inspector *in, struct errinfo *ei)
{
	int r = in->reader ? 0 : store_reader_open(in->store, &in->opt->recording, &in->reader, ei);

	return r < 0 ? r : store_reader_count(in->reader, &in->events, ei);
}

/* A recording that is still being made has got more events meanwhile. */
static int refresh(struct inspector *in, uint64_t event, struct errinfo *ei)
{
	int r = open_reader(in, ei);

	if (r >= 0 && event > in->events && store_reader_manifest(in->reader)->state == RECORDING_OPEN) {
		position_done(in);
		r = open_reader(in, ei);
	}
	if (r < 0)
		return r;
	if (event > in->events)
		return errinfo_set(ei, ERR_NOT_FOUND, "the recording has %" PRIu64 " events: there is no event %" PRIu64, in->events, event);
	return 0;
}

static int open_session(struct inspector *in, pid_t pid, struct errinfo *ei)
{
	struct dbg_options opt = { .pid = pid, .checkpoint_memory = in->opt->checkpoint_memory, .tick = tick, .ctx = in };
	int r;

	if (in->dbg && in->pid == pid && !dbg_lost(in->dbg))
		return 0;
	close_session(in);
	r = store_reader_seek(in->reader, 1, ei); /* an earlier session has left it elsewhere */
	if (r < 0)
		return r;
	r = dbg_open(in->reader, &opt, &in->dbg, ei);
	if (r < 0) {
		in->dbg = NULL;
		return r == ERR_NOT_FOUND ? errinfo_set(ei, r, "the recording has no process %d", (int)pid) : r;
	}
	in->pid = pid;
	return 0;
}

/* The process that is meant, and the thread of it (0: whichever is the current one). */
static int choose(struct inspector *in, const struct request *q, pid_t *ret_pid, uint32_t *ret_thread, struct errinfo *ei)
{
	uint32_t thread = q->thread;
	pid_t pid = 0;
	int r = 0;

	if (!thread && q->event)
		r = thread_of_event(in, q->event, &thread, ei);
	if (r >= 0 && thread)
		r = thread_table_find(in, thread, MAX(q->event, (uint64_t)1), &pid, ei);
	if (r < 0)
		return r;
	if (q->pid && q->thread && pid != q->pid)
		return errinfo_set(ei, ERR_NOT_FOUND, "thread %u does not belong to process %d", q->thread, (int)q->pid);
	*ret_thread = !q->pid || pid == q->pid ? thread : 0;
	*ret_pid = q->pid ? q->pid : pid;
	return 0;
}

/* Questions come in groups about one place: to go there again would be a replay from a checkpoint. */
static bool stands_there(const struct inspector *in, const struct request *q)
{
	return in->stands && q->event == in->stand_event && q->after == in->stand_after && dbg_moves(in->dbg) == in->stand_moves;
}

static void note_stand(struct inspector *in, const struct request *q)
{
	in->stands = true;
	in->stand_event = q->event;
	in->stand_after = q->after;
	in->stand_moves = dbg_moves(in->dbg);
}

static int seek(struct inspector *in, const struct request *q, struct errinfo *ei)
{
	struct dbg_pos pos = { .events = q->after ? q->event : q->event - 1, .arrived = !q->after };
	struct dbg_stop stop = { 0 };
	int r;

	if (stands_there(in, q))
		return 0;
	in->stands = false;
	if (!q->event)
		r = dbg_seek_end(in->dbg, &stop, ei);
	else
		r = dbg_seek(in->dbg, &pos, &stop, ei);
	if (r == ERR_NOT_FOUND && !q->after && q->event) {
		/* nobody arrives there: the end of the recording, a remark */
		struct errinfo second = { 0 };

		pos.arrived = false;
		r = dbg_seek(in->dbg, &pos, &stop, &second);
		if (r >= 0 && ei)
			*ei = (struct errinfo){ 0 };
	}
	if (r >= 0 && stop.kind == DBG_STOP_INTERRUPTED)
		r = errinfo_set(ei, ERR_INTERRUPTED, "interrupted on the way to event %" PRIu64, q->event);
	if (r >= 0)
		note_stand(in, q);
	return r;
}

static int pick_thread(struct inspector *in, uint32_t thread, struct place *p, struct errinfo *ei)
{
	const struct dbg_thread *t;
	pid_t current = dbg_current(in->dbg);
	size_t n;
	int r = dbg_threads(in->dbg, &t, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (thread ? t[i].number != thread : t[i].tid != current)
			continue;
		p->thread = t[i].number;
		p->tid = t[i].tid;
		return 0;
	}
	if (r >= 0 && thread)
		return errinfo_set(ei, ERR_NOT_FOUND, "thread %u is not there %s event %" PRIu64, thread, p->after ? "after" : "before", p->event);
	return r < 0 ? r : errinfo_set(ei, ERR_NOT_FOUND, "process %d has no thread there", (int)p->pid);
}

int position_go(struct inspector *in, const struct request *q, struct place *ret, struct errinfo *ei)
{
	struct place p = { .event = q->event, .after = q->after };
	uint32_t thread = 0;
	int r = refresh(in, q->event, ei);

	if (r >= 0)
		r = choose(in, q, &p.pid, &thread, ei);
	if (r >= 0)
		r = open_session(in, p.pid, ei);
	if (r >= 0)
		r = seek(in, q, ei);
	if (r >= 0)
		r = pick_thread(in, thread, &p, ei);
	if (in->dbg && dbg_lost(in->dbg))
		close_session(in);
	if (r >= 0)
		*ret = p;
	return MIN(r, 0);
}

int position_put(const struct place *p, json_t *result)
{
	int r = jsonx_set_u64(result, "event", p->event);

	if (r >= 0)
		r = jsonx_set_str(result, "when", p->after ? "after" : "before");
	if (r >= 0)
		r = jsonx_set_u64(result, "thread", p->thread);
	if (r >= 0)
		r = jsonx_set_i64(result, "tid", p->tid);
	return r < 0 ? r : jsonx_set_i64(result, "pid", p->pid);
}
