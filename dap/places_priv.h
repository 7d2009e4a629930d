/* What places.c and its neighbours share: where the session was, bookmarks, and texts for people. */
#ifndef DAP_PLACES_PRIV_H
#define DAP_PLACES_PRIV_H

#include "dap/history_priv.h"
#include "dap/parts_priv.h"
#include "dap/recorded_priv.h"

struct dap_places {
	struct recorded *recorded; /* NULL: not opened yet */
	struct history history;
	bool navigating;           /* back or forward goes on: the history was dealt with */
	json_t *marks;             /* of the timeline, owned; NULL = none made yet */
	uint64_t marks_n;          /* ... of so many events, */
	bool marks_all;            /* ... of all processes */
};

int places_last_write(struct dap *d, int64_t frame_id, const char *expr) MUST_CHECK;
int places_navigate(struct dap *d, bool forward) MUST_CHECK;

/* --- bookmarks.c --- */

/* The position of the bookmark with that id or text, owned; of several with that text the last one counts. -ENOENT: there is none. */
int bookmarks_find(struct dap *d, const char *text, char **ret) MUST_CHECK;
/* All, as an array of objects: new reference. */
int bookmarks_list(struct dap *d, json_t **ret) MUST_CHECK;
/* Leaves one here; fills its members into body. */
int bookmarks_add(struct dap *d, const char *text, json_t *body) MUST_CHECK;
/* By id or, if that is not found, by text. */
int bookmarks_remove(struct dap *d, const char *id) MUST_CHECK;

/* --- timeline.c --- */

/* Events as lines of text, from number `from` to `to`, at most 1000. */
int events_text(struct dap *d, uint64_t from, uint64_t to, struct buf *out) MUST_CHECK;

/* --- output.c, children.c --- */

/* What the process has printed up to here, its last bytes, as text. */
int output_text(struct dap *d, struct buf *out) MUST_CHECK;
/* An array of objects: new reference. */
int children_list(struct dap *d, json_t **ret) MUST_CHECK;
/* Opens a session for that process: true in *ret when the client was asked to, else out says how to do it by hand. */
int children_open(struct dap *d, int64_t pid, bool *ret, struct buf *out) MUST_CHECK;

#endif
