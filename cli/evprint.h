/* Events as text, the way strace shows calls, and as JSON. */
#ifndef CLI_EVPRINT_H
#define CLI_EVPRINT_H

#include <jansson.h>
#include "store/reader.h"

struct evprint_call; /* a system call that was entered and has not ended */

struct evprint {
	struct store_reader *reader; /* borrowed: the events' data are fetched from it */
	uint32_t string_max;         /* bytes shown of strings and data, 0 = default */
	struct evprint_call *open;   /* by thread; owned */
};

void evprint_init(struct evprint *p, struct store_reader *reader, uint32_t string_max);
void evprint_done(struct evprint *p); /* for CLEANUP too */
/* Every event has to be shown to the printer in order: by one of the next three. */
void evprint_skip(struct evprint *p, const struct event *ev);
/* Appends one line without newline: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`. */
void evprint_text(struct evprint *p, const struct event *ev, struct buf *out);
/* event_to_json() with 64-bit numbers as strings, names of calls, errors and signals, all data up to string_max, and the text as "line".
 * New reference; -ENOMEM. */
int evprint_json(struct evprint *p, const struct event *ev, json_t **ret) MUST_CHECK;
/* Appends the effects, one line each, indented. Goes with evprint_text(). */
void evprint_effects(struct evprint *p, const struct event *ev, struct buf *out);

#endif
