/* store/blocks: blocks of sealed recordings are unpacked once for all readers, within bounds, and errors are nobody's secret. */
#include "store/blocks_priv.h"

#include <pthread.h>
#include <stdatomic.h>
#include "store/maintain.h"
#include "tests/unit/store_help.h"

#define EVENTS 4000u
#define MANY 20000u
#define THREADS 8
#define LEN 1000u
#define ROOM (2304u << 10) /* a reader's blocks of 256 KiB are kept */

static struct store_blocks_use use_of(struct store_blocks *b)
{
	struct store_blocks_use use;

	store_blocks_use(b, &use);
	return use;
}

/* --- the cache alone --- */

struct loader {
	_Atomic unsigned loads;
	unsigned delay_us;
	int error;
	uint8_t fill;
};

static int load(void *ctx, uint8_t *p, size_t len)
{
	struct loader *l = ctx;

	l->loads++;
	usleep(l->delay_us);
	memset(p, l->fill, len);
	return l->error;
}

static int copy(struct store_blocks *b, uint64_t start, struct loader *l, uint8_t *ret)
{
	struct block_key k = { .ino = 7, .start = start };

	return store_blocks_copy(b, &k, LEN, load, l, LEN - 1, ret, 1);
}

START_TEST(blocks_oldest_goes)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct loader l = { .fill = 5 };
	uint8_t got;

	OK(store_blocks_new(NULL, 0, 10 * LEN, &b));
	ck_assert(store_blocks_fit(b, LEN));
	ck_assert(!store_blocks_fit(b, 2 * LEN));
	for (uint64_t i = 0; i < 10; i++)
		OK(copy(b, i, &l, &got));
	OK(copy(b, 0, &l, &got)); /* number 1 is the oldest now */
	ck_assert_uint_eq(l.loads, 10);
	ck_assert_uint_eq(use_of(b).hits, 1);
	OK(copy(b, 100, &l, &got));
	OK(copy(b, 0, &l, &got));
	ck_assert_uint_eq(l.loads, 11);
	OK(copy(b, 1, &l, &got));
	ck_assert_uint_eq(l.loads, 12);
	ck_assert_uint_eq(got, 5);
	for (uint64_t i = 0; i < 5000; i++)
		OK(copy(b, 1000 + i, &l, &got));
	ck_assert_uint_eq(use_of(b).memory, 10 * LEN);
	ck_assert_uint_eq(use_of(b).blocks, 10);
}
END_TEST

/* Every member of a key counts. */
START_TEST(blocks_keys_differ)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	const struct block_key base = { 1, 2, 3, 4, 5, 6 };
	const struct block_key keys[] = { base, { 9, 2, 3, 4, 5, 6 }, { 1, 9, 3, 4, 5, 6 }, { 1, 2, 9, 4, 5, 6 }, { 1, 2, 3, 9, 5, 6 }, { 1, 2, 3, 4, 9, 6 }, { 1, 2, 3, 4, 5, 9 } };
	uint8_t got;

	OK(store_blocks_new(NULL, 0, 100 * LEN, &b));
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			struct loader l = { .fill = (uint8_t)i };

			OK(store_blocks_copy(b, &keys[i], LEN, load, &l, 0, &got, 1));
			ck_assert_uint_eq(got, i);
			ck_assert_uint_eq(l.loads, round == 0);
		}
	}
	/* a file whose index says something else than before */
	ck_assert_int_eq(store_blocks_copy(b, &base, LEN + 1, load, NULL, 0, &got, 1), ERR_CORRUPT);
}
END_TEST

struct asker {
	pthread_t thread;
	struct store_blocks *blocks;
	struct loader *loader;
	int result;
	uint8_t got;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	a->result = copy(a->blocks, 1, a->loader, &a->got);
	store_blocks_unref(a->blocks);
	return NULL;
}

