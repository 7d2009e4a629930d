/* Inside of store/blocks.h: what xz.c asks. */
#ifndef STORE_BLOCKS_PRIV_H
#define STORE_BLOCKS_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "store/blocks.h"

struct stat;

/* Which bytes: a block of a file that nobody changes in place. Whoever replaces the file makes another one. */
struct block_key {
	uint64_t dev, ino, size;
	int64_t ctime_s, ctime_ns;
	uint64_t start; /* of the block in the uncompressed stream */
};

/* Unpacks the block into len bytes at p. */
typedef int (*block_load_fn)(void *ctx, uint8_t *p, size_t len);

void block_key_init(struct block_key *k, const struct stat *st);
/* Would a block of so many bytes be kept? (Others are for their reader alone.) */
bool store_blocks_fit(const struct store_blocks *b, uint64_t len);
/* Copies n bytes at off of the block, which has len bytes and fits. Who comes first loads it, others who want it meanwhile wait for that; no error
 * is kept. Errors are those of load, and -ENOMEM. */
int store_blocks_copy(struct store_blocks *b, const struct block_key *key, size_t len, block_load_fn load, void *ctx, size_t off, void *p, size_t n)
	MUST_CHECK;

struct store_blocks_use {
	uint64_t hits, loads;
	size_t memory, file, blocks; /* bytes, and of all */
};
void store_blocks_use(struct store_blocks *b, struct store_blocks_use *ret);

#endif
