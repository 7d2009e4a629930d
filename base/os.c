/* See os.h. os_calls holds what is in effect: libc, or what a test put there. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/limits.h"

/* read(2) and write(2) transfer at most 0x7ffff000 bytes */
#define IO_MAX ((size_t)1 << 30)

static int libc_open(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

static int libc_openat(int dir, const char *path, int flags, mode_t mode)
{
	return openat(dir, path, flags, mode);
}

#define LIBC_CALLS \
	{ \
		.open = libc_open, .openat = libc_openat, .read = read, .pread = pread, .write = write, \
		.pwrite = pwrite, .fsync = fsync, .ftruncate = ftruncate, .rename = rename, .unlink = unlink, \
		.mkdir = mkdir, .fstat = fstat, .close = close, .malloc = malloc, \
	}

static struct os_calls os_calls = LIBC_CALLS;

void os_set_calls(const struct os_calls *calls)
{
	static const struct os_calls libc = LIBC_CALLS;

	os_calls = libc;
	if (!calls)
		return;
#define OS_TAKE(name) \
	if (calls->name) \
	os_calls.name = calls->name
	OS_TAKE(open);
	OS_TAKE(openat);
	OS_TAKE(read);
	OS_TAKE(pread);
	OS_TAKE(write);
	OS_TAKE(pwrite);
	OS_TAKE(fsync);
	OS_TAKE(ftruncate);
	OS_TAKE(rename);
	OS_TAKE(unlink);
	OS_TAKE(mkdir);
	OS_TAKE(fstat);
	OS_TAKE(close);
	OS_TAKE(malloc);
#undef OS_TAKE
}

/* Evaluates a libc call again while a signal interrupts it; the result or a negated errno. */
#define RETRY(call) \
	({ \
		typeof(call) retry_r_; \
		do \
			retry_r_ = (call); \
		while (retry_r_ < 0 && errno == EINTR); \
		retry_r_ < 0 ? -errno : retry_r_; \
	})
#define RESULT(call) ((call) < 0 ? -errno : 0)

int os_open(const char *path, int flags, mode_t mode)
{
	return RETRY(os_calls.open(path, flags | O_CLOEXEC, mode));
}

int os_openat(int dir, const char *path, int flags, mode_t mode)
{
	return RETRY(os_calls.openat(dir, path, flags | O_CLOEXEC, mode));
}

ssize_t os_read(int fd, void *p, size_t n)
{
	return RETRY(os_calls.read(fd, p, MIN(n, IO_MAX)));
}

ssize_t os_pread(int fd, void *p, size_t n, off_t off)
{
	return RETRY(os_calls.pread(fd, p, MIN(n, IO_MAX), off));
}

ssize_t os_read_full(int fd, void *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = os_read(fd, (char *)p + done, n - done);

		if (k < 0)
			return k;
		if (k == 0)
			break;
		done += (size_t)k;
	}
	return (ssize_t)done;
}

ssize_t os_pread_full(int fd, void *p, size_t n, off_t off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = os_pread(fd, (char *)p + done, n - done, off + (off_t)done);

		if (k < 0)
			return k;
		if (k == 0)
			break;
		done += (size_t)k;
	}
	return (ssize_t)done;
}

int os_write_full(int fd, const void *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = RETRY(os_calls.write(fd, (const char *)p + done, MIN(n - done, IO_MAX)));

		if (k < 0)
			return (int)k;
		if (k == 0)
			return -EIO; /* would loop for ever */
		done += (size_t)k;
	}
	return 0;
}

int os_pwrite_full(int fd, const void *p, size_t n, off_t off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = RETRY(os_calls.pwrite(fd, (const char *)p + done, MIN(n - done, IO_MAX), off + (off_t)done));

		if (k < 0)
			return (int)k;
		if (k == 0)
			return -EIO;
		done += (size_t)k;
	}
	return 0;
}

int os_fsync(int fd)
{
	return RETRY(os_calls.fsync(fd));
}

int os_ftruncate(int fd, off_t len)
{
	return RETRY(os_calls.ftruncate(fd, len));
}

int os_rename(const char *from, const char *to)
{
	return RESULT(os_calls.rename(from, to));
}

int os_unlink(const char *path)
{
	return RESULT(os_calls.unlink(path));
}

