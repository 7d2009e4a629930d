/* Guest memory in bulk, and the hash of what it held. */
#include "tests/unit/engine_guest.h"

#include <unistd.h>

#define PAGE 4096ull
#define AREA 0x20000000ull

/* The hash is part of the format: these values, made by another program from docs/FORMAT.md, never change. */
START_TEST(hash_values)
{
	static const struct {
		size_t n;
		uint64_t want;
	} rows[] = {
		{ 0, 0x09ab811f0668844dull },
		{ 1, 0x4e1029171943f3caull },
		{ 8, 0x48e1877bb7620709ull },
		{ 31, 0xbd03caae5c0377c5ull },
		{ 32, 0x7fa2bf7419f00430ull },
		{ 33, 0xc0a8d777e8c3d581ull },
		{ 100, 0x7db639878d401cabull },
		{ 4096, 0x6455e29dbf9f35e0ull },
		{ 8192, 0x206b72b11fb2631eull },
	};
	static uint8_t bytes[8192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(eng_hash(bytes, rows[i].n) == rows[i].want, "%zu bytes", rows[i].n);
}
END_TEST

/* So are sums. */
START_TEST(sum_values)
{
	static const struct {
		size_t n;
		uint64_t want;
	} rows[] = {
		{ 0, 0x0000000000000000ull },
		{ 8, 0x312a231c150e0700ull },
		{ 24, 0xe464e565e666e768ull },
		{ 32, 0xe15edc59d754d250ull },
		{ 40, 0xfd5fc32587ea4cb0ull },
		{ 96, 0xff786eec6a7bdc70ull },
		{ 4096, 0xb9172169eb7b8300ull },
		{ 8192, 0x423dde5567ff8600ull },
	};
	static uint8_t bytes[8192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(eng_sum(bytes, rows[i].n) == rows[i].want, "%zu bytes", rows[i].n);
	ck_assert_uint_eq((uint64_t)ENG_SUM_FACTOR * ENG_SUM_INVERSE, 1);
}
END_TEST

START_TEST(hash_differs)
{
	uint8_t bytes[PAGE] = { 0 };
	uint64_t zero = eng_hash(bytes, PAGE), other;

	for (unsigned i = 0; i < PAGE * 8; i++) {
		bytes[i / 8] = (uint8_t)(1 << i % 8);
		ck_assert_uint_ne(eng_hash(bytes, PAGE), zero);
		bytes[i / 8] = 0;
	}
	/* the same words in other places */
	bytes[0] = 1;
	other = eng_hash(bytes, PAGE);
	bytes[0] = 0;
	bytes[8] = 1;
	ck_assert_uint_ne(eng_hash(bytes, PAGE), other);
	ck_assert_uint_ne(eng_hash(bytes + 32, 32), eng_hash(bytes + 32, 64));
}
END_TEST

START_TEST(pages)
{
	static const uint64_t addr[] = { AREA, AREA + PAGE, AREA + 3 * PAGE, AREA + 8 * PAGE, AREA + 9 * PAGE, AREA + 20 * PAGE, AREA + 21 * PAGE };
	static const bool want[] = { true, true, true, true, true, false, true };
	static uint8_t buf[ARRAY_SIZE(addr) * PAGE];
	bool ok[ARRAY_SIZE(addr)];
	struct eng_task t;

	guest_start(&t);
	guest_anon(&t, AREA, 10 * PAGE);
	guest_anon(&t, AREA + 21 * PAGE, PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(addr); i++)
		if (want[i])
			ck_assert_int_eq(eng_write(&t, addr[i] + 5, &(uint8_t){ (uint8_t)(i + 1) }, 1), 0);
	/* one that only a debugger may read */
	ck_assert_int_eq(guest_call(&t, SYS_mprotect, AREA + 8 * PAGE, PAGE, PROT_NONE, 0, 0), 0);
	eng_read_pages(&t, addr, ARRAY_SIZE(addr), buf, ok);
	for (size_t i = 0; i < ARRAY_SIZE(addr); i++) {
		ck_assert_msg(ok[i] == want[i], "page %zu", i);
		if (want[i])
			ck_assert_msg(buf[i * PAGE + 5] == i + 1, "page %zu", i);
	}
	guest_end(&t);
}
END_TEST

/* More runs than one call of the kernel takes. */
START_TEST(many_pages)
{
	enum { N = 300 };
	static uint8_t buf[N * PAGE];
	uint64_t addr[N];
	struct eng_task t;
	bool ok[N];

	guest_start(&t);
	guest_anon(&t, AREA, 2 * N * PAGE);
	for (uint64_t i = 0; i < N; i++) {
		addr[i] = AREA + 2 * i * PAGE;
		ck_assert_int_eq(eng_write(&t, addr[i], &i, sizeof(i)), 0);
	}
	eng_read_pages(&t, addr, N, buf, ok);
	for (uint64_t i = 0; i < N; i++) {
		ck_assert(ok[i]);
		ck_assert_mem_eq(buf + i * PAGE, &i, sizeof(i));
	}
	guest_end(&t);
}
END_TEST

static void count_free(void *owner)
{
	++*(int *)owner;
}

START_TEST(owner)
{
	struct eng_mm *mm, *child;
	int freed = 0;

	ck_assert_int_eq(eng_mm_new(getpid(), &mm), 0);
	mm->owner = &freed;
	mm->owner_free = count_free;
	ck_assert_int_eq(eng_mm_fork(mm, getpid(), &child), 0);
	eng_mm_unref(child);
	ck_assert_int_eq(freed, 0);
	eng_mm_unref(eng_mm_ref(mm));
	ck_assert_int_eq(freed, 0);
	eng_mm_unref(mm);
	ck_assert_int_eq(freed, 1);
}
END_TEST

TEST_MAIN("memory", hash_values, sum_values, hash_differs, pages, many_pages, owner)
