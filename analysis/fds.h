/* What descriptors and paths of calls mean: the tables of descriptors of all processes, followed event by event from the first on.
 *
 *     fds_new() - for each event in order: fds_event() - fds_free()
 *
 * It knows what a recording shows: opening, duplicating, closing, exec (close-on-exec), fork and threads (CLONE_FILES, CLONE_FS), chdir. It does
 * not know what was open when the recording began, nor what came through sockets. */
#ifndef ANALYSIS_FDS_H
#define ANALYSIS_FDS_H

#include "analysis/names.h"
#include "store/reader.h"

enum fds_kind {
	FDS_UNKNOWN, /* nothing is known of it, maybe not even whether it is open */
	FDS_FILE,    /* name is its path */
	FDS_SOCKET,
	FDS_PIPE,
	FDS_OTHER,   /* eventfd, epoll, ...: name says "[eventfd]" */
};

struct fds_info {
	uint64_t object; /* the event that opened it, times 2 (plus 1: the second one of a pipe or pair): duplicates have the same; 0 = not known */
	uint32_t name;   /* in the names given to fds_new(); 0 = none */
	uint8_t kind;    /* enum fds_kind */
	bool cloexec;
};

#define FDS_REFS 2

/* What one event refers to. The second half of a call refers to the same as the first one. */
struct fds_refs {
	bool call;       /* it is a call, or a half of one; the following members are only valid then */
	bool ended;      /* ... and its result is known */
	uint32_t sysno;
	uint64_t args[6]; /* of the whole call, zeros when its entry was not seen */
	int64_t result;
	uint32_t path[FDS_REFS]; /* path arguments in their order, as absolute paths where that is known */
	struct {
		int fd; /* -1: there is none */
		struct fds_info info;
	} fd[FDS_REFS];  /* descriptors: arguments as they were before the call, then new ones. Of pipes the two of it */
	bool more;       /* there are further descriptors (poll, select, close_range) that are not listed */
};

struct fds;

/* cwd: where the first program began, may be NULL. names: borrowed; all strings go there. */
int fds_new(const char *cwd, struct names *names, struct fds **ret) MUST_CHECK;
void fds_free(struct fds *f);
void fds_freep(struct fds **f);
/* Follows ev, which comes from reader (needed for long paths), and tells what it refers to. -ENOMEM, ERR_LIMIT (too many threads). */
int fds_event(struct fds *f, struct store_reader *reader, const struct event *ev, struct fds_refs *ret) MUST_CHECK;
/* What a thread's descriptor is now. */
struct fds_info fds_get(const struct fds *f, uint32_t thread, int fd);

#endif
