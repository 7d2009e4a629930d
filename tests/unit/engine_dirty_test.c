/* Write tracking with a real process: what counts as written, and that the process notices nothing. */
#include "engine/dirty.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tests/unit/engine_guest.h"

#define PAGE 4096ull
#define AREA 0x20000000ull
#define OTHER 0x30000000ull

struct fixture {
	struct eng_task t;
	struct eng_dirty *d;
};

static void begin(struct fixture *f)
{
	guest_start(&f->t);
	guest_anon(&f->t, AREA, 64 * PAGE);
	guest_write(&f->t, AREA, 16);
	ck_assert_int_eq(eng_dirty_new(&f->t, &f->d), 0);
}

static void end(struct fixture *f)
{
	eng_dirty_free(f->d);
	guest_end(&f->t);
}

/* --- pages as text: "3+2 9" = pages 3, 4 and 9 from a base on --- */

struct found {
	uint64_t base, pages;
	char text[512];
	size_t n;
};

static int note(void *ctx, uint64_t addr, uint64_t pages)
{
	struct found *f = ctx;
	long long at = (long long)(addr - f->base) / (long long)PAGE;

	f->pages += pages;
	if (f->n > sizeof(f->text) - 32)
		return 0;
	f->n += (size_t)snprintf(f->text + f->n, sizeof(f->text) - f->n, pages == 1 ? "%s%lld" : "%s%lld+%llu", f->n ? " " : "", at,
				 (unsigned long long)pages);
	return 0;
}

static void take_from(struct fixture *f, uint64_t base, const char *want)
{
	struct found found = { .base = base };

	ck_assert_int_eq(eng_dirty_take(f->d, &f->t, 2000, note, &found), 0);
	ck_assert_str_eq(found.text, want);
}

static void take(struct fixture *f, const char *want)
{
	take_from(f, AREA, want);
}

/* --- cases --- */

START_TEST(writes)
{
	struct fixture f;

	begin(&f);
	take(&f, "");
	guest_write(&f.t, AREA + 3 * PAGE, 2);
	guest_write(&f.t, AREA + 9 * PAGE, 1);
	take(&f, "3+2 9");
	take(&f, "");
	guest_write(&f.t, AREA + 9 * PAGE, 1);
	guest_read(&f.t, AREA, 16);
	take(&f, "9");
	ck_assert_int_eq(guest_byte(&f.t, AREA + 9 * PAGE), 3);
	end(&f);
}
END_TEST

START_TEST(first_touch)
{
	struct fixture f;

	begin(&f);
	guest_read(&f.t, AREA + 20 * PAGE, 4); /* the zero page */
	take(&f, "");
	guest_write(&f.t, AREA + 21 * PAGE, 1);
	guest_write(&f.t, AREA + 40 * PAGE, 1);
	take(&f, "21 40");
	take(&f, "");
	end(&f);
}
END_TEST

START_TEST(kernel_writes)
{
	struct fixture f;
	int fds[2];

	begin(&f);
	ck_assert_int_eq(pipe(fds), 0); /* the process shares our descriptors */
	ck_assert_int_eq(write(fds[1], "hello", 5), 5);
	ck_assert_int_eq(guest_call(&f.t, SYS_read, (uint64_t)fds[0], AREA + 2 * PAGE - 2, 5, 0, 0), 5);
	take(&f, "1+2");
	ck_assert_int_eq(guest_byte(&f.t, AREA + 2 * PAGE), 'l');
	ck_assert_int_eq(eng_write(&f.t, AREA + 7 * PAGE, "x", 1), 0);
	take(&f, "7");
	close(fds[0]);
	close(fds[1]);
	end(&f);
}
END_TEST

START_TEST(new_mapping)
{
	struct fixture f;

	begin(&f);
	guest_anon(&f.t, OTHER, 16 * PAGE);
	guest_write(&f.t, OTHER + PAGE, 2);
	take_from(&f, OTHER, "1+2");
	guest_write(&f.t, OTHER + 2 * PAGE, 2);
	take_from(&f, OTHER, "2+2");
	/* another one at the same place */
	ck_assert_int_eq(guest_call(&f.t, SYS_munmap, OTHER, 16 * PAGE, 0, 0, 0), 0);
	ck_assert_int_eq(aspace_unmap(&f.t.mm->as, OTHER, OTHER + 16 * PAGE), 0);
	take_from(&f, OTHER, "");
	guest_anon(&f.t, OTHER, 16 * PAGE);
	guest_write(&f.t, OTHER + 5 * PAGE, 1);
	take_from(&f, OTHER, "5");
	take_from(&f, OTHER, "");
	end(&f);
}
END_TEST

