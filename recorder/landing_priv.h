/* Landing: where a thread is brought to that is to be stopped inside of computation. */
#ifndef RECORDER_LANDING_PRIV_H
#define RECORDER_LANDING_PRIV_H

#include "recorder/rec_priv.h"

enum landing {
	LANDED,
	MET_EVENT, /* the stop that the thread has now is to be handled */
	RUNS_ON,   /* what comes next is an event by itself: let it run */
	NOT_RARE,  /* no place that is passed seldom was found: any will do, from where it stands */
};

/* --- async.c --- */
/* One instruction. 1: stepped. 0: met an event. */
int rec_async_step(struct rec_task *t) MUST_CHECK;
/* Can replay put a jump there? */
bool rec_async_can_land(struct rec_task *t, uint64_t at, bool single);

/* --- landing.c --- */
/* At the end of a long slice: lets t run on to a place that is passed seldom, for some milliseconds at most. LANDED, MET_EVENT or NOT_RARE. */
int rec_land_rarely(struct rec_task *t, enum landing *ret) MUST_CHECK;

#endif
