/* What people and the daemon noted about a recording, in files beside its manifest. */
#ifndef STORE_ANNOTATE_PRIV_H
#define STORE_ANNOTATE_PRIV_H

#include "store/manifest.h"

#define NAME_ANNOTATIONS "annotations.json"
#define NAME_VERIFIED "verified.json"

/* Lays the annotations in dir over m (label, keep, source). No such file is fine; one that makes no sense is ignored: it must not make a recording unreadable. */
int annotations_apply(const char *dir, struct manifest *m) MUST_CHECK;
/* Of a recording that comes from elsewhere; written before it is published. */
int annotations_begin(const char *dir, const char *source) MUST_CHECK;
/* What the last verification found: when, and the fault (owned; NULL = none). -ENOENT: never verified. */
int verified_load(const char *dir, uint64_t *ret_when_ns, char **ret_error) MUST_CHECK;
/* The directory of a recording, open, wherever it is (tmp/ID, ID). ERR_NOT_FOUND. */
int recording_open_dir(struct store *s, const struct store_id *id) MUST_CHECK;
/* Nobody reaches the directory any more: it is being removed. */
bool recording_is_gone(struct store *s, const struct store_id *id);

#endif
