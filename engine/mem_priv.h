/* Guest memory as it is, with the int3s of engine/patch.h in it. */
#ifndef ENGINE_MEM_PRIV_H
#define ENGINE_MEM_PRIV_H

#include "engine/engine.h"

/* As eng_read_some(). */
ssize_t mem_read_raw(const struct eng_mm *mm, uint64_t addr, void *buf, size_t n);
/* As many bytes as there is memory, -EFAULT when there is none at addr. */
ssize_t mem_write_raw(const struct eng_mm *mm, uint64_t addr, const void *buf, size_t n);
/* eng_write() where there are patches: at most ENG_PAGE bytes, returns how many. */
ssize_t patch_write(struct eng_mm *mm, uint64_t addr, const void *buf, size_t n);

#endif
