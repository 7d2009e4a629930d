/* Places that the session was at, as a browser keeps pages. Pure. */
#ifndef DAP_HISTORY_PRIV_H
#define DAP_HISTORY_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define HISTORY_MAX 100u

/* Plain data. */
struct place {
	char *position; /* owned; NULL: only the event is known */
	uint64_t event, time_ns;
};

/* Places behind the present one, the last one last, and then those that lie before it (after going back), the next one first. The present place is in neither. Zeroed is a valid
 * empty one. */
struct history {
	struct place v[HISTORY_MAX];
	unsigned behind, n;
};

void place_done(struct place *p); /* for CLEANUP too */
void history_done(struct history *h);
/* The session leaves `from` (taken over) for somewhere new: what lay before it is forgotten. */
void history_leave(struct history *h, struct place *from);
/* Where back or forward leads to, borrowed; NULL: nowhere. */
const struct place *history_look(const struct history *h, bool forward);
/* The session has gone there from `from` (taken over). */
void history_move(struct history *h, bool forward, struct place *from);

#endif
