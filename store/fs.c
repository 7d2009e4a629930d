/* See fs_priv.h. */
#include "store/fs_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/os.h"

/* flags: O_NOFOLLOW, or 0. */
static int each_name(const char *dir, int flags, fs_name_fn fn, void *ctx)
{
	int fd = os_open(dir, O_RDONLY | O_DIRECTORY | flags, 0);
	struct dirent *e;
	DIR *d;
	int r = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (errno = 0, e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = fn(ctx, e->d_name);
	if (r == 0 && errno)
		r = -errno;
	closedir(d);
	return r;
}

int fs_each_name(const char *dir, fs_name_fn fn, void *ctx)
{
	return each_name(dir, 0, fn, ctx);
}

int fs_lock(int fd, bool exclusive, bool wait)
{
	while (flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | (wait ? 0 : LOCK_NB)) < 0)
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? ERR_BUSY : -errno;
	return 0;
}

void fs_unlock(int fd)
{
	(void)flock(fd, LOCK_UN);
}

int fs_lock_file(const char *dir, const char *name, bool exclusive, int *ret_fd)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	int fd CLEANUP(closep) = -1;
	struct stat st, there;
	int r;

	if (!path)
		return -ENOMEM;
	r = os_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (!exclusive && (r == -EROFS || r == -EACCES)) { /* whoever only reads needs no more than that; -ENOENT would say something else */
		fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
		r = fd >= 0 ? fd : r;
	}
	if (r < 0)
		return r;
	fd = r;
	r = fs_lock(fd, exclusive, false);
	if (r == 0)
		r = os_fstat(fd, &st);
	if (r < 0)
		return r;
	/* moved away or removed between open and lock: it is not ours to touch under this name */
	r = fs_stat(path, &there);
	if (r < 0 || there.st_ino != st.st_ino || there.st_dev != st.st_dev)
		return r < 0 && r != -ENOENT ? r : ERR_BUSY;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int fs_stat(const char *path, struct stat *ret)
{
	return stat(path, ret) < 0 ? -errno : 0;
}

int fs_lstat(const char *path, struct stat *ret)
{
	return lstat(path, ret) < 0 ? -errno : 0;
}

bool fs_exists(const char *path)
{
	struct stat st;

	return fs_stat(path, &st) == 0;
}

bool fs_is_dir(const char *path)
{
	struct stat st;

	return fs_lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct removal {
	const char *dir;
	int depth;
};

static int remove_tree(const char *dir, int depth);

static int remove_name(void *ctx, const char *name)
{
	const struct removal *rm = ctx;
	char *path CLEANUP(freep) = os_asprintf("%s/%s", rm->dir, name);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return rm->depth > 0 ? remove_tree(path, rm->depth - 1) : -ENOTEMPTY;
	return fs_unlink_quiet(path);
}

static int remove_tree(const char *dir, int depth)
{
	struct removal rm = { dir, depth };
	int r = each_name(dir, O_NOFOLLOW, remove_name, &rm);

	if (r < 0)
		return r;
	return rmdir(dir) < 0 ? -errno : 0;
}

int fs_remove_dir(const char *dir)
{
	int r = remove_tree(dir, 1);

	/* a link: what it leads to is not ours */
	return r == -ENOTDIR || r == -ELOOP ? fs_unlink_quiet(dir) : r;
}

int fs_sync_dir(const char *dir)
{
	int fd = os_open(dir, O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (fd < 0)
		return fd;
	r = os_fsync(fd);
	os_close(fd);
	return r == -EINVAL || r == -ENOTSUP ? 0 : r;
}

int fs_unlink_quiet(const char *path)
{
	int r = os_unlink(path);

	return r == -ENOENT ? 0 : r;
}

int fs_replace_file(const char *path, const void *p, size_t n)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s.%d.new", path, (int)getpid());
	int fd, r;

	if (!tmp)
		return -ENOMEM;
	fd = os_open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	r = os_write_full(fd, p, n);
	os_close(fd);
	if (r == 0)
		r = os_rename(tmp, path);
	if (r < 0)
		(void)!fs_unlink_quiet(tmp);
	return r;
}

int fs_random(void *p, size_t n)
{
	ssize_t got = getrandom(p, n, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EIO;
}
