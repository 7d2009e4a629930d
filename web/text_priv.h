/* Texts of HTTP headers. Pure. */
#ifndef WEB_TEXT_PRIV_H
#define WEB_TEXT_PRIV_H

#include <stdbool.h>
#include "base/buf.h"

/* What "Range: bytes=..." asks for of n bytes. 1: *ret_first to *ret_last; 0: the whole (no range, several, other units, not understood); ERR_LIMIT: none
 * of it is there (416). */
int text_range(const char *header, uint64_t n, uint64_t *ret_first, uint64_t *ret_last) MUST_CHECK;
/* Does a list of entity tags ("*", "\"a\", W/\"b\"") name this one (with its quotes)? strong: weak tags of the list do not count. */
bool text_etag_match(const char *list, const char *etag, bool strong);
/* Index of the type that an Accept header prefers among types (NULL-terminated; the first of equals), -1: none of them. NULL header: the first. */
int text_accept(const char *header, const char *const *types);
/* Is that coding accepted (q > 0, by name)? */
bool text_accepts_coding(const char *header, const char *coding);
/* Is it that media type, whatever its parameters? */
bool text_is_type(const char *header, const char *type);
/* Value of a cookie in ret. False: not there or longer than that. */
bool text_cookie(const char *header, const char *name, char *ret, size_t size);
/* Is the name of a Host header ("localhost:7777", "[::1]:7777") one of the list? Case and the port do not matter. */
bool text_host_allowed(const char *header, const char *const *names);
/* Is Origin ("http://localhost:7777") the site that Host names? */
bool text_same_origin(const char *origin, const char *host);
/* May this come as X-Request-Id? */
bool text_is_request_id(const char *s);
/* Appends s as the value of filename= and filename*= of Content-Disposition. */
void text_put_filename(struct buf *b, const char *s);

#endif
