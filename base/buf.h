/* Growable byte buffer and bounded reading view: the one way bytes are built and parsed.
 *
 * A failed put leaves a sticky error in the buffer (buf_error()); a failed get does not advance the view and
 * returns ERR_TRUNCATED. Integers are little-endian; varints are LEB128, signed ones zigzag-coded. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <sys/types.h>
#include "base/err.h"

struct buf {
	uint8_t *data; /* owned */
	size_t len, cap;
	int error; /* first failure (-ENOMEM, ERR_LIMIT), sticky */
};

void buf_init(struct buf *b);
void buf_done(struct buf *b); /* for CLEANUP too */
void buf_clear(struct buf *b); /* length 0, error 0, keeps the memory */
int buf_error(const struct buf *b);
/* Room for n bytes at the end, uninitialised, counted in len; NULL on failure. */
void *buf_extend(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_varint(struct buf *b, uint64_t v);
void buf_put_svarint(struct buf *b, int64_t v);
/* varint length + bytes */
void buf_put_bytes(struct buf *b, const void *p, size_t n);
void buf_put_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes data a C string (NUL after len, not counted) and returns it; "" on failure. */
const char *buf_cstr(struct buf *b);

struct view {
	const uint8_t *p, *end;
};

struct view view_of(const void *p, size_t n);
size_t view_left(const struct view *v);
int view_get(struct view *v, void *ret, size_t n) MUST_CHECK;
int view_get_u8(struct view *v, uint8_t *ret) MUST_CHECK;
int view_get_u16(struct view *v, uint16_t *ret) MUST_CHECK;
int view_get_u32(struct view *v, uint32_t *ret) MUST_CHECK;
int view_get_u64(struct view *v, uint64_t *ret) MUST_CHECK;
int view_get_varint(struct view *v, uint64_t *ret) MUST_CHECK; /* ERR_CORRUPT when > 10 bytes or overflowing */
int view_get_svarint(struct view *v, int64_t *ret) MUST_CHECK;
/* varint length + bytes, returned as a sub-view that borrows. */
int view_get_bytes(struct view *v, struct view *ret) MUST_CHECK;
/* n bytes as a sub-view. */
int view_take(struct view *v, size_t n, struct view *ret) MUST_CHECK;

#endif
