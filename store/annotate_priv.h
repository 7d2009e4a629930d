/* What people and the daemon noted about a recording, in files beside its manifest. */
#ifndef STORE_ANNOTATE_PRIV_H
#define STORE_ANNOTATE_PRIV_H

#include <jansson.h>
#include "store/manifest.h"

#define NAME_ANNOTATIONS "annotations.json"
#define NAME_VERIFIED "verified.json"

/* Lays the annotations in dir over m (label, keep, source). No such file is fine; one that makes no sense is ignored: it must not make a recording unreadable. */
int annotations_apply(const char *dir, struct manifest *m) MUST_CHECK;
/* Of a recording that comes from elsewhere; written before it is published. */
int annotations_begin(const char *dir, const char *source) MUST_CHECK;
/* What the last verification found: when, and the fault (owned; NULL = none). -ENOENT: never verified. */
int verified_load(const char *dir, uint64_t *ret_when_ns, char **ret_error) MUST_CHECK;
/* A file of that kind in dir, if it is a regular one: -ENOENT, ERR_CORRUPT. New reference. */
int annotation_load(const char *dir, const char *name, size_t max, json_t **ret, struct errinfo *ei) MUST_CHECK;
int annotation_save(const char *dir, const char *name, const json_t *j, size_t max) MUST_CHECK;
/* Calls fn with the path of the recording's directory, which is good wherever it is moved (tmp/ID -> ID). lock: nobody else who locks is there meanwhile; it is a
 * lock of the directory itself, as the recording's own is held for hours by recorders and sealers. Gives fn's result; ERR_NOT_FOUND: no such recording, or what was
 * changed is being removed. */
typedef int (*recording_dir_fn)(void *ctx, const char *dir);
int recording_in_dir(struct store *s, const struct store_id *id, bool lock, recording_dir_fn fn, void *ctx) MUST_CHECK;

#endif
