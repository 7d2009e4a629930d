/* Manifests by directory instead of by recording. */
#ifndef STORE_MANIFEST_PRIV_H
#define STORE_MANIFEST_PRIV_H

#include "store/manifest.h"

/* Atomically in any case; durable: it has reached the disk when this returns. */
int manifest_save_at(const char *dir, const struct manifest *m, bool durable) MUST_CHECK;
int manifest_load_at(const char *dir, struct manifest *ret, struct errinfo *ei) MUST_CHECK;

#endif
