/* Where a stream's bytes come from: a file, memory (tests, fuzzers), or another source that holds .xz. */
#ifndef STORE_SOURCE_PRIV_H
#define STORE_SOURCE_PRIV_H

#include <sys/types.h>
#include "base/err.h"

struct source;

struct source_ops {
	/* Up to n bytes at off; short only at the end. */
	ssize_t (*pread)(struct source *s, void *p, size_t n, uint64_t off);
	int (*size)(struct source *s, uint64_t *ret);
	void (*free)(struct source *s);
};

/* The first member of each kind of source. */
struct source {
	const struct source_ops *ops;
};

/* Takes over fd, on failure too. */
int source_file(int fd, struct source **ret) MUST_CHECK;
/* Borrows p for its life. */
int source_memory(const void *p, size_t n, struct source **ret) MUST_CHECK;
/* The uncompressed content of a single-stream .xz with random access. Takes over inner, on failure too.
 * ERR_CORRUPT, ERR_LIMIT (blocks or dictionaries beyond limits_priv.h). */
int source_xz(struct source *inner, struct source **ret) MUST_CHECK;
/* The same of a file (its stat is st), with blocks shared by all who read it. blocks NULL: as source_xz(). */
struct stat;
struct store_blocks;
int source_xz_shared(struct source *inner, const struct stat *st, struct store_blocks *blocks, struct source **ret) MUST_CHECK;

/* Bytes got (short only at the end) or an error. */
ssize_t source_pread(struct source *s, void *p, size_t n, uint64_t off) MUST_CHECK;
int source_size(struct source *s, uint64_t *ret) MUST_CHECK;
void source_free(struct source *s);
void source_freep(struct source **s);

#endif
