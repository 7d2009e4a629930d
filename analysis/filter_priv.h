/* A parsed filter. */
#ifndef ANALYSIS_FILTER_PRIV_H
#define ANALYSIS_FILTER_PRIV_H

#include "analysis/filter.h"
#include "engine/syscall.h"

#define FILTER_RANGES_MAX 64u
#define FILTER_SYSCALL_WORDS ((SYS_TABLE_MAX + 63) / 64)

enum filter_key {
	FILTER_TEXT,
	FILTER_SYSCALL,
	FILTER_THREAD,
	FILTER_PID,
	FILTER_TID,
	FILTER_FD,
	FILTER_PATH,
	FILTER_ERRNO,
	FILTER_FAILED,
	FILTER_SIGNAL,
	FILTER_KIND,
	FILTER_TIME,
	FILTER_NUMBER,
	FILTER_DUR,
	FILTER_CLASS,
	FILTER_KEY_MAX_
};

struct filter_range {
	uint64_t lo, hi;
};

struct filter_term {
	enum filter_key key;
	bool negated;
	size_t offset, length;
	char *value; /* owned; of text and path: what is looked for. Text is in lower case in `lower` */
	char *lower; /* owned */
	struct filter_range *range; /* owned: thread, pid, tid, fd, errno, signal, time, number, dur */
	size_t n_ranges;
	uint64_t mask; /* kind: bits of kinds. class: enum sys_flags */
	uint64_t syscalls[FILTER_SYSCALL_WORDS];
};

struct filter {
	struct filter_term *term; /* owned */
	size_t n;
};

extern const char *const filter_key_names[FILTER_KEY_MAX_];

/* Fills the term by its value. -EINVAL: text says why. */
int filter_value(struct filter_term *t, char text[160]) MUST_CHECK;
bool filter_in_ranges(const struct filter_term *t, uint64_t v);

#endif
