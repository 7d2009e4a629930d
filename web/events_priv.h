/* What the files of the events' API share. */
#ifndef WEB_EVENTS_PRIV_H
#define WEB_EVENTS_PRIV_H

#include <stdio.h>
#include "analysis/row.h"
#include "base/str.h"
#include "web/server_priv.h"

/* Part of etags: changes when the same recording gives another answer than before. */
#define EVENTS_ANSWER_VERSION 1
/* How long an answer waits for the index, when it needs it up to some event; and for a timeline, which can be had of a part. */
#define EVENTS_INDEX_MS 5000u
#define EVENTS_TIMELINE_MS 1500u
/* Bytes of strings in rows, and in details. */
#define EVENTS_ROW_STRING 48u
#define EVENTS_DETAIL_STRING 256u

struct evindex;

struct events_view {
	struct store_id id;
	struct store_reader *reader; /* the request's */
	uint64_t count;              /* events that can be read */
	bool live;
	struct evindex *index;       /* counted; NULL before events_index() */
};

/* Finds the recording. *ret_ready: false, the request is answered or the result is its error. */
int events_begin(struct web_request *q, struct events_view *v, bool *ret_ready) MUST_CHECK;
/* Opens the index and waits, at most that long, until it has the event of that number (or all). The reader may be another one afterwards; where there was none there is one. */
int events_index(struct web_request *q, struct events_view *v, uint64_t number, unsigned budget_ms) MUST_CHECK;
void events_end(struct events_view *v);
/* Sets the etag of an answer that is whole and final; has the client such a one (304 is answered then)? */
void events_tag(struct web_request *q, const struct events_view *v);
bool events_unchanged(struct web_request *q, const struct events_view *v);

#endif
