/* See evindex_priv.h. A file gets its name when it is whole, so that a crash leaves nothing; its space is allocated before it is written through a mapping, so that a full disk
 * is an error and no signal. Where no file can be had the records stay in memory. */
#include "analysis/evindex_priv.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/os.h"

#define CACHE_DIR "cache"
#define SUFFIX ".events"
#define SUFFIX_NEW ".events-new"
#define GROW_MAX (1u << 18) /* records */

static_assert(sizeof(struct evindex_record) == 56, "records are on disk");
static_assert(sizeof(struct evindex_thread) == 56, "threads are on disk");
static_assert(sizeof(struct evindex_head) <= EVINDEX_HEAD_BYTES, "the head has its page");

void storage_init(struct evindex_storage *s)
{
	*s = (struct evindex_storage){ .fd = -1 };
}

void storage_done(struct evindex_storage *s)
{
	if (s->map)
		munmap(s->map, s->map_bytes);
	closep(&s->fd);
	storage_init(s);
}

void storage_trim(struct evindex_storage *s)
{
	/* what is not of a file would be lost */
	if (s->map && (s->loaded || s->fd >= 0))
		(void)madvise(s->map, s->map_bytes, MADV_DONTNEED);
}

static size_t bytes_of(uint64_t records)
{
	return ALIGN_UP(EVINDEX_HEAD_BYTES + records * sizeof(struct evindex_record), 4096u);
}

static int open_unnamed(const char *dir)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" CACHE_DIR, dir);
	int r = path ? os_mkdir(path, 0700) : -ENOMEM;

	if (r < 0 && r != -EEXIST)
		return r;
	return os_open(path, O_TMPFILE | O_RDWR | O_NOFOLLOW, 0600);
}

static void use_map(struct evindex_storage *s, uint8_t *map, size_t bytes)
{
	s->map = map;
	s->map_bytes = bytes;
	s->record = (struct evindex_record *)(map + EVINDEX_HEAD_BYTES);
	s->cap = (bytes - EVINDEX_HEAD_BYTES) / sizeof(*s->record);
}

static int grow_memory(struct evindex_storage *s, size_t bytes)
{
	void *map;

	if (bytes > EVINDEX_MEMORY_MAX)
		return ERR_LIMIT;
	map = s->map ? mremap(s->map, s->map_bytes, bytes, MREMAP_MAYMOVE) :
		       mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	use_map(s, map, bytes);
	return 0;
}

static int grow_file(struct evindex_storage *s, int fd, size_t bytes)
{
	uint8_t *map;

	if (fallocate(fd, 0, 0, (off_t)bytes) < 0)
		return -errno;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (s->map && s->fd < 0)
		memcpy(map, s->map, MIN(bytes, s->map_bytes));
	if (s->map)
		munmap(s->map, s->map_bytes);
	s->fd = fd;
	use_map(s, map, bytes);
	return 0;
}

/* The disk is full, or the like: on in memory, while that is not too much. */
static int leave_file(struct evindex_storage *s, size_t bytes)
{
	struct evindex_storage memory;
	int r;

	storage_init(&memory);
	r = grow_memory(&memory, bytes);
	if (r < 0)
		return r;
	memcpy(memory.map, s->map, s->map_bytes);
	memory.n = s->n;
	storage_done(s);
	*s = memory;
	return 0;
}

int storage_reserve(struct evindex_storage *s, const char *dir, uint64_t n)
{
	uint64_t want = s->n + n;
	size_t bytes;
	int fd;

	if (want <= s->cap)
		return 0;
	if (want >= UINT32_MAX)
		return ERR_LIMIT;
	bytes = bytes_of(MAX(want, s->cap + MIN(s->cap, (uint64_t)GROW_MAX)));
	if (s->fd >= 0)
		return grow_file(s, s->fd, bytes) < 0 ? leave_file(s, bytes) : 0;
	if (want > EVINDEX_SMALL) {
		fd = open_unnamed(dir);
		if (fd >= 0 && grow_file(s, fd, bytes) == 0)
			return 0;
		closep(&fd);
	}
	return grow_memory(s, bytes);
}

/* --- the cache --- */

static int head_check(const struct evindex_head *h, const struct manifest *m, uint64_t file_bytes)
{
	uint64_t tail;

	if (memcmp(h->magic, EVINDEX_MAGIC, 8) || h->version != EVINDEX_VERSION || h->head_bytes != EVINDEX_HEAD_BYTES ||
	    h->record_bytes != sizeof(struct evindex_record) || h->thread_bytes != sizeof(struct evindex_thread) ||
	    h->crc != crc32c(0, h, offsetof(struct evindex_head, crc)))
		return -EINVAL;
	if (memcmp(h->id, m->id.hex, STORE_ID_LEN) || h->start_wall_ns != m->start_wall_ns || h->events != m->events ||
	    h->raw_bytes != m->event_stream.raw_bytes)
		return -ESTALE;
	if (h->n >= UINT32_MAX || h->n_threads > 1u << 20 || h->n_names > NAMES_MAX || h->names_bytes > NAMES_BYTES_MAX)
		return -EINVAL;
	tail = h->n_threads * sizeof(struct evindex_thread) + h->n_names * 4 + h->names_bytes;
	return EVINDEX_HEAD_BYTES + h->n * sizeof(struct evindex_record) + tail == file_bytes ? 0 : -EINVAL;
}

/* Are all names inside of the text, with their ends? */
static bool names_ok(const struct evindex_storage *s)
{
	const struct evindex_head *h = &s->head;

	if (h->n_names && (!h->names_bytes || s->name_text[h->names_bytes - 1]))
		return false;
	for (uint64_t i = 0; i < h->n_names; i++)
		if (s->name_offset[i] >= h->names_bytes)
			return false;
	return true;
}

