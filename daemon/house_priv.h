/* The decisions of housekeeping, apart from who carries them out. */
#ifndef DAEMON_HOUSE_PRIV_H
#define DAEMON_HOUSE_PRIV_H

#include "daemon/daemon_priv.h"

/* --- retention (pure) --- */

struct retention_item {
	uint64_t start_ns; /* wall time */
	uint64_t bytes;    /* that its removal frees */
	bool spared;       /* keep mark, live, or being debugged */
};

enum retention_why { RETENTION_STAYS, RETENTION_AGE, RETENTION_SIZE };

/* items: newest first. Sets why[i] for those to be removed: what is older than max_age_s, then the oldest until all that is left has at most max_size bytes
 * (0 = no limit). Spared ones count but stay. */
void retention_choose(const struct retention_item *items, size_t n, uint64_t now_ns, uint64_t max_age_s, uint64_t max_size, enum retention_why *why);

/* --- the integrity scan (pure) --- */

/* The recording that was verified longest ago, if that is more than every_s: index, or -1. Live ones and unreadable ones are not verified. */
ssize_t scan_choose(const struct catalog_view *v, uint64_t now_ns, uint64_t every_s);
/* Pause between two, so that all are done within the time without a rush. */
uint64_t scan_pause_ns(size_t n, uint64_t every_s);

/* --- numbers (any thread) --- */

struct house_space {
	uint64_t free_bytes, blobs_bytes; /* blobs: some time ago */
	bool low;
};
void house_space(const struct house *h, struct house_space *ret);

/* --- for tests --- */

/* House without its thread: house_round() does what is to be done at that moment. */
int house_make(struct daemon *d, struct house **ret) MUST_CHECK;
void house_round(struct house *h, uint64_t mono_ns, uint64_t wall_ns);
/* Who tells how many bytes are free. Before the thread starts. */
typedef int (*house_free_fn)(void *ctx, const char *dir, uint64_t *ret);
void house_set_free(struct house *h, house_free_fn fn, void *ctx);

#endif