int os_mkdir(const char *path, mode_t mode)
{
	return RESULT(os_calls.mkdir(path, mode));
}

/* One level of os_mkdir_p(). EEXIST is fine for a directory only; EROFS and EACCES may hide an existing one. */
static int mkdir_one(const char *path, mode_t mode)
{
	int r = os_mkdir(path, mode);
	struct stat st;

	if (r < 0 && stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return r;
}

int os_mkdir_p(const char *path, mode_t mode)
{
	char part[OS_PATH_MAX];
	size_t n = strlen(path);

	if (n == 0)
		return -ENOENT;
	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i < n; i++) {
		int r;

		if (part[i] != '/' || part[i - 1] == '/')
			continue;
		part[i] = '\0';
		r = mkdir_one(part, mode);
		part[i] = '/';
		if (r < 0)
			return r;
	}
	return mkdir_one(part, mode);
}

int os_fstat(int fd, struct stat *ret)
{
	struct stat st;
	int r = RESULT(os_calls.fstat(fd, &st));

	if (r == 0)
		*ret = st;
	return r;
}

int os_close(int fd)
{
	/* Linux has closed the descriptor even when it says EINTR */
	return os_calls.close(fd) < 0 && errno != EINTR ? -errno : 0;
}

void *os_malloc(size_t n)
{
	return os_calls.malloc(n ? n : 1);
}

void *os_calloc(size_t n, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	p = os_malloc(total);
	if (p)
		memset(p, 0, total);
	return p;
}

char *os_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = os_malloc(n);

	return p ? memcpy(p, s, n) : NULL;
}

char *os_asprintf(const char *fmt, ...)
{
	va_list ap, again;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0)
		p = os_malloc((size_t)n + 1);
	if (p)
		(void)vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

int os_open_regular(const char *path)
{
	CLEANUP(closep) int fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	int r = fd < 0 ? fd : os_fstat(fd, &st);

	if (r == -ELOOP || r == -ENXIO) /* a link, a socket */
		return ERR_CORRUPT;
	if (r < 0)
		return r;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : ERR_CORRUPT;
}

static int read_all(int fd, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(freep) char *data = NULL;
	size_t cap = 0, len = 0;

	/* Not by st_size: files of /proc say 0. */
	for (;;) {
		ssize_t k;

		if (len + 1 >= cap) {
			size_t want = cap ? cap * 2 : 4096;
			char *p = os_malloc(want);

			if (!p)
				return -ENOMEM;
			if (len)
				memcpy(p, data, len);
			free(data);
			data = p;
			cap = want;
		}
		k = os_read(fd, data + len, cap - 1 - len);
		if (k < 0)
			return (int)k;
		if (k == 0)
			break;
		len += (size_t)k;
		if (len > max)
			return ERR_LIMIT;
	}
	data[len] = '\0';
	if (ret_len)
		*ret_len = len;
	*ret = TAKE(data);
	return 0;
}

int os_read_file(const char *path, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(closep) int fd = os_open(path, O_RDONLY, 0);

	return fd < 0 ? fd : read_all(fd, max, ret, ret_len);
}

int os_read_regular(const char *path, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(closep) int fd = os_open_regular(path);

	return fd < 0 ? fd : read_all(fd, max, ret, ret_len);
}

static int write_new_file(const char *path, const void *p, size_t n, mode_t mode)
{
	CLEANUP(closep) int fd = os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	int r;

	if (fd < 0)
		return fd;
	r = os_write_full(fd, p, n);
	if (r == 0)
		r = os_fsync(fd);
	if (r == 0)
		r = os_close(TAKE_FD(fd));
	return r;
}

int os_write_file_atomic(const char *path, const void *p, size_t n, mode_t mode)
{
	CLEANUP(freep) char *tmp = os_asprintf("%s.%d-%llx.new", path, (int)getpid(), (unsigned long long)os_mono_ns());
	int r;

	if (!tmp)
		return -ENOMEM;
	r = write_new_file(tmp, p, n, mode);
	if (r == -EEXIST)
		return r; /* not ours to remove */
	if (r == 0)
		r = os_rename(tmp, path);
	if (r < 0)
		(void)os_calls.unlink(tmp);
	return r;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	/* Not through the vDSO: a tracer may have rdtsc trapping on (engine/traps.c). */
	must(syscall(SYS_clock_gettime, clock, &ts) == 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t os_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t os_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
