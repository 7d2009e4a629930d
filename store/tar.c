/* See tar_priv.h. POSIX.1-2001 ustar and pax; of GNU's own forms only base-256 sizes are understood. */
#include "store/tar_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/os.h"
#include "store/limits_priv.h"

/* Eleven octal digits */
#define USTAR_SIZE_MAX ((UINT64_C(1) << 33) - 1)

struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
static_assert(sizeof(struct tar_head) == TAR_BLOCK, "ustar head");

size_t tar_padding(uint64_t size)
{
	return (size_t)(-size & (TAR_BLOCK - 1));
}

static unsigned checksum(const struct tar_head *h)
{
	const uint8_t *p = (const uint8_t *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*h); i++) {
		bool in_sum = i >= offsetof(struct tar_head, sum) && i < offsetof(struct tar_head, type);

		sum += in_sum ? ' ' : p[i];
	}
	return sum;
}

/* --- writing --- */

static void put_octal(char *field, size_t n, uint64_t v)
{
	field[--n] = '\0';
	while (n > 0) {
		field[--n] = (char)('0' + (v & 7));
		v >>= 3;
	}
}

static int put_one_head(int fd, const char *name, char type, uint64_t size, uint64_t mtime)
{
	struct tar_head h = { .type = type, .magic = "ustar", .version = { '0', '0' } };

	if (strlen(name) >= sizeof(h.name))
		return -ENAMETOOLONG;
	memcpy(h.name, name, strlen(name));
	put_octal(h.mode, sizeof(h.mode), 0600);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), size);
	put_octal(h.mtime, sizeof(h.mtime), mtime);
	put_octal(h.major, sizeof(h.major), 0);
	put_octal(h.minor, sizeof(h.minor), 0);
	put_octal(h.sum, sizeof(h.sum) - 1, checksum(&h));
	h.sum[7] = ' ';
	return os_write_full(fd, &h, sizeof(h));
}

/* A pax header is a member of its own that holds lines "LENGTH size=N\n", where LENGTH counts itself. */
static int put_pax_size(int fd, uint64_t size, uint64_t mtime)
{
	char block[TAR_BLOCK] = { 0 };
	char line[64];
	int body = snprintf(line, sizeof(line), " size=%llu\n", (unsigned long long)size);
	int n = snprintf(block, sizeof(block), "%d%s", body + 2, line);
	int r;

	must(n == body + 2);
	r = put_one_head(fd, "pax", 'x', (uint64_t)n, mtime);
	return r < 0 ? r : os_write_full(fd, block, sizeof(block));
}

int tar_put_head(int fd, const char *name, uint64_t size, uint64_t mtime)
{
	int r = 0;

	if (size > USTAR_SIZE_MAX)
		r = put_pax_size(fd, size, mtime);
	return r < 0 ? r : put_one_head(fd, name, '0', size > USTAR_SIZE_MAX ? 0 : size, mtime);
}

int tar_put_padding(int fd, uint64_t size)
{
	static const char zeros[TAR_BLOCK];
	size_t n = tar_padding(size);

	return n ? os_write_full(fd, zeros, n) : 0;
}

int tar_put_end(int fd)
{
	static const char zeros[2 * TAR_BLOCK];

	return os_write_full(fd, zeros, sizeof(zeros));
}

/* --- reading --- */

static int read_exact(int fd, void *p, size_t n)
{
	ssize_t got = os_read_full(fd, p, n);

	if (got < 0)
		return (int)got;
	return (size_t)got == n ? 0 : ERR_TRUNCATED;
}

int tar_skip_padding(int fd, uint64_t size)
{
	char pad[TAR_BLOCK];
	size_t n = tar_padding(size);

	return n ? read_exact(fd, pad, n) : 0;
}

/* Octal digits between blanks and NULs, or GNU's base-256 (first bit set). */
static int get_number(const char *field, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	if ((uint8_t)field[0] & 0x80) {
		for (i = 0; i < n; i++) {
			if (v >> 55)
				return ERR_LIMIT;
			v = v << 8 | (i ? (uint8_t)field[i] : (uint8_t)field[0] & 0x7f);
		}
		*ret = v;
		return 0;
	}
	while (i < n && field[i] == ' ')
		i++;
	for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(field[i] - '0');
	for (; i < n; i++)
		if (field[i] != ' ' && field[i] != '\0')
			return ERR_CORRUPT;
	*ret = v;
	return 0;
}

static int get_name(const struct tar_head *h, char *ret, size_t max)
{
	int n;

	/* GNU's magic "ustar  " uses the prefix field for other things */
	if (h->prefix[0] && memcmp(h->magic, "ustar", 6) == 0)
		n = snprintf(ret, max, "%.155s/%.100s", h->prefix, h->name);
	else
		n = snprintf(ret, max, "%.100s", h->name);
	return n < 0 || (size_t)n >= max ? ERR_CORRUPT : 0;
}

