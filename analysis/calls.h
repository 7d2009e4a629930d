/* System calls as pairs of entry and end, across the events of other threads.
 *
 * Events are shown in order, each once. A call is SYSCALL, or SYSCALL_ENTER or BIRTH (or one after the other) and later SYSCALL_EXIT of the same thread; execve ends with EXEC,
 * exit with EXIT. */
#ifndef ANALYSIS_CALLS_H
#define ANALYSIS_CALLS_H

#include <stdbool.h>
#include "store/reader.h"

struct open_call {
	bool known, open;     /* the thread has been seen; it is inside of a call */
	uint32_t sysno;
	uint64_t event, time_ns; /* of its entry */
	uint64_t args[6];
};

/* By thread number. All-zero is empty. */
struct calls {
	struct open_call *thread; /* owned */
	uint32_t n;
	bool incomplete; /* a thread's number was too large */
};

/* What an event means for calls. */
struct call_step {
	bool begins, ends;   /* a call; both for those that are one event */
	bool returned;       /* ended with a result (not EXEC, EXIT) */
	uint32_t sysno;
	uint64_t args[6];    /* of its entry; zero when that was not seen */
	uint64_t entry;      /* number of the event that began it */
	uint64_t blocked_ns; /* time from entry to end, when other events came between */
	int64_t result;
};

void calls_done(struct calls *c);
/* True when ev begins or ends a call. */
bool calls_see(struct calls *c, const struct event *ev, struct call_step *ret);
/* Copies what the event says was at addr before (INPUT) or after (MEM) the call: at most n bytes, fewer when it says less. */
size_t calls_memory(struct store_reader *r, const struct event *ev, enum effect_kind kind, uint64_t addr, void *buf, size_t n);
/* The words of an EXEC event as a shell would take them, cut at ANALYSIS_TEXT_MAX. Owned; NULL without memory. */
char *calls_command(const struct event *ev);

#endif