static void ask_all(struct store_blocks *b, struct loader *l, int want)
{
	struct asker a[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		a[i] = (struct asker){ .blocks = store_blocks_ref(b), .loader = l };
		ck_assert_int_eq(pthread_create(&a[i].thread, NULL, ask, &a[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(a[i].thread, NULL);
		ck_assert_int_eq(a[i].result, want);
		if (want == 0)
			ck_assert_uint_eq(a[i].got, l->fill);
	}
}

START_TEST(blocks_loaded_once)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct loader good = { .fill = 3, .delay_us = 100000 }, bad = { .error = ERR_CORRUPT, .delay_us = 100000 };

	OK(store_blocks_new(NULL, 0, 10 * LEN, &b));
	ask_all(b, &bad, ERR_CORRUPT);
	ck_assert_uint_lt(bad.loads, THREADS);
	ck_assert_uint_eq(use_of(b).blocks, 0);
	ck_assert_uint_eq(use_of(b).memory, 0);
	ask_all(b, &good, 0);
	ck_assert_uint_eq(good.loads, 1);
}
END_TEST

/* --- readers --- */

static struct store_id sealed(struct help_store *h, uint64_t events)
{
	struct store_id id = help_record(h->s, 5, events);

	OK(store_seal(h->s, &id, NULL, NULL, NULL));
	return id;
}

START_TEST(blocks_shared_by_readers)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct help_store h = help_open();
	struct store_id id = sealed(&h, EVENTS);
	struct store *other;
	struct store_blocks_use first;

	OK(store_blocks_new(h.dir, 64u << 20, 8u << 20, &b));
	OK(store_open(h.dir, false, &other, NULL));
	store_share_blocks(h.s, b);
	store_share_blocks(other, b);
	help_check(h.s, &id, 5, EVENTS);
	first = use_of(b);
	ck_assert_uint_gt(first.file, 0);
	ck_assert_uint_eq(first.memory, 0);
	ck_assert_uint_gt(first.loads, 4);
	ck_assert_uint_eq(first.loads, first.blocks);
	help_check(other, &id, 5, EVENTS);
	ck_assert_uint_eq(use_of(b).loads, first.loads);
	/* another recording of the same content is another file */
	id = sealed(&h, EVENTS);
	help_check(other, &id, 5, EVENTS);
	ck_assert_uint_gt(use_of(b).loads, first.loads);
	store_free(other);
	help_close(&h);
}
END_TEST

struct walker {
	pthread_t thread;
	const char *dir;
	struct store_id id;
	struct store_blocks *blocks;
	uint64_t seed;
};

static void *walk(void *arg)
{
	struct walker *w = arg;
	struct help_event *want = calloc(1, sizeof(*want));
	struct rng r = { w->seed };
	const struct event *ev;
	struct store_reader *rd;
	struct store *s;

	OK(store_open(w->dir, false, &s, NULL));
	store_share_blocks(s, w->blocks);
	OK(store_reader_open(s, &w->id, &rd, NULL));
	for (int i = 0; i < 60; i++) {
		uint64_t n = 1 + rng_below(&r, MANY - 1);

		OK(store_reader_seek(rd, n, NULL));
		ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
		help_event(5, n, EVENT_INVALID, want);
		help_same_event(NULL, ev, &want->ev);
	}
	store_reader_free(rd);
	store_free(s);
	free(want);
	return NULL;
}

/* Room for much less than they read. */
START_TEST(blocks_threads)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct help_store h = help_open();
	struct store_id id = sealed(&h, MANY);
	struct walker w[THREADS];

	help_big();
	OK(store_blocks_new(_i ? h.dir : NULL, ROOM, ROOM, &b));
	for (size_t i = 0; i < THREADS; i++) {
		w[i] = (struct walker){ .dir = h.dir, .id = id, .blocks = b, .seed = i };
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, walk, &w[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	ck_assert_uint_gt(use_of(b).hits, 0);
	ck_assert_uint_gt(use_of(b).loads, use_of(b).blocks);
	ck_assert_uint_le(_i ? use_of(b).file : use_of(b).memory, ROOM + THREADS * (300u << 10));
	ck_assert_uint_eq(_i ? use_of(b).memory : use_of(b).file, 0);
	help_close(&h);
}
END_TEST

static ssize_t full_disk(int fd UNUSED, const void *p UNUSED, size_t n UNUSED, off_t off UNUSED)
{
	errno = ENOSPC;
	return -1;
}

/* Nothing can be written: blocks stay in memory, within their bound there. */
START_TEST(blocks_full_disk)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct loader l = { .fill = 9 };
	const struct os_calls calls = { .pwrite = full_disk };
	char *dir = help_tmp_dir();
	uint8_t got;

	OK(store_blocks_new(dir, 1u << 20, 10 * LEN, &b));
	OK(copy(b, 0, &l, &got));
	os_set_calls(&calls);
	for (uint64_t i = 0; i < 50; i++) {
		OK(copy(b, i, &l, &got));
		ck_assert_uint_eq(got, 9);
	}
	ck_assert_uint_eq(use_of(b).memory, 10 * LEN);
	ck_assert_uint_eq(use_of(b).file, LEN); /* the first one */
	OK(copy(b, 0, &l, &got));
	OK(copy(b, 49, &l, &got));
	ck_assert_uint_eq(l.loads, 50);
	os_set_calls(NULL);
	help_remove(dir);
	free(dir);
}
END_TEST

/* A damaged block is an error for all who want it, and for nobody else; what replaces the file is looked at anew. */
START_TEST(blocks_damaged)
{
	struct store_blocks *b CLEANUP(store_blocks_unrefp) = NULL;
	struct help_store h = help_open();
	struct store_id id = sealed(&h, EVENTS);
	char *path = help_path(&h, &id, "events.xz"), *bytes;
	const struct event *ev;
	struct store_reader *rd;
	size_t n;
	int r = 1;

	OK(store_blocks_new(h.dir, 64u << 20, 8u << 20, &b));
	store_share_blocks(h.s, b);
	bytes = help_slurp(path, &n);
	bytes[n / 2] ^= 4;
	help_spill(path, bytes, n);
	for (int round = 0; round < 2; round++) {
		OK(store_reader_open(h.s, &id, &rd, NULL));
		OK(store_reader_seek(rd, EVENTS, NULL));
		ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
		OK(store_reader_seek(rd, 1, NULL));
		while ((r = store_reader_next(rd, &ev, NULL)) > 0)
			;
		ck_assert_int_eq(r, ERR_CORRUPT);
		store_reader_free(rd);
	}
	bytes[n / 2] ^= 4;
	help_spill(path, bytes, n);
	help_check(h.s, &id, 5, EVENTS);
	free(bytes);
	free(path);
	help_close(&h);
}
END_TEST

HELP_MAIN("store/blocks", { blocks_oldest_goes, 0 }, { blocks_keys_differ, 0 }, { blocks_loaded_once, 0 }, { blocks_shared_by_readers, 0 }, { blocks_threads, 2 }, { blocks_full_disk, 0 }, { blocks_damaged, 0 })
