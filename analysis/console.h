/* What the recorded program wrote to its stdout and stderr: which events did, and the bytes.
 *
 * Two bits are kept for each event, so that any place is found at once however long the recording is. */
#ifndef ANALYSIS_CONSOLE_H
#define ANALYSIS_CONSOLE_H

#include <stdbool.h>
#include "store/reader.h"

enum console_stream { CONSOLE_OUT = 1, CONSOLE_ERR = 2, CONSOLE_BOTH = 3 };

struct console;

int console_new(struct console **ret) MUST_CHECK;
void console_free(struct console *c);
/* Each event in order, from the first. */
void console_see(struct console *c, const struct event *ev);
/* The first event after `after` that wrote to one of the streams (bits of enum console_stream), 0 = none so far. */
uint64_t console_next(const struct console *c, uint64_t after, unsigned streams);
/* Bytes written by what was seen, 0 for a stream that was not used. */
uint64_t console_bytes(const struct console *c, enum console_stream s);
/* False when events beyond limits.h, or without memory, were passed over. */
bool console_complete(const struct console *c);

/* What one event wrote. */
struct console_chunk {
	uint64_t event, time_ns, bytes; /* bytes: as many as were written */
	uint32_t thread;
	enum console_stream stream;
};
/* Reads event n, which console_next() gave. Appends what the recording has of its bytes from `skip` on, at most max of them: it has all unless
 * it was made before format 1.2 or printed more than recorders keep (then the beginning). */
int console_read(struct store_reader *r, uint64_t n, uint64_t skip, size_t max, struct console_chunk *ret, struct buf *out, struct errinfo *ei) MUST_CHECK;

#endif
