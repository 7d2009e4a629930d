/* The address-space model against a page array that does the same the plain way, over random operations; and against the kernel. */
#include "engine/aspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit/test.h"

enum { PAGES = 64, OPERATIONS = 20000 };

#define PAGE 4096ull

/* What one page of the plain model holds. */
struct page {
	bool mapped;
	uint32_t prot;
	uint64_t ino, offset;
};

static unsigned rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % n;
}

static void compare(const struct aspace *a, const struct page *p)
{
	uint64_t last = 0;

	for (size_t i = 0; i < a->n; i++) {
		ck_assert_uint_lt(a->m[i].start, a->m[i].end);
		ck_assert_uint_ge(a->m[i].start, last);
		last = a->m[i].end;
	}
	for (uint64_t i = 0; i < PAGES; i++) {
		const struct mapping *m = aspace_find(a, i * PAGE + 5);

		ck_assert_int_eq(m != NULL, p[i].mapped);
		if (!m)
			continue;
		ck_assert_uint_eq(m->prot, p[i].prot);
		ck_assert_uint_eq(m->ino, p[i].ino);
		ck_assert_uint_eq(m->offset + (i * PAGE - m->start), p[i].offset);
	}
}

START_TEST(random_operations)
{
	struct page plain[PAGES] = { 0 };
	struct aspace a;
	unsigned seed = 7;

	aspace_init(&a);
	for (uint64_t n = 1; n <= OPERATIONS; n++) {
		uint64_t from = rnd(&seed, PAGES), len = 1 + rnd(&seed, PAGES - (unsigned)from);
		struct mapping m = { .start = from * PAGE, .end = (from + len) * PAGE, .prot = rnd(&seed, 8), .ino = n, .offset = n * PAGE };

		switch (rnd(&seed, 3)) {
		case 0:
			ck_assert_int_eq(aspace_map(&a, &m), 0);
			for (uint64_t i = 0; i < len; i++)
				plain[from + i] = (struct page){ true, m.prot, n, m.offset + i * PAGE };
			break;
		case 1:
			ck_assert_int_eq(aspace_unmap(&a, m.start, m.end), 0);
			memset(plain + from, 0, len * sizeof(*plain));
			break;
		default:
			ck_assert_int_eq(aspace_protect(&a, m.start, m.end, m.prot), 0);
			for (uint64_t i = 0; i < len; i++)
				plain[from + i].prot = m.prot;
		}
		compare(&a, plain);
	}
	aspace_done(&a);
}
END_TEST

START_TEST(remap_moves_and_keeps)
{
	const struct mapping m = { .start = 0x10000, .end = 0x14000, .prot = PROT_READ, .ino = 9, .offset = 0x1000 };
	struct aspace a;

	aspace_init(&a);
	ck_assert_int_eq(aspace_map(&a, &m), 0);
	ck_assert_int_eq(aspace_remap(&a, 0x11000, 0x2000, 0x40000, 0x5000, false), 0);
	ck_assert_ptr_null(aspace_find(&a, 0x11000));
	ck_assert_ptr_nonnull(aspace_find(&a, 0x13000));
	ck_assert_uint_eq(aspace_find(&a, 0x44fff)->offset, 0x2000);
	ck_assert_int_eq(aspace_remap(&a, 0x10000, 0x1000, 0x60000, 0x1000, true), 0);
	ck_assert_ptr_nonnull(aspace_find(&a, 0x10000));
	ck_assert_uint_eq(aspace_find(&a, 0x60000)->ino, 9);
	ck_assert_int_lt(aspace_remap(&a, 0x90000, 0x1000, 0x91000, 0x1000, false), 0);
	aspace_done(&a);
}
END_TEST