static int map_loaded(struct evindex_storage *s, int fd, uint64_t bytes)
{
	const struct evindex_head *h = &s->head;
	uint8_t *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0), *tail;

	if (map == MAP_FAILED)
		return -errno;
	use_map(s, map, bytes);
	s->loaded = true;
	s->n = s->cap = h->n;
	tail = map + EVINDEX_HEAD_BYTES + h->n * sizeof(struct evindex_record);
	s->thread = (const struct evindex_thread *)tail;
	s->name_offset = (const uint32_t *)(tail + h->n_threads * sizeof(struct evindex_thread));
	s->name_text = (const char *)(s->name_offset + h->n_names);
	if (crc32c(0, tail, (size_t)(map + bytes - tail)) != h->tail_crc || !names_ok(s))
		return -EINVAL;
	return 0;
}

int storage_load(struct evindex_storage *s, const char *dir, const struct manifest *m)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" CACHE_DIR "/%s" SUFFIX, dir, m->id.hex);
	int fd CLEANUP(closep) = path ? os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -ENOMEM;
	struct stat st;
	ssize_t got;
	int r;

	if (fd < 0)
		return fd;
	r = os_fstat(fd, &st);
	if (r < 0 || !S_ISREG(st.st_mode))
		return r < 0 ? r : -EINVAL;
	got = os_pread_full(fd, &s->head, sizeof(s->head), 0);
	if (got < (ssize_t)sizeof(s->head))
		return got < 0 ? (int)got : -EINVAL;
	r = head_check(&s->head, m, (uint64_t)st.st_size);
	if (r == 0)
		r = map_loaded(s, fd, (uint64_t)st.st_size);
	if (r < 0)
		storage_done(s);
	return r;
}

static int write_tail(struct evindex_storage *s, struct evindex_head *h, const struct evindex_thread *thread, const struct names *names)
{
	off_t at = (off_t)(EVINDEX_HEAD_BYTES + s->n * sizeof(struct evindex_record));
	const struct {
		const void *p;
		size_t n;
	} parts[] = { { thread, h->n_threads * sizeof(*thread) }, { names->offset, h->n_names * 4 }, { names->text.data, h->names_bytes } };
	int r = os_ftruncate(s->fd, at);

	for (size_t i = 0; i < ARRAY_SIZE(parts) && r >= 0; i++) {
		h->tail_crc = crc32c(h->tail_crc, parts[i].p, parts[i].n);
		r = parts[i].n ? os_pwrite_full(s->fd, parts[i].p, parts[i].n, at) : 0;
		at += (off_t)parts[i].n;
	}
	h->crc = crc32c(0, h, offsetof(struct evindex_head, crc));
	if (r >= 0)
		r = os_pwrite_full(s->fd, h, sizeof(*h), 0);
	return r < 0 ? r : os_fsync(s->fd);
}

/* The unnamed file gets its name, in place of an older one. */
static int give_name(int fd, const char *dir, const struct store_id *id)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" CACHE_DIR "/%s" SUFFIX, dir, id->hex);
	char *fresh CLEANUP(freep) = os_asprintf("%s/" CACHE_DIR "/%s-%d" SUFFIX_NEW, dir, id->hex, (int)getpid());
	char self[40];
	int r;

	if (!path || !fresh)
		return -ENOMEM;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)!os_unlink(fresh);
	if (linkat(AT_FDCWD, self, AT_FDCWD, fresh, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	r = os_rename(fresh, path);
	if (r < 0)
		(void)!os_unlink(fresh);
	return r;
}

int storage_save(struct evindex_storage *s, const char *dir, const struct manifest *m, const struct evindex_thread *thread, uint32_t n_threads, const struct names *names,
		 uint64_t end_ns)
{
	struct evindex_head h = { .magic = EVINDEX_MAGIC, .version = EVINDEX_VERSION, .head_bytes = EVINDEX_HEAD_BYTES, .record_bytes = sizeof(struct evindex_record),
				 .thread_bytes = sizeof(struct evindex_thread), .start_wall_ns = m->start_wall_ns, .events = m->events,
				 .raw_bytes = m->event_stream.raw_bytes, .n = s->n, .n_threads = n_threads, .n_names = names->n,
				 .names_bytes = names->n ? names->text.len : 0, .end_ns = end_ns };
	int r;

	if (s->fd < 0 || s->loaded)
		return 0;
	memcpy(h.id, m->id.hex, STORE_ID_LEN);
	r = write_tail(s, &h, thread, names);
	return r < 0 ? r : give_name(s->fd, dir, &m->id);
}

/* --- sweeping --- */

static bool has_recording(const char *dir, const char *id)
{
	char *there CLEANUP(freep) = os_asprintf("%s/%.*s", dir, STORE_ID_LEN, id);
	char *open CLEANUP(freep) = os_asprintf("%s/tmp/%.*s", dir, STORE_ID_LEN, id);

	return !there || !open || access(there, F_OK) == 0 || access(open, F_OK) == 0;
}

void evindex_sweep(const char *dir)
{
	char *cache CLEANUP(freep) = os_asprintf("%s/" CACHE_DIR, dir);
	DIR *d = cache ? opendir(cache) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), suffix = strlen(SUFFIX);
		bool named = n == STORE_ID_LEN + suffix && strcmp(e->d_name + STORE_ID_LEN, SUFFIX) == 0;
		bool fresh = n > strlen(SUFFIX_NEW) && strcmp(e->d_name + n - strlen(SUFFIX_NEW), SUFFIX_NEW) == 0;

		if (fresh || (named && !has_recording(dir, e->d_name)))
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}
