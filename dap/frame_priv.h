/* Framing of DAP: header lines with a Content-Length, an empty line, a JSON text of so many bytes. Pure. */
#ifndef DAP_FRAME_PRIV_H
#define DAP_FRAME_PRIV_H

#include "base/json.h"
#include "base/buf.h"

#define FRAME_HEAD_MAX 4096u
#define FRAME_BODY_MAX (16u << 20)

/* What came from the client and was not taken yet. */
struct frame_in {
	struct buf b;
	size_t taken; /* bytes of b that are done with */
};

void frame_in_done(struct frame_in *f); /* for CLEANUP too */
void frame_put(struct frame_in *f, const void *p, size_t n);
/* The next message, if it is whole: 1 and a new reference; 0: more bytes are needed. ERR_PROTOCOL: what came is no framing, nothing behind it can be
 * understood. ERR_CORRUPT: the frame held no JSON object; it is skipped and the next call goes on. ERR_LIMIT: longer than FRAME_BODY_MAX. -ENOMEM. */
int frame_next(struct frame_in *f, json_t **ret, struct errinfo *ei) MUST_CHECK;
/* Appends msg with its header. */
int frame_write(const json_t *msg, struct buf *out) MUST_CHECK;

#endif
