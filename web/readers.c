/* Readers of recordings and stores, kept between requests. One reader serves one request at a time; those of finished recordings are used again while
 * somebody asks for them, the others see what had been written when they were opened. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/os.h"
#include "store/blocks.h"

struct slot {
	struct store_reader *reader; /* NULL = free */
	struct store *store;
	struct store_id id;
	bool used, stale;
	bool slow; /* used for long: by an answer that its client is taking, or that much is read for */
	uint64_t idle_ns; /* since when */
};

/* Requests wait in a row, so that none is overtaken for ever, and only the first one is woken. */
struct waiter {
	struct waiter *next;
	pthread_cond_t wake;
};

struct web_readers {
	pthread_mutex_t lock;
	pthread_condattr_t monotonic;
	struct waiter *first, **last; /* those without a reader so far */
	pthread_cond_t freed;         /* for those with one */
	char *dir;
	struct slot slot[2 * WEB_READERS_MAX + WEB_LONG_READERS_MAX];
	struct store_blocks *blocks; /* that all readers share */
	struct store *store[WEB_STORES_MAX]; /* not in use */
	size_t n_stores;
};

static int blocks_new(struct web_readers *p)
{
	char *cache CLEANUP(freep) = os_asprintf("%s/cache", p->dir);
	int r UNUSED = cache ? os_mkdir(cache, 0700) : -ENOMEM; /* it is there, mostly */

	return cache ? store_blocks_new(cache, WEB_BLOCKS_FILE_BYTES, WEB_BLOCKS_BYTES, &p->blocks) : -ENOMEM;
}

int readers_new(struct web *w, struct web_readers **ret)
{
	struct web_readers *p = os_calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&p->monotonic);
	pthread_condattr_setclock(&p->monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->freed, &p->monotonic);
	p->last = &p->first;
	p->dir = os_strdup(w->cfg->data_dir);
	if (!p->dir || blocks_new(p) < 0) {
		readers_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void readers_free(struct web_readers *p)
{
	if (!p)
		return;
	readers_trim(p, true);
	for (size_t i = 0; i < p->n_stores; i++)
		store_free(p->store[i]);
	store_blocks_unref(p->blocks);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->freed);
	pthread_condattr_destroy(&p->monotonic);
	free(p->dir);
	free(p);
}

int readers_store_get(struct web_readers *p, struct store **ret, struct errinfo *ei)
{
	struct store *s = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->n_stores)
		s = p->store[--p->n_stores];
	pthread_mutex_unlock(&p->lock);
	if (!s) {
		int r = store_open(p->dir, false, &s, ei);

		if (r < 0)
			return r;
		store_share_blocks(s, p->blocks);
	}
	*ret = s;
	return 0;
}

void readers_store_put(struct web_readers *p, struct store *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->n_stores < WEB_STORES_MAX) {
		p->store[p->n_stores++] = s;
		s = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	store_free(s);
}

/* A slot is not used any more (locked). */
static void wake(struct web_readers *p)
{
	pthread_cond_signal(&p->freed);
	if (p->first)
		pthread_cond_signal(&p->first->wake);
}

/* Takes the content out of a slot (locked), to be closed unlocked. */
static struct slot take_out(struct web_readers *p, struct slot *s)
{
	struct slot out = *s;

	*s = (struct slot){ 0 };
	wake(p);
	return out;
}

static void close_slot(struct web_readers *p, struct slot *s)
{
	store_reader_free(s->reader);
	readers_store_put(p, s->store);
}

void readers_trim(struct web_readers *p, bool all)
{
	uint64_t now = os_mono_ns();

	for (size_t i = 0; p && i < ARRAY_SIZE(p->slot); i++) {
		struct slot *s = &p->slot[i], out = { 0 };

		pthread_mutex_lock(&p->lock);
		if (s->reader && !s->used && (all || s->stale || now - s->idle_ns > WEB_READER_IDLE_NS))
			out = take_out(p, s);
		pthread_mutex_unlock(&p->lock);
		if (out.reader)
			close_slot(p, &out);
	}
}

