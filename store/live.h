/* Recordings that are being made, as seen by others than their recorder: who lives, and how to ask a recorder for something.
 *
 * A recorder holds tmp/ID/lock as long as it lives, and reads lines that others append to that file (there is room for them even on a full
 * disk). So anybody who may write the store can ask any recorder, without knowing its process. */
#ifndef STORE_LIVE_H
#define STORE_LIVE_H

#include "store/store.h"

/* Longest line, with its newline. */
#define STORE_ASK_MAX 512

/* Is a recorder at work on it? Not so when the recorder has died and nobody has noticed yet. */
bool store_is_live(const struct store *s, const struct store_id *id);
/* Asks its recorder (recorder/recorder.h says for what); it looks some times a second. -ESRCH: there is none; ERR_LIMIT: too long a line. */
int store_ask(struct store *s, const struct store_id *id, const char *fmt, ...) PRINTF_LIKE(3, 4) MUST_CHECK;
/* store_recover() for one recording, with a reason other than the usual one (NULL: that). 1: it is truncated now; 0: nothing to do, its
 * recorder lives or it had been committed; one that somebody else has just recovered without a reason gets this one. */
int store_recover_one(struct store *s, const struct store_id *id, const char *reason) MUST_CHECK;

#endif
