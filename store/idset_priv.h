/* A set of blob ids: open addressing, seeded so that a stranger's list of ids cannot be made to collide. All-zero is an empty set. */
#ifndef STORE_IDSET_PRIV_H
#define STORE_IDSET_PRIV_H

#include <stdbool.h>
#include <sys/types.h>
#include "store/event.h"

struct idset {
	struct blob_id *ids; /* in order of insertion */
	size_t n, cap;
	uint32_t *slots; /* index into ids + 1 */
	size_t n_slots;  /* a power of 2 */
	uint64_t seed[2];
};

void idset_done(struct idset *s);
bool idset_has(const struct idset *s, const struct blob_id *id);
/* Its place in ids, or -1. */
ssize_t idset_find(const struct idset *s, const struct blob_id *id);
/* 1 if it is new, 0 if not. -ENOMEM, ERR_LIMIT. */
int idset_add(struct idset *s, const struct blob_id *id) MUST_CHECK;

#endif
