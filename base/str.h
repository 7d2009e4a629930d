/* Text that people read and type: shell quoting, sizes, durations, numbers. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include "base/buf.h"

/* Appends s so that a POSIX shell reads it back as one word: plain words stay as they are, others get '...'. "" gives ''. */
void buf_put_shell_quoted(struct buf *b, const char *s);
/* Appends the NULL-terminated argv, quoted and joined by spaces. */
void buf_put_shell_argv(struct buf *b, const char *const *argv);
/* Appends "0 B", "999 B", "1.5 KiB", "12 MiB": three digits at most before the point, one after when below 10. */
void buf_put_size(struct buf *b, uint64_t bytes);
/* Appends "850 ns", "1.2 us", "13 ms", "4.1 s", "3 min 20 s", "2 h 5 min". */
void buf_put_duration(struct buf *b, uint64_t ns);
/* Appends a wall time as RFC 3339 in UTC with milliseconds: "2026-11-30T22:34:53.347Z". Years up to 9999. */
void buf_put_rfc3339(struct buf *b, uint64_t wall_ns);
/* Appends s with control bytes and DEL as \n, \t, \xNN: what strangers named cannot drive a terminal. UTF-8 stays. */
void buf_put_printable(struct buf *b, const char *s);
/* The string with control characters and broken UTF-8 as \xNN: what recordings contain must not steer a terminal. Stricter than
 * buf_put_printable(): also C1 controls (U+009B begins an escape sequence in xterm and VTE) and characters that reorder the line. */
void buf_put_safe(struct buf *b, const char *s);
/* Appends one field of a CSV table (RFC 4180), quoted where it has to be. What strangers named is no formula for the program that opens the table: text
 * that begins with = + - @ or a control character gets a ' in front, but for negative numbers. Bytes that are not UTF-8 stay as they are. */
void buf_put_csv(struct buf *b, const char *s, size_t n);
/* Appends s for use in a URL: all but letters, digits and -._~ as %XX. */
void buf_put_percent(struct buf *b, const char *s);

/* A whole decimal (or 0x...) number, no sign, no blanks: -EINVAL, or -ERANGE when it does not fit. */
int str_parse_u64(const char *s, uint64_t *ret) MUST_CHECK;
int str_parse_i64(const char *s, int64_t *ret) MUST_CHECK;
/* "4096", "64K", "1.5G", "10MiB": binary units K M G T, with optional B or iB. -EINVAL, -ERANGE. */
int str_parse_size(const char *s, uint64_t *ret) MUST_CHECK;
/* "10" and "10s" seconds, "1.5h", "3m" (min), "20ms", "5us", "7ns": nanoseconds. -EINVAL, -ERANGE. */
int str_parse_duration(const char *s, uint64_t *ret_ns) MUST_CHECK;
/* Length of the valid UTF-8 sequence at s (1..4), 0 when it is none. Looks at no byte after a NUL. */
unsigned str_utf8(const char *s);
bool str_has_prefix(const char *s, const char *prefix);
/* FNV-1a of n bytes at p, continuing h (STR_HASH to begin). Not for where strangers gain by collisions. */
#define STR_HASH UINT64_C(0xcbf29ce484222325)
uint64_t str_hash(uint64_t h, const void *p, size_t n);

#endif
