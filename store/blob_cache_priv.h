/* Which blob a file's content is, by its stat data: blobs/cache. */
#ifndef STORE_BLOB_CACHE_PRIV_H
#define STORE_BLOB_CACHE_PRIV_H

#include "store/store.h"

struct blob_cache;

/* 1 and the id if a file with this stat data is known, 0 if not. */
int blob_cache_get(struct store *s, const struct stat *st, struct blob_id *ret) MUST_CHECK;
/* Remembers it, unless the file changed less than 2 seconds before `when_ns` (wall time at which reading it began): then another change
 * could have left the same time stamps. A cache that cannot be written is no error. */
void blob_cache_put(struct store *s, const struct stat *st, uint64_t when_ns, const struct blob_id *id);
void blob_cache_free(struct blob_cache *c);

#endif
