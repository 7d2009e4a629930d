/* The memory of an index: an array of records that grows, in memory while it is small, then in a file of the cache that has no name yet. */
#ifndef ANALYSIS_EVINDEX_PRIV_H
#define ANALYSIS_EVINDEX_PRIV_H

#include "analysis/evindex.h"
#include "analysis/names.h"

#define EVINDEX_MAGIC "HERMITEX"
#define EVINDEX_VERSION 3u
#define EVINDEX_HEAD_BYTES 4096u /* records begin there */

/* First bytes of STORE/cache/ID.events. Behind the records: threads, offsets of names (u32), their text. */
struct evindex_head {
	char magic[8];
	uint32_t version, head_bytes, record_bytes, thread_bytes;
	char id[STORE_ID_LEN];
	uint64_t start_wall_ns, events, raw_bytes; /* of the recording, as its manifest has them */
	uint64_t n;                                /* records */
	uint64_t n_threads, n_names, names_bytes;
	uint64_t end_ns;
	uint32_t tail_crc; /* of all behind the records */
	uint32_t crc;      /* of this head before this member */
};

struct evindex_storage {
	int fd;              /* of the file, -1: memory */
	uint8_t *map;        /* whole file, or memory with the same layout */
	size_t map_bytes;
	struct evindex_record *record;
	uint64_t n, cap;
	bool loaded;         /* from the cache: read-only */
	const struct evindex_thread *thread; /* loaded: in the map */
	const uint32_t *name_offset;
	const char *name_text;
	struct evindex_head head; /* loaded */
};

void storage_init(struct evindex_storage *s);
void storage_done(struct evindex_storage *s);
void storage_trim(struct evindex_storage *s); /* see evindex_trim() */
/* Room for n more records. dir: of the store. -ENOMEM, ERR_LIMIT. The records may move. */
int storage_reserve(struct evindex_storage *s, const char *dir, uint64_t n) MUST_CHECK;
/* Maps the index in the cache if it fits m and is whole: 0, else -ENOENT, -EINVAL, ... */
int storage_load(struct evindex_storage *s, const char *dir, const struct manifest *m) MUST_CHECK;
/* Gives a file its name, once it has all. Nothing happens in memory. */
int storage_save(struct evindex_storage *s, const char *dir, const struct manifest *m, const struct evindex_thread *thread, uint32_t n_threads, const struct names *names,
		 uint64_t end_ns) MUST_CHECK;

#endif
