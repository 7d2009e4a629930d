/* Bookmarks and notes that people leave at places of a recording: STORE/ID/notes.json, also of one that is being made.
 *
 * Several processes may change them at once. They survive the end of the recording, sealing and export. What the file says is a stranger's (imports). */
#ifndef STORE_NOTES_H
#define STORE_NOTES_H

#include "store/store.h"

#define NOTES_MAX 1000u           /* of a recording */
#define NOTE_TEXT_MAX 4096u       /* bytes */
#define NOTE_AUTHOR_MAX 128u
#define NOTE_POSITION_MAX 256u
#define NOTE_ID_LEN 16

/* Plain data; strings are owned UTF-8, text and author never NULL. */
struct note {
	char id[NOTE_ID_LEN + 1]; /* hex */
	uint64_t event;     /* 0 = the whole recording */
	char *position;     /* finer than the event, as dbg_pos_format() gives; NULL */
	uint32_t thread;    /* recorded thread, 0 = none */
	char *text, *author;
	uint64_t created_ns, changed_ns; /* since 1970 */
	uint64_t revision;  /* from 1, one more with each change */
};

struct notes {
	struct note *v; /* owned, by event, older ones first */
	size_t n;
};

void notes_done(struct notes *n); /* for CLEANUP too */
/* What there is; none is fine. ERR_NOT_FOUND (no such recording), ERR_CORRUPT. */
int notes_load(struct store *s, const struct store_id *id, struct notes *ret, struct errinfo *ei) MUST_CHECK;
/* Loads them, calls fn, and saves them if it returns 1; nobody else changes them meanwhile. 0 and negative results of fn are given back as they are, nothing is saved.
 * fn must not call functions of this header for the same recording that lock. */
typedef int (*notes_fn)(void *ctx, struct notes *n);
int notes_update(struct store *s, const struct store_id *id, notes_fn fn, void *ctx, struct errinfo *ei) MUST_CHECK;
/* For fn: adds one (strings of `from` are copied; id, times, revision are made). ERR_LIMIT: there are too many; -EINVAL: a member is too long or no UTF-8; -ENOMEM.
 * *ret is valid until the next change. ret may be NULL. */
int notes_add(struct notes *n, const struct note *from, struct note **ret) MUST_CHECK;
struct note *notes_find(const struct notes *n, const char *id);
void notes_remove(struct notes *n, struct note *at);
/* Changes the text (NULL: not) and counts the change. -EINVAL, -ENOMEM. */
int note_set_text(struct note *at, const char *text) MUST_CHECK;

#endif
