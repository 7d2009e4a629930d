/* The bytes on disk: stream heads, frame heads, index. docs/FORMAT.md says the same in prose; change both or none.
 *
 * All integers are little-endian, which is the only byte order this program is built for (see the assertion).
 */
#ifndef STORE_FORMAT_PRIV_H
#define STORE_FORMAT_PRIV_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs below are written as they lie in memory");

#define FORMAT_MAJOR 1
#define FORMAT_MINOR 2

#define STREAM_MAGIC_EVENTS "HERMITEV"
#define STREAM_MAGIC_DATA "HERMITDA"
#define INDEX_MAGIC "HERMITIX"
#define FRAME_MAGIC_EVENTS 0x52464548u /* "HEFR" */
#define FRAME_MAGIC_DATA 0x52464448u   /* "HDFR" */

/* First bytes of events.journal and data.journal. */
struct stream_head {
	char magic[8];
	uint16_t major, minor;
	uint32_t head_size;     /* of this struct; frames start there */
	uint32_t incompat;      /* flags a reader must know: none yet */
	uint32_t compat;        /* flags a reader may ignore: none yet */
	uint8_t id[16];         /* of the recording */
	uint64_t start_wall_ns; /* of the recording */
	uint8_t zero[12];
	uint32_t crc;           /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct stream_head) == 64, "stream head");
static_assert(offsetof(struct stream_head, id) == 24, "stream head id");
static_assert(offsetof(struct stream_head, crc) == 60, "stream head crc");

struct frame_head {
	uint32_t magic;
	uint32_t flags;    /* none yet: must be 0 */
	uint64_t seq;      /* 0, 1, 2, ... in its stream */
	uint64_t first;    /* events: number of the first event. data: offset of the first byte in the data stream */
	uint32_t count;    /* events: how many, at least 1. data: 0 */
	uint32_t raw_len;  /* bytes of payload, at least 1 */
	uint64_t time;     /* events: the times in this frame are deltas that start from here. data: 0 */
	uint64_t data_end; /* events: length of the data stream the frame may refer to. data: first + raw_len */
	uint32_t crc;      /* CRC-32C of the payload */
	uint32_t head_crc; /* CRC-32C of the head before this member */
};
static_assert(sizeof(struct frame_head) == 56, "frame head");
static_assert(offsetof(struct frame_head, first) == 16, "frame head first");
static_assert(offsetof(struct frame_head, head_crc) == 52, "frame head crc");

/* The file `index` of a sealed recording: head, entries of the event stream, entries of the data stream. */
struct index_head {
	char magic[8];
	uint16_t major, minor;
	uint32_t zero;
	uint8_t id[16];
	uint64_t n_events, n_data; /* entries */
	uint64_t events_len, data_len; /* bytes of the two uncompressed streams */
	uint32_t entries_crc;
	uint32_t crc; /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct index_head) == 72, "index head");

struct index_entry {
	uint64_t first;
	uint64_t offset; /* of the frame head in the uncompressed stream */
	uint32_t count, raw_len;
};
static_assert(sizeof(struct index_entry) == 24, "index entry");

#endif
