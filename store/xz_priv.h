/* Writing multi-block .xz files. Reading them is source_xz(). */
#ifndef STORE_XZ_PRIV_H
#define STORE_XZ_PRIV_H

#include <sys/types.h>
#include "base/err.h"

struct xz_encoder;

/* Called with compressed bytes. */
typedef int (*xz_sink_fn)(void *ctx, const void *p, size_t n);

int xz_encoder_new(unsigned preset, xz_sink_fn sink, void *ctx, struct xz_encoder **ret) MUST_CHECK;
void xz_encoder_free(struct xz_encoder *e);
void xz_encoder_freep(struct xz_encoder **e);
int xz_encoder_put(struct xz_encoder *e, const void *p, size_t n) MUST_CHECK;
/* The next byte begins a new block. */
int xz_encoder_end_block(struct xz_encoder *e) MUST_CHECK;
/* Writes block index and footer. Only free may follow. */
int xz_encoder_finish(struct xz_encoder *e) MUST_CHECK;

#endif
