/* The blob cache: a text file of lines that processes append to, and a hash table of it in memory.
 *
 *     1 DEV INO SIZE MTIME_NS CTIME_NS SHA256 CRC\n          (decimal, but the last two are hex; CRC-32C of the line before it)
 *
 * Each line is one write(2) to a file opened O_APPEND, so writers do not need a lock; a line torn by a full disk spoils itself and at most the
 * next one, and a line that does not parse is skipped. Only lines appended since the last look are read. When the file
 * is too long it is written anew from the table (which holds the newest line of each file) and renamed into place; what another
 * process appends to the old file meanwhile is lost, which costs one more hashing.
 */
#include "store/blob_cache_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/os.h"
#include "store/limits_priv.h"
#include "store/store_priv.h"

/* The clock of time stamps may tick as rarely as this: what changed within it before hashing is not cached. */
#define FRESH_NS 2000000000u
#define READ_CHUNK (256u << 10)
#define LINE_MAX_ 256

struct key {
	uint64_t dev, ino, size;
	int64_t mtime, ctime;
};

struct entry {
	struct key key;
	struct blob_id id;
	bool used;
};

struct blob_cache {
	int fd;           /* -1: cannot be used, everything is a miss */
	uint64_t read_to; /* bytes of the file that are in the table */
	ino_t ino;        /* of the file: another means that somebody rewrote it */
	struct entry *slots;
	size_t n, cap; /* cap is a power of 2 */
};

static struct key key_of(const struct stat *st)
{
	return (struct key){ .dev = st->st_dev,
			     .ino = st->st_ino,
			     .size = (uint64_t)st->st_size,
			     .mtime = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
			     .ctime = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec };
}

/* One entry per inode: a newer state of the file replaces the older. */
static struct entry *find(const struct blob_cache *c, uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = h >> 32 & (c->cap - 1);; i = (i + 1) & (c->cap - 1))
		if (!c->slots[i].used || (c->slots[i].key.dev == dev && c->slots[i].key.ino == ino))
			return &c->slots[i];
}

static int grow(struct blob_cache *c)
{
	struct entry *old = c->slots;
	size_t old_cap = c->cap, cap = old_cap ? old_cap * 2 : 256;
	struct entry *slots = os_calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	c->slots = slots;
	c->cap = cap;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].used)
			*find(c, old[i].key.dev, old[i].key.ino) = old[i];
	free(old);
	return 0;
}

static int insert(struct blob_cache *c, const struct key *key, const struct blob_id *id)
{
	struct entry *e;
	int r = (c->n + 1) * 2 > c->cap ? grow(c) : 0;

	if (r < 0)
		return r;
	e = find(c, key->dev, key->ino);
	c->n += !e->used;
	*e = (struct entry){ .key = *key, .id = *id, .used = true };
	return 0;
}

static size_t format_line(char *line, const struct key *k, const struct blob_id *id)
{
	char hex[65];
	int n;

	blob_id_hex(id, hex);
	n = snprintf(line, LINE_MAX_, "1 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %s", k->dev, k->ino,
		     k->size, k->mtime, k->ctime, hex);
	n += snprintf(line + n, LINE_MAX_ - (size_t)n, " %08x\n", crc32c(0, line, (size_t)n));
	return (size_t)n;
}

/* line ends with NUL in place of its newline. False for anything that format_line() does not write. */
static bool parse_line(const char *line, size_t len, struct key *k, struct blob_id *id)
{
	char hex[65], again[LINE_MAX_];
	size_t n;

	if (len >= LINE_MAX_ || sscanf(line, "1 %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %64s", &k->dev,
				       &k->ino, &k->size, &k->mtime, &k->ctime, hex) != 6)
		return false;
	if (blob_id_parse(hex, id) < 0)
		return false;
	n = format_line(again, k, id);
	return n == len + 1 && memcmp(again, line, len) == 0;
}

static int take_lines(struct blob_cache *c, char *text, size_t len, size_t *ret_used)
{
	char *p = text, *nl;
	struct blob_id id;
	struct key k;
	int r = 0;

	while (r == 0 && (nl = memchr(p, '\n', len - (size_t)(p - text)))) {
		*nl = '\0';
		if (parse_line(p, (size_t)(nl - p), &k, &id))
			r = insert(c, &k, &id);
		p = nl + 1;
	}
	*ret_used = (size_t)(p - text);
	return r;
}

