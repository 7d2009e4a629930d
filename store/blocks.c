/* See blocks.h. A table of chains, and a list in order of use, under one lock. The lock is not held while a block is unpacked or copied: users are counted, and
 * only blocks without users are freed. In the file each block has a place of its own behind all others; a hole is made of it when the block goes. */
#include "store/blocks_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/os.h"
#include "store/limits_priv.h"

#define CHAINS 1024u
#define BLOCK_ALIGN 4096u /* of places in the file, so that holes free whole pages */

struct block {
	struct block *chain;          /* others of the same hash */
	struct block *newer, *older;  /* by use */
	struct block_key key;
	unsigned users;
	bool ready;                   /* data are there; else users wait for them */
	int error;                    /* ... or have met this: the block is in no list any more */
	size_t len;
	uint8_t *data;                /* NULL: it lies in the file, */
	uint64_t offset;              /* there */
};

struct store_blocks {
	_Atomic unsigned refs;
	size_t file_max, memory_max;
	int fd;                       /* -1: all is kept in memory */
	uint64_t end;                 /* of the file */
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	struct block *chain[CHAINS];
	struct block *newest, *oldest;
	struct store_blocks_use use;
};

/* Where holes cannot be made the file would grow for ever. */
static int open_file(const char *dir)
{
	int fd CLEANUP(closep) = os_open(dir, O_TMPFILE | O_RDWR | O_NOFOLLOW, 0600);
	const uint8_t zero = 0;
	int r = fd < 0 ? fd : os_pwrite_full(fd, &zero, 1, 0);

	if (r < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1) < 0)
		return -1;
	return TAKE_FD(fd);
}

int store_blocks_new(const char *dir, size_t file_max, size_t memory_max, struct store_blocks **ret)
{
	struct store_blocks *b = os_calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->refs = 1;
	b->file_max = file_max;
	b->memory_max = memory_max;
	b->fd = dir ? open_file(dir) : -1;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->loaded, NULL);
	*ret = b;
	return 0;
}

static void block_free(struct block *k)
{
	free(k->data);
	free(k);
}

struct store_blocks *store_blocks_ref(struct store_blocks *b)
{
	if (b)
		atomic_fetch_add(&b->refs, 1);
	return b;
}

void store_blocks_unref(struct store_blocks *b)
{
	struct block *k;

	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	while ((k = b->newest)) {
		b->newest = k->older;
		block_free(k);
	}
	closep(&b->fd);
	pthread_cond_destroy(&b->loaded);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void store_blocks_unrefp(struct store_blocks **b)
{
	store_blocks_unref(*b);
}

void block_key_init(struct block_key *k, const struct stat *st)
{
	*k = (struct block_key){ .dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size, .ctime_s = st->st_ctim.tv_sec,
				 .ctime_ns = st->st_ctim.tv_nsec };
}

bool store_blocks_fit(const struct store_blocks *b, uint64_t len)
{
	return len <= b->memory_max / BLOCKS_KEPT_MIN;
}

static bool same_key(const struct block_key *a, const struct block_key *b)
{
	return a->start == b->start && a->ino == b->ino && a->dev == b->dev && a->size == b->size && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
}

static struct block **chain_of(struct store_blocks *b, const struct block_key *k)
{
	uint64_t h = (k->ino * 0x9e3779b97f4a7c15u ^ k->start) * 0xff51afd7ed558ccdu;

	return &b->chain[h >> 32 & (CHAINS - 1)];
}

/* --- the list, locked --- */

static void put_newest(struct store_blocks *b, struct block *k)
{
	k->newer = NULL;
	k->older = b->newest;
	if (b->newest)
		b->newest->newer = k;
	else
		b->oldest = k;
	b->newest = k;
}

static void take_from_list(struct store_blocks *b, struct block *k)
{
	*(k->newer ? &k->newer->older : &b->newest) = k->older;
	*(k->older ? &k->older->newer : &b->oldest) = k->newer;
}

static size_t *bytes_of(struct store_blocks *b, const struct block *k)
{
	return k->data ? &b->use.memory : &b->use.file;
}

static void take_out(struct store_blocks *b, struct block *k)
{
	struct block **at = chain_of(b, &k->key);

	while (*at != k)
		at = &(*at)->chain;
	*at = k->chain;
	take_from_list(b, k);
	*bytes_of(b, k) -= k->ready ? k->len : 0;
	b->use.blocks--;
}

static void drop(struct store_blocks *b, struct block *k)
{
	take_out(b, k);
	if (!k->data)
		(void)!fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)k->offset, (off_t)k->len);
	block_free(k);
}

