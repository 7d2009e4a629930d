/* What a recording consists of: calls by number with errors and waiting, signals, programs, notes. */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include <stdbool.h>
#include "analysis/calls.h"
#include "engine/syscall.h"

struct errno_counts {
	struct errno_count {
		uint32_t error; /* positive */
		uint64_t n;
	} *v; /* owned, by number of error */
	uint32_t n;
};
/* Counts one more. False: there are max others already, or no memory. */
bool errno_counts_add(struct errno_counts *c, uint32_t error, uint32_t max);

struct call_count {
	uint64_t calls, first_event;
	/* calls = executed + answered + refused + open; a recording's events do not tell answered calls from executed ones: but for a few they are in executed.
	 * open: no end was seen (exit, killed inside, the cut). */
	uint64_t executed, answered, refused, open;
	uint64_t errors, blocked_ns;
	struct errno_counts errnos;
};

struct signal_count {
	uint64_t n, handled, fatal, first_event;
};

struct exec_info {
	uint64_t event;
	uint32_t thread;
	char *path, *command; /* owned */
};

struct note_info {
	uint64_t event;
	char *text; /* owned */
};

#define SUMMARY_SIGNALS 65u

/* Plain data, to be read between two events. */
struct summary {
	uint64_t events, calls, children;
	uint64_t kinds[EVENT_MAX_];
	struct call_count call[SYS_TABLE_MAX + 1]; /* the last one: all beyond the table */
	struct signal_count signal[SUMMARY_SIGNALS];
	struct exec_info *exec; /* owned */
	struct note_info *note;
	uint32_t n_execs, n_notes;
	uint64_t last_event, last_ns;
	bool incomplete; /* something was left out: limits.h, memory */
	struct calls open;
};

int summary_new(struct summary **ret) MUST_CHECK;
void summary_free(struct summary *s);
/* Each event in order, from the first. */
void summary_see(struct summary *s, const struct event *ev);

#endif
