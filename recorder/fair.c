/* Bounds of chaos: what it does at random costs time, and nothing in it asks whether the program gets on.
 *
 * Time that threads waste. A thread that was stopped at a place that matters comes after all others, and when those
 * only compute (a loop that waits, the workers of a runtime) their slices are all that happens between two accesses
 * of the one that would end it. So each thread has a share of the CPU time that is used while it can run, the same
 * for all; chaos may keep it from that share for a while, not more than BEHIND_MAX of CPU time. What is lacking
 * then is not forgotten when it sleeps: from there on the thread gets what is due to it.
 *
 * Time that points cost. A point of a process with much memory takes far longer than the slice that it ends. The first
 * PAID_FREE are for nothing, so that what is short suffers all that chaos can do; then points may cost PAID_FACTOR times
 * what the program computes. When that is used up slices are long, and no thread is stopped at the words it touches,
 * until it has computed enough. */
#include "recorder/rec_priv.h"

#define BEHIND_MAX 50000000
/* It keeps the right to come first for that much. */
#define BEHIND_KEPT (BEHIND_MAX + 20000000)
#define PAID_FREE 2000000000ull
#define PAID_FACTOR 2u
#define QUIET_SLICE 20000000ull

void rec_fair_ran(struct rec_task *t, uint64_t ns)
{
	uint64_t n = 1;
	int64_t part;

	t->rec->fair.computed += ns;
	for (const struct rec_task *o = t->rec->tasks; o; o = o->next)
		n += o != t && rec_runnable(o);
	part = (int64_t)(ns / n);
	for (struct rec_task *o = t->rec->tasks; o; o = o->next)
		if (o != t && rec_runnable(o))
			o->behind = MIN(o->behind + part, (int64_t)BEHIND_KEPT);
	t->behind = MAX(t->behind + part - (int64_t)ns, (int64_t)-BEHIND_MAX);
}

struct rec_task *rec_fair_starving(struct rec *rec)
{
	struct rec_task *most = NULL;

	for (struct rec_task *t = rec->tasks; t; t = t->next)
		if (rec_runnable(t) && t->behind > BEHIND_MAX && (!most || t->behind > most->behind))
			most = t;
	return most;
}

void rec_fair_paid(struct rec *rec, uint64_t ns)
{
	rec->fair.paid += ns;
	rec->fair.last = ns;
}

bool rec_fair_affords(const struct rec *rec)
{
	return rec->fair.paid <= PAID_FREE + rec->fair.computed * PAID_FACTOR;
}

uint64_t rec_fair_slice(const struct rec *rec)
{
	return rec_fair_affords(rec) ? 0 : MAX(rec->fair.last, QUIET_SLICE);
}
