/* The libc calls whose failure hermit must survive, behind a table that tests replace (as sqlite does):
 * everything in store/ and recorder/ that touches files goes through os_*().
 * Each returns the call's result, or a negated errno; EINTR is retried for read/write/open. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <sys/stat.h>
#include <sys/types.h>
#include "base/err.h"

struct os_calls {
	int (*open)(const char *path, int flags, mode_t mode);
	int (*openat)(int dir, const char *path, int flags, mode_t mode);
	ssize_t (*read)(int fd, void *p, size_t n);
	ssize_t (*pread)(int fd, void *p, size_t n, off_t off);
	ssize_t (*write)(int fd, const void *p, size_t n);
	ssize_t (*pwrite)(int fd, const void *p, size_t n, off_t off);
	int (*fsync)(int fd);
	int (*ftruncate)(int fd, off_t len);
	int (*rename)(const char *from, const char *to);
	int (*unlink)(const char *path);
	int (*mkdir)(const char *path, mode_t mode);
	int (*fstat)(int fd, struct stat *st);
	int (*close)(int fd);
	void *(*malloc)(size_t n);
};

/* Replaces the whole table (borrowed); NULL restores libc, and so does a NULL member for its call.
 * Tests only; not thread-safe. */
void os_set_calls(const struct os_calls *calls);

int os_open(const char *path, int flags, mode_t mode) MUST_CHECK; /* adds O_CLOEXEC */
int os_openat(int dir, const char *path, int flags, mode_t mode) MUST_CHECK;
ssize_t os_read(int fd, void *p, size_t n) MUST_CHECK;
ssize_t os_pread(int fd, void *p, size_t n, off_t off) MUST_CHECK;
/* Whole transfers: loop over short ones. read_full returns the bytes got (short only at end of file). */
ssize_t os_read_full(int fd, void *p, size_t n) MUST_CHECK;
ssize_t os_pread_full(int fd, void *p, size_t n, off_t off) MUST_CHECK;
int os_write_full(int fd, const void *p, size_t n) MUST_CHECK;
int os_pwrite_full(int fd, const void *p, size_t n, off_t off) MUST_CHECK;
int os_fsync(int fd) MUST_CHECK;
int os_ftruncate(int fd, off_t len) MUST_CHECK;
int os_rename(const char *from, const char *to) MUST_CHECK;
int os_unlink(const char *path) MUST_CHECK;
int os_mkdir(const char *path, mode_t mode) MUST_CHECK; /* -EEXIST when it is there */
int os_mkdir_p(const char *path, mode_t mode) MUST_CHECK; /* parents too; existing is fine */
int os_fstat(int fd, struct stat *ret) MUST_CHECK;
int os_close(int fd);
void *os_malloc(size_t n);
void *os_calloc(size_t n, size_t size); /* NULL on overflow as well */
char *os_strdup(const char *s);
/* Formatted string in new memory, owned by the caller; NULL when out of memory. */
char *os_asprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Whole file into *ret (NUL-terminated, owned); ERR_LIMIT when larger than max. */
int os_read_file(const char *path, size_t max, char **ret, size_t *ret_len) MUST_CHECK;
/* Opens a regular file for reading, in a directory that strangers may have filled: never waits. ERR_CORRUPT: it is something else, a link too. */
int os_open_regular(const char *path) MUST_CHECK;
/* os_read_file() of such a file. */
int os_read_regular(const char *path, size_t max, char **ret, size_t *ret_len) MUST_CHECK;
/* Writes path atomically: temporary file beside it, fsync, rename. */
int os_write_file_atomic(const char *path, const void *p, size_t n, mode_t mode) MUST_CHECK;
/* CLOCK_MONOTONIC / CLOCK_REALTIME in nanoseconds. */
uint64_t os_mono_ns(void);
uint64_t os_wall_ns(void);
/* CPU time of the calling thread. */
uint64_t os_cpu_ns(void);

#endif
