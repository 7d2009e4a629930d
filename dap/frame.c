/* See frame_priv.h. A head is looked at when it is whole, so the same bytes give the same messages however they arrive. */
#include "dap/frame_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LENGTH_NAME "Content-Length"
#define LENGTH_DIGITS_MAX 12u

void frame_in_done(struct frame_in *f)
{
	buf_done(&f->b);
	f->taken = 0;
}

void frame_put(struct frame_in *f, const void *p, size_t n)
{
	/* not at each message: a burst of small ones would be moved once for each */
	if (f->taken == f->b.len || f->taken > f->b.cap / 2) {
		if (f->taken < f->b.len)
			memmove(f->b.data, f->b.data + f->taken, f->b.len - f->taken);
		f->b.len -= f->taken;
		f->taken = 0;
	}
	buf_put(&f->b, p, n);
}

struct head {
	size_t len;  /* with the empty line; 0 = not whole */
	size_t body;
	bool has_body;
};

/* Narrower than HTTP: JSON without a head is no header then. */
static bool is_name(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z') && !(p[i] >= '0' && p[i] <= '9') && p[i] != '-')
			return false;
	return n > 0;
}

static int parse_length(const char *p, size_t n, struct head *h, struct errinfo *ei)
{
	h->body = 0;
	while (n > 0 && (*p == ' ' || *p == '\t')) {
		p++;
		n--;
	}
	while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	if (n == 0 || n > LENGTH_DIGITS_MAX || h->has_body)
		return errinfo_set(ei, ERR_PROTOCOL, "read a message: %s", h->has_body ? "two lengths" : "its length is no number");
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return errinfo_set(ei, ERR_PROTOCOL, "read a message: its length is no number");
		h->body = h->body * 10 + (size_t)(p[i] - '0');
	}
	h->has_body = true;
	if (h->body > FRAME_BODY_MAX)
		return errinfo_set(ei, ERR_LIMIT, "read a message: %zu bytes are more than %u", h->body, FRAME_BODY_MAX);
	return 0;
}

/* A line "Name: value" without its end. */
static int parse_field(const char *line, size_t n, struct head *h, struct errinfo *ei)
{
	const char *colon = memchr(line, ':', n);
	size_t name = colon ? (size_t)(colon - line) : 0;

	if (!colon || !is_name(line, name))
		return errinfo_set(ei, ERR_PROTOCOL, "read a message: a line of its head is no header");
	if (name != strlen(LENGTH_NAME) || strncasecmp(line, LENGTH_NAME, name) != 0)
		return 0;
	return parse_length(colon + 1, n - name - 1, h, ei);
}

/* Lines may end with \n alone: people type them. */
static int parse_head(const char *p, size_t n, struct head *ret, struct errinfo *ei)
{
	struct head h = { 0 };
	size_t at = 0;

	for (;;) {
		const char *nl = at < n ? memchr(p + at, '\n', MIN(n, (size_t)FRAME_HEAD_MAX) - at) : NULL;
		size_t len;
		int r;

		if (!nl)
			break;
		len = (size_t)(nl - p) - at;
		if (len > 0 && p[at + len - 1] == '\r')
			len--;
		if (len == 0) {
			if (!h.has_body)
				return errinfo_set(ei, ERR_PROTOCOL, "read a message: no " LENGTH_NAME);
			h.len = (size_t)(nl - p) + 1;
			*ret = h;
			return 0;
		}
		r = parse_field(p + at, len, &h, ei);
		if (r < 0)
			return r;
		at = (size_t)(nl - p) + 1; /* at most FRAME_HEAD_MAX: nothing is found behind that */
	}
	if (n >= FRAME_HEAD_MAX)
		return errinfo_set(ei, ERR_PROTOCOL, "read a message: its head is longer than %u bytes", FRAME_HEAD_MAX);
	*ret = (struct head){ 0 };
	return 0;
}

static int parse_body(const char *p, size_t n, json_t **ret, struct errinfo *ei)
{
	CLEANUP(jsonx_unrefp) json_t *j = NULL;
	struct errinfo cause = { 0 };
	/* a request with \u0000 in it is to be answered as well: args.c refuses the string */
	int r = jsonx_parse_nul(p, n, &j, &cause);

	if (r < 0)
		return errinfo_set(ei, r, "read a message: %s", cause.text);
	if (!json_is_object(j))
		return errinfo_set(ei, ERR_CORRUPT, "read a message: no JSON object");
	*ret = TAKE(j);
	return 1;
}

int frame_next(struct frame_in *f, json_t **ret, struct errinfo *ei)
{
	size_t n = f->b.len - f->taken;
	struct head h = { 0 };
	const char *p;
	int r;

	if (buf_error(&f->b))
		return errinfo_set_r(ei, buf_error(&f->b), "read a message");
	if (n == 0)
		return 0;
	p = (const char *)f->b.data + f->taken;
	r = parse_head(p, n, &h, ei);
	if (r < 0)
		return r;
	if (h.len == 0 || n - h.len < h.body)
		return 0;
	f->taken += h.len + h.body;
	return parse_body(p + h.len, h.body, ret, ei);
}

int frame_write(const json_t *msg, struct buf *out)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;
	int r = jsonx_dump(msg, JSON_COMPACT, &text, &len);

	if (r < 0)
		return r;
	buf_printf(out, LENGTH_NAME ": %zu\r\n\r\n", len);
	buf_put(out, text, len);
	return buf_error(out);
}
