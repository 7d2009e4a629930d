/* Breakpoints whose condition the guest evaluates by itself: a jump to a trampoline (engine/code.h), a false condition costs no stop. For
 * those that stay for a while, of any thread of one address space, while events are replayed.
 *
 * The jump is a piece of the patches (engine/patch.h): no reader sees it. In code that may change (writable, shared, generated) or cannot take a
 * jump there is none, and an int3 has to do.
 *
 * What the owner keeps to:
 *   - Every stop of a thread of the address space goes through rep_cond_stop() of each of them first (one comparison when it does not concern it), so that no
 *     thread stands in a trampoline while anything else is done.
 *   - After events have been applied, and eng_patch_sync(), before a thread runs: rep_cond_check().
 *   - The trampoline's room is a mapping that the model does not know. A recorded mapping that comes to lie there replaces it: rep_cond_check() finds
 *     that. A recorded mremap that grew in place could not: close those that rep_cond_covers() tells of before it is run again.
 *   - A fork copies it all: rep_cond_copy() for the child's address space. Snapshots are copies too.
 */
#ifndef REPLAYER_COND_PRIV_H
#define REPLAYER_COND_PRIV_H

#include "replayer/rep_priv.h"

struct rep_cond;

/* t: any thread of the address space, best one that is in no call; at the entry of one it comes there again. All of its threads are stopped and none in a
 * trampoline.
 * The condition is not needed any more afterwards. 1: it stands. 0: it cannot be here, *ret is not set. */
int rep_cond_open(struct rep_session *s, struct rep_task *t, uint64_t at, const struct code_expr *condition, struct rep_cond **ret) MUST_CHECK;
/* The same breakpoint in a forked copy of the address space. */
int rep_cond_copy(const struct rep_cond *c, struct rep_cond **ret) MUST_CHECK;
/* Code and memory are the guest's again, and c is gone (with an error too: of a guest that cannot be helped). t as for rep_cond_open(). */
int rep_cond_close(struct rep_cond *c, struct rep_task *t) MUST_CHECK;
/* Frees it without touching any guest: its address space is gone. NULL is fine. */
void rep_cond_forget(struct rep_cond *c);

uint64_t rep_cond_at(const struct rep_cond *c);
uint64_t rep_cond_len(const struct rep_cond *c); /* of the instructions that its jump covers */
/* Does its room lie in that range? */
bool rep_cond_covers(const struct rep_cond *c, uint64_t addr, uint64_t len);
/* Do those instructions? */
bool rep_cond_meets(const struct rep_cond *c, uint64_t addr, uint64_t len);
/* 1: it stands and its code is what it was. 0: no longer; close it and think again. */
int rep_cond_check(struct rep_cond *c, struct rep_task *t) MUST_CHECK;

enum rep_cond_hit {
	REP_COND_NONE,  /* nothing to do with it; nothing is changed */
	REP_COND_TRUE,  /* t stands at the breakpoint, and the condition holds (whatever *st is) */
	REP_COND_ASK,   /* t stands there, and the condition could not be evaluated: somebody else has to */
	REP_COND_ON,    /* nothing has happened: t runs on */
	REP_COND_MOVED, /* *st happened, but t stood in the trampoline: its registers are the guest's now. When it stands at the breakpoint, it has not
			 * passed it */
	REP_COND_PAST,  /* likewise, and it stands at the breakpoint and had passed it: goes on by rep_cond_go_on() */
};
/* What does this stop of t mean? Sets t's registers to those of the guest. *st may become another stop, which came while t was stepped out of the
 * trampoline. Negative errors. */
int rep_cond_stop(struct rep_cond *c, struct rep_task *t, struct eng_stop *st) MUST_CHECK;
/* Before t is stepped, or runs on behind the breakpoint: when it stands there, or at another instruction that the jump covers, it goes on in
 * the copies, the breakpoint counts as passed. Nothing when it stands elsewhere. A thread that runs to a covered instruction, or from there on
 * without this, gives a REP_COND_ON. */
int rep_cond_go_on(struct rep_cond *c, struct rep_task *t) MUST_CHECK;

#endif
