/* Shared by the files of store/: names inside a store and what an open one holds. */
#ifndef STORE_STORE_PRIV_H
#define STORE_STORE_PRIV_H

#include "store/fs_priv.h"
#include "store/store.h"

struct blob_cache;
struct store_blocks;

struct store {
	char *dir;
	int blobs_lock;           /* blobs/lock: shared while a blob is made sure of, exclusive while one is removed. -1 until used */
	struct blob_cache *cache; /* NULL until used */
	struct store_blocks *blocks; /* for readers; NULL: each has its own */
};

#define NAME_MANIFEST "manifest.json"
#define NAME_EVENTS "events.journal"
#define NAME_DATA "data.journal"
#define NAME_EVENTS_XZ "events.xz"
#define NAME_DATA_XZ "data.xz"
#define NAME_INDEX "index"
#define NAME_LOCK "lock"
#define NAME_STOP "stop"       /* in ID: somebody wants to remove it, long work on it ends */
#define NAME_BLOBS "blobs"     /* in tmp/ID: ids of blobs used so far, one line each, so that store_gc() spares them */

/* Directories in tmp/ that are no recordings (yet): being made, being removed, being imported. */
#define PREFIX_NEW "new."
#define PREFIX_REMOVE "rm."
#define PREFIX_IMPORT "import."
/* Files in tmp/ that are about to be renamed. */
#define PREFIX_BLOB "blob."
#define PREFIX_LAST "last."
/* Age after which such a directory, or a temporary blob, belongs to nobody any more. */
#define STALE_SECONDS 3600

/* Blobs whose last use was longer ago than this are touched on use; store_gc() spares those younger than STALE_SECONDS. */
#define BLOB_TOUCH_SECONDS 900

bool store_id_valid(const char *hex);
int store_id_random(struct store_id *ret) MUST_CHECK;
/* DIR/ID and DIR/tmp/ID, owned; NULL when out of memory. */
char *store_done_path(const struct store *s, const struct store_id *id);
char *store_tmp_path(const struct store *s, const struct store_id *id);
/* Makes id the one that `last` names; only_if_newer: unless that began later. That a full disk may prevent it is no loss. */
void store_set_last(struct store *s, const struct store_id *id, bool only_if_newer);
/* How long verification and export wait for a sealer when nobody is asked meanwhile. */
#define MAINTAIN_WAIT_MS 60000
/* Locks DIR/lock. A recording in progress is ERR_BUSY at once; for others, which somebody seals, verifies or exports, it waits: with p
 * as long as p's function likes, else up to wait_ms. */
struct progress;
int recording_lock(struct store *s, const char *dir, bool exclusive, unsigned wait_ms, struct progress *p, int *ret_fd) MUST_CHECK;
/* Moves a locked directory of tmp/ to its place. -EEXIST if the place is taken. */
int store_publish(struct store *s, const char *tmp_path, const struct store_id *id) MUST_CHECK;

/* The path of a blob, owned; NULL when out of memory. */
char *blob_path(const struct store *s, const struct blob_id *id);
/* Holds off removal of blobs. */
int blobs_lock(struct store *s, bool exclusive) MUST_CHECK;
void blobs_unlock(struct store *s);
/* Under blobs_lock(): moves the file at path, whose content is known to have this id, into the blobs; path is gone afterwards.
 * 1 if it is new there, 0 if not. */
int blob_adopt_locked(struct store *s, const char *path, const struct blob_id *id, uint64_t size) MUST_CHECK;
/* Is it there with this size, and safe from store_gc() for the next while? 1 or 0. */
int blob_touch(struct store *s, const struct blob_id *id, uint64_t size) MUST_CHECK;
/* Reads all of fd and hashes it; copies it to out_fd unless that is -1. */
int blob_hash_fd(int fd, int out_fd, struct blob_id *ret, uint64_t *ret_size) MUST_CHECK;

/* Adds the blobs that DIR/blobs names (what a recorder has used so far). No such file is fine; a line cut short is ignored. */
struct idset;
int blob_list_load(const char *dir, struct idset *ret) MUST_CHECK;

/* Room for one more recording in an array of n of them, `each` bytes a piece. -ENOMEM; ERR_LIMIT beyond RECORDINGS_MAX. */
int store_list_room(void **v, size_t *cap, size_t n, size_t each) MUST_CHECK;

#endif
