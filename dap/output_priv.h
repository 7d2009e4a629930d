/* The pieces behind output.c: texts (pure), and the child that knows which line wrote what. */
#ifndef DAP_OUTPUT_PRIV_H
#define DAP_OUTPUT_PRIV_H

#include "dap/dap_priv.h"

/* Of n bytes: how many at the end are the beginning of a UTF-8 character whose rest may follow (0..3). Pure. */
size_t output_tail(const uint8_t *p, size_t n);

/* Bytes of one stream that wait for the rest of their character. */
struct output_rest {
	uint8_t byte[4];
	unsigned n;
};

/* A JSON string of what waited and n bytes more; an unfinished character at the end waits, unless `last`. What is no UTF-8 becomes U+FFFD. New reference, NULL without
 * memory. Pure. */
json_t *output_string(struct output_rest *rest, const void *p, size_t n, bool last);

/* --- origin.c --- */

/* Asks a child (hermit session inspect) for the stacks of events. Nothing here waits. */
struct origins;

int origins_new(struct dap *d, struct origins **ret) MUST_CHECK;
void origins_free(struct origins *o);
/* Where was the program when that event of that thread happened? */
int origins_ask(struct origins *o, uint64_t event, uint32_t thread) MUST_CHECK;
/* Nobody waits for the answer any more. */
void origins_cancel(struct origins *o, uint64_t event);
/* Takes what has come; answer is called for each: frames (array, borrowed) is NULL when it failed. ERR_GUEST_GONE: the child has ended. */
int origins_read(struct origins *o, void (*answer)(void *ctx, uint64_t event, const json_t *frames), void *ctx) MUST_CHECK;
/* The first frame of the program's own source: of its file, else of any whose source can be had. Borrowed; NULL: none. Pure. */
const json_t *origins_choose(const json_t *frames, const char *program);

#endif
