/* Pieces of JSON that several resources have. New references; NULL when out of memory. */
#ifndef WEB_PUT_PRIV_H
#define WEB_PUT_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A count: larger ones than JSON readers keep exactly are cut. */
json_t *json_count(uint64_t v);
/* Bytes of strangers; NULL gives null. */
json_t *json_text(const char *s);
/* Adds a member: takes the reference. False when v is NULL or memory is short. */
bool json_put(json_t *obj, const char *key, json_t *v);

#endif
