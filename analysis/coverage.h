/* Which system calls recordings made, and how hermit handled them: calls = buffered + executed + answered + refused + did not return.
 *
 * The recorder counts while it records (manifest, docs/FORMAT.md). Recordings that do not say - older ones, killed recorders, live ones - are counted by
 * their events, where an answered call shows as executed unless it was marked. A recording whose numbers do not add up is not counted. */
#ifndef ANALYSIS_COVERAGE_H
#define ANALYSIS_COVERAGE_H

#include <jansson.h>
#include "engine/syscall.h"
#include "store/reader.h"

/* Recordings in one table, and events that are looked at to count one. */
#define COVERAGE_RECORDINGS_MAX 65536u
#define COVERAGE_EVENTS_MAX UINT64_C(20000000)
/* Recordings whose numbers a cache keeps. */
#define COVERAGE_CACHE_MAX 4096u

enum coverage_how { COVERAGE_BUFFERED, COVERAGE_EXECUTED, COVERAGE_ANSWERED, COVERAGE_REFUSED, COVERAGE_DID_NOT_RETURN, COVERAGE_HOW_MAX_ };

struct coverage_row {
	uint64_t calls, how[COVERAGE_HOW_MAX_];
	uint32_t recordings; /* that made the call */
	bool bad;            /* in some recording, which is not counted, its numbers did not add up */
};

struct coverage_recording {
	struct store_id id;
	char *command; /* owned */
	char *why;     /* owned; NULL: it is counted */
};

/* Plain data. */
struct coverage {
	struct coverage_row row[SYS_TABLE_MAX + 1]; /* the last one: all beyond the table */
	struct coverage_recording *recording;       /* owned */
	uint32_t n, counted;
};

struct coverage_cache; /* thread-safe */

int coverage_new(struct coverage **ret) MUST_CHECK;
void coverage_free(struct coverage *c);
void coverage_freep(struct coverage **c);
/* Adds a recording; one that cannot be read is not counted. cache may be NULL. ERR_NOT_FOUND, ERR_LIMIT, -ENOMEM. */
int coverage_add(struct coverage *c, struct coverage_cache *cache, struct store *s, const struct store_id *id) MUST_CHECK;
int coverage_cache_new(struct coverage_cache **ret) MUST_CHECK;
void coverage_cache_free(struct coverage_cache *cache);

/* "executed", ... */
const char *coverage_how_name(enum coverage_how h);
/* "emulate", "reexec", "special", "refuse" */
const char *coverage_class(uint32_t nr);
/* Is it a system call that x86-64 has? */
bool coverage_exists(uint32_t nr);
/* As docs/HTTP.md says. New reference. */
int coverage_json(const struct coverage *c, json_t **ret) MUST_CHECK;
/* All calls, also those never made. */
int coverage_csv(const struct coverage *c, struct buf *out) MUST_CHECK;

#endif
