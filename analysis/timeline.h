/* Who did what when: events counted in buckets of time, for each thread; from an index alone. */
#ifndef ANALYSIS_TIMELINE_H
#define ANALYSIS_TIMELINE_H

#include "analysis/evindex.h"

#define TIMELINE_BUCKETS_MIN 10u
#define TIMELINE_BUCKETS_MAX 4000u
#define TIMELINE_LANES_MAX 256u  /* threads that are in the window; "lanes_total" tells how many there are */
#define TIMELINE_MARKS_MAX 500u
#define TIMELINE_EVENTS_PER_BUCKET 4u /* single events are listed up to so many */

/* Events that stand out, the most interesting first. */
enum timeline_mark { MARK_FATAL, MARK_EXEC, MARK_EXIT, MARK_BIRTH, MARK_NOTE, MARK_SIGNAL, MARK_MAX_ };

/* enum timeline_mark, -1: it is none. */
int timeline_mark(const struct evindex_record *rec);
/* Appends what happened: a program, "killed by SIGSEGV", ... Text of strangers. */
void timeline_mark_text(const struct evindex_view *v, const struct evindex_record *rec, struct buf *out);

struct timeline_window {
	uint64_t from_ns, to_ns; /* to_ns is cut at the end of the recording */
	unsigned buckets;
};

/* Appends the JSON of docs/HTTP.md (Timeline). complete: the index has all events that can be read. -ENOMEM. */
int timeline_put(const struct evindex_view *v, const struct timeline_window *w, bool complete, struct buf *out) MUST_CHECK;
/* Index into v->record of the first event at or behind a time; v->n when there is none. */
uint64_t timeline_find(const struct evindex_view *v, uint64_t time_ns);

#endif
