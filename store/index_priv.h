/* The file `index` of a sealed recording: where each frame is. It can always be made again from the streams. */
#ifndef STORE_INDEX_PRIV_H
#define STORE_INDEX_PRIV_H

#include "store/stream_priv.h"

/* Gives both streams their tables. Anything wrong with the file is -EINVAL (or -ENOENT): scan instead. */
int index_load(const char *dir, const struct store_id *id, struct stream *events, struct stream *data) MUST_CHECK;
/* Writes DIR/NAME from the tables of two fully scanned streams, with fsync. */
int index_save(const char *dir, const char *name, const struct store_id *id, const struct stream *events,
	       const struct stream *data) MUST_CHECK;

#endif
