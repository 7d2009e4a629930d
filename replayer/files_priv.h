/* What a recording knows about files, names and /proc: for dbg_file_open(), dbg_proc_file(), dbg_exe() and thread names.
 *
 * An index of the recording's events, made as far as somebody asks: by a reader of its own, or from the events that a replay
 * passes (rep_files_saw()). It holds what does not stand in a session: paths of mappings and their contents, programs and their
 * initial stacks, births, ends and names of threads. All answers are for a number of replayed events, so they are right after
 * going backwards too. Its memory has limits (files_index.c): behind them new facts are not taken up.
 *
 * Recordings are data from strangers: a bad one gives wrong names or ERR_NOT_FOUND. Nothing outside of the store is opened. */
#ifndef REPLAYER_FILES_PRIV_H
#define REPLAYER_FILES_PRIV_H

#include "base/buf.h"
#include "engine/aspace.h"
#include "store/reader.h"

struct rep_files;

/* The place that a question is about. */
struct rep_files_view {
	uint64_t events;         /* so many are replayed */
	uint32_t process;        /* number of its first thread */
	const struct aspace *as; /* "maps" and sizes in "status" need it; NULL = no process then (ERR_NOT_FOUND) */
	uint64_t sp;             /* stack pointer of its first thread: the stack may have grown down to it; 0 = not known */
	bool (*in_call)(void *ctx, uint32_t thread); /* state of a thread; NULL: all run */
	void *ctx;
};

/* For the recording that r reads; r is not kept. */
int rep_files_new(const struct store_reader *r, struct rep_files **ret, struct errinfo *ei) MUST_CHECK;
void rep_files_free(struct rep_files *f); /* NULL is fine */
/* Optional: an event that a replay has read. Events are taken up when they are the next one; then the index need not read them again. */
void rep_files_saw(struct rep_files *f, const struct event *ev);

/* See dbg_file_open(). Paths may begin with /proc/PID/root, or be /proc/PID/exe (also self, and task/TID). */
int rep_files_open(struct rep_files *f, const struct rep_files_view *v, const char *path, int *ret_fd) MUST_CHECK;
/* See dbg_proc_file(). Names: auxv cmdline comm cwd (of the exec) environ (of the exec) exe maps stat status, and the same below task/TID/. */
int rep_files_proc(struct rep_files *f, const struct rep_files_view *v, const char *name, struct buf *out) MUST_CHECK;
/* Path of the program, "" = none. Lives as long as f. */
const char *rep_files_exe(struct rep_files *f, const struct rep_files_view *v);
/* Name of a thread, "" = not known. Valid until the next call. */
const char *rep_files_thread_name(struct rep_files *f, uint32_t thread, uint64_t events);

#endif
