/* Numbers of threads to something: recordings number threads from 1 without gaps, strangers' need not. Not more than IDMAP_MAX of them. */
#ifndef ANALYSIS_IDMAP_PRIV_H
#define ANALYSIS_IDMAP_PRIV_H

#include "base/err.h"

#define IDMAP_MAX (1u << 20)

struct idmap {
	struct idmap_entry {
		uint32_t key; /* 0 = free */
		uint32_t value;
	} *slot; /* owned */
	uint32_t n, n_slots;
};

/* Zeroed is a valid empty one. */
void idmap_done(struct idmap *m);
/* The value of a key that is not 0; NULL when there is none. Valid until the next idmap_put(). */
uint32_t *idmap_find(const struct idmap *m, uint32_t key);
/* -ENOMEM, ERR_LIMIT. */
int idmap_put(struct idmap *m, uint32_t key, uint32_t value) MUST_CHECK;

#endif
