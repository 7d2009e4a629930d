/* How each system call was handled, for the manifest: calls = executed + answered + refused + did_not_return.
 *
 * A call is counted when it is begun and has one outcome. A call that did not start because a signal came first is taken back: the thread makes it
 * again. What is still open when its thread is gone did not return. */
#define LOG_AREA "recorder.tally"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"

int rec_tally_new(struct rec *rec)
{
	rec->tally = calloc(SYS_TABLE_MAX + 1, sizeof(*rec->tally));
	return rec->tally ? 0 : -ENOMEM;
}

static struct rec_tally *row_of(const struct rec_task *t)
{
	return &t->rec->tally[MIN(t->tallied_nr, (uint32_t)SYS_TABLE_MAX)];
}

void rec_tally_begin(struct rec_task *t)
{
	if (t->tallied) /* made once more after an interruption that only we caused */
		return;
	t->tallied = true;
	t->tallied_nr = t->sysno;
	row_of(t)->calls++;
}

void rec_tally_end(struct rec_task *t, enum rec_outcome how)
{
	if (!t->tallied)
		return;
	t->tallied = false;
	row_of(t)->outcome[how]++;
}

void rec_tally_undo(struct rec_task *t)
{
	if (!t->tallied)
		return;
	t->tallied = false;
	row_of(t)->calls--;
}

int rec_tally_fill(struct rec *rec, json_t *syscalls)
{
	static const char *const names[REC_OUTCOME_MAX_] = { "executed", "answered", "refused", "did_not_return" };
	char name[24];

	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct rec_tally *c = &rec->tally[nr];
		json_t *row;
		int r;

		if (!c->calls)
			continue;
		row = json_object();
		r = jsonx_set_new(syscalls, sys_name(nr, name), row);
		if (r >= 0)
			r = jsonx_set_u64(row, "count", c->calls);
		for (int i = 0; i < REC_OUTCOME_MAX_ && r >= 0; i++)
			r = jsonx_set_u64(row, names[i], c->outcome[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
