/* All recordings of a store with what lists show of them, kept in memory and up to date: nothing is read twice that has not changed.
 *
 * Thread-safe. Recordings made by others (hermit record start) appear at the next refresh. */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include "store/manifest.h"

/* Plain data of one recording. Strings are never NULL. */
struct catalog_entry {
	struct store_id id;
	enum recording_state state;
	bool live;       /* a recorder holds it */
	bool broken;     /* error says why: the manifest cannot be read, or the last verification found it damaged */
	bool keep;       /* never removed by retention */
	bool compressed; /* it has been sealed (truncated ones may be) */
	char *error, *label, *reason, *command, *program, *host, *user, *source;
	uint64_t start_wall_ns, duration_ns; /* duration of a live one: so far */
	int status;      /* wait status, -1 = not known */
	uint64_t events, processes, threads, bytes; /* of a live one: up to what was flushed */
	uint64_t bookmarks;
	uint64_t verified_ns; /* wall time of the last verification, 0 = never */
	uint64_t version; /* changes whenever anything of this entry does; for ETags */
};

/* What the store held at one moment, newest first. */
struct catalog_view {
	size_t n;
	const struct catalog_entry *const *entry;
	uint64_t version; /* changes whenever any entry does */
};

struct catalog;

/* dir: of the store (copied). What is there is in the first view. */
int catalog_new(const char *dir, struct catalog **ret, struct errinfo *ei) MUST_CHECK;
void catalog_free(struct catalog *c);
/* Looks what has changed. changed (may be NULL) is called for each recording that is new, differs or has gone, when the view shows it already; it may
 * not call this. Any thread; one at a time. */
enum catalog_change { CATALOG_ADDED, CATALOG_CHANGED, CATALOG_REMOVED };
typedef void (*catalog_fn)(void *ctx, enum catalog_change what, const struct catalog_entry *e);
int catalog_refresh(struct catalog *c, catalog_fn changed, void *ctx) MUST_CHECK;
/* The present view; to be given back. Never blocks for disks. */
const struct catalog_view *catalog_get(struct catalog *c);
void catalog_put(struct catalog *c, const struct catalog_view *v);
/* The entry in v, or NULL. */
const struct catalog_entry *catalog_find(const struct catalog_view *v, const struct store_id *id);

#endif
