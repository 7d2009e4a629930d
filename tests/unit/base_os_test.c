/* base/os: whole transfers over short and interrupted ones, atomic files, failures of each replaced call. */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/test.h"

static char dir[] = "/tmp/hermit-os-test-XXXXXX";

static char *in_dir(const char *name)
{
	char *p = os_asprintf("%s/%s", dir, name);

	ck_assert_ptr_nonnull(p);
	return p;
}

static void enter(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* Removes the directory when a test went well (failed tests leave it for a look). */
static void leave(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static int calls;

static ssize_t stutter_read(int fd, void *p, size_t n)
{
	if (calls++ % 2 == 0) {
		errno = EINTR;
		return -1;
	}
	return read(fd, p, n > 3 ? 3 : n);
}

static ssize_t stutter_write(int fd, const void *p, size_t n)
{
	if (calls++ % 2 == 0) {
		errno = EINTR;
		return -1;
	}
	return write(fd, p, n > 3 ? 3 : n);
}

static ssize_t full_disk(int fd, const void *p, size_t n)
{
	(void)fd, (void)p, (void)n;
	errno = ENOSPC;
	return -1;
}

static int failing_rename(const char *from, const char *to)
{
	(void)from, (void)to;
	errno = EACCES;
	return -1;
}

static int failing_fsync(int fd)
{
	(void)fd;
	errno = EIO;
	return -1;
}

static void *no_memory(size_t n)
{
	(void)n;
	return NULL;
}

START_TEST(short_transfers)
{
	static const struct os_calls stutter = { .read = stutter_read, .write = stutter_write };
	static const char text[] = "a text of some length that needs many calls";
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *got = NULL;
	char part[10];
	size_t len;
	int fd;

	enter();
	path = in_dir("f");
	os_set_calls(&stutter);
	ck_assert_int_eq(os_write_file_atomic(path, text, sizeof(text), 0600), 0);
	ck_assert_int_eq(os_read_file(path, 1000, &got, &len), 0);
	ck_assert_uint_eq(len, sizeof(text));
	ck_assert_str_eq(got, text);
	fd = os_open(path, O_RDWR, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(fcntl(fd, F_GETFD) & FD_CLOEXEC, 1);
	ck_assert_int_eq(os_read_full(fd, part, sizeof(part)), sizeof(part));
	ck_assert_int_eq(memcmp(part, text, sizeof(part)), 0);
	ck_assert_int_eq(os_pread_full(fd, part, sizeof(part), (off_t)sizeof(text) - 4), 4);
	ck_assert_int_eq(os_pwrite_full(fd, "TEXT", 4, 2), 0);
	ck_assert_int_eq(os_pread_full(fd, part, 4, 2), 4);
	ck_assert_int_eq(memcmp(part, "TEXT", 4), 0);
	ck_assert_int_eq(os_close(fd), 0);
	ck_assert_int_eq(os_close(fd), -EBADF);
	os_set_calls(NULL);
	leave();
}
END_TEST

START_TEST(limits_of_read_file)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *got = NULL;
	size_t len = 99;

	enter();
	path = in_dir("f");
	ck_assert_int_eq(os_read_file(path, 10, &got, &len), -ENOENT);
	ck_assert_int_eq(os_write_file_atomic(path, "0123456789", 10, 0600), 0);
	ck_assert_int_eq(os_read_file(path, 9, &got, &len), ERR_LIMIT);
	ck_assert_ptr_null(got);
	ck_assert_uint_eq(len, 99);
	ck_assert_int_eq(os_read_file(path, 10, &got, NULL), 0);
	ck_assert_str_eq(got, "0123456789");
	leave();
}
END_TEST

/* A failed atomic write leaves the old content and no litter. */
static void check_atomic(const struct os_calls *table, int expected)
{
	CLEANUP(freep) char *path = in_dir("f");
	CLEANUP(freep) char *got = NULL;
	int r;

	os_set_calls(table);
	r = os_write_file_atomic(path, "new", 3, 0600);
	os_set_calls(NULL);
	ck_assert_int_eq(r, expected);
	ck_assert_int_eq(os_read_file(path, 10, &got, NULL), 0);
	ck_assert_str_eq(got, "old");
	ck_assert_uint_eq(entries(dir), 1);
}

START_TEST(atomic_write_fails_cleanly)
{
	static const struct os_calls disk = { .write = full_disk }, name = { .rename = failing_rename },
				     sync = { .fsync = failing_fsync }, memory = { .malloc = no_memory };
	CLEANUP(freep) char *path = NULL;

	enter();
	path = in_dir("f");
	ck_assert_int_eq(os_write_file_atomic(path, "old", 3, 0600), 0);
	check_atomic(&disk, -ENOSPC);
	check_atomic(&name, -EACCES);
	check_atomic(&sync, -EIO);
	check_atomic(&memory, -ENOMEM);
	leave();
}
END_TEST

START_TEST(directories)
{
	CLEANUP(freep) char *deep = NULL;
	CLEANUP(freep) char *file = NULL;
	CLEANUP(freep) char *below = NULL;

	enter();
	deep = in_dir("a//b/c/");
	file = in_dir("f");
	below = in_dir("f/g");
	ck_assert_int_eq(os_mkdir_p(deep, 0700), 0);
	ck_assert_int_eq(os_mkdir_p(deep, 0700), 0);
	ck_assert_int_eq(os_mkdir(dir, 0700), -EEXIST);
	ck_assert_int_eq(os_mkdir_p("/", 0700), 0);
	ck_assert_int_eq(os_mkdir_p("", 0700), -ENOENT);
	ck_assert_int_eq(os_write_file_atomic(file, "", 0, 0600), 0);
	ck_assert_int_eq(os_mkdir_p(file, 0700), -ENOTDIR);
	ck_assert_int_eq(os_mkdir_p(below, 0700), -ENOTDIR);
	ck_assert_int_eq(os_unlink(file), 0);
	ck_assert_int_eq(os_unlink(file), -ENOENT);
	leave();
}
END_TEST

START_TEST(memory)
{
	CLEANUP(freep) char *s = os_asprintf("%s-%d", "x", 7);
	CLEANUP(freep) char *d = os_strdup("");
	CLEANUP(freep) uint64_t *z = os_calloc(10, sizeof(*z));

	ck_assert_str_eq(s, "x-7");
	ck_assert_str_eq(d, "");
	ck_assert_uint_eq(z[9], 0);
	ck_assert_ptr_null(os_calloc(SIZE_MAX / 2, 3));
}
END_TEST

START_TEST(clocks)
{
	uint64_t a = os_mono_ns(), b = os_mono_ns();

	ck_assert_uint_le(a, b);
	ck_assert_uint_gt(os_wall_ns(), 1600000000ull * 1000000000ull);
}
END_TEST

TEST_MAIN("os", short_transfers, limits_of_read_file, atomic_write_fails_cleanly, directories, memory, clocks)
