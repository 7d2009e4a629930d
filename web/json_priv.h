/* Pieces of answers that several handlers give. New references, NULL when out of memory. */
#ifndef WEB_JSON_PRIV_H
#define WEB_JSON_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "store/catalog.h"

/* A string of any bytes; "" and NULL: null. */
json_t *web_json_str(const char *s);
/* Nanoseconds as a decimal string. */
json_t *web_json_ns(uint64_t ns);
/* Adds a member: takes the reference. False when v is NULL or memory is short. */
bool web_json_put(json_t *obj, const char *key, json_t *v);
/* {"kind": "exited", "code": 1}: of a wait status, -1 = unknown. */
json_t *web_json_exit(int status, bool running);
/* The name of the user that this server runs as. */
json_t *web_json_user(void);
/* A recording as lists show it: appended as text (a failure is kept in the buffer), or as an object. */
void web_put_entry(struct buf *b, const struct catalog_entry *e);
json_t *web_json_entry(const struct catalog_entry *e);
/* "sealed", "broken" ...: what lists show as state. */
const char *web_entry_state(const struct catalog_entry *e);
/* "SIGSEGV" into ret. */
void web_signal_name(int signo, char ret[16]);
/* Number of "SIGINT", "INT", "SIGRTMIN+1" or "2"; 0 = there is no such signal. */
int web_signal_number(const char *name);

#endif
