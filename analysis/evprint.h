/* Events as text, the way strace shows calls, and as JSON. */
#ifndef ANALYSIS_EVPRINT_H
#define ANALYSIS_EVPRINT_H

#include <jansson.h>
#include "engine/sysprint.h"
#include "store/reader.h"

struct evprint_call; /* a system call that was entered and has not ended */

struct evprint {
	struct store_reader *reader; /* borrowed: the events' data are fetched from it */
	uint32_t string_max;         /* bytes shown of strings and data, 0 = default */
	struct evprint_call *open;   /* by thread; owned */
	struct sysprint_parts *parts; /* NULL but while a row is made */
};

/* An event in columns. Zeroed is a valid empty one, to be used again and again. */
struct evprint_row {
	struct buf line;   /* as by evprint_text() */
	struct buf result; /* "3", "-1 ENOENT", "handler at 0x..."; empty when there is none yet */
	struct sysprint_parts parts; /* offsets in line: args, args_end, arg[] */
	char name[32];     /* "openat", "SIGSEGV", "exec", ... */
	bool call;         /* a call, or a half of one, whose arguments are known: made */
	struct sys_call made;
};

void evprint_init(struct evprint *p, struct store_reader *reader, uint32_t string_max);
void evprint_done(struct evprint *p); /* for CLEANUP too */
/* Every event has to be shown to the printer in order, by one of the next four; or of those that are left out at least the entry of a call before its end. */
void evprint_skip(struct evprint *p, const struct event *ev);
/* Was the entry of the call that the thread is in, which is that event, shown to the printer? */
bool evprint_knows(const struct evprint *p, uint32_t thread, uint64_t entry);
/* Appends one line without newline: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`. */
void evprint_text(struct evprint *p, const struct event *ev, struct buf *out);
/* The same without taking the event as shown: to be followed by one of the others. */
void evprint_look(struct evprint *p, const struct event *ev, struct buf *out);
/* The same in columns. 0, or -ENOMEM. */
int evprint_row(struct evprint *p, const struct event *ev, struct evprint_row *row) MUST_CHECK;
void evprint_row_done(struct evprint_row *row); /* for CLEANUP too */
/* The error that the call of ev ended with, 0 when it has not failed or not ended. */
int evprint_errno(const struct event *ev);
/* event_to_json() with names of calls, errors and signals, all data up to string_max, and the text as "line".
 * New reference; -ENOMEM. */
int evprint_json(struct evprint *p, const struct event *ev, json_t **ret) MUST_CHECK;
/* Appends the effects, one line each, indented. Goes with evprint_text(). */
void evprint_effects(struct evprint *p, const struct event *ev, struct buf *out);

#endif
