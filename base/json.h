/* What jansson leaves to its users: ownership, typed access with errors, bounded parsing.
 * Names begin with jsonx_ because json_ is jansson's. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include "base/err.h"

/* For CLEANUP: drops the reference; NULL is fine. */
void jsonx_unrefp(json_t **j);

/* Parses one whole JSON text; duplicate members and trailing text are errors. ERR_CORRUPT with line and column in ei,
 * also for what is nested deeper than JSON_DEPTH_MAX; ERR_LIMIT above JSON_TEXT_MAX. New reference. */
int jsonx_parse(const char *text, size_t len, json_t **ret, struct errinfo *ei) MUST_CHECK;
/* The same, but strings may hold \u0000, which json_string_length() tells of: for those who have to answer whoever sends it. */
int jsonx_parse_nul(const char *text, size_t len, json_t **ret, struct errinfo *ei) MUST_CHECK;
/* Reads and parses a file; ei names it. */
int jsonx_load_file(const char *path, size_t max, json_t **ret, struct errinfo *ei) MUST_CHECK;
/* Text of j (flags: JSON_INDENT(2), JSON_COMPACT, ...), NUL-terminated, owned by the caller. ret_len may be NULL. */
int jsonx_dump(const json_t *j, size_t flags, char **ret, size_t *ret_len) MUST_CHECK;

/* Members of an object. -ENOENT: not there or null; ERR_CORRUPT: other type or out of range (also when obj is no object).
 * Results are borrowed from obj. */
int jsonx_get_str(const json_t *obj, const char *key, const char **ret) MUST_CHECK;
int jsonx_get_u64(const json_t *obj, const char *key, uint64_t *ret) MUST_CHECK;
int jsonx_get_i64(const json_t *obj, const char *key, int64_t *ret) MUST_CHECK;
int jsonx_get_bool(const json_t *obj, const char *key, bool *ret) MUST_CHECK;
int jsonx_get_array(const json_t *obj, const char *key, json_t **ret) MUST_CHECK;
int jsonx_get_object(const json_t *obj, const char *key, json_t **ret) MUST_CHECK;

/* Set a member; -ENOMEM, or -EINVAL for text that is not UTF-8 and integers above INT64_MAX. */
int jsonx_set_str(json_t *obj, const char *key, const char *s) MUST_CHECK;
int jsonx_set_u64(json_t *obj, const char *key, uint64_t v) MUST_CHECK;
int jsonx_set_i64(json_t *obj, const char *key, int64_t v) MUST_CHECK;
int jsonx_set_bool(json_t *obj, const char *key, bool v) MUST_CHECK;
/* Takes over the reference v, also on failure; NULL (a failed constructor) gives -ENOMEM. */
int jsonx_set_new(json_t *obj, const char *key, json_t *v) MUST_CHECK;
/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. New reference, NULL when out of memory. */
json_t *jsonx_string_lossy(const char *s, size_t n);
/* The same of a C string; NULL gives null. */
json_t *jsonx_text(const char *s);
/* A count: what is more than readers of JSON keep exactly (2^53 - 1) is cut to that. New reference, NULL when out of memory. */
json_t *jsonx_count(uint64_t v);
/* A wall time as buf_put_rfc3339() prints it; 0 gives null. New reference, NULL when out of memory. */
json_t *jsonx_time(uint64_t wall_ns);

/* A string of any bytes that is read back as it was: what is not UTF-8 becomes {"hex": "..."}. New reference, NULL when out of memory. */
json_t *jsonx_bytes(const char *s);
/* Owned string. ERR_CORRUPT: it is nothing that jsonx_bytes() gives. */
int jsonx_bytes_value(const json_t *j, char **ret) MUST_CHECK;
/* The same for NULL-terminated lists; ERR_LIMIT for more than max. */
json_t *jsonx_strings(char *const *v);
int jsonx_strings_value(const json_t *a, size_t max, char ***ret) MUST_CHECK;
void jsonx_strings_free(char **v);

#endif
