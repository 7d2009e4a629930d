/* Verification of a recording's directory, wherever it is. */
#ifndef STORE_VERIFY_PRIV_H
#define STORE_VERIFY_PRIV_H

#include "store/manifest.h"
#include "store/progress_priv.h"

/* Digests, frames and events of the recording in dir, everything but the content of its blobs. */
int verify_streams(const char *dir, const struct manifest *m, struct progress *p, struct errinfo *ei) MUST_CHECK;

#endif
