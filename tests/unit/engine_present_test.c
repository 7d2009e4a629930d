/* Which pages exist, of a real process. */
#include "engine/present.h"

#include <unistd.h>
#include "tests/unit/engine_guest.h"

#define PAGE 4096ull
#define AREA 0x20000000ull
#define OTHER 0x30000000ull

static void check(int fd, uint64_t addr, size_t n, const char *want)
{
	uint8_t kind[2048];
	char text[2049] = "";

	ck_assert_uint_le(n, sizeof(kind));
	ck_assert_int_eq(eng_present(fd, addr, n, kind), 0);
	for (size_t i = 0; i < n; i++)
		text[i] = kind[i] == ENG_PAGE_ABSENT ? '.' : kind[i] == ENG_PAGE_ANON ? 'a' : 'f';
	ck_assert_str_eq(text, want);
}

START_TEST(anonymous)
{
	struct eng_task t;
	int fd;

	guest_start(&t);
	guest_anon(&t, AREA, 8 * PAGE);
	fd = eng_present_open(&t);
	ck_assert_int_ge(fd, 0);
	check(fd, AREA, 8, "........");
	guest_write(&t, AREA + PAGE, 2);
	guest_read(&t, AREA + 5 * PAGE, 1);
	check(fd, AREA, 8, ".aa..a..");
	check(fd, AREA - PAGE, 4, "..aa"); /* nothing is mapped below */
	ck_assert_int_eq(guest_call(&t, SYS_madvise, AREA + PAGE, PAGE, MADV_DONTNEED, 0, 0), 0);
	check(fd, AREA, 8, "..a..a..");
	close(fd);
	guest_end(&t);
}
END_TEST

START_TEST(files)
{
	int mem = memfd_create("test", MFD_CLOEXEC), fd;
	uint8_t kind[4];
	struct eng_task t;

	ck_assert_int_eq(ftruncate(mem, 4 * PAGE), 0);
	guest_start(&t);
	guest_map(&t, AREA, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, mem);
	guest_map(&t, OTHER, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem);
	fd = eng_present_open(&t);
	ck_assert_int_ge(fd, 0);
	guest_write(&t, OTHER, 1);
	guest_write(&t, OTHER + 2 * PAGE, 2);
	check(fd, OTHER, 4, "f.ff");
	guest_read(&t, AREA, 1);
	guest_write(&t, AREA + 2 * PAGE, 1);
	ck_assert_int_eq(eng_present(fd, AREA, ARRAY_SIZE(kind), kind), 0);
	ck_assert_uint_eq(kind[0], ENG_PAGE_FILE);
	ck_assert_uint_eq(kind[2], ENG_PAGE_ANON);
	ck_assert_uint_ne(kind[3], ENG_PAGE_ANON); /* the kernel may have mapped it with the others */
	close(fd);
	close(mem);
	guest_end(&t);
}
END_TEST

/* More than one read of pagemap. */
START_TEST(many)
{
	struct eng_task t;
	char want[1501];
	int fd;

	guest_start(&t);
	guest_anon(&t, AREA, 1500 * PAGE);
	fd = eng_present_open(&t);
	ck_assert_int_ge(fd, 0);
	memset(want, '.', 1500);
	want[1500] = 0;
	for (size_t i = 0; i < 1500; i += 511) {
		guest_write(&t, AREA + i * PAGE, 2);
		want[i] = want[i + 1] = 'a';
	}
	check(fd, AREA, 1500, want);
	close(fd);
	guest_end(&t);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { anonymous, files, many };

	return test_run("present", tests, ARRAY_SIZE(tests));
}
