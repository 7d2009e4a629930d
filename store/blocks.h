/* Decoded blocks of sealed recordings, kept for the readers of any number of stores and threads: to unpack a block costs milliseconds, and those who
 * look at one part of a recording want the same few again and again. They lie in a file without a name, so that the system may take the memory whenever it needs it, or in
 * memory where that cannot be (no such file, disk full). What was used longest ago goes when there is too much. */
#ifndef STORE_BLOCKS_H
#define STORE_BLOCKS_H

#include <stddef.h>
#include "base/macros.h"
#include "store/store.h"

struct store_blocks;

/* Keeps at most file_max bytes in a file in dir (NULL: none), and memory_max in memory; somewhat more while they are being copied. -ENOMEM. Thread-safe, and so are references. */
int store_blocks_new(const char *dir, size_t file_max, size_t memory_max, struct store_blocks **ret) MUST_CHECK;
struct store_blocks *store_blocks_ref(struct store_blocks *b);
void store_blocks_unref(struct store_blocks *b);
void store_blocks_unrefp(struct store_blocks **b);
/* Readers that are opened in s from now on share b (referenced). */
void store_share_blocks(struct store *s, struct store_blocks *b);

#endif
