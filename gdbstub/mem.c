/* m, x, M, X, qSearch:memory, qCRC: the guest's memory. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_CHUNK (1u << 20)
#define SEARCH_PATTERN_MAX 65536u
#define CRC_BYTES_MAX (1ull << 30)

/* "ADDR,LEN" */
static int get_range(struct view *v, uint64_t *ret_addr, uint64_t *ret_len)
{
	if (rsp_get_hex(v, ret_addr) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, ret_len) < 0)
		return ERR_PROTOCOL;
	return 0;
}

/* Up to len bytes in *ret (owned by the caller). */
static int read_some(struct stub *s, struct view *v, void **ret, size_t *ret_n)
{
	uint64_t addr, len;
	int r = get_range(v, &addr, &len);
	void *p;

	if (r < 0 || view_left(v))
		return r < 0 ? r : ERR_PROTOCOL;
	len = MIN(len, (uint64_t)STUB_DATA_MAX);
	p = malloc(len ? (size_t)len : 1);
	if (!p)
		return -ENOMEM;
	stub_divert_read(s);
	*ret_n = len ? dbg_read(s->d, addr, p, (size_t)len) : 0;
	*ret = p;
	return *ret_n || !len ? 0 : -EFAULT;
}

int stub_mem_read(struct stub *s, struct view *v)
{
	void *p CLEANUP(freep) = NULL;
	size_t n;
	int r = read_some(s, v, &p, &n);

	if (r < 0)
		return r;
	rsp_put_hex(&s->reply, p, n);
	return 0;
}

/* Two dialects: gdb puts a 'b' before the bytes, lldb does not and asks with length 0 whether it is there. */
int stub_mem_binary(struct stub *s, struct view *v)
{
	void *p CLEANUP(freep) = NULL;
	size_t n;
	int r;

	if (!s->c.binary_upload && !s->c.lldb)
		return 0;
	r = read_some(s, v, &p, &n);
	if (r < 0)
		return r;
	if (s->c.binary_upload)
		stub_puts(s, "b");
	else if (!n)
		stub_puts(s, "OK");
	buf_put(&s->reply, p, n);
	return 0;
}

/* --- writing: refused but for calls of functions --- */

static int write_bytes(struct stub *s, uint64_t addr, const void *p, size_t n)
{
	void *now CLEANUP(freep) = malloc(n ? n : 1);
	int r;

	if (!now)
		return -ENOMEM;
	/* an empty write asks whether this packet is known */
	if (!n || (dbg_read(s->d, addr, now, n) == n && memcmp(now, p, n) == 0)) {
		stub_puts(s, "OK");
		return 0;
	}
	if (!stub_divert_write(s, stub_general(s, &(struct view){ 0 }), false, addr))
		return 0;
	r = dbg_write(s->d, addr, p, n);
	if (r < 0)
		return r;
	stub_puts(s, "OK");
	return 0;
}

int stub_mem_write(struct stub *s, struct view *v)
{
	struct buf bytes CLEANUP(buf_done) = { 0 };
	uint64_t addr, len;
	int r = get_range(v, &addr, &len);

	if (r < 0 || !rsp_get_char(v, ':'))
		return ERR_PROTOCOL;
	r = rsp_get_bytes(v, &bytes);
	if (r < 0 || bytes.len != len)
		return r < 0 ? r : ERR_PROTOCOL;
	return write_bytes(s, addr, bytes.data, bytes.len);
}

int stub_mem_write_binary(struct stub *s, struct view *v)
{
	uint64_t addr, len;
	int r = get_range(v, &addr, &len);

	if (r < 0 || !rsp_get_char(v, ':') || view_left(v) != len)
		return ERR_PROTOCOL;
	return write_bytes(s, addr, v->p, (size_t)len);
}

/* --- looking through it --- */

/* Chunks overlap by the pattern's length less one. Pages that are not there are skipped mapping by mapping. 1 found, 0 not, -ENOMEM, ERR_INTERRUPTED. */
static int search(struct stub *s, uint64_t addr, uint64_t len, const struct view *pattern, uint64_t *ret)
{
	size_t n = view_left(pattern);
	uint64_t end = addr + len < addr ? UINT64_MAX : addr + len;
	uint8_t *chunk CLEANUP(freep) = malloc(SEARCH_CHUNK);

	if (!chunk)
		return -ENOMEM;
	while (addr < end && end - addr >= n) {
		const struct mapping *m = aspace_next(dbg_aspace(s->d), addr);
		const uint8_t *hit;
		size_t got;

		if (!m || m->start >= end)
			return 0;
		addr = MAX(addr, m->start);
		got = dbg_read(s->d, addr, chunk, (size_t)MIN((uint64_t)SEARCH_CHUNK, end - addr));
		hit = got >= n ? memmem(chunk, got, pattern->p, n) : NULL;
		if (hit) {
			*ret = addr + (uint64_t)(hit - chunk);
			return 1;
		}
		if (stub_tick(s, NULL))
			return ERR_INTERRUPTED;
		/* fewer bytes than asked for: a page that is not there follows */
		addr = got == SEARCH_CHUNK ? addr + got - n + 1 : ALIGN_UP(addr + got + 1, 4096ull);
		if (!addr)
			return 0;
	}
	return 0;
}

int stub_search(struct stub *s, struct view *v)
{
	uint64_t addr, len, at;
	int r;

	if (rsp_get_hex(v, &addr) < 0 || !rsp_get_char(v, ';') || rsp_get_hex(v, &len) < 0 || !rsp_get_char(v, ';') || !view_left(v))
		return ERR_PROTOCOL;
	if (view_left(v) > SEARCH_PATTERN_MAX)
		return ERR_LIMIT;
	stub_divert_read(s);
	r = search(s, addr, len, v, &at);
	if (r < 0)
		return r;
	if (r)
		buf_printf(&s->reply, "1,%llx", (unsigned long long)at);
	else
		stub_puts(s, "0");
	return 0;
}

/* CRC-32, polynomial 0x04c11db7, most significant bit first, from all ones: what gdb's compare-sections reckons. */
static uint32_t crc_add(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n; n--, p++) {
		crc ^= (uint32_t)*p << 24;
		for (int bit = 0; bit < 8; bit++)
			crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7u : 0);
	}
	return crc;
}

int stub_crc(struct stub *s, struct view *v)
{
	uint8_t chunk[4096];
	uint64_t addr, len;
	uint32_t crc = UINT32_MAX;
	int r = get_range(v, &addr, &len);

	if (r < 0)
		return r;
	if (len > CRC_BYTES_MAX)
		return ERR_LIMIT;
	stub_divert_read(s);
	while (len) {
		size_t want = (size_t)MIN(len, (uint64_t)sizeof(chunk));

		if (dbg_read(s->d, addr, chunk, want) != want)
			return -EFAULT;
		crc = crc_add(crc, chunk, want);
		addr += want;
		len -= want;
		if (!(addr & 0xfffff) && stub_tick(s, NULL))
			return ERR_INTERRUPTED;
	}
	buf_printf(&s->reply, "C%x", crc);
	return 0;
}
