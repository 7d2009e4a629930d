/* store/blob, blob_cache, idset: content by digest, what is remembered about files, and for how long it may be believed. */
#include "store/store.h"

#include <sys/wait.h>
#include <time.h>
#include <utime.h>
#include "store/blob_cache_priv.h"
#include "store/idset_priv.h"
#include "store/limits_priv.h"
#include "tests/unit/store_help.h"

static struct blob_id add_file(struct help_store *h, const char *path)
{
	struct blob_id id;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	OK(fd);
	OK(fstat(fd, &st));
	OK(store_blob_add_file(h->s, fd, &st, &id));
	/* the file position of the guest is not ours to move */
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 0);
	close(fd);
	return id;
}

static void blob_is(struct help_store *h, const struct blob_id *id, const void *want, size_t n)
{
	char *got = os_malloc(n + 1);
	int fd;

	OK(store_blob_open(h->s, id, &fd));
	ck_assert_int_eq(os_read_full(fd, got, n + 1), (ssize_t)n);
	ck_assert_mem_eq(got, want, n);
	close(fd);
	free(got);
}

START_TEST(ids)
{
	struct blob_id id, again;
	char hex[65];

	OK(blob_id_parse("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", &id));
	blob_id_hex(&id, hex);
	OK(blob_id_parse(hex, &again));
	ck_assert(blob_id_equal(&id, &again));
	FAILS(-EINVAL, blob_id_parse("", &id));
	FAILS(-EINVAL, blob_id_parse("0011", &id));
	FAILS(-EINVAL, blob_id_parse("00112233445566778899AABBccddeeff00112233445566778899aabbccddeeff", &id));
	FAILS(-EINVAL, blob_id_parse("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0", &id));
}
END_TEST

START_TEST(add)
{
	struct help_store h = help_open();
	struct blob_id a, b, empty;
	char hex[65];
	int fd;

	OK(store_blob_add(h.s, "abc", 3, &a));
	blob_id_hex(&a, hex);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	OK(store_blob_add(h.s, "abc", 3, &b));
	ck_assert(blob_id_equal(&a, &b));
	blob_is(&h, &a, "abc", 3);
	OK(store_blob_add(h.s, "", 0, &empty));
	blob_is(&h, &empty, "", 0);
	memset(&b, 1, sizeof(b));
	FAILS(ERR_MISSING_BLOB, store_blob_open(h.s, &b, &fd));
	help_close(&h);
}
END_TEST

static char *make_file(struct help_store *h, const char *name, const void *p, size_t n, int age)
{
	char *path = os_asprintf("%s/../%s-%s", h->dir, strrchr(h->dir, '/') + 1, name);
	struct utimbuf t = { time(NULL) - age, time(NULL) - age };

	help_spill(path, p, n);
	OK(utime(path, &t));
	return path;
}

START_TEST(files)
{
	struct help_store h = help_open();
	char *big = os_malloc(1000003), *path;
	struct blob_id id, again;

	for (size_t i = 0; i < 1000003; i++)
		big[i] = (char)(i * i >> 3);
	path = make_file(&h, "big", big, 1000003, 0);
	id = add_file(&h, path);
	blob_is(&h, &id, big, 1000003);
	OK(store_blob_add(h.s, big, 1000003, &again));
	ck_assert(blob_id_equal(&id, &again));
	OK(unlink(path));
	free(path);
	path = make_file(&h, "empty", "", 0, 0);
	id = add_file(&h, path);
	blob_is(&h, &id, "", 0);
	OK(unlink(path));
	free(path);
	free(big);
	help_close(&h);
}
END_TEST