/* Decimal digits only, up to 16 of them. */
static int get_decimal(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;

	if (n == 0 || n > 16)
		return ERR_CORRUPT;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return ERR_CORRUPT;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	*ret = v;
	return 0;
}

/* One record "LENGTH KEY=VALUE\n" at p; its length, or an error. Only sizes and paths matter to us. */
static ssize_t pax_record(const char *p, size_t left, struct tar_member *m, bool *has_size)
{
	const char *space = memchr(p, ' ', MIN(left, (size_t)17)), *key, *eq;
	uint64_t len;
	size_t value_len;

	if (!space || get_decimal(p, (size_t)(space - p), &len) < 0 || len > left || len < (uint64_t)(space - p) + 3 ||
	    p[len - 1] != '\n')
		return ERR_CORRUPT;
	key = space + 1;
	eq = memchr(key, '=', (size_t)(p + len - key));
	if (!eq)
		return ERR_CORRUPT;
	value_len = (size_t)(p + len - 1 - (eq + 1));
	if (eq - key == 4 && memcmp(key, "size", 4) == 0) {
		*has_size = true;
		if (get_decimal(eq + 1, value_len, &m->size) < 0)
			return ERR_CORRUPT;
	} else if (eq - key == 4 && memcmp(key, "path", 4) == 0) {
		if (value_len == 0 || value_len >= sizeof(m->name) || memchr(eq + 1, 0, value_len))
			return ERR_CORRUPT;
		memcpy(m->name, eq + 1, value_len);
		m->name[value_len] = '\0';
	}
	return (ssize_t)len;
}

/* Reads the `size` bytes of a pax header. Fills what it sets for the next member. */
static int read_pax(int fd, uint64_t size, struct tar_member *m, bool *has_size)
{
	char *text CLEANUP(freep) = NULL;
	ssize_t n = 0;
	int r;

	if (size > TAR_PAX_MAX)
		return ERR_LIMIT;
	text = os_malloc(size + 1);
	if (!text)
		return -ENOMEM;
	r = read_exact(fd, text, size);
	if (r == 0)
		r = tar_skip_padding(fd, size);
	for (size_t at = 0; r == 0 && at < size; at += (size_t)n) {
		n = pax_record(text + at, size - at, m, has_size);
		if (n < 0)
			return (int)n;
	}
	return r;
}

static bool all_zero(const struct tar_head *h)
{
	const char *p = (const char *)h;

	for (size_t i = 0; i < sizeof(*h); i++)
		if (p[i])
			return false;
	return true;
}

static int check_head(const struct tar_head *h, uint64_t *ret_size)
{
	uint64_t sum;
	int r = get_number(h->sum, sizeof(h->sum), &sum);

	if (r < 0 || sum != checksum(h) || memcmp(h->magic, "ustar", 5) != 0)
		return ERR_CORRUPT;
	return get_number(h->size, sizeof(h->size), ret_size);
}

/* Global pax headers are of no use to us. */
static int skip_global(int fd, uint64_t size)
{
	struct tar_member ignored = { 0 };
	bool has_size;

	return read_pax(fd, size, &ignored, &has_size);
}

/* One head: 1 when m is a regular member, 0 to go on, ERR_*; *end at the end mark. */
static int read_head(int fd, struct tar_member *m, bool *has_size, bool *end)
{
	struct tar_head h;
	uint64_t size;
	int r = read_exact(fd, &h, sizeof(h));

	if (r < 0)
		return r;
	if (all_zero(&h)) {
		*end = true;
		return 0;
	}
	r = check_head(&h, &size);
	if (r < 0)
		return r;
	switch (h.type) {
	case 'x':
		return read_pax(fd, size, m, has_size);
	case 'g':
		return skip_global(fd, size);
	case '5':
		*m = (struct tar_member){ 0 };
		*has_size = false;
		return size == 0 ? 0 : ERR_CORRUPT;
	case '0':
	case '\0':
		if (!*has_size)
			m->size = size;
		r = m->name[0] ? 0 : get_name(&h, m->name, sizeof(m->name));
		return r < 0 ? r : 1;
	default:
		return ERR_CORRUPT;
	}
}

int tar_next(int fd, struct tar_member *ret, struct errinfo *ei)
{
	struct tar_member m = { 0 };
	bool has_size = false, end = false;
	int r = 0;

	/* a run of headers without a member would keep us busy for ever */
	for (int i = 0; i < 1000 && r == 0 && !end; i++)
		r = read_head(fd, &m, &has_size, &end);
	if (r == 0 && !end)
		r = ERR_LIMIT;
	if (r > 0 && m.size > TAR_MEMBER_MAX)
		r = ERR_LIMIT;
	if (r < 0)
		return errinfo_set_r(ei, r, "read tar archive");
	if (end)
		return 0;
	*ret = m;
	return 1;
}
