/* The recording store: a directory of recordings and shared blobs.
 *
 *     STORE/last                 id of the newest recording (atomic rename)
 *     STORE/blobs/ab/cdef...     content-addressed files (SHA-256), shared between recordings
 *     STORE/blobs/cache          what stat data a blob's source had, so that unchanged files are not hashed again
 *     STORE/cache/ID.events      what analysis/evindex makes of a recording's events; may be removed at any time
 *     STORE/tmp/ID/              recordings in progress: flock()ed by their recorder through tmp/ID/lock
 *     STORE/ID/                  manifest.json, events.journal, data.journal | events.xz, data.xz, index
 *
 * A recording in tmp/ whose lock is free was cut off: store_recover() turns it into a truncated one.
 * Other names in tmp/ (new.X, rm.X, import.X, blob.X, last.X) are unfinished work of running processes; store_recover() clears
 * away what dead ones left.
 *
 * Everything works for several processes at once on one store. Functions are not thread-safe on one object.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <sys/stat.h>
#include "base/err.h"
#include "store/event.h"

struct store;

#define STORE_ID_LEN 32
struct store_id {
	char hex[STORE_ID_LEN + 1];
};

/* The directory in effect: dir if not NULL, else $HERMIT_DATA_DIR, else $XDG_DATA_HOME/hermit, else $HOME/.local/share/hermit.
 * Owned string; -ENOENT when none can be told. */
int store_default_dir(const char *dir, char **ret) MUST_CHECK;
/* Opens a store. create: makes the directories (0700). Errors name the directory in ei. */
int store_open(const char *dir, bool create, struct store **ret, struct errinfo *ei) MUST_CHECK;
void store_free(struct store *s);
void store_freep(struct store **s);
const char *store_dir(const struct store *s);

/* Resolves what a user typed: a full or abbreviated id (>= 4 digits, dashes allowed), a label (of several recordings with it the newest is
 * meant), or NULL or "last" for the last one. ERR_NOT_FOUND, ERR_AMBIGUOUS (an abbreviation; ei lists candidates). Truncated and open recordings are found too. */
int store_resolve(struct store *s, const char *text, struct store_id *ret, struct errinfo *ei) MUST_CHECK;
/* All recordings, oldest first (open and truncated ones included). Array owned by the caller (free()). */
int store_list(struct store *s, struct store_id **ret, size_t *ret_n) MUST_CHECK;
/* Path of the recording's directory (ID/ or tmp/ID/), owned. */
int store_path(struct store *s, const struct store_id *id, char **ret) MUST_CHECK;
/* Turns recordings in tmp/ that nobody holds into truncated ones (moved to ID/). Number recovered. */
int store_recover(struct store *s) MUST_CHECK;
/* Removes a recording; its blobs stay until store_gc(). Sealing, verification and export of it are asked to stop.
 * ERR_BUSY while it is being recorded, or when those do not stop within seconds. */
int store_remove(struct store *s, const struct store_id *id, struct errinfo *ei) MUST_CHECK;
/* Removes blobs that no manifest names and no recording in progress has used, but none that was used within the hour. Bytes freed, and
 * bytes that nobody needs but that are too young. ret_young may be NULL.
 * Nothing is removed while a manifest cannot be read, since what it needs is not known then: that error is returned. */
int store_gc(struct store *s, uint64_t *ret_bytes, uint64_t *ret_young) MUST_CHECK;
/* Bytes of files: of this recording alone (streams, manifest), and of the blobs it names (which other recordings may share). */
int store_usage(struct store *s, const struct store_id *id, uint64_t *ret_own, uint64_t *ret_blobs) MUST_CHECK;

/* --- blobs --- */

/* Adds the content of the open file fd (its stat is st) and gives its id. Uses the cache: a file whose (dev, ino, size, mtime, ctime)
 * is known, and whose ctime lies at least 2 s before it was hashed, is not read again (unless the blob is gone).
 * Reflink, copy_file_range or copy. ERR_BUSY if the file changed while it was read. */
int store_blob_add_file(struct store *s, int fd, const struct stat *st, struct blob_id *ret) MUST_CHECK;
int store_blob_add(struct store *s, const void *p, size_t n, struct blob_id *ret) MUST_CHECK;
/* Opens a blob read-only; ERR_MISSING_BLOB. */
int store_blob_open(struct store *s, const struct blob_id *id, int *ret_fd) MUST_CHECK;
void blob_id_hex(const struct blob_id *id, char ret[65]);
int blob_id_parse(const char *hex, struct blob_id *ret) MUST_CHECK;
bool blob_id_equal(const struct blob_id *a, const struct blob_id *b);

#endif
