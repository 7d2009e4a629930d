/* JSON as the commands print it: 64-bit numbers are strings (JavaScript and others would round them), bytes that are no text become
 * U+FFFD, one object per line. A member that could not be added (out of memory) makes the whole object unusable: js_print() says so. */
#ifndef CLI_JS_H
#define CLI_JS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/err.h"

struct js {
	json_t *obj; /* owned */
	bool failed;
};

void js_init(struct js *j);
void js_done(struct js *j); /* for CLEANUP too */
void js_str(struct js *j, const char *key, const char *s); /* NULL gives null */
void js_u64(struct js *j, const char *key, uint64_t v);    /* as a string */
void js_i64(struct js *j, const char *key, int64_t v);     /* as a string */
void js_hex(struct js *j, const char *key, uint64_t v);    /* "0x1f" */
void js_int(struct js *j, const char *key, int v);         /* as a number */
void js_bool(struct js *j, const char *key, bool v);
void js_null(struct js *j, const char *key);
/* Takes over v; NULL marks the object as failed. */
void js_take(struct js *j, const char *key, json_t *v);
/* NULL-terminated array of strings (NULL gives []). */
void js_strv(struct js *j, const char *key, char *const *v);
/* Of a wait status: "exit_code" and "signal", one a number or name, the other null; both null for -1. */
void js_status(struct js *j, int status);
/* The object, owned by the caller; NULL when it failed. */
json_t *js_steal(struct js *j);
/* Makes strings of all integers below v whose member names are listed (NULL-terminated). 0 or -ENOMEM. */
int js_stringify(json_t *v, const char *const *names) MUST_CHECK;
/* Prints one line of JSON; 0 or -ENOMEM. */
int js_print(FILE *f, const json_t *v) MUST_CHECK;

#endif
