/* A stream (events or data) as a row of frames, read through a source, raw or sealed alike.
 *
 * Positions are event numbers in the event stream and byte offsets in the data stream. The table of frames comes from the
 * recording's `index` when there is a good one, else heads are read one after the other, only as far as needed. Nothing that
 * is read is believed before its checksum and its place in the row agree.
 */
#ifndef STORE_STREAM_PRIV_H
#define STORE_STREAM_PRIV_H

#include <stdbool.h>
#include "base/buf.h"
#include "store/format_priv.h"
#include "store/source_priv.h"
#include "store/store.h"

enum stream_kind { STREAM_EVENTS, STREAM_DATA };

/* A frame in memory. Zeroed is a valid empty one. */
struct frame {
	struct frame_head head;
	uint64_t offset; /* of its head in the stream */
	struct buf bytes; /* head and payload */
};

enum stream_end {
	STREAM_END_NONE, /* not reached yet */
	STREAM_END_CLEAN, /* behind a whole frame */
	STREAM_END_CUT, /* in the middle of a frame */
	STREAM_END_BAD, /* at bytes that are no frame */
};

struct stream {
	enum stream_kind kind;
	const char *name; /* of the file, for errors; owned */
	struct source *source;
	struct index_entry *entries;
	size_t n, cap;
	bool from_index; /* entries came from the index file and are complete */
	uint64_t scan_off; /* where the next head is expected */
	uint64_t size; /* of the source when last asked */
	uint64_t bad_off, bad_size; /* a frame there had a bad payload, when the source was so large; 0 = none */
	uint64_t strict_below; /* a bad frame that should hold positions below this is corruption; else it is the end */
	enum stream_end end; /* what the scan last met at scan_off */
	uint64_t base; /* position of the first frame: 1 or 0 */
	uint8_t id[16];
	uint64_t start_wall_ns;
};

/* Checks the head of the stream. Takes over source, on failure too. name is copied. id NULL = any recording's.
 * ERR_CORRUPT, ERR_NEWER_FORMAT, ERR_TRUNCATED (too short for a head). */
int stream_init(struct stream *st, enum stream_kind kind, const char *name, struct source *source, const struct store_id *id,
		struct errinfo *ei) MUST_CHECK;
void stream_done(struct stream *st); /* for CLEANUP too; fine on a zeroed struct */
/* Takes the table from an index file (entries copied after a check of their order); -EINVAL if it makes no sense. */
int stream_use_index(struct stream *st, const struct index_entry *entries, size_t n) MUST_CHECK;
/* Loads the frame that holds position pos. 1, or 0 when the stream ends before it, or an error with ei. */
int stream_load(struct stream *st, uint64_t pos, struct frame *f, struct errinfo *ei) MUST_CHECK;
/* Position behind the last frame. Reads all heads on first use, and again behind the known end if the stream has grown.
 * Payloads are not read, but for the last. */
int stream_count(struct stream *st, uint64_t *ret, struct errinfo *ei) MUST_CHECK;
/* The same, with every payload checked. */
int stream_count_checked(struct stream *st, uint64_t *ret, struct errinfo *ei) MUST_CHECK;
/* True when positions below pos are known to be there (as far as heads tell). */
int stream_reaches(struct stream *st, uint64_t pos, struct errinfo *ei) MUST_CHECK;
/* Bytes of whole frames, head included, after stream_count(). */
uint64_t stream_good_bytes(const struct stream *st);

uint64_t frame_end(const struct frame *f); /* position behind it */
const uint8_t *frame_payload(const struct frame *f);
void frame_done(struct frame *f);

/* Fills in checksums. */
void frame_head_seal(struct frame_head *h, const void *payload);
void stream_head_fill(struct stream_head *h, enum stream_kind kind, const uint8_t id[16], uint64_t start_wall_ns);
void store_id_bytes(const struct store_id *id, uint8_t ret[16]);

#endif
