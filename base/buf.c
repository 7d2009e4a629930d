/* See buf.h. Growth doubles; BUF_LEN_MAX stops runaway lengths before malloc has to. */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"

/* 10 groups of 7 bits hold 64 */
#define VARINT_BYTES_MAX 10

void buf_init(struct buf *b)
{
	*b = (struct buf){ 0 };
}

void buf_done(struct buf *b)
{
	free(b->data);
	buf_init(b);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

int buf_error(const struct buf *b)
{
	return b->error;
}

/* Makes room for n more bytes without counting them. */
static int buf_reserve(struct buf *b, size_t n)
{
	size_t want, cap;
	uint8_t *p;

	if (b->error)
		return b->error;
	if (n <= b->cap - b->len)
		return 0;
	if (n > BUF_LEN_MAX || b->len + n > BUF_LEN_MAX)
		return b->error = ERR_LIMIT;
	want = b->len + n;
	for (cap = MAX(b->cap, (size_t)64); cap < want;)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p)
		return b->error = -ENOMEM;
	b->data = p;
	b->cap = cap;
	return 0;
}

void *buf_extend(struct buf *b, size_t n)
{
	void *p;

	/* at least one byte, so that success is never NULL */
	if (buf_reserve(b, MAX(n, (size_t)1)) < 0)
		return NULL;
	p = b->data + b->len;
	b->len += n;
	return p;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	void *to = n ? buf_extend(b, n) : NULL;

	if (to)
		memcpy(to, p, n);
}

void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, sizeof(v));
}

/* x86-64 only: the host order is the little-endian order of the formats. */
void buf_put_u16(struct buf *b, uint16_t v)
{
	buf_put(b, &v, sizeof(v));
}

void buf_put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

void buf_put_varint(struct buf *b, uint64_t v)
{
	uint8_t out[VARINT_BYTES_MAX];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)v | 0x80;
	out[n++] = (uint8_t)v;
	buf_put(b, out, n);
}

void buf_put_svarint(struct buf *b, int64_t v)
{
	buf_put_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void buf_put_bytes(struct buf *b, const void *p, size_t n)
{
	buf_put_varint(b, n);
	buf_put(b, p, n);
}

void buf_put_str(struct buf *b, const char *s)
{
	buf_put_bytes(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 && !b->error)
		b->error = -EINVAL;
	/* +1: vsnprintf() writes a NUL, which is not counted */
	if (n >= 0 && buf_reserve(b, (size_t)n + 1) == 0) {
		(void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

const char *buf_cstr(struct buf *b)
{
	if (buf_reserve(b, 1) < 0)
		return "";
	b->data[b->len] = '\0';
	return (const char *)b->data;
}

struct view view_of(const void *p, size_t n)
{
	const uint8_t *b = p;

	return (struct view){ b, b ? b + n : b };
}

size_t view_left(const struct view *v)
{
	return (size_t)(v->end - v->p);
}

int view_get(struct view *v, void *ret, size_t n)
{
	if (n > view_left(v))
		return ERR_TRUNCATED;
	if (n)
		memcpy(ret, v->p, n);
	v->p += n;
	return 0;
}

int view_get_u8(struct view *v, uint8_t *ret)
{
	return view_get(v, ret, sizeof(*ret));
}

int view_get_u16(struct view *v, uint16_t *ret)
{
	return view_get(v, ret, sizeof(*ret));
}

int view_get_u32(struct view *v, uint32_t *ret)
{
	return view_get(v, ret, sizeof(*ret));
}

int view_get_u64(struct view *v, uint64_t *ret)
{
	return view_get(v, ret, sizeof(*ret));
}

int view_get_varint(struct view *v, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte;

		if (i == view_left(v))
			return ERR_TRUNCATED;
		byte = v->p[i];
		/* the tenth byte has room for one bit only */
		if (i == VARINT_BYTES_MAX - 1 && byte > 1)
			return ERR_CORRUPT;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			/* one value, one coding: padding with zero groups is refused */
			if (byte == 0 && i > 0)
				return ERR_CORRUPT;
			v->p += i + 1;
			*ret = value;
			return 0;
		}
	}
	return ERR_CORRUPT;
}

int view_get_svarint(struct view *v, int64_t *ret)
{
	uint64_t u;
	int r = view_get_varint(v, &u);

	if (r == 0)
		*ret = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
	return r;
}

int view_get_bytes(struct view *v, struct view *ret)
{
	struct view w = *v;
	uint64_t n;
	int r = view_get_varint(&w, &n);

	if (r < 0)
		return r;
	if (n > view_left(&w))
		return ERR_TRUNCATED;
	r = view_take(&w, n, ret);
	if (r == 0)
		*v = w;
	return r;
}

int view_take(struct view *v, size_t n, struct view *ret)
{
	if (n > view_left(v))
		return ERR_TRUNCATED;
	*ret = view_of(v->p, n);
	v->p += n;
	return 0;
}
