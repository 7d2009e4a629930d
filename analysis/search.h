/* What is kept of recordings between requests: their indexes, and which events filters have found; shared by any number of threads.
 *
 * A search goes on for as long as somebody asks for it: by those who ask, within the time that they have, and by one thread in the background. Memory is bounded: what has not been
 * asked for longest goes first. */
#ifndef ANALYSIS_SEARCH_H
#define ANALYSIS_SEARCH_H

#include "analysis/filter.h"

#define SEARCH_NOBODY_NS 10000000000u    /* not asked for so long: the background thread leaves it */
#define SEARCH_MATCHES_MAX (16u << 20)   /* of one search: more are ERR_LIMIT */
#define SEARCH_MEMORY_MAX (96u << 20)    /* of all searches that nobody uses now */
#define SEARCH_EVINDEX_MEMORY_MAX (96u << 20) /* ... of indexes in memory */
#define SEARCH_EVINDEXS_MAX 256u
#define SEARCHES_MAX 256u

struct searches;
struct search;

/* dir: of the store (copied). Begins the thread in the background. */
int searches_new(const char *dir, struct searches **ret) MUST_CHECK;
void searches_free(struct searches *s);

/* The index of a recording, with what could be added to it within budget_ns (0: as it is). To be given back by evindex_unref(). */
int searches_evindex(struct searches *s, const struct store_id *id, uint64_t budget_ns, struct evindex **ret, struct errinfo *ei) MUST_CHECK;

/* The recording has gone: nothing of it is kept any more, as soon as nobody uses it. */
void searches_forget(struct searches *s, const struct store_id *id);

struct search_state {
	uint64_t found;   /* matches so far */
	uint64_t scanned; /* events looked at */
	uint64_t last;    /* events that the index has */
	bool complete;    /* all events of the recording that can be read now were looked at */
};

/* The search of a filter (borrowed for the call) in a recording, continued for at most budget_ns, or until `enough` matches are found. To be given back by search_unref(). */
int searches_find(struct searches *s, const struct store_id *id, const struct filter *f, uint64_t budget_ns, uint64_t enough, struct search **ret,
		  struct search_state *ret_state, struct errinfo *ei) MUST_CHECK;
void search_unref(struct search *q);
void search_unrefp(struct search **q);
/* Copies up to n event numbers from match number `offset` (from 0) on. How many. */
size_t search_get(struct search *q, uint64_t offset, size_t n, uint32_t *ret);
/* The place of the first match from event number `event` on; the number of matches so far when there is none. */
uint64_t search_place(struct search *q, uint64_t event);

#endif
