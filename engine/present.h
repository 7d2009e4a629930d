/* Which pages of a process exist? From /proc/PID/pagemap, which every kernel shows to the tracer without further
 * rights. */
#ifndef ENGINE_PRESENT_H
#define ENGINE_PRESENT_H

#include "engine/engine.h"

enum eng_page {
	ENG_PAGE_ABSENT, /* was never touched, or is of a file and not in memory */
	ENG_PAGE_ANON,   /* the process's own: written, or the zero page that reading gives; also when it is swapped out */
	ENG_PAGE_FILE,   /* the very page of a file or of shared memory */
};

/* A descriptor for eng_present(). */
int eng_present_open(struct eng_task *t) MUST_CHECK;
/* The kinds (enum eng_page) of n pages from addr on. 2 ns a page, 10 where there is one. */
int eng_present(int fd, uint64_t addr, size_t n, uint8_t *ret) MUST_CHECK;

#endif
