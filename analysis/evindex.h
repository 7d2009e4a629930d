/* An index of the events of a recording: a record of fixed size for each event, with what filters, tables and timelines ask most; and its threads and names. A scan of a million events
 * takes milliseconds, and no event has to be decoded for it.
 *
 * It is made once, in steps of bounded time, and kept in STORE/cache/ID.events (mapped; made anew whenever it does not fit the recording). Of a recording
 * that is being written it grows as that does. Where the store cannot be written the index stays in memory, up to EVINDEX_MEMORY_MAX.
 *
 * Thread-safe: views may be had by any number of threads, steps are made by one at a time. */
#ifndef ANALYSIS_EVINDEX_H
#define ANALYSIS_EVINDEX_H

#include "store/reader.h"

/* Digests of so few events are not kept on disk. */
#define EVINDEX_SMALL 16384u
#define EVINDEX_MEMORY_MAX (128u << 20)

enum evindex_bits {
	EVINDEX_FAILED = 1 << 0,   /* the call ended with the error -result */
	EVINDEX_MORE_FDS = 1 << 1, /* it has descriptors that are not in fd[] */
};

#define EVINDEX_NO_FD (-1)
#define EVINDEX_LARGE_FD (-2) /* one that does not fit */

struct evindex_record {
	uint64_t time_ns;
	int64_t result;    /* SYSCALL, SYSCALL_EXIT: of the call. EXIT: wait status. BIRTH: number of the new thread */
	uint32_t thread;
	uint32_t partner;  /* number of the other half of a call that others ran beside, 0 = none (yet) */
	uint32_t name[3];  /* [0] and [1]: the path arguments; [2]: what is behind fd[0]; [1] without a second path: behind fd[1]. EXEC: [0] the program. NOTE: [0] its text */
	int16_t fd[2];     /* descriptors: arguments, then new ones; a SYSCALL_EXIT has those of its entry as well */
	uint16_t sysno;    /* of calls, EXEC and RESTART. SIGNAL: its number */
	uint16_t flags;    /* enum event_flags */
	uint8_t kind;      /* enum event_kind */
	uint8_t bits;      /* enum evindex_bits */
	uint16_t zero;
	uint32_t offset;   /* store_reader_offset() */
	uint32_t zero2;
};

struct evindex_thread {
	uint32_t number, process; /* process: number of its first thread */
	uint32_t parent;          /* thread that made it, 0 = the first one */
	int32_t pid, tid;
	uint32_t name;            /* its program, or its process's when it was born; 0 = not known */
	uint32_t first, last;     /* events */
	uint64_t start_ns, end_ns; /* end of the last event so far while it runs */
	uint32_t ended;           /* 1: there is its EXIT event */
	int32_t status;           /* then: wait status */
};

struct evindex;

/* What there is at one moment; valid until evindex_release(). Records, names and threads cannot be trusted to agree: the bytes may be a stranger's. */
struct evindex_view {
	const struct evindex_record *record; /* of event number i + 1 */
	uint64_t n;
	const struct evindex_thread *thread; /* in order of birth */
	uint32_t n_threads;
	uint32_t n_names;
	bool finished;    /* that is all there will be */
	uint64_t end_ns;  /* time of the last event */
	const struct evindex *evindex;
};

/* Opens or begins the index of a recording of the store in dir (copied). ERR_NOT_FOUND, ERR_CORRUPT, ... To be given back by evindex_unref(). */
int evindex_open(const char *dir, const struct store_id *id, struct evindex **ret, struct errinfo *ei) MUST_CHECK;
struct evindex *evindex_ref(struct evindex *d);
void evindex_unref(struct evindex *d);
void evindex_unrefp(struct evindex **d);
const struct store_id *evindex_id(const struct evindex *d);
/* Adds what there is more of the recording, until os_mono_ns() is deadline_ns. 1: it has all that can be read now; 0: there is more. Errors are of reading: what there is stays good.
 * ERR_LIMIT: it would be too large. */
int evindex_extend(struct evindex *d, uint64_t deadline_ns, struct errinfo *ei) MUST_CHECK;
/* Bytes of memory that it needs (not of mapped files). */
uint64_t evindex_memory(struct evindex *d);
/* For who has looked at all of it and goes on for long: the pages of its file are given back; they come again when they are looked at. */
void evindex_trim(struct evindex *d);

void evindex_view(struct evindex *d, struct evindex_view *ret);
void evindex_release(const struct evindex_view *v); /* for CLEANUP too */
/* NULL when there is none. */
const struct evindex_record *evindex_at(const struct evindex_view *v, uint64_t number);
const struct evindex_thread *evindex_thread(const struct evindex_view *v, uint32_t number);
const char *evindex_name(const struct evindex_view *v, uint32_t name);
/* The reader gives event `number` next: at once when the index has it, else as store_reader_seek() does. */
int evindex_seek(const struct evindex_view *v, struct store_reader *r, uint64_t number, struct errinfo *ei) MUST_CHECK;
/* From entry to end of a call that others ran beside, 0 when not known. */
uint64_t evindex_duration(const struct evindex_view *v, uint64_t number);

/* Removes indexes of recordings that are not in the store any more, and what is no index of this version. */
void evindex_sweep(const char *dir);

#endif