/* Drops what is too much, as far as nobody uses it. */
static void evict(struct store_blocks *b)
{
	struct block *next;

	for (struct block *k = b->oldest; k; k = next) {
		bool much = k->data ? b->use.memory > b->memory_max : b->use.file > b->file_max;

		if (b->use.memory <= b->memory_max && b->use.file <= b->file_max && b->use.blocks <= BLOCKS_MAX)
			break;
		next = k->newer;
		if (!k->users && (much || b->use.blocks > BLOCKS_MAX))
			drop(b, k);
	}
}

static struct block *find(struct store_blocks *b, const struct block_key *key)
{
	struct block *k = *chain_of(b, key);

	while (k && !same_key(&k->key, key))
		k = k->chain;
	return k;
}

static struct block *add(struct store_blocks *b, const struct block_key *key, size_t len)
{
	struct block **at = chain_of(b, key), *k = os_malloc(sizeof(*k));

	if (!k)
		return NULL;
	*k = (struct block){ .chain = *at, .key = *key, .users = 1, .len = len, .offset = b->end };
	b->end += (len + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	*at = k;
	put_newest(b, k);
	b->use.blocks++;
	b->use.loads++;
	return k;
}

/* --- use --- */

/* Locked, and unlocked meanwhile. *ret_data: the bytes, in any case of success. */
static void load_into(struct store_blocks *b, struct block *k, block_load_fn load, void *ctx, uint8_t **ret_data)
{
	uint8_t *p;
	int r;

	pthread_mutex_unlock(&b->lock);
	p = os_malloc(k->len);
	r = p ? load(ctx, p, k->len) : -ENOMEM;
	/* a full disk is no reason to fail */
	if (r >= 0 && (b->fd < 0 || os_pwrite_full(b->fd, p, k->len, (off_t)k->offset) < 0))
		k->data = p;
	pthread_mutex_lock(&b->lock);
	if (r < 0) {
		free(p);
		k->error = r;
		take_out(b, k);
	} else {
		*ret_data = p;
		k->ready = true;
		*bytes_of(b, k) += k->len;
		evict(b);
	}
	pthread_cond_broadcast(&b->loaded);
}

/* Copies what is ready. */
static int copy_out(const struct store_blocks *b, const struct block *k, const uint8_t *data, size_t off, void *p, size_t n)
{
	ssize_t r;

	if (data) {
		memcpy(p, data + off, n);
		return 0;
	}
	r = os_pread_full(b->fd, p, n, (off_t)(k->offset + off));
	return r < 0 ? (int)r : (size_t)r == n ? 0 : -EIO;
}

/* Locked. A block with one more user, loaded or with its error. */
static struct block *get(struct store_blocks *b, const struct block_key *key, size_t len, block_load_fn load, void *ctx, uint8_t **ret_data)
{
	struct block *k = find(b, key);

	if (!k) {
		k = add(b, key, len);
		if (k)
			load_into(b, k, load, ctx, ret_data);
		return k;
	}
	b->use.hits++;
	k->users++;
	take_from_list(b, k);
	put_newest(b, k);
	while (!k->ready && !k->error)
		pthread_cond_wait(&b->loaded, &b->lock);
	*ret_data = k->data;
	return k;
}

int store_blocks_copy(struct store_blocks *b, const struct block_key *key, size_t len, block_load_fn load, void *ctx, size_t off, void *p, size_t n)
{
	uint8_t *data = NULL, *own = NULL;
	struct block *k;
	int r;

	pthread_mutex_lock(&b->lock);
	k = get(b, key, len, load, ctx, &data);
	r = k ? k->error : -ENOMEM;
	pthread_mutex_unlock(&b->lock);
	if (r == 0)
		r = k->len == len ? copy_out(b, k, data, off, p, n) : ERR_CORRUPT;
	pthread_mutex_lock(&b->lock);
	if (k) {
		own = data != k->data ? data : NULL; /* just loaded, and in the file now */
		if (--k->users == 0 && k->error)
			block_free(k); /* one that could not be loaded belongs to those who waited for it */
	}
	pthread_mutex_unlock(&b->lock);
	free(own);
	return r;
}

void store_blocks_use(struct store_blocks *b, struct store_blocks_use *ret)
{
	pthread_mutex_lock(&b->lock);
	*ret = b->use;
	pthread_mutex_unlock(&b->lock);
}
