/* The little of tar that exports need: regular members with short names, sizes beyond 8 GiB through pax headers.
 * `tar xf` reads what this writes; what `tar cf` writes of the same files is read here. */
#ifndef STORE_TAR_PRIV_H
#define STORE_TAR_PRIV_H

#include <sys/types.h>
#include "base/err.h"

#define TAR_BLOCK 512u

struct tar_member {
	char name[256];
	uint64_t size;
};

/* Bytes to add behind `size` bytes of content. */
size_t tar_padding(uint64_t size);

/* Writes the head of a regular member (two heads if it is large). */
int tar_put_head(int fd, const char *name, uint64_t size, uint64_t mtime) MUST_CHECK;
/* Writes the padding behind a member of that size. */
int tar_put_padding(int fd, uint64_t size) MUST_CHECK;
/* Writes the end of the archive. */
int tar_put_end(int fd) MUST_CHECK;

/* Reads up to the content of the next regular member; directories are passed over. 1, 0 at the end mark, ERR_TRUNCATED, ERR_CORRUPT, ERR_LIMIT. */
int tar_next(int fd, struct tar_member *ret, struct errinfo *ei) MUST_CHECK;
/* Reads the padding behind a member of that size. */
int tar_skip_padding(int fd, uint64_t size) MUST_CHECK;

#endif
