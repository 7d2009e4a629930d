/* Writes one recording: creates STORE/tmp/ID, appends events and data, commits by rename.
 *
 * The journals are append-only, framed and checksummed; after a crash everything flushed is readable. The writer keeps at most
 * two frames (about 1 MiB) in memory. A failed write (disk full) is sticky: later calls return it and the
 * recording can still be committed as truncated.
 * Frames of data are always written before the frame of events that refers to them.
 * Nothing is fsync()ed here: recordings become durable when they are sealed. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "store/manifest.h"

struct store_writer;

/* Starts a recording with a new random id. m (borrowed for the call) is saved as the first manifest with state RECORDING_OPEN. */
int store_writer_new(struct store *s, const struct manifest *m, struct store_writer **ret, struct errinfo *ei) MUST_CHECK;
/* Without commit: leaves the directory in tmp/ (it will open as truncated). */
void store_writer_free(struct store_writer *w);
const struct store_id *store_writer_id(const struct store_writer *w);
/* Appends an event; sets ev->number. */
int store_writer_event(struct store_writer *w, struct event *ev) MUST_CHECK;
/* Number of the last event written. */
uint64_t store_writer_count(const struct store_writer *w);
/* Makes everything so far readable by others (no fsync). */
int store_writer_flush(struct store_writer *w) MUST_CHECK;
/* The next line that somebody has asked the recorder with (store_ask()), without its newline: 1 and it, 0: none. */
int store_writer_asked(struct store_writer *w, char *ret, size_t size) MUST_CHECK;
/* Bytes of events and data so far. */
uint64_t store_writer_bytes(const struct store_writer *w);
/* Registers a blob the recording needs (deduplicated; ends up in manifest.blobs). */
int store_writer_use_blob(struct store_writer *w, const struct blob_id *id) MUST_CHECK;
/* Flushes, fills streams, counts, digests and blobs into m, saves it with m->state, renames tmp/ID to ID, updates `last`.
 * Nothing else may follow but free. */
int store_writer_commit(struct store_writer *w, struct manifest *m, struct errinfo *ei) MUST_CHECK;
/* Removes the recording instead. */
int store_writer_discard(struct store_writer *w) MUST_CHECK;

#endif
