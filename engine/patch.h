/* Breakpoints by patching: an int3 (0xcc) over the first byte of an instruction, which nobody sees who reads guest memory
 * through engine.h.
 *
 * The overlay of an address space says what belongs where we have put our byte. Reading shows that; where the guest has
 * written over our byte (it is 0xcc no more), reading shows what the guest wrote, and the breakpoint is out of work until
 * the next eng_patch_sync(). Writing through engine.h changes what belongs there and keeps the int3. What it cannot know:
 * that the guest itself stored a 0xcc over ours, and that the kernel did.
 *
 * A patch on memory that is not there waits ("parked"). The model of the address space tells what is there; after it has
 * changed, eng_patch_sync() has to be called before the guest runs. Memory that moves (mremap) takes our byte along, so
 * the patches of the old place and the new one are lifted around such a call.
 */
#ifndef ENGINE_PATCH_H
#define ENGINE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macros.h"

struct eng_mm;
struct eng_task;

struct eng_patch {
	uint64_t addr;
	uint64_t dev, ino, offset; /* the memory it was planted in: file and place there, zeros: none */
	uint32_t users;            /* how often it was set */
	uint16_t lifted;           /* how often it is lifted */
	uint8_t original;          /* when planted */
	uint8_t byte;              /* what is planted: an int3, or a piece of code: */
	uint8_t piece, place;      /* its length, and where in it this byte is; 0: none */
	bool planted;              /* our byte was put there */
	bool shared;               /* parked, since the memory there now is not the process's own */
};

/* Part of struct eng_mm. */
struct eng_patches {
	struct eng_patch *p; /* sorted by address; owned */
	size_t n, cap;
	uint64_t changes;    /* of the model, when the patches were last compared with it */
	bool stale;          /* they have to be, whatever it says */
};

/* Counts: each set needs its own clear. 1: planted (or lifted just now), 0: parked, there is no such memory. -EBUSY: memory that
 * others see too, or that follows a file (mappings that are shared, views); -EEXIST: a piece stands there; nothing is set then. -ENOMEM. */
int eng_patch_set(struct eng_task *t, uint64_t addr) MUST_CHECK;
/* ERR_NOT_FOUND: it was not set. With any other error (the guest is gone) it is forgotten all the same. */
int eng_patch_clear(struct eng_task *t, uint64_t addr) MUST_CHECK;
/* The patch at addr, planted or not; NULL: none. Valid until the next set, clear or fork. A SIGTRAP at addr + 1 is ours when it is planted
 * and no piece. */
const struct eng_patch *eng_patch_find(const struct eng_mm *mm, uint64_t addr);
/* Makes guest and overlay agree: plants what was parked and has memory now, again where memory was replaced or written over, parks
 * what has lost its memory or has got shared memory instead. Costs one comparison when the model has not changed. */
int eng_patch_sync(struct eng_task *t) MUST_CHECK;
/* The same whether the model has changed or not: after the guest may have written code. */
int eng_patch_sync_all(struct eng_task *t) MUST_CHECK;

/* Takes the patches of len bytes away (and pieces as a whole) until eng_patch_lower() with the same range. They nest. What is set within the range
 * in between is planted. */
int eng_patch_lift(struct eng_task *t, uint64_t addr, uint64_t len) MUST_CHECK;
/* Puts them back: what is there by then is what belongs there. */
int eng_patch_lower(struct eng_task *t, uint64_t addr, uint64_t len) MUST_CHECK;

/* --- pieces --- */

/* Puts n bytes of code at addr, as invisible as int3s. Unlike those a piece is never planted again where other memory has come: it is taken
 * away as a whole by the sync that finds that, and eng_patch_stands() says so. -EEXIST: something is patched there already, -EFAULT: it is
 * not all there, -EBUSY as above. */
int eng_patch_put(struct eng_task *t, uint64_t addr, const uint8_t *bytes, uint8_t n) MUST_CHECK;
bool eng_patch_stands(const struct eng_mm *mm, uint64_t addr);
/* Puts the guest's bytes back, if it stands, and forgets the piece. ERR_NOT_FOUND: there is none at addr. */
int eng_patch_take(struct eng_task *t, uint64_t addr) MUST_CHECK;

/* --- for engine.h's own reading and writing, and for who reads guest memory in another way --- */

/* buf holds n bytes as they are in the guest at addr: puts the original ones in. */
void eng_patch_hide(const struct eng_mm *mm, uint64_t addr, void *buf, size_t n);
/* Is a planted byte among these? */
bool eng_patch_overlaps(const struct eng_mm *mm, uint64_t addr, uint64_t n);
int eng_patches_copy(const struct eng_patches *from, struct eng_patches *ret) MUST_CHECK;
void eng_patches_done(struct eng_patches *ps);

#endif
