/* See blocks.h. A table of chains, and a list in order of use, under one lock. The lock is not held while a block is unpacked or copied: users are counted, and
 * only blocks without users are freed. */
#include "store/blocks_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/os.h"
#include "store/limits_priv.h"

#define CHAINS 1024u

struct block {
	struct block *chain;          /* others of the same hash */
	struct block *newer, *older;  /* by use */
	struct block_key key;
	unsigned users;
	bool ready;                   /* data are there; else users wait for them */
	int error;                    /* ... or have met this: the block is in no list any more */
	size_t len;
	uint8_t data[];
};

struct store_blocks {
	_Atomic unsigned refs;
	size_t bytes_max;
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	struct block *chain[CHAINS];
	struct block *newest, *oldest;
	struct store_blocks_use use;
};

int store_blocks_new(size_t bytes_max, struct store_blocks **ret)
{
	struct store_blocks *b = os_calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->refs = 1;
	b->bytes_max = bytes_max;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->loaded, NULL);
	*ret = b;
	return 0;
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
		free(k);
	}
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
	return len <= b->bytes_max / BLOCKS_KEPT_MIN;
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

static void take_out(struct store_blocks *b, struct block *k)
{
	struct block **at = chain_of(b, &k->key);

	while (*at != k)
		at = &(*at)->chain;
	*at = k->chain;
	take_from_list(b, k);
	b->use.bytes -= k->len;
	b->use.blocks--;
}

/* Makes room for so many bytes more, as far as there is something that nobody uses. */
static void evict(struct store_blocks *b, size_t more)
{
	struct block *next;

	for (struct block *k = b->oldest; k && (b->use.bytes + more > b->bytes_max || b->use.blocks >= BLOCKS_MAX); k = next) {
		next = k->newer;
		if (k->users)
			continue;
		take_out(b, k);
		free(k);
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
	struct block **at = chain_of(b, key), *k;

	evict(b, len);
	k = os_malloc(sizeof(*k) + len);
	if (!k)
		return NULL;
	*k = (struct block){ .chain = *at, .key = *key, .users = 1, .len = len };
	*at = k;
	put_newest(b, k);
	b->use.bytes += len;
	b->use.blocks++;
	b->use.loads++;
	return k;
}

/* --- use --- */

/* Locked, and unlocked meanwhile. */
static void load_into(struct store_blocks *b, struct block *k, block_load_fn load, void *ctx)
{
	int r;

	pthread_mutex_unlock(&b->lock);
	r = load(ctx, k->data, k->len);
	pthread_mutex_lock(&b->lock);
	if (r < 0) {
		k->error = r;
		take_out(b, k);
	} else {
		k->ready = true;
	}
	pthread_cond_broadcast(&b->loaded);
}

static void put(struct block *k)
{
	/* one that could not be loaded belongs to those who waited for it */
	if (--k->users == 0 && k->error)
		free(k);
}

int store_blocks_copy(struct store_blocks *b, const struct block_key *key, size_t len, block_load_fn load, void *ctx, size_t off, void *p, size_t n)
{
	struct block *k;
	int r;

	pthread_mutex_lock(&b->lock);
	k = find(b, key);
	if (k && k->len != len) {
		pthread_mutex_unlock(&b->lock);
		return ERR_CORRUPT;
	}
	if (k) {
		b->use.hits++;
		k->users++;
		take_from_list(b, k);
		put_newest(b, k);
		while (!k->ready && !k->error)
			pthread_cond_wait(&b->loaded, &b->lock);
	} else {
		k = add(b, key, len);
		if (!k) {
			pthread_mutex_unlock(&b->lock);
			return -ENOMEM;
		}
		load_into(b, k, load, ctx);
	}
	r = k->error;
	pthread_mutex_unlock(&b->lock);
	if (r == 0)
		memcpy(p, k->data + off, n);
	pthread_mutex_lock(&b->lock);
	put(k);
	pthread_mutex_unlock(&b->lock);
	return r;
}

void store_blocks_use(struct store_blocks *b, struct store_blocks_use *ret)
{
	pthread_mutex_lock(&b->lock);
	*ret = b->use;
	pthread_mutex_unlock(&b->lock);
}
