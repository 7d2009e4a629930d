/* Notes inside of the store: as JSON in exports. */
#ifndef STORE_NOTES_PRIV_H
#define STORE_NOTES_PRIV_H

#include <jansson.h>
#include "store/notes.h"

#define NAME_NOTES "notes.json"
#define MEMBER_NOTES "notes" /* of an exported manifest */
/* Largest file: 1000 notes of 4 KiB, each byte escaped. */
#define NOTES_BYTES_MAX (16u << 20)

/* Of the recording in dir. None is fine (n = 0); ERR_CORRUPT. */
int notes_load_at(const char *dir, struct notes *ret, struct errinfo *ei) MUST_CHECK;
int notes_save_at(const char *dir, const struct notes *n) MUST_CHECK;
/* A stranger's array. ERR_CORRUPT, ERR_LIMIT. */
int notes_from_json(const json_t *items, struct notes *ret, struct errinfo *ei) MUST_CHECK;
/* New reference. */
int notes_to_json(const struct notes *n, json_t **ret) MUST_CHECK;

#endif
