/* The watchdog: tells what every thread does when nothing has happened for long. Threads that are preempted while
 * they compute make no progress. */
#define LOG_AREA "recorder.watchdog"
#include "recorder/rec_priv.h"

#include <stdio.h>

#include "base/log.h"
#include "engine/sysprint.h"

static void describe_call(struct rec_task *t, struct buf *out)
{
	struct sys_mem mem = eng_sys_mem(&t->t);

	sysprint_call(out, &t->outs.call, false, 0, &mem, &mem, NULL);
}

static void describe(struct rec_task *t, struct buf *out)
{
	static const char *const states[] = {
		[REC_STOPPED] = "has a stop that waits to be handled",
		[REC_READY] = "could run",
		[REC_RUNNING] = "runs",
		[REC_BLOCKED] = "sleeps",
		[REC_LISTENING] = "is stopped by a signal",
		[REC_HELD] = "is stopped for the guest that traces it",
		[REC_DYING] = "is ending",
	};

	buf_printf(out, "thread %u (%d of process %d) ", t->num, t->t.tid, t->t.tgid);
	if (t->in_call) {
		buf_printf(out, "is in ");
		describe_call(t, out);
	} else {
		buf_printf(out, "%s", states[t->state]);
	}
	if (!t->in_call && t->inside)
		buf_printf(out, ", was last seen at %#llx", t->entry.rip);
	if (t->n_stash)
		buf_printf(out, ", %u signals wait for it", t->n_stash);
	buf_printf(out, " (kernel: %c)", eng_state(t->t.tid) ? eng_state(t->t.tid) : '-');
}

void rec_watchdog(struct rec *rec)
{
	uint64_t limit = rec->opt->watchdog_ns;

	if (!limit || rec->watchdog_told || rec->now - rec->progress < limit)
		return;
	rec->watchdog_told = true;
	log_warn("no progress for %g seconds; event %llu was the last one. What the threads do:", (double)(rec->now - rec->progress) / 1e9,
		 (unsigned long long)store_writer_count(rec->writer));
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		CLEANUP(buf_done) struct buf text;

		buf_init(&text);
		describe(t, &text);
		log_warn("  %s", buf_cstr(&text));
	}
}