START_TEST(dontneed)
{
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(guest_call(&f.t, SYS_madvise, AREA, 8 * PAGE, MADV_DONTNEED, 0, 0), 0);
	take(&f, "");
	ck_assert_int_eq(guest_byte(&f.t, AREA + PAGE), 0);
	guest_write(&f.t, AREA + PAGE, 1);
	take(&f, "1");
	end(&f);
}
END_TEST

START_TEST(mremap_moves)
{
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(guest_call(&f.t, SYS_mremap, AREA, 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, OTHER), (int64_t)OTHER);
	ck_assert_int_eq(aspace_remap(&f.t.mm->as, AREA, 64 * PAGE, OTHER, 64 * PAGE, false), 0);
	guest_write(&f.t, OTHER + 30 * PAGE, 1);
	take_from(&f, OTHER, "0+16 30");
	guest_write(&f.t, OTHER + 2 * PAGE, 1);
	take_from(&f, OTHER, "2");
	ck_assert_int_eq(guest_byte(&f.t, OTHER + 2 * PAGE), 2);
	end(&f);
}
END_TEST

START_TEST(mremap_of_two)
{
	struct fixture f;

	begin(&f);
	guest_anon(&f.t, AREA + 64 * PAGE, 64 * PAGE); /* to the kernel one mapping with the first, but for us */
	eng_dirty_cover(f.d, AREA, 128 * PAGE);
	ck_assert_int_eq(guest_call(&f.t, SYS_mremap, AREA, 128 * PAGE, 256 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, OTHER), (int64_t)OTHER);
	end(&f);
}
END_TEST

START_TEST(forked)
{
	struct fixture f, child;

	begin(&f);
	guest_write(&f.t, AREA + 5 * PAGE, 1);
	guest_fork(&f.t, &child.t);
	take(&f, "5");
	guest_write(&f.t, AREA + 6 * PAGE, 1); /* copies the page */
	guest_write(&child.t, AREA + 6 * PAGE, 1);
	guest_write(&child.t, AREA + 7 * PAGE, 1);
	take(&f, "6");
	ck_assert_int_eq(guest_byte(&f.t, AREA + 7 * PAGE), 1);
	ck_assert_int_eq(guest_byte(&child.t, AREA + 7 * PAGE), 2);
	/* the child is tracked on its own */
	ck_assert_int_eq(eng_dirty_new(&child.t, &child.d), 0);
	guest_write(&child.t, AREA + PAGE, 1);
	guest_write(&f.t, AREA + 2 * PAGE, 1);
	take(&child, "1");
	take(&f, "2");
	end(&child);
	guest_write(&f.t, AREA + 3 * PAGE, 1);
	take(&f, "3");
	end(&f);
}
END_TEST

START_TEST(more_than_wanted)
{
	struct found found = { .base = AREA };
	struct fixture f;

	begin(&f);
	for (unsigned i = 0; i < 32; i++)
		guest_write(&f.t, AREA + 2 * i * PAGE, 1);
	ck_assert_int_eq(eng_dirty_take(f.d, &f.t, 3, note, &found), 1);
	ck_assert_str_eq(found.text, "0 2 4");
	take(&f, "");
	/* more runs than are fetched at once */
	guest_anon(&f.t, OTHER, 2048 * PAGE);
	for (unsigned i = 0; i < 1024; i++)
		guest_write(&f.t, OTHER + 2 * i * PAGE, 1);
	found = (struct found){ .base = OTHER };
	ck_assert_int_eq(eng_dirty_take(f.d, &f.t, 2000, note, &found), 0);
	ck_assert_uint_eq(found.pages, 1024);
	take(&f, "");
	end(&f);
}
END_TEST

static int give_up(void *ctx, uint64_t addr, uint64_t pages)
{
	(void)addr, (void)pages;
	++*(int *)ctx;
	return -ECANCELED;
}

START_TEST(given_up)
{
	struct fixture f;
	int calls = 0;

	begin(&f);
	guest_write(&f.t, AREA, 1);
	guest_write(&f.t, AREA + 2 * PAGE, 1);
	ck_assert_int_eq(eng_dirty_take(f.d, &f.t, 100, give_up, &calls), -ECANCELED);
	ck_assert_int_eq(calls, 1);
	take(&f, "");
	end(&f);
}
END_TEST