/* Reads what was appended since the last time. */
static int catch_up(struct blob_cache *c)
{
	char *text CLEANUP(freep) = NULL;
	struct stat st;
	ssize_t n;
	size_t used;
	int r = os_fstat(c->fd, &st);

	if (r < 0 || (uint64_t)st.st_size <= c->read_to)
		return r;
	text = os_malloc(READ_CHUNK);
	if (!text)
		return -ENOMEM;
	while ((n = os_pread_full(c->fd, text, READ_CHUNK, (off_t)c->read_to)) > 0) {
		r = take_lines(c, text, (size_t)n, &used);
		if (r < 0)
			return r;
		/* an unfinished line at the end is for next time; a line longer than the chunk is garbage */
		if (used == 0 && (size_t)n < READ_CHUNK)
			break;
		c->read_to += used ? used : (size_t)n;
	}
	return n < 0 ? (int)n : 0;
}

static char *cache_path(const struct store *s)
{
	return os_asprintf("%s/blobs/cache", s->dir);
}

static int open_file(struct store *s, struct blob_cache *c)
{
	char *path CLEANUP(freep) = cache_path(s);
	struct stat st;
	int r = path ? os_open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600) : -ENOMEM;

	if (r < 0)
		return r;
	closep(&c->fd);
	c->fd = r;
	c->read_to = 0;
	r = os_fstat(c->fd, &st);
	c->ino = r < 0 ? 0 : st.st_ino;
	return r;
}

/* The cache, opened on first use; NULL when out of memory. */
static struct blob_cache *cache_of(struct store *s)
{
	if (!s->cache) {
		s->cache = os_calloc(1, sizeof(*s->cache));
		if (!s->cache)
			return NULL;
		s->cache->fd = -1;
		if (grow(s->cache) < 0) {
			free(s->cache);
			return s->cache = NULL;
		}
		if (open_file(s, s->cache) < 0 || catch_up(s->cache) < 0)
			closep(&s->cache->fd), s->cache->fd = -1;
	}
	return s->cache;
}

void blob_cache_free(struct blob_cache *c)
{
	if (!c)
		return;
	closep(&c->fd);
	free(c->slots);
	free(c);
}

static bool lookup(const struct blob_cache *c, const struct key *k, struct blob_id *ret)
{
	const struct entry *e = find(c, k->dev, k->ino);

	if (!e->used || memcmp(&e->key, k, sizeof(*k)) != 0)
		return false;
	*ret = e->id;
	return true;
}

int blob_cache_get(struct store *s, const struct stat *st, struct blob_id *ret)
{
	struct blob_cache *c = cache_of(s);
	struct key k = key_of(st);

	if (!c)
		return -ENOMEM;
	if (lookup(c, &k, ret))
		return 1;
	if (c->fd < 0 || catch_up(c) < 0)
		return 0;
	return lookup(c, &k, ret);
}

/* Writes the table as a new file. */
static int rewrite(struct store *s, struct blob_cache *c)
{
	char *path CLEANUP(freep) = cache_path(s);
	struct buf text CLEANUP(buf_done);
	char line[LINE_MAX_];
	int r;

	buf_init(&text);
	/* half of what is allowed, so that the next rewriting is far away */
	for (size_t i = 0; i < c->cap && text.len < CACHE_BYTES_MAX / 2; i++)
		if (c->slots[i].used)
			buf_put(&text, line, format_line(line, &c->slots[i].key, &c->slots[i].id));
	r = path ? buf_error(&text) : -ENOMEM;
	if (r == 0)
		r = os_write_file_atomic(path, text.data ? text.data : (const void *)"", text.len, 0600);
	return r < 0 ? r : open_file(s, c);
}

static int append(struct store *s, struct blob_cache *c, const struct key *k, const struct blob_id *id)
{
	char *path CLEANUP(freep) = cache_path(s);
	char line[LINE_MAX_];
	struct stat st;
	int r = path ? fs_stat(path, &st) : -ENOMEM;

	/* replaced or removed: go on in the file of that name */
	if (c->fd < 0 || r == -ENOENT || (r == 0 && st.st_ino != c->ino))
		r = open_file(s, c);
	if (r == 0)
		r = os_write_full(c->fd, line, format_line(line, k, id));
	if (r == 0 && st.st_size > CACHE_BYTES_MAX)
		r = rewrite(s, c);
	return r;
}

void blob_cache_put(struct store *s, const struct stat *st, uint64_t when_ns, const struct blob_id *id)
{
	struct blob_cache *c = cache_of(s);
	struct key k = key_of(st);

	if (!c || k.ctime < 0 || (uint64_t)k.ctime + FRESH_NS > when_ns)
		return;
	if (insert(c, &k, id) == 0)
		(void)!append(s, c, &k, id);
}
