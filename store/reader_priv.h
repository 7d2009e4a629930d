/* Opening the streams of a recording by directory: for reader, verify, seal, recover and import. */
#ifndef STORE_READER_PRIV_H
#define STORE_READER_PRIV_H

#include "store/manifest.h"
#include "store/reader.h"
#include "store/stream_priv.h"

/* The streams of the recording in dir as its manifest says they are stored (journals or .xz). Of an open recording, or one with
 * `salvage`, bad frames are the end and no corruption. Streams are zeroed on failure. */
int recording_open_streams(const char *dir, const struct manifest *m, bool salvage, struct stream *events, struct stream *data,
			   struct errinfo *ei) MUST_CHECK;
/* A reader of what lies in dir; s may be NULL. */
int store_reader_open_at(struct store *s, const char *dir, struct store_reader **ret, struct errinfo *ei) MUST_CHECK;

#endif
