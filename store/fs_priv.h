/* What the store needs from a file system beyond base/os.h. */
#ifndef STORE_FS_PRIV_H
#define STORE_FS_PRIV_H

#include <stdbool.h>
#include <sys/stat.h>
#include "base/err.h"

struct errinfo;

/* Calls fn for each name in a directory but "." and ".."; a nonzero return of fn stops and is given back. */
typedef int (*fs_name_fn)(void *ctx, const char *name);
int fs_each_name(const char *dir, fs_name_fn fn, void *ctx) MUST_CHECK;
/* flock(); ERR_BUSY when somebody else holds it and `wait` is false. */
int fs_lock(int fd, bool exclusive, bool wait) MUST_CHECK;
void fs_unlock(int fd);
/* Opens (creating) and locks dir/name without waiting, and makes sure that the file locked is still the one of that name. */
int fs_lock_file(const char *dir, const char *name, bool exclusive, int *ret_fd) MUST_CHECK;
int fs_stat(const char *path, struct stat *ret) MUST_CHECK;
int fs_lstat(const char *path, struct stat *ret) MUST_CHECK;
bool fs_exists(const char *path);
/* A directory itself, not a link to one. */
bool fs_is_dir(const char *path);
/* Removes a directory and the files in it; directories one level down too. A link is removed, not what it leads to. -ENOENT if it is not there. */
int fs_remove_dir(const char *dir) MUST_CHECK;
/* fsync() of a directory, so that renames in it last. File systems that cannot are no error. */
int fs_sync_dir(const char *dir) MUST_CHECK;
/* Replaces path atomically for whoever reads it, without waiting for the disk as os_write_file_atomic() does. */
int fs_replace_file(const char *path, const void *p, size_t n) MUST_CHECK;
/* Unlinks; not being there is fine. */
int fs_unlink_quiet(const char *path) MUST_CHECK;
/* n random bytes. */
int fs_random(void *p, size_t n) MUST_CHECK;

#endif
