/* Named fault points: tests ask for a failure or a sudden death at a known place.
 *
 *     HERMIT_FAULT=store_write        every hit of store_write fails
 *     HERMIT_FAULT=store_write:3      the third hit fails, the others do not
 *     HERMIT_FAULT=store_frame:2:kill at the second hit the process ends by SIGKILL
 *     HERMIT_FAULT=store_frame:kill   at the first hit
 *
 * At the place: `if (FAULT_HIT(store_write)) return -ENOSPC;`. Where only death makes sense: `(void)FAULT_HIT(store_commit);`.
 * Without the variable a fault point costs one load and one branch. Text that is no fault list is reported once on
 * stderr and ends the process: a test that misspells a name must not pass.
 * Hits are counted per process, over all threads. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include "base/macros.h"

enum fault {
#define FAULT(name, text) FAULT_##name,
#include "base/faults.def"
#undef FAULT
	FAULT_MAX_
};

#define FAULT_HIT(name) (__builtin_expect(fault_state != FAULT_STATE_OFF, 0) && fault_hit(FAULT_##name))

/* Counts a hit; true when this one shall fail. Use FAULT_HIT(). */
bool fault_hit(enum fault f);
/* Reads the variable again (tests). */
void fault_reload(void);
const char *fault_name(enum fault f);
/* What is lost there (list of fault points for people). */
const char *fault_text(enum fault f);

enum fault_state { FAULT_STATE_UNREAD, FAULT_STATE_OFF, FAULT_STATE_ON };
extern enum fault_state fault_state; /* for FAULT_HIT() only */

#endif
