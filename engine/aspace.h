/* Model of an address space: the mappings, sorted, not overlapping. Mirrors what the kernel has, from events alone. */
#ifndef ENGINE_ASPACE_H
#define ENGINE_ASPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

enum aspace_flags {
	ASPACE_SHARED = 1 << 0,
	ASPACE_ANON = 1 << 1,      /* not backed by a file */
	ASPACE_GROWSDOWN = 1 << 2,
	ASPACE_VDSO = 1 << 3,      /* vdso, vvar: hidden from the guest */
	ASPACE_HERMIT = 1 << 4,    /* ours: scratch memory, gate */
	ASPACE_VIEW = 1 << 5,      /* private, but follows a shared object where it is not written */
	ASPACE_DONTFORK = 1 << 6,  /* a forked child has not got it (only replay knows these two) */
	ASPACE_WIPEONFORK = 1 << 7, /* ... has it, but empty */
};

struct mapping {
	uint64_t start, end; /* page-aligned */
	uint32_t prot, flags;
	uint64_t offset;     /* file or object offset of start */
	uint64_t dev, ino;   /* file; in replay: part of the digest of its content */
	uint64_t object;     /* shared object number, 0 = none */
};

struct aspace {
	struct mapping *m; /* owned */
	size_t n, cap;
	uint64_t changes;  /* grows with each change: whoever kept it knows whether there was one since */
};

void aspace_init(struct aspace *a);
void aspace_done(struct aspace *a);
int aspace_copy(const struct aspace *from, struct aspace *ret) MUST_CHECK;
void aspace_clear(struct aspace *a);
/* Adds m, replacing whatever overlaps (as MAP_FIXED does). */
int aspace_map(struct aspace *a, const struct mapping *m) MUST_CHECK;
int aspace_unmap(struct aspace *a, uint64_t start, uint64_t end) MUST_CHECK;
int aspace_protect(struct aspace *a, uint64_t start, uint64_t end, uint32_t prot) MUST_CHECK;
/* Changes flags of what lies there. */
int aspace_mark(struct aspace *a, uint64_t start, uint64_t end, uint32_t set, uint32_t clear) MUST_CHECK;
/* As mremap: what is in the old range vanishes there (keep false) and appears at the new place, grown or shrunk at its end. */
int aspace_remap(struct aspace *a, uint64_t old, uint64_t old_len, uint64_t new_addr, uint64_t new_len, bool keep_old) MUST_CHECK;
/* The mapping that holds addr, or NULL. A GROWSDOWN mapping also holds what lies below it when nothing else does and `grow` is given. */
const struct mapping *aspace_find(const struct aspace *a, uint64_t addr);
/* First mapping with end > addr, or NULL: to walk a range. */
const struct mapping *aspace_next(const struct aspace *a, uint64_t addr);

/* Which page of code is at addr? Equal for the same page of the same file, 0 when it can change (writable, shared,
 * not of a file). */
uint64_t aspace_code_key(const struct aspace *a, uint64_t addr);
/* Is it such code, and does it belong to this process alone? Then bytes can be put there for a while: nobody else sees them, and nothing is missed. */
bool aspace_code_own(const struct aspace *a, uint64_t addr);

/* One line of /proc/PID/maps. */
struct maps_line {
	struct mapping map;
	char path[4096]; /* "" or "[stack]", "/lib/x", "/x (deleted)" */
};
typedef int (*maps_fn)(void *ctx, const struct maps_line *line);
/* Calls fn for each line of /proc/TID/maps; stops at a non-zero return and gives it back. */
int maps_read(pid_t tid, maps_fn fn, void *ctx) MUST_CHECK;

#endif
