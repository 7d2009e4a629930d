/* Content-addressed files: blobs/ab/cdef... holds the bytes whose SHA-256 is abcdef...
 *
 * A blob is written under a temporary name and renamed: it is whole or not there. Two processes that add the same bytes rename one over the other.
 * It is not fsync()ed (a recording would wait for the disk at each library); instead its size is compared whenever it
 * is used again, which is what a machine's death spoils, and verification compares the digest.
 *
 * Removal: store_gc() unlinks, under the exclusive lock, what no manifest names and what was not touched for an hour; every use touches,
 * under the shared lock. So a blob that a recorder was just given cannot vanish before its recording names it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/os.h"
#include "store/blob_cache_priv.h"
#include "store/store_priv.h"

#define COPY_BUFFER (256u << 10)

void blob_id_hex(const struct blob_id *id, char ret[65])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(id->sha256); i++) {
		ret[2 * i] = digits[id->sha256[i] >> 4];
		ret[2 * i + 1] = digits[id->sha256[i] & 15];
	}
	ret[64] = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int blob_id_parse(const char *hex, struct blob_id *ret)
{
	struct blob_id id;

	for (size_t i = 0; i < sizeof(id.sha256); i++) {
		int hi = digit(hex[2 * i]), lo = hi < 0 ? -1 : digit(hex[2 * i + 1]);

		if (lo < 0)
			return -EINVAL;
		id.sha256[i] = (uint8_t)(hi << 4 | lo);
	}
	if (hex[64] != '\0')
		return -EINVAL;
	*ret = id;
	return 0;
}

bool blob_id_equal(const struct blob_id *a, const struct blob_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

char *blob_path(const struct store *s, const struct blob_id *id)
{
	char hex[65];

	blob_id_hex(id, hex);
	return os_asprintf("%s/blobs/%.2s/%s", s->dir, hex, hex + 2);
}

int blobs_lock(struct store *s, bool exclusive)
{
	if (s->blobs_lock < 0) {
		char *path CLEANUP(freep) = os_asprintf("%s/blobs/" NAME_LOCK, s->dir);
		int r = path ? os_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) : -ENOMEM;

		if (r < 0)
			return r;
		s->blobs_lock = r;
	}
	return fs_lock(s->blobs_lock, exclusive, true);
}

void blobs_unlock(struct store *s)
{
	fs_unlock(s->blobs_lock);
}

/* blob_touch() for callers that hold the lock. */
static int touch_locked(const char *path, uint64_t size)
{
	struct stat st;
	int r = fs_stat(path, &st);

	if (r == 0 && (uint64_t)st.st_size != size)
		r = -ENOENT;
	if (r == 0 && time(NULL) - st.st_mtime > BLOB_TOUCH_SECONDS && utimensat(AT_FDCWD, path, NULL, 0) < 0)
		r = -errno;
	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

int blob_touch(struct store *s, const struct blob_id *id, uint64_t size)
{
	char *path CLEANUP(freep) = blob_path(s, id);
	int r;

	if (!path)
		return -ENOMEM;
	r = blobs_lock(s, false);
	if (r < 0)
		return r;
	r = touch_locked(path, size);
	blobs_unlock(s);
	return r;
}

int blob_adopt_locked(struct store *s, const char *path, const struct blob_id *id, uint64_t size)
{
	char *to CLEANUP(freep) = blob_path(s, id);
	char *slash;
	int r;

	if (!to)
		return -ENOMEM;
	r = touch_locked(to, size);
	if (r < 0)
		return r;
	if (r > 0)
		return os_unlink(path);
	r = os_rename(path, to);
	if (r == -ENOENT) {
		slash = strrchr(to, '/');
		*slash = '\0';
		r = os_mkdir(to, 0700);
		*slash = '/';
		if (r == 0 || r == -EEXIST)
			r = os_rename(path, to);
	}
	return r < 0 ? r : 1;
}

static int blob_adopt(struct store *s, const char *path, const struct blob_id *id, uint64_t size)
{
	int r = blobs_lock(s, false);

	if (r < 0)
		return r;
	r = blob_adopt_locked(s, path, id, size);
	blobs_unlock(s);
	return r;
}

int blob_hash_fd(int fd, int out_fd, struct blob_id *ret, uint64_t *ret_size)
{
	uint8_t *p CLEANUP(freep) = os_malloc(COPY_BUFFER);
	struct sha256_ctx sha;
	uint64_t size = 0;
	ssize_t n;
	int r = 0;

	if (!p)
		return -ENOMEM;
	sha256_init(&sha);
	/* pread: the guest's file position must not move */
	while ((n = os_pread_full(fd, p, COPY_BUFFER, (off_t)size)) > 0 && r == 0) {
		sha256_update(&sha, (size_t)n, p);
		size += (uint64_t)n;
		if (out_fd >= 0)
			r = FAULT_HIT(store_blob) ? -ENOSPC : os_write_full(out_fd, p, (size_t)n);
	}
	if (n < 0 || r < 0)
		return n < 0 ? (int)n : r;
	sha256_digest(&sha, sizeof(ret->sha256), ret->sha256);
	*ret_size = size;
	return 0;
}

/* A new file in tmp/; its name is owned. */
static int temp_open(struct store *s, char **ret_path, int *ret_fd)
{
	char *path CLEANUP(freep) = NULL;
	struct store_id unique;
	int r = store_id_random(&unique);

	if (r < 0)
		return r;
	path = os_asprintf("%s/tmp/" PREFIX_BLOB "%s", s->dir, unique.hex);
	r = path ? os_open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -ENOMEM;
	if (r < 0)
		return r;
	*ret_path = TAKE(path);
	*ret_fd = r;
	return 0;
}

/* Gives the temporary file its place, or removes it. */
static int temp_close(struct store *s, const char *path, int r, const struct blob_id *id, uint64_t size)
{
	if (r == 0)
		r = blob_adopt(s, path, id, size);
	if (r < 0)
		(void)!fs_unlink_quiet(path);
	return r < 0 ? r : 0;
}

int store_blob_add(struct store *s, const void *p, size_t n, struct blob_id *ret)
{
	char *path CLEANUP(freep) = NULL;
	struct sha256_ctx sha;
	struct blob_id id;
	int r, fd;

	sha256_init(&sha);
	sha256_update(&sha, n, p);
	sha256_digest(&sha, sizeof(id.sha256), id.sha256);
	r = blob_touch(s, &id, n);
	if (r == 0) {
		r = temp_open(s, &path, &fd);
		if (r < 0)
			return r;
		r = os_write_full(fd, p, n);
		os_close(fd);
		r = temp_close(s, path, r, &id, n);
	}
	if (r < 0)
		return r;
	*ret = id;
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Copies and hashes. A reflink is free and cannot change under us: then the copy is what gets hashed. */
static int copy_and_hash(struct store *s, int fd, char **ret_path, struct blob_id *id, uint64_t *size)
{
	char *path CLEANUP(freep) = NULL;
	int out, r = temp_open(s, &path, &out);

	if (r < 0)
		return r;
	if (ioctl(out, FICLONE, fd) == 0)
		r = blob_hash_fd(out, -1, id, size);
	else
		r = blob_hash_fd(fd, out, id, size);
	os_close(out);
	if (r < 0)
		(void)!fs_unlink_quiet(path);
	else
		*ret_path = TAKE(path);
	return r;
}

int store_blob_add_file(struct store *s, int fd, const struct stat *st, struct blob_id *ret)
{
	char *path CLEANUP(freep) = NULL;
	struct blob_id id;
	struct stat after;
	uint64_t size, when;
	int r;

	r = blob_cache_get(s, st, &id);
	if (r > 0)
		r = blob_touch(s, &id, (uint64_t)st->st_size);
	if (r > 0)
		*ret = id;
	if (r != 0)
		return r < 0 ? r : 0;
	when = os_wall_ns();
	r = copy_and_hash(s, fd, &path, &id, &size);
	if (r < 0)
		return r;
	r = os_fstat(fd, &after);
	if (r == 0 && (!same_file(st, &after) || size != (uint64_t)st->st_size))
		r = ERR_BUSY;
	r = temp_close(s, path, r, &id, size);
	if (r < 0)
		return r;
	blob_cache_put(s, st, when, &id);
	*ret = id;
	return 0;
}

int store_blob_open(struct store *s, const struct blob_id *id, int *ret_fd)
{
	char *path CLEANUP(freep) = blob_path(s, id);
	int r = path ? os_open_regular(path) : -ENOMEM;

	if (r < 0)
		return r == -ENOENT ? ERR_MISSING_BLOB : r;
	*ret_fd = r;
	return 0;
}