void readers_forget(struct web_readers *p, const struct store_id *id)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < ARRAY_SIZE(p->slot); i++) {
		if (p->slot[i].reader && strcmp(p->slot[i].id.hex, id->hex) == 0)
			p->slot[i].stale = true;
	}
	pthread_mutex_unlock(&p->lock);
	readers_trim(p, false);
}

/* An idle reader of that recording, taken. */
static struct slot *find_idle(struct web_readers *p, const struct store_id *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->slot); i++) {
		struct slot *s = &p->slot[i];

		if (s->reader && !s->used && !s->stale && strcmp(s->id.hex, id->hex) == 0)
			return s;
	}
	return NULL;
}

static struct slot *find_free(struct web_readers *p, struct slot *ret_evicted)
{
	struct slot *oldest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(p->slot); i++) {
		struct slot *s = &p->slot[i];

		if (!s->used && !s->reader)
			return s;
		if (!s->used && (!oldest || s->idle_ns < oldest->idle_ns))
			oldest = s;
	}
	if (oldest)
		*ret_evicted = take_out(p, oldest);
	return oldest;
}

/* A slot to open a reader in, or one with it, as long as fewer than `most` are used (locked); NULL. */
static struct slot *try_claim(struct web_readers *p, const struct store_id *id, size_t most, struct slot *ret_evicted)
{
	struct slot *s = NULL;
	size_t busy = 0;

	for (size_t i = 0; i < ARRAY_SIZE(p->slot); i++)
		busy += p->slot[i].used && !p->slot[i].slow;
	if (busy < most)
		s = find_idle(p, id);
	if (busy < most && !s)
		s = find_free(p, ret_evicted);
	if (s)
		s->used = true;
	return s;
}

/* Waits in the row (locked). */
static struct slot *claim_in_turn(struct web_readers *p, const struct store_id *id, const struct timespec *until, struct slot *ret_evicted)
{
	struct waiter me = { 0 }, **at;
	struct slot *s = NULL;
	int late = 0;

	pthread_cond_init(&me.wake, &p->monotonic);
	*p->last = &me;
	p->last = &me.next;
	while (!(p->first == &me && (s = try_claim(p, id, WEB_READERS_MAX, ret_evicted))) && !late)
		late = pthread_cond_timedwait(&me.wake, &p->lock, until);
	for (at = &p->first; *at != &me; at = &(*at)->next)
		;
	*at = me.next;
	if (!me.next)
		p->last = at;
	if (p->first) /* there may be a slot for the next one too */
		pthread_cond_signal(&p->first->wake);
	pthread_cond_destroy(&me.wake);
	return s;
}

/* A slot to open a reader in, or one with it. Waits while there are too many. ERR_TIMEOUT. */
static int claim(struct web_readers *p, const struct store_id *id, bool has_one, struct slot **ret, struct slot *ret_evicted)
{
	struct timespec until;
	struct slot *s;
	int late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WEB_READER_WAIT_MS / 1000;
	pthread_mutex_lock(&p->lock);
	if (!has_one) {
		s = claim_in_turn(p, id, &until, ret_evicted);
	} else {
		while (!(s = try_claim(p, id, 2 * WEB_READERS_MAX, ret_evicted)) && !late)
			late = pthread_cond_timedwait(&p->freed, &p->lock, &until);
	}
	pthread_mutex_unlock(&p->lock);
	*ret = s;
	return s ? 0 : ERR_TIMEOUT;
}

static void unclaim(struct web_readers *p, struct slot *s)
{
	pthread_mutex_lock(&p->lock);
	(void)take_out(p, s);
	pthread_mutex_unlock(&p->lock);
}

