/* Which pages has a process written? Write tracking by asynchronous write protection of userfaultfd (Linux 6.7:
 * UFFD_FEATURE_WP_ASYNC and the PAGEMAP_SCAN ioctl): the kernel notes the first write to a page by itself, nobody
 * is stopped. Works without root (UFFD_USER_MODE_ONLY); where the kernel or a container's seccomp filter refuses
 * it, all of this says -ENOSYS and the caller does without.
 *
 * One tracker per address space, made by its owner when it pays: the first write to each page after a look costs
 * 1-1.5 us.
 */
#ifndef ENGINE_DIRTY_H
#define ENGINE_DIRTY_H

#include "engine/engine.h"

struct eng_dirty;

/* Starts tracking in t's address space (t stopped where eng_remote() works): all writable mappings of the model
 * but ours. Everything written from now on counts. */
int eng_dirty_new(struct eng_task *t, struct eng_dirty **ret) MUST_CHECK;
void eng_dirty_free(struct eng_dirty *d); /* NULL is fine; what was protected stays writable for the guest */
/* A call is about to look at [addr, addr + len) as one mapping: mremap() does, and says EFAULT when there is a
 * border between a tracked mapping and one that came since. Tracks all of it, so that the kernel makes one mapping
 * of them, as it would have without us. */
void eng_dirty_cover(struct eng_dirty *d, uint64_t addr, uint64_t len);
/* Calls fn for each run of pages written since the last take (or the start), by ascending address, and starts
 * anew. Mappings of the model that came since the last take count as written where they hold pages, and are
 * tracked from now on. fn gets `max` pages in all. 1 = there were more, or a mapping cannot be tracked (still
 * starts anew), 0 = these were all. fn's first negative result is given back. */
typedef int (*eng_dirty_fn)(void *ctx, uint64_t addr, uint64_t pages);
int eng_dirty_take(struct eng_dirty *d, struct eng_task *t, uint64_t max, eng_dirty_fn fn, void *ctx) MUST_CHECK;

#endif