/* The caller's stat is older than the file: what was read is not what it asked for. */
START_TEST(changed_file)
{
	struct help_store h = help_open();
	char *path = make_file(&h, "x", "hello", 5, 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct blob_id id;
	struct stat st;

	OK(fstat(fd, &st));
	ck_assert_int_eq(write(fd, "longer than before", 18), 18);
	FAILS(ERR_BUSY, store_blob_add_file(h.s, fd, &st, &id));
	close(fd);
	OK(unlink(path));
	free(path);
	char *tmp = os_asprintf("%s/tmp", h.dir);
	ck_assert_uint_eq(help_count_names(tmp), 0);
	free(tmp);
	help_close(&h);
}
END_TEST

static unsigned n_preads;

static ssize_t count_pread(int fd, void *p, size_t n, off_t off)
{
	n_preads++;
	return pread(fd, p, n, off);
}

/* Number of preads of file content that adding took: 0 = from the cache. */
static unsigned reads_of(struct help_store *h, const char *path, struct blob_id *ret)
{
	struct os_calls calls = { .pread = count_pread };

	os_set_calls(&calls);
	n_preads = 0;
	*ret = add_file(h, path);
	os_set_calls(NULL);
	return n_preads;
}

/* ctime cannot be set: this waits until the file is old enough to be believed. */
START_TEST(cache)
{
	struct help_store h = help_open(), other;
	char *path = make_file(&h, "x", "hello", 5, 10);
	struct blob_id a, b;
	char *blob, hex[65];

	/* its ctime is now: another write in this tick could leave the same stamps */
	ck_assert_uint_gt(reads_of(&h, path, &a), 0);
	ck_assert_uint_gt(reads_of(&h, path, &b), 0);
	usleep(2100000);
	ck_assert_uint_gt(reads_of(&h, path, &b), 0);
	ck_assert_uint_eq(reads_of(&h, path, &b), 0);
	ck_assert(blob_id_equal(&a, &b));
	/* another process with the same store knows it too */
	other.dir = h.dir;
	OK(store_open(h.dir, false, &other.s, NULL));
	ck_assert_uint_le(reads_of(&other, path, &b), 3); /* of the cache file */
	ck_assert_uint_eq(reads_of(&other, path, &b), 0);
	/* the blob is gone, or cut by a crash: it is made again */
	blob_id_hex(&a, hex);
	blob = os_asprintf("%s/blobs/%.2s/%s", h.dir, hex, hex + 2);
	OK(unlink(blob));
	ck_assert_uint_gt(reads_of(&h, path, &b), 0);
	blob_is(&h, &b, "hello", 5);
	OK(truncate(blob, 2));
	ck_assert_uint_gt(reads_of(&h, path, &b), 0);
	blob_is(&h, &b, "hello", 5);
	/* the same size, another content */
	help_spill(path, "jello", 5);
	ck_assert_uint_gt(reads_of(&h, path, &b), 0);
	ck_assert(!blob_id_equal(&a, &b));
	store_free(other.s);
	OK(unlink(path));
	free(path);
	free(blob);
	help_close(&h);
}
END_TEST

static struct stat fake_stat(uint64_t i)
{
	return (struct stat){ .st_dev = 1, .st_ino = i, .st_size = 5, .st_mtim.tv_sec = 1000, .st_ctim.tv_sec = 1000 };
}

static void fake_id(uint64_t i, struct blob_id *id)
{
	memset(id, 0, sizeof(*id));
	memcpy(id, &i, sizeof(i));
}

START_TEST(cache_file)
{
	struct help_store h = help_open();
	char *path = os_asprintf("%s/blobs/cache", h.dir), *text;
	struct blob_id id, got;
	struct stat st = fake_stat(1);
	struct store *s;
	size_t n;

	fake_id(1, &id);
	/* too young */
	blob_cache_put(h.s, &st, 1001900000000u, &id);
	ck_assert_int_eq(blob_cache_get(h.s, &st, &got), 0);
	for (uint64_t i = 1; i <= 3000; i++) {
		st = fake_stat(i);
		fake_id(i, &id);
		blob_cache_put(h.s, &st, 5000000000000u, &id);
	}
	text = help_slurp(path, &n);
	/* damage: a torn line in the middle, garbage at the end */
	memmove(text + 1000, text + 1040, n - 1040);
	help_spill(path, text, n - 40);
	{
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		char junk[3000];

		memset(junk, 'x', sizeof(junk));
		ck_assert_int_eq(write(fd, junk, sizeof(junk)), sizeof(junk));
		close(fd);
	}
	free(text);
	OK(store_open(h.dir, false, &s, NULL));
	unsigned known = 0;
	for (uint64_t i = 1; i <= 3000; i++) {
		st = fake_stat(i);
		fake_id(i, &id);
		if (blob_cache_get(s, &st, &got) == 1) {
			known++;
			ck_assert(blob_id_equal(&id, &got));
		}
	}
	ck_assert_uint_ge(known, 2998);
	/* life goes on behind the garbage: the first line joins it and is lost, the next is not */
	for (uint64_t i = 5001; i <= 5002; i++) {
		st = fake_stat(i);
		fake_id(i, &id);
		blob_cache_put(s, &st, 5000000000000u, &id);
	}
	ck_assert_int_eq(blob_cache_get(h.s, &st, &got), 1);
	ck_assert(blob_id_equal(&id, &got));
	/* other stamps, other device: not the same file */
	st.st_mtim.tv_nsec = 1;
	ck_assert_int_eq(blob_cache_get(s, &st, &got), 0);
	st = fake_stat(7);
	st.st_dev = 2;
	ck_assert_int_eq(blob_cache_get(s, &st, &got), 0);
	store_free(s);
	free(path);
	help_close(&h);
}
END_TEST

/* It does not grow without end. */
START_TEST(cache_rewritten)
{
	struct help_store h = help_open();
	char *path = os_asprintf("%s/blobs/cache", h.dir);
	struct blob_id id, got;
	struct stat st;
	size_t largest = 0;

	for (uint64_t i = 1; i <= 100000; i++) {
		/* few files that change all the time */
		st = fake_stat(i % 50);
		st.st_mtim.tv_nsec = (long)i;
		fake_id(i, &id);
		blob_cache_put(h.s, &st, 5000000000000u, &id);
		if (i % 1000 == 0) {
			struct stat now;

			OK(stat(path, &now));
			largest = MAX(largest, (size_t)now.st_size);
		}
	}
	ck_assert_uint_le(largest, CACHE_BYTES_MAX + 200);
	ck_assert_uint_gt(largest, CACHE_BYTES_MAX / 2);
	ck_assert_int_eq(blob_cache_get(h.s, &st, &got), 1);
	ck_assert(blob_id_equal(&id, &got));
	free(path);
	help_close(&h);
}
END_TEST

/* Several processes add the same and different things at once, and remember files in one cache. */
START_TEST(together)
{
	struct help_store h = help_open();
	struct blob_id id, got;
	struct stat st;
	int status;

	for (int c = 0; c < 4; c++)
		if (fork() == 0) {
			struct store *s;
			char text[40];

			if (store_open(h.dir, false, &s, NULL) < 0)
				_exit(1);
			for (uint64_t i = 0; i < 300; i++) {
				int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)(i % 100));

				if (store_blob_add(s, text, (size_t)n, &id) < 0)
					_exit(2);
				st = fake_stat(i * 10 + (uint64_t)c + 1);
				fake_id(i, &id);
				blob_cache_put(s, &st, 5000000000000u, &id);
			}
			_exit(0);
		}
	for (int c = 0; c < 4; c++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	for (uint64_t i = 0; i < 300; i++)
		for (uint64_t c = 0; c < 4; c++) {
			st = fake_stat(i * 10 + c + 1);
			ck_assert_int_eq(blob_cache_get(h.s, &st, &got), 1);
		}
	for (int i = 0; i < 100; i++) {
		char text[40];
		int n = snprintf(text, sizeof(text), "%d", i);

		OK(store_blob_add(h.s, text, (size_t)n, &id));
		blob_is(&h, &id, text, (size_t)n);
	}
	char *tmp = os_asprintf("%s/tmp", h.dir);
	ck_assert_uint_eq(help_count_names(tmp), 0);
	free(tmp);
	help_close(&h);
}
END_TEST

START_TEST(sets)
{
	struct idset s = { 0 };
	struct blob_id id;

	fake_id(1, &id);
	ck_assert(!idset_has(&s, &id));
	for (uint64_t i = 0; i < 10000; i++) {
		fake_id(i << 40, &id);
		ck_assert_int_eq(idset_add(&s, &id), 1);
		ck_assert_int_eq(idset_add(&s, &id), 0);
	}
	ck_assert_uint_eq(s.n, 10000);
	for (uint64_t i = 0; i < 10000; i++) {
		fake_id(i << 40, &id);
		ck_assert_int_eq(idset_find(&s, &id), (ssize_t)i);
	}
	fake_id(1, &id);
	ck_assert(!idset_has(&s, &id));
	idset_done(&s);
}
END_TEST

HELP_MAIN("store_blob",
	  { ids, 0 }, { add, 0 }, { files, 0 }, { changed_file, 0 }, { cache, 0 }, { cache_file, 0 },
	  { cache_rewritten, 0 }, { together, 0 }, { sets, 0 })