START_TEST(files)
{
	struct fixture f;
	int fd = memfd_create("test", MFD_CLOEXEC);

	begin(&f);
	ck_assert_int_eq(ftruncate(fd, 16 * PAGE), 0);
	guest_map(&f.t, OTHER, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	guest_map(&f.t, OTHER + 8 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	take_from(&f, OTHER, "");
	guest_read(&f.t, OTHER, 2);
	guest_write(&f.t, OTHER + 3 * PAGE, 1);
	take_from(&f, OTHER, "3");
	take_from(&f, OTHER, "");
	guest_write(&f.t, OTHER + 10 * PAGE, 1);
	take_from(&f, OTHER, "10");
	guest_write(&f.t, OTHER + 10 * PAGE, 1);
	guest_write(&f.t, OTHER, 1);
	take_from(&f, OTHER, "0 10");
	close(fd);
	end(&f);
}
END_TEST

START_TEST(growing_stack)
{
	const uint64_t bottom = OTHER + 0x1000000, stack = bottom - 4 * PAGE;
	struct fixture f;

	begin(&f);
	guest_map(&f.t, stack, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1);
	guest_write(&f.t, stack - PAGE, 1);
	take_from(&f, stack, "-1");
	guest_write(&f.t, stack - 2 * PAGE, 1);
	guest_write(&f.t, stack - PAGE, 1);
	take_from(&f, stack, "-2+2");
	/* still one mapping, that grows */
	guest_anon(&f.t, OTHER, PAGE);
	take_from(&f, stack, "");
	guest_write(&f.t, stack - 3 * PAGE, 1);
	take_from(&f, stack, "-3");
	end(&f);
}
END_TEST

START_TEST(huge_pages)
{
	const uint64_t huge = 2 << 20;
	struct fixture f;

	begin(&f);
	guest_anon(&f.t, OTHER, 2 * huge);
	ck_assert_int_eq(guest_call(&f.t, SYS_madvise, OTHER, 2 * huge, MADV_HUGEPAGE, 0, 0), 0);
	guest_write(&f.t, OTHER, 1024);
	take_from(&f, OTHER, "0+1024"); /* as new */
	guest_write(&f.t, OTHER + 100 * PAGE, 3);
	take_from(&f, OTHER, "100+3");
	ck_assert_int_eq(guest_byte(&f.t, OTHER + 100 * PAGE), 2);
	ck_assert_int_eq(guest_byte(&f.t, OTHER + 103 * PAGE), 1);
	end(&f);
}
END_TEST

static unsigned open_descriptors(pid_t pid)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		n += faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return n;
}

START_TEST(nothing_is_left)
{
	struct user_regs_struct before, *after;
	struct fixture f, child;
	unsigned n;

	begin(&f);
	guest_fork(&f.t, &child.t); /* has a descriptor table of its own */
	n = open_descriptors(child.t.tid);
	ck_assert_uint_gt(n, 2);
	ck_assert_int_eq(eng_regs(&child.t, &after), 0);
	before = *after;
	ck_assert_int_eq(eng_dirty_new(&child.t, &child.d), 0);
	ck_assert_uint_eq(open_descriptors(child.t.tid), n);
	ck_assert_int_eq(eng_regs(&child.t, &after), 0);
	ck_assert_mem_eq(&before, after, sizeof(before));
	/* given back, everything is written as before */
	n = open_descriptors(getpid());
	eng_dirty_free(f.d);
	ck_assert_uint_eq(open_descriptors(getpid()), n - 2);
	guest_write(&f.t, AREA, 16);
	ck_assert_int_eq(guest_byte(&f.t, AREA + 15 * PAGE), 2);
	f.d = NULL;
	end(&child);
	end(&f);
}
END_TEST

START_TEST(gone)
{
	struct fixture f;

	begin(&f);
	kill(f.t.tid, SIGKILL);
	while (waitpid(f.t.tid, NULL, __WALL) < 0 && errno == EINTR)
		;
	take(&f, ""); /* comes back */
	eng_dirty_free(f.d);
	eng_task_done(&f.t);
}
END_TEST

START_TEST(refused)
{
	struct fixture f;

	guest_start(&f.t);
	ck_assert_int_eq(eng_dirty_new(&f.t, &f.d), -ENOSYS);
	guest_end(&f.t);
}
END_TEST

/* Asked without the code under test. */
static bool kernel_can(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = 1u << 15 /* WP_ASYNC */ };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);
	bool can = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;

	if (fd >= 0)
		close(fd);
	return can;
}

int main(void)
{
	const TTest *const without[] = { refused };
	const TTest *const with[] = { writes,	    first_touch, kernel_writes,	   new_mapping, dontneed, mremap_moves,
				      mremap_of_two, forked,	 more_than_wanted, given_up,	files,	  growing_stack,
				      huge_pages,   nothing_is_left, gone };

	return kernel_can() ? test_run("dirty", with, ARRAY_SIZE(with)) : test_run("dirty", without, ARRAY_SIZE(without));
}
