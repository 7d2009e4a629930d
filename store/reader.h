/* Reads the events of one recording in order, from any event; raw journals, sealed .xz and cut-off recordings alike. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "store/manifest.h"

struct store_reader;

/* Opens a recording. ERR_NEWER_FORMAT, ERR_CORRUPT with file and offset in ei, ERR_NOT_FOUND. */
int store_reader_open(struct store *s, const struct store_id *id, struct store_reader **ret, struct errinfo *ei) MUST_CHECK;
void store_reader_free(struct store_reader *r);
void store_reader_freep(struct store_reader **r);
const struct manifest *store_reader_manifest(const struct store_reader *r);
struct store *store_reader_store(const struct store_reader *r);
/* 1 and the next event, 0 at the end (also at the cut of a truncated recording: then store_reader_truncated() is true), or an error with ei.
 * *ret_ev and all it points to stay valid until the next call. */
int store_reader_next(struct store_reader *r, const struct event **ret_ev, struct errinfo *ei) MUST_CHECK;
/* Looks at what next() would give without taking it. */
int store_reader_peek(struct store_reader *r, const struct event **ret_ev, struct errinfo *ei) MUST_CHECK;
/* The next event given will be number n (1..count+1). */
int store_reader_seek(struct store_reader *r, uint64_t n, struct errinfo *ei) MUST_CHECK;
/* Where the event given last lies in its frame, and a seek that is told so: it decodes no event before. An offset that is not the one of event n leads to ERR_CORRUPT,
 * or to nonsense. */
uint32_t store_reader_offset(const struct store_reader *r);
int store_reader_seek_at(struct store_reader *r, uint64_t n, uint32_t offset, struct errinfo *ei) MUST_CHECK;
/* Number of readable events (scans frame heads on first use for journals). */
int store_reader_count(struct store_reader *r, uint64_t *ret, struct errinfo *ei) MUST_CHECK;
/* True when the stream ended before EVENT_END. */
bool store_reader_truncated(const struct store_reader *r);
/* Copies n bytes at off of an effect's data (inline or from the data stream). */
int store_reader_data(struct store_reader *r, const struct effect *e, uint64_t off, void *buf, size_t n, struct errinfo *ei) MUST_CHECK;

#endif