/* Opens a reader in a slot that is ours; on failure the slot is free again. */
static int open_in(struct web_readers *p, struct slot *s, const struct store_id *id, struct errinfo *ei)
{
	struct store_reader *reader = NULL;
	struct store *store = NULL;
	int r = readers_store_get(p, &store, ei);

	if (r == 0)
		r = store_reader_open(store, id, &reader, ei);
	if (r < 0) {
		readers_store_put(p, store);
		unclaim(p, s);
		return r;
	}
	pthread_mutex_lock(&p->lock);
	s->reader = reader;
	s->store = store;
	s->id = *id;
	s->stale = store_reader_manifest(reader)->state == RECORDING_OPEN;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* Closes the reader of a slot that is ours. */
static void give_back(struct web_readers *p, struct slot *s)
{
	struct slot out;

	pthread_mutex_lock(&p->lock);
	out = take_out(p, s);
	pthread_mutex_unlock(&p->lock);
	close_slot(p, &out);
}

int web_reader(struct web_request *q, const struct store_id *id, struct store_reader **ret)
{
	struct web_readers *p = q->web->readers;
	struct slot *s = NULL, evicted = { 0 };
	size_t own = 0, has = 0;
	int r;

	for (size_t i = 0; i < WEB_READERS_PER_REQUEST; i++)
		has += q->reader[i] != NULL;
	while (own < WEB_READERS_PER_REQUEST && q->reader[own])
		own++;
	if (own == WEB_READERS_PER_REQUEST)
		return errinfo_set(&q->ei, -EMFILE, "more than %d readers in one request", WEB_READERS_PER_REQUEST);
	r = claim(p, id, has > 0, &s, &evicted);
	if (evicted.reader)
		close_slot(p, &evicted);
	if (r < 0)
		return errinfo_set(&q->ei, ERR_INTERRUPTED, "too many recordings are being read at once");
	if (!s->reader) {
		r = open_in(p, s, id, &q->ei);
		if (r < 0) /* the slot is somebody else's by now */
			return r;
	}
	r = store_reader_seek(s->reader, 1, &q->ei);
	if (r < 0) {
		give_back(p, s);
		return r;
	}
	*ret = q->reader[own] = s->reader;
	return 0;
}

bool readers_long(struct web_request *q)
{
	struct web_readers *p = q->web->readers;
	size_t slow = 0, own = 0;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < ARRAY_SIZE(p->slot); i++)
		slow += p->slot[i].slow;
	for (size_t i = 0; i < WEB_READERS_PER_REQUEST; i++)
		own += q->reader[i] != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(p->slot) && own && slow + own <= WEB_LONG_READERS_MAX; i++) {
		for (size_t k = 0; k < WEB_READERS_PER_REQUEST; k++)
			p->slot[i].slow |= q->reader[k] && p->slot[i].reader == q->reader[k];
	}
	if (own)
		wake(p);
	pthread_mutex_unlock(&p->lock);
	return !own || slow + own <= WEB_LONG_READERS_MAX;
}

void readers_put_all(struct web_request *q)
{
	for (size_t i = 0; i < WEB_READERS_PER_REQUEST; i++) {
		if (q->reader[i])
			web_reader_put(q, q->reader[i]);
	}
}

void web_reader_put(struct web_request *q, struct store_reader *r)
{
	struct web_readers *p = q->web->readers;
	struct slot out = { 0 };

	for (size_t i = 0; i < WEB_READERS_PER_REQUEST; i++) {
		if (q->reader[i] == r)
			q->reader[i] = NULL;
	}
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; r && i < ARRAY_SIZE(p->slot); i++) {
		struct slot *s = &p->slot[i];

		if (s->reader != r)
			continue;
		s->used = false;
		s->idle_ns = os_mono_ns();
		s->slow = false;
		if (s->stale)
			out = take_out(p, s);
		else
			wake(p);
	}
	pthread_mutex_unlock(&p->lock);
	if (out.reader)
		close_slot(p, &out);
}
