/* See rsp_priv.h. */
#include "gdbstub/rsp_priv.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

int rsp_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool begins_frame(uint8_t c)
{
	return c == '$' || c == '+' || c == '-' || c == 0x03;
}

/* A packet whose '$' is at p[at]. */
static void scan_packet(const uint8_t *p, size_t n, size_t at, size_t body_max, struct rsp_frame *ret)
{
	const uint8_t *body = p + at + 1, *end = p + n;
	size_t left = (size_t)(end - body);
	const uint8_t *hash = memchr(body, '#', MIN(left, body_max + 1));
	uint8_t sum = 0;
	int hi, lo;

	if (!hash && left > body_max) {
		*ret = (struct rsp_frame){ .kind = RSP_TOO_LONG, .taken = n };
		return;
	}
	if (!hash || end - hash < 3) {
		*ret = (struct rsp_frame){ .kind = RSP_MORE, .taken = at };
		return;
	}
	for (const uint8_t *c = hash; c > body; c--)
		if (c[-1] == '$') {
			body = c;
			break;
		}
	for (const uint8_t *c = body; c < hash; c++)
		sum = (uint8_t)(sum + *c);
	hi = rsp_digit(hash[1]);
	lo = rsp_digit(hash[2]);
	*ret = (struct rsp_frame){
		.kind = hi >= 0 && lo >= 0 && sum == (hi << 4 | lo) ? RSP_PACKET : RSP_BAD,
		.taken = (size_t)(hash + 3 - p),
		.body = { body, hash },
	};
}

void rsp_scan(const uint8_t *p, size_t n, size_t body_max, struct rsp_frame *ret)
{
	size_t at = 0;

	while (at < n && !begins_frame(p[at]))
		at++;
	*ret = (struct rsp_frame){ .kind = RSP_MORE, .taken = at };
	if (at == n)
		return;
	if (p[at] == '$') {
		scan_packet(p, n, at, body_max, ret);
		return;
	}
	ret->kind = p[at] == '+' ? RSP_ACK : p[at] == '-' ? RSP_NAK : RSP_INTERRUPT;
	ret->taken = at + 1;
}

int rsp_unescape(const struct view *body, struct buf *out)
{
	for (const uint8_t *p = body->p; p < body->end; p++) {
		if (*p != '}') {
			buf_put_u8(out, *p);
			continue;
		}
		if (++p == body->end)
			return ERR_PROTOCOL;
		buf_put_u8(out, *p ^ 0x20);
	}
	return buf_error(out);
}

static bool is_special(uint8_t c)
{
	return c == '#' || c == '$' || c == '}' || c == '*';
}

void rsp_put_packet(struct buf *out, const void *body, size_t n)
{
	const uint8_t *p = body;
	uint8_t sum = 0;

	buf_put_u8(out, '$');
	for (size_t i = 0; i < n; i++) {
		uint8_t c = p[i];

		if (is_special(c)) {
			buf_put_u8(out, '}');
			sum = (uint8_t)(sum + '}');
			c ^= 0x20;
		}
		buf_put_u8(out, c);
		sum = (uint8_t)(sum + c);
	}
	buf_put_u8(out, '#');
	buf_put_u8(out, (uint8_t)digits[sum >> 4]);
	buf_put_u8(out, (uint8_t)digits[sum & 15]);
}

void rsp_put_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		uint8_t c = (uint8_t)*s;

		buf_put_u8(out, c < 0x20 || c == 0x7f || is_special(c) ? '.' : c);
	}
}

void rsp_put_hex(struct buf *out, const void *p, size_t n)
{
	const uint8_t *from = p;
	char *to = buf_extend(out, n * 2);

	for (size_t i = 0; to && i < n; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
}

int rsp_get_hex(struct view *v, uint64_t *ret)
{
	const uint8_t *p = v->p;
	uint64_t value = 0;

	for (; p < v->end && rsp_digit(*p) >= 0; p++) {
		if (value >> 60)
			return ERR_PROTOCOL;
		value = value << 4 | (uint64_t)rsp_digit(*p);
	}
	if (p == v->p)
		return ERR_PROTOCOL;
	v->p = p;
	*ret = value;
	return 0;
}

bool rsp_get_char(struct view *v, char c)
{
	if (v->p == v->end || *v->p != (uint8_t)c)
		return false;
	v->p++;
	return true;
}

bool rsp_get_word(struct view *v, const char *word)
{
	size_t n = strlen(word);

	if (view_left(v) < n || memcmp(v->p, word, n) != 0)
		return false;
	v->p += n;
	return true;
}

struct view rsp_get_until(struct view *v, char sep)
{
	const uint8_t *at = v->p < v->end ? memchr(v->p, sep, view_left(v)) : NULL;
	struct view head = { v->p, at ? at : v->end };

	v->p = at ? at + 1 : v->end;
	return head;
}

int rsp_get_bytes(struct view *v, struct buf *out)
{
	size_t n = view_left(v);

	if (n % 2)
		return ERR_PROTOCOL;
	for (const uint8_t *p = v->p; p < v->end; p++)
		if (rsp_digit(*p) < 0)
			return ERR_PROTOCOL;
	for (; v->p < v->end; v->p += 2)
		buf_put_u8(out, (uint8_t)(rsp_digit(v->p[0]) << 4 | rsp_digit(v->p[1])));
	return buf_error(out);
}

bool rsp_is(const struct view *v, const char *text)
{
	return view_left(v) == strlen(text) && memcmp(v->p, text, view_left(v)) == 0;
}
