/* Framing of gdb's remote serial protocol: pure functions over bytes, no descriptors and no state.
 *
 *     $BODY#cs    a packet; cs = sum of the raw body's bytes, two hex digits
 *     + -         got it, send it again
 *     0x03        stop the program
 *
 * Bodies with binary data escape # $ } * as } and the byte ^ 0x20. gdb unescapes only replies that it expects to be binary: see rsp_put_text().
 */
#ifndef GDBSTUB_RSP_PRIV_H
#define GDBSTUB_RSP_PRIV_H

#include <stdbool.h>
#include "base/buf.h"

enum rsp_kind {
	RSP_MORE,      /* more bytes are needed; taken: what can be thrown away already */
	RSP_PACKET,    /* body, still escaped */
	RSP_BAD,       /* a packet with a wrong checksum */
	RSP_TOO_LONG,  /* a packet beyond the limit: its bytes so far are dropped, the rest is skipped as junk */
	RSP_ACK,
	RSP_NAK,
	RSP_INTERRUPT,
};

struct rsp_frame {
	enum rsp_kind kind;
	size_t taken;     /* bytes of the input that this one used, junk before it included */
	struct view body; /* borrowed from the input */
};

/* What the n bytes at p begin with. A '$' inside of a packet begins a new one: the other was cut. body_max: longest raw body. */
void rsp_scan(const uint8_t *p, size_t n, size_t body_max, struct rsp_frame *ret);
/* Appends the body without escapes. ERR_PROTOCOL: it ends in the middle of one. */
int rsp_unescape(const struct view *body, struct buf *out) MUST_CHECK;
/* Appends a packet around the n bytes (escapes, checksum). */
void rsp_put_packet(struct buf *out, const void *body, size_t n);
/* Appends text to a body so that a client that does not unescape shows it right: # $ } * and control bytes become other characters. */
void rsp_put_text(struct buf *out, const char *s);
void rsp_put_hex(struct buf *out, const void *p, size_t n);
/* Value of a hex digit, -1: it is none. */
int rsp_digit(uint8_t c);

/* --- reading packets: they take from v and leave it where it is when they fail --- */

/* A number in hex without sign; ERR_PROTOCOL: none here or more than 64 bits. */
int rsp_get_hex(struct view *v, uint64_t *ret) MUST_CHECK;
/* Takes this character if it is the next. */
bool rsp_get_char(struct view *v, char c);
/* Takes this text if it is next. */
bool rsp_get_word(struct view *v, const char *word);
/* Takes everything up to the separator (which is dropped) or the end. */
struct view rsp_get_until(struct view *v, char sep);
/* The rest as pairs of hex digits, appended as bytes. ERR_PROTOCOL. */
int rsp_get_bytes(struct view *v, struct buf *out) MUST_CHECK;
/* Is all of v this text? */
bool rsp_is(const struct view *v, const char *text);

#endif