/* Kernels from 6.17 on move several mappings at once; older ones shrink over several. */
START_TEST(remap_takes_all)
{
	const struct mapping parts[] = {
		{ .start = 0x10000, .end = 0x12000, .prot = PROT_READ, .ino = 1 },
		{ .start = 0x12000, .end = 0x13000, .prot = PROT_WRITE, .ino = 2, .offset = 0x5000 },
		{ .start = 0x14000, .end = 0x18000, .prot = PROT_READ, .ino = 3 },
	};
	struct aspace a;

	aspace_init(&a);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		ck_assert_int_eq(aspace_map(&a, &parts[i]), 0);
	ck_assert_int_eq(aspace_remap(&a, 0x11000, 0x4000, 0x41000, 0x4000, false), 0);
	ck_assert_uint_eq(aspace_find(&a, 0x41000)->offset, 0x1000);
	ck_assert_uint_eq(aspace_find(&a, 0x42000)->prot, PROT_WRITE);
	ck_assert_uint_eq(aspace_find(&a, 0x42000)->offset, 0x5000);
	ck_assert_ptr_null(aspace_find(&a, 0x43000));
	ck_assert_uint_eq(aspace_find(&a, 0x44000)->end, 0x45000);
	ck_assert_uint_eq(aspace_find(&a, 0x15000)->offset, 0x1000);
	ck_assert_int_eq(aspace_remap(&a, 0x41000, 0x4000, 0x41000, 0x2000, false), 0);
	ck_assert_uint_eq(aspace_find(&a, 0x42000)->ino, 2);
	ck_assert_ptr_null(aspace_find(&a, 0x44000));
	aspace_done(&a);
}
END_TEST

START_TEST(walk_and_copy)
{
	const struct mapping m = { .start = 0x10000, .end = 0x11000 };
	struct aspace a, b = { 0 };

	aspace_init(&a);
	ck_assert_ptr_null(aspace_next(&a, 0));
	ck_assert_int_eq(aspace_map(&a, &m), 0);
	ck_assert_int_eq(aspace_copy(&a, &b), 0);
	aspace_clear(&a);
	ck_assert_ptr_null(aspace_next(&a, 0));
	ck_assert_uint_eq(aspace_next(&b, 0)->start, 0x10000);
	ck_assert_ptr_null(aspace_next(&b, 0x11000));
	aspace_done(&a);
	aspace_done(&b);
}
END_TEST

START_TEST(own_code)
{
	static const struct {
		struct mapping m;
		bool own;
	} rows[] = {
		{ { .prot = PROT_READ | PROT_EXEC, .ino = 1 }, true },
		{ { .prot = PROT_READ | PROT_EXEC, .flags = ASPACE_ANON }, false },
		{ { .prot = PROT_READ | PROT_WRITE | PROT_EXEC, .ino = 1 }, false },
		{ { .prot = PROT_READ | PROT_EXEC, .ino = 1, .flags = ASPACE_SHARED, .object = 1 }, false },
		{ { .prot = PROT_READ | PROT_EXEC, .ino = 1, .flags = ASPACE_VIEW, .object = 1 }, false },
		{ { .prot = PROT_READ | PROT_EXEC, .ino = 1, .flags = ASPACE_HERMIT }, false },
	};
	struct aspace a;

	aspace_init(&a);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mapping m = rows[i].m;

		m.start = 0x10000;
		m.end = 0x12000;
		ck_assert_int_eq(aspace_map(&a, &m), 0);
		ck_assert_msg(aspace_code_own(&a, 0x11000) == rows[i].own, "row %zu", i);
	}
	ck_assert(!aspace_code_own(&a, 0x12000));
	aspace_done(&a);
}
END_TEST

static int add_line(void *ctx, const struct maps_line *line)
{
	return aspace_map(ctx, &line->map);
}

START_TEST(the_kernel_agrees)
{
	struct aspace a;
	char *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct mapping *m;

	ck_assert_ptr_ne(p, MAP_FAILED);
	aspace_init(&a);
	ck_assert_int_eq(maps_read(getpid(), add_line, &a), 0);
	m = aspace_find(&a, (uint64_t)p + PAGE);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->prot, PROT_READ);
	ck_assert_uint_ne(m->flags & ASPACE_SHARED, 0);
	aspace_done(&a);
	munmap(p, 3 * PAGE);
}
END_TEST

TEST_MAIN("aspace", random_operations, remap_moves_and_keeps, remap_takes_all, walk_and_copy, own_code, the_kernel_agrees)
