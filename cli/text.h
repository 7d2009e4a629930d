/* How things are shown to people: times, statuses, commands, and strings from strangers made harmless.
 * Sizes, durations and quoting are in base/str.h. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdio.h>
#include "base/buf.h"

/* Local time "2026-11-29 16:05:12"; "-" for 0. */
void text_when(struct buf *out, uint64_t wall_ns);
/* UTC "2026-11-29T16:05:12.123456Z" */
void text_when_utc(struct buf *out, uint64_t wall_ns);
/* Of a wait status: "exit 0", "SIGSEGV", "?" for -1. */
void text_status(struct buf *out, int status);
/* NULL-terminated words, shell-quoted, joined by blanks, made harmless as by text_safe(). NULL = nothing. */
void text_command(struct buf *out, char *const *argv);
/* buf_put_safe(). */
void text_safe(struct buf *out, const char *s);
/* Prints words wrapped at width, continuation lines indented; '\n' in text is kept; ends with a newline. The first line is taken to
 * begin at column `indent`. */
void text_wrap(FILE *f, const char *text, unsigned indent, unsigned width);

#endif
