/* Work on finished recordings: sealing, verification, export and import.
 *
 * Verification and export wait while the recording is sealed (calling the progress function). All but import end with ERR_INTERRUPTED when somebody
 * removes the recording. */
#ifndef STORE_MAINTAIN_H
#define STORE_MAINTAIN_H

#include "store/store.h"

/* Called from time to time during long work with done and total bytes; a negative return ends the work with that error. NULL is allowed. */
typedef int (*store_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* Compresses the journals into events.xz and data.xz (one .xz block per chunk of frames, decodable by `xz -dc`), writes the index,
 * then removes the journals. Crash-safe at every step; already sealed is success. Truncated recordings keep that state. ERR_BUSY while open. */
int store_seal(struct store *s, const struct store_id *id, store_progress_fn fn, void *ctx, struct errinfo *ei) MUST_CHECK;
/* Checks digests, every frame and event, data ranges and blobs. ERR_CORRUPT/ERR_MISSING_BLOB/ERR_TRUNCATED(state says complete) with the first
 * fault in ei. */
int store_verify(struct store *s, const struct store_id *id, store_progress_fn fn, void *ctx, struct errinfo *ei) MUST_CHECK;
/* One self-contained file (a POSIX ustar/pax tar: ID/manifest.json first, streams, blobs/...): written to and read from a stream (pipes are fine).
 * Import trusts nothing: names, sizes and digests are checked, nothing outside the store is touched, a partial import leaves nothing.
 * When not even the beginning is that of an export, ei has the text IMPORT_NO_EXPORT. */
#define IMPORT_NO_EXPORT "this is no hermit export"
int store_export(struct store *s, const struct store_id *id, int fd, store_progress_fn fn, void *ctx, struct errinfo *ei) MUST_CHECK;
int store_import(struct store *s, int fd, struct store_id *ret, store_progress_fn fn, void *ctx, struct errinfo *ei) MUST_CHECK;

/* What would be free without each of n recordings when they are removed from the last to the first: bytes of its own, and of blobs that none before it
 * needs. One that is not there has 0. Reads all manifests. */
int store_shares(struct store *s, const struct store_id *ids, size_t n, uint64_t *ret) MUST_CHECK;
/* Bytes of all blobs. */
int store_blobs_usage(struct store *s, uint64_t *ret) MUST_CHECK;

/* --- what people and the daemon note about a recording: at any time, also while it is recorded, sealed or verified --- */

/* 1 to 100 bytes of UTF-8, neither '/' nor control characters. */
bool store_label_valid(const char *label);
/* Sets the label (NULL: leave it, "": none) and the mark that retention spares it (-1: leave it). Manifests show them from then on. Atomic; changes
 * by several at once are not lost. -EINVAL: no good label, ERR_NOT_FOUND. */
int store_annotate(struct store *s, const struct store_id *id, const char *label, int keep, struct errinfo *ei) MUST_CHECK;
/* Notes that the recording was verified now: fine (NULL), or what was wrong. For lists (store/catalog.h) and the next integrity scan. */
int store_note_verified(struct store *s, const struct store_id *id, const char *error, struct errinfo *ei) MUST_CHECK;

#endif
