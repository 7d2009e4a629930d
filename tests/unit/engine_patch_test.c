/* Breakpoints that no reader sees. */
#include "tests/unit/engine_guest.h"

#include <time.h>
#include <unistd.h>

#define PAGE 4096ull
#define AREA 0x20000000ull

static uint8_t raw(struct eng_task *t, uint64_t addr)
{
	uint8_t b;

	ck_assert_int_eq(pread(t->mm->mem_fd, &b, 1, (off_t)addr), 1);
	return b;
}

/* As the guest does it. */
static void raw_write(struct eng_task *t, uint64_t addr, uint8_t b)
{
	ck_assert_int_eq(pwrite(t->mm->mem_fd, &b, 1, (off_t)addr), 1);
}

static void put(struct eng_task *t, uint64_t addr, uint8_t b)
{
	ck_assert_int_eq(eng_write(t, addr, &b, 1), 0);
}

static void begin(struct eng_task *t)
{
	uint8_t bytes[2 * PAGE];

	guest_start(t);
	guest_anon(t, AREA, 2 * PAGE);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 100);
	ck_assert_int_eq(eng_write(t, AREA, bytes, sizeof(bytes)), 0);
}

static void unmap(struct eng_task *t, uint64_t addr, uint64_t len)
{
	ck_assert_int_eq(guest_call(t, SYS_munmap, addr, len, 0, 0, 0), 0);
	ck_assert_int_eq(aspace_unmap(&t->mm->as, addr, addr + len), 0);
}

START_TEST(stops)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, GUEST_CODE + 2), 1);
	ck_assert_uint_eq(guest_byte(&t, GUEST_CODE + 2), 0x48);
	ck_assert_int_eq(eng_regs(&t, &r), 0);
	r->rip = GUEST_CODE + GUEST_CODE_WRITE;
	r->rdi = AREA;
	r->rsi = 1;
	eng_regs_changed(&t);
	ck_assert_int_eq(eng_resume(&t, ENG_RUN, 0), 0);
	ck_assert_int_eq(eng_wait_task(&t, &st), 0);
	ck_assert_int_eq(st.signo, SIGTRAP);
	ck_assert_int_eq(eng_regs(&t, &r), 0);
	ck_assert_uint_eq(r->rip, GUEST_CODE + 3);
	ck_assert(eng_patch_find(t.mm, r->rip - 1)->planted);
	ck_assert_ptr_null(eng_patch_find(t.mm, r->rip));
	/* on, over it */
	r->rip--;
	eng_regs_changed(&t);
	ck_assert_int_eq(eng_patch_lift(&t, GUEST_CODE + 2, 1), 0);
	ck_assert_int_eq(eng_resume(&t, ENG_STEP, 0), 0);
	ck_assert_int_eq(eng_wait_task(&t, &st), 0);
	ck_assert_int_eq(eng_patch_lower(&t, GUEST_CODE + 2, 1), 0);
	ck_assert_int_eq(eng_regs(&t, &r), 0);
	ck_assert_uint_eq(r->rip, GUEST_CODE + 9);
	ck_assert_uint_eq(raw(&t, GUEST_CODE + 2), 0xcc);
	ck_assert_int_eq(eng_patch_clear(&t, GUEST_CODE + 2), 0);
	ck_assert_uint_eq(raw(&t, GUEST_CODE + 2), 0x48);
	ck_assert_int_eq(eng_patch_clear(&t, GUEST_CODE + 2), ERR_NOT_FOUND);
	guest_end(&t);
}
END_TEST

/* Every way to read, and every range around patched bytes. */
START_TEST(reads)
{
	static const uint64_t at[] = { 0, 1, 7, 8, PAGE - 1, PAGE, 2 * PAGE - 1 };
	uint8_t all[2 * PAGE], buf[2 * PAGE];
	uint64_t pages[2] = { AREA, AREA + PAGE }, hash, later;
	struct eng_task t;
	struct sys_mem mem;
	bool ok[2];

	begin(&t);
	mem = eng_sys_mem(&t);
	ck_assert_int_eq(eng_read(&t, AREA, all, sizeof(all)), 0);
	ck_assert_int_eq(eng_memory_hash(&t, &hash), 0);
	for (unsigned i = ARRAY_SIZE(at); i--;)
		ck_assert_int_eq(eng_patch_set(&t, AREA + at[i]), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(at); i++)
		ck_assert_uint_eq(raw(&t, AREA + at[i]), 0xcc);
	for (uint64_t from = 0; from < 12; from++)
		for (uint64_t n = 0; n < 12; n++) {
			const uint64_t starts[] = { from, PAGE - 6 + from, 2 * PAGE - 12 + from };

			for (unsigned i = 0; i < 3; i++) {
				uint64_t len = MIN(n, 2 * PAGE - starts[i]);

				memset(buf, 0xee, 16);
				ck_assert_int_eq(eng_read(&t, AREA + starts[i], buf, len), 0);
				ck_assert_mem_eq(buf, all + starts[i], len);
				ck_assert_uint_eq(buf[len], 0xee);
			}
		}
	ck_assert_int_eq(eng_read_some(&t, AREA + 1, buf, 3 * PAGE), 2 * PAGE - 1);
	ck_assert_mem_eq(buf, all + 1, 2 * PAGE - 1);
	ck_assert_int_eq(mem.read(mem.ctx, AREA, buf, sizeof(buf)), 0);
	ck_assert_mem_eq(buf, all, sizeof(all));
	eng_read_pages(&t, pages, 2, buf, ok);
	ck_assert_mem_eq(buf, all, sizeof(all));
	ck_assert_int_eq(guest_call(&t, SYS_mprotect, AREA, PAGE, PROT_NONE, 0, 0), 0);
	memset(buf, 0, sizeof(buf));
	eng_read_pages(&t, pages, 2, buf, ok);
	ck_assert(ok[0] && ok[1]);
	ck_assert_mem_eq(buf, all, sizeof(all));
	ck_assert_int_eq(guest_call(&t, SYS_mprotect, AREA, PAGE, PROT_READ | PROT_WRITE, 0, 0), 0);
	ck_assert_int_eq(eng_memory_hash(&t, &later), 0);
	ck_assert_uint_eq(later, hash);
	/* what the guest writes shows */
	raw_write(&t, AREA + 7, 0x55);
	ck_assert_uint_eq(guest_byte(&t, AREA + 7), 0x55);
	guest_end(&t);
}
END_TEST

START_TEST(writes)
{
	uint8_t all[2 * PAGE], buf[2 * PAGE];
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 10), 1);
	ck_assert_int_eq(eng_patch_set(&t, AREA + PAGE), 1);
	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(i * 7 + 1);
	/* pieces of all sizes around the borders */
	for (uint64_t from = 8; from < 13; from++)
		for (uint64_t n = 1; n < 4; n++) {
			uint8_t mark[4] = { 0xa1, 0xa2, 0xa3, 0xa4 };

			ck_assert_int_eq(eng_write(&t, AREA, all, sizeof(all)), 0);
			ck_assert_int_eq(eng_write(&t, AREA + from, mark, n), 0);
			ck_assert_int_eq(eng_read(&t, AREA, buf, sizeof(buf)), 0);
			ck_assert_mem_eq(buf + from, mark, n);
			memcpy(buf + from, all + from, n);
			ck_assert_mem_eq(buf, all, sizeof(all));
			ck_assert_uint_eq(raw(&t, AREA + 10), 0xcc);
			ck_assert_uint_eq(raw(&t, AREA + PAGE), 0xcc);
		}
	/* a write that ends in the middle has changed what it has */
	memset(buf, 0x77, sizeof(buf));
	ck_assert_int_eq(eng_write(&t, AREA + PAGE, buf, 2 * PAGE), -EFAULT);
	ck_assert_uint_eq(guest_byte(&t, AREA + PAGE), 0x77);
	ck_assert_uint_eq(raw(&t, AREA + PAGE), 0xcc);
	/* over a byte that the guest took: ours again */
	raw_write(&t, AREA + 10, 0x11);
	put(&t, AREA + 10, 0x22);
	ck_assert_uint_eq(guest_byte(&t, AREA + 10), 0x22);
	ck_assert_uint_eq(raw(&t, AREA + 10), 0xcc);
	/* an int3 of the guest's */
	put(&t, AREA + 10, 0xcc);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 10), 0);
	ck_assert_uint_eq(raw(&t, AREA + 10), 0xcc);
	/* cleared where the guest has written */
	raw_write(&t, AREA + PAGE, 0x33);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + PAGE), 0);
	ck_assert_uint_eq(raw(&t, AREA + PAGE), 0x33);
	guest_end(&t);
}
END_TEST

START_TEST(counts)
{
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 5), 1);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 5), 1);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 5), 0);
	ck_assert_uint_eq(raw(&t, AREA + 5), 0xcc);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 5), 0);
	ck_assert_uint_eq(raw(&t, AREA + 5), 5);
	guest_end(&t);
}
END_TEST

START_TEST(lifted)
{
	struct eng_task t;

	begin(&t);
	for (uint64_t i = 10; i < 20; i += 2)
		ck_assert_int_eq(eng_patch_set(&t, AREA + i), 1);
	ck_assert_int_eq(eng_patch_lift(&t, AREA + 12, 5), 0); /* 12, 14, 16 */
	ck_assert_int_eq(eng_patch_lift(&t, AREA + 14, 1), 0);
	for (uint64_t i = 10; i < 20; i += 2)
		ck_assert_uint_eq(raw(&t, AREA + i), i >= 12 && i < 17 ? i : 0xcc);
	put(&t, AREA + 12, 0x99);
	ck_assert_uint_eq(raw(&t, AREA + 12), 0x99);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 13), 1); /* not lifted */
	ck_assert_int_eq(eng_patch_sync_all(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 16), 16);
	ck_assert_int_eq(eng_patch_lower(&t, AREA + 12, 5), 0);
	ck_assert_uint_eq(raw(&t, AREA + 12), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 12), 0x99);
	ck_assert_uint_eq(raw(&t, AREA + 14), 14);
	ck_assert_uint_eq(raw(&t, AREA + 13), 0xcc);
	ck_assert_int_eq(eng_patch_lower(&t, AREA + 14, 1), 0);
	ck_assert_uint_eq(raw(&t, AREA + 14), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 14), 14);
	/* cleared while lifted */
	ck_assert_int_eq(eng_patch_lift(&t, AREA + 18, 1), 0);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 18), 0);
	ck_assert_int_eq(eng_patch_lower(&t, AREA + 18, 1), 0);
	ck_assert_uint_eq(raw(&t, AREA + 18), 18);
	guest_end(&t);
}
END_TEST

START_TEST(parked)
{
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 0x100000), 0);
	ck_assert(!eng_patch_find(t.mm, AREA + 0x100000)->planted);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	guest_anon(&t, AREA + 0x100000, PAGE);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0);
	/* gone, and back as something else */
	unmap(&t, AREA + 0x100000, PAGE);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert(!eng_patch_find(t.mm, AREA + 0x100000)->planted);
	guest_anon(&t, AREA + 0x100000, PAGE);
	put(&t, AREA + 0x100000, 0x44);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0x44);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0x44);
	/* replaced at once, without a sync in between */
	unmap(&t, AREA + 0x100000, PAGE);
	guest_anon(&t, AREA + 0x100000, PAGE);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0xcc);
	/* the guest writes code: only the great sync looks */
	raw_write(&t, AREA + 0x100000, 0x66);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0x66);
	ck_assert_int_eq(eng_patch_sync_all(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 0x100000), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 0x100000), 0x66);
	guest_end(&t);
}
END_TEST

/* A file whose own byte is an int3 takes the place of what was patched. */
START_TEST(own_int3)
{
	struct eng_task t;
	struct mapping m = { .start = AREA + 0x100000, .end = AREA + 0x100000 + PAGE, .prot = PROT_READ | PROT_EXEC, .dev = 1, .ino = 1 };

	begin(&t);
	guest_anon(&t, m.start, PAGE);
	put(&t, m.start, 0x12);
	ck_assert_int_eq(eng_patch_set(&t, m.start), 1);
	raw_write(&t, m.start, 0xcc);
	ck_assert_int_eq(aspace_map(&t.mm->as, &m), 0);
	ck_assert_uint_eq(guest_byte(&t, m.start), 0xcc);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(guest_byte(&t, m.start), 0xcc);
	m.offset = PAGE;
	put(&t, m.start, 0x13);
	raw_write(&t, m.start, 0xcc);
	ck_assert_int_eq(aspace_map(&t.mm->as, &m), 0);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(guest_byte(&t, m.start), 0xcc);
	guest_end(&t);
}
END_TEST

START_TEST(shared)
{
	struct eng_task t;

	begin(&t);
	guest_map(&t, AREA + 0x100000, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 0x100000), -EBUSY);
	ck_assert_ptr_null(eng_patch_find(t.mm, AREA + 0x100000));
	/* shared memory comes where a patch is */
	ck_assert_int_eq(eng_patch_set(&t, AREA + 3), 1);
	unmap(&t, AREA, PAGE);
	guest_map(&t, AREA, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	put(&t, AREA + 3, 0x10);
	ck_assert_uint_eq(raw(&t, AREA + 3), 0x10);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert_uint_eq(raw(&t, AREA + 3), 0x10);
	ck_assert(eng_patch_find(t.mm, AREA + 3)->shared);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 3), -EBUSY);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 3), 0);
	ck_assert_uint_eq(raw(&t, AREA + 3), 0x10);
	/* a view follows an object only while nobody writes to it */
	t.mm->as.m[1].flags |= ASPACE_VIEW;
	ck_assert_int_eq(eng_patch_set(&t, t.mm->as.m[1].start), -EBUSY);
	guest_end(&t);
}
END_TEST

START_TEST(forked)
{
	struct eng_task t, child;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 3), 1);
	ck_assert_int_eq(eng_patch_set(&t, AREA + PAGE), 1);
	ck_assert_int_eq(guest_call(&t, SYS_madvise, AREA + PAGE, PAGE, MADV_WIPEONFORK, 0, 0), 0);
	guest_fork(&t, &child);
	ck_assert_uint_eq(raw(&child, AREA + 3), 0xcc);
	ck_assert_uint_eq(guest_byte(&child, AREA + 3), 3);
	ck_assert_int_eq(eng_patch_sync(&child), 0);
	ck_assert_uint_eq(raw(&child, AREA + PAGE), 0xcc);
	ck_assert_uint_eq(guest_byte(&child, AREA + PAGE), 0);
	ck_assert_int_eq(eng_patch_clear(&child, AREA + 3), 0);
	ck_assert_uint_eq(guest_byte(&child, AREA + 3), 3);
	ck_assert_uint_eq(raw(&child, AREA + 3), 3);
	ck_assert_uint_eq(raw(&t, AREA + 3), 0xcc);
	ck_assert_uint_eq(guest_byte(&t, AREA + 3), 3);
	guest_end(&child);
	guest_end(&t);
}
END_TEST

/* Against a simple model of it all. */
START_TEST(random_walk)
{
	enum { N = 64 };
	uint64_t seed = 4;
	uint8_t want[N], got[N], set[N] = { 0 };
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_read(&t, AREA, want, N), 0);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned at, n;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at = (unsigned)(seed >> 33) % N;
		n = (unsigned)(seed >> 50) % (N - at) + 1;
		if (seed >> 40 & 1) {
			for (unsigned k = at; k < at + n; k++)
				got[k] = want[k] = (uint8_t)(seed >> 20) + (uint8_t)k;
			ck_assert_int_eq(eng_write(&t, AREA + at, got + at, n), 0);
		} else if (!set[at]) {
			ck_assert_int_eq(eng_patch_set(&t, AREA + at), 1);
			set[at] = 1;
		} else {
			ck_assert_int_eq(eng_patch_clear(&t, AREA + at), 0);
			set[at] = 0;
		}
		memset(got, 0, N);
		ck_assert_int_eq(eng_read(&t, AREA + at, got + at, n), 0);
		ck_assert_mem_eq(got + at, want + at, n);
	}
	for (unsigned i = 0; i < N; i++)
		ck_assert_uint_eq(raw(&t, AREA + i), set[i] ? 0xcc : want[i]);
	guest_end(&t);
}
END_TEST

START_TEST(many)
{
	enum { N = 1000, READS = 100000 };
	struct timespec a, b;
	struct eng_task t;
	uint64_t word;

	begin(&t);
	guest_anon(&t, AREA + 0x100000, N * 64);
	for (uint64_t i = 0; i < N; i++)
		ck_assert_int_eq(eng_patch_set(&t, AREA + 0x100000 + i * 7919 % N * 64), 1);
	for (uint64_t i = 1; i < t.mm->patches.n; i++)
		ck_assert(t.mm->patches.p[i - 1].addr < t.mm->patches.p[i].addr);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < READS; i++)
		ck_assert_int_eq(eng_read(&t, AREA + 0x100000 + i % N * 64, &word, 8), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	/* generous: a read is about 1 us */
	ck_assert_int_lt((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 5000);
	for (uint64_t i = 0; i < N; i++)
		ck_assert_int_eq(eng_patch_clear(&t, AREA + 0x100000 + i * 64), 0);
	ck_assert_uint_eq(t.mm->patches.n, 0);
	guest_end(&t);
}
END_TEST

START_TEST(gone)
{
	struct eng_task t;
	struct eng_stop st;

	begin(&t);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 3), 1);
	kill(t.tid, SIGKILL);
	ck_assert_int_eq(eng_wait_task(&t, &st), 0);
	if (st.kind == ENG_STOP_EXITING) {
		ck_assert_int_eq(eng_resume(&t, ENG_RUN, 0), 0);
		ck_assert_int_eq(eng_wait_task(&t, &st), 0);
	}
	ck_assert_int_eq(st.kind, ENG_STOP_GONE);
	ck_assert_int_lt(eng_patch_set(&t, AREA + 4), 0);
	ck_assert_ptr_null(eng_patch_find(t.mm, AREA + 4));
	ck_assert_int_lt(eng_patch_sync_all(&t), 0);
	ck_assert_int_le(eng_patch_clear(&t, AREA + 3), 0);
	ck_assert_uint_eq(t.mm->patches.n, 0);
	eng_task_done(&t);
}
END_TEST

static void expect_raw(struct eng_task *t, uint64_t addr, const char *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(raw(t, addr + i) == (uint8_t)want[i], "byte %zu: %02x", i, raw(t, addr + i));
}
#define MINE(i) (uint8_t)((i) % 100)

START_TEST(pieces)
{
	static const uint8_t jump[5] = { 0xe9, 1, 2, 3, 4 };
	uint8_t all[16], buf[16];
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_read(&t, AREA, all, 16), 0);
	ck_assert_int_eq(eng_patch_set(&t, AREA + 9), 1);
	ck_assert_int_eq(eng_patch_put(&t, AREA + 5, jump, 5), -EEXIST);
	ck_assert_int_eq(eng_patch_put(&t, AREA + 4, jump, 5), 0);
	expect_raw(&t, AREA + 4, "\xe9\x01\x02\x03\x04\xcc", 6);
	ck_assert(eng_patch_stands(t.mm, AREA + 4));
	ck_assert(!eng_patch_stands(t.mm, AREA + 5));
	ck_assert(!eng_patch_stands(t.mm, AREA + 9));
	for (unsigned n = 0; n < 16; n++) {
		ck_assert_int_eq(eng_read(&t, AREA + n, buf, 16 - n), 0);
		ck_assert_mem_eq(buf, all + n, 16 - n);
	}
	ck_assert_int_eq(eng_patch_set(&t, AREA + 6), -EEXIST);
	ck_assert_int_eq(eng_patch_clear(&t, AREA + 6), ERR_NOT_FOUND);
	ck_assert_int_eq(eng_patch_put(&t, AREA + 8, jump, 1), -EEXIST);
	ck_assert_int_eq(eng_patch_take(&t, AREA + 5), ERR_NOT_FOUND);
	/* lifted as a whole, from any side */
	for (unsigned i = 4; i < 9; i++) {
		ck_assert_int_eq(eng_patch_lift(&t, AREA + i, 1), 0);
		expect_raw(&t, AREA + 4, "\x04\x05\x06\x07\x08\xcc", 6);
		ck_assert_int_eq(eng_patch_sync_all(&t), 0);
		expect_raw(&t, AREA + 4, "\x04\x05\x06\x07\x08\xcc", 6);
		ck_assert_int_eq(eng_patch_lower(&t, AREA + i, 1), 0);
		expect_raw(&t, AREA + 4, "\xe9\x01\x02\x03\x04\xcc", 6);
	}
	/* what is written shows, and stays under it */
	put(&t, AREA + 6, 0xaa);
	ck_assert_uint_eq(guest_byte(&t, AREA + 6), 0xaa);
	expect_raw(&t, AREA + 4, "\xe9\x01\x02\x03\x04", 5);
	ck_assert_int_eq(eng_patch_take(&t, AREA + 4), 0);
	expect_raw(&t, AREA + 4, "\x04\x05\xaa\x07\x08\xcc", 6);
	ck_assert_uint_eq(t.mm->patches.n, 1);
	/* not there, shared */
	ck_assert_int_eq(eng_patch_put(&t, AREA + 2 * PAGE - 2, jump, 5), -EFAULT);
	ck_assert_uint_eq(raw(&t, AREA + 2 * PAGE - 2), MINE(2 * PAGE - 2));
	ck_assert_uint_eq(t.mm->patches.n, 1);
	guest_map(&t, AREA + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ck_assert_int_eq(eng_patch_put(&t, AREA + 2 * PAGE - 2, jump, 5), -EBUSY);
	ck_assert_uint_eq(raw(&t, AREA + 2 * PAGE - 2), MINE(2 * PAGE - 2));
	ck_assert_uint_eq(t.mm->patches.n, 1);
	guest_end(&t);
}
END_TEST

/* Half of a piece is worse than none. */
START_TEST(broken_pieces)
{
	static const uint8_t jump[5] = { 0xe9, 1, 2, 3, 4 };
	const uint64_t at = AREA + PAGE - 3;
	struct eng_task t;

	begin(&t);
	ck_assert_int_eq(eng_patch_put(&t, at, jump, 5), 0);
	unmap(&t, AREA + PAGE, PAGE);
	guest_anon(&t, AREA + PAGE, PAGE);
	ck_assert_int_eq(eng_patch_sync(&t), 0);
	ck_assert(!eng_patch_stands(t.mm, at));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(raw(&t, at + i), MINE(PAGE - 3 + i));
	ck_assert_uint_eq(raw(&t, at + 3), 0);
	/* it does not come back by itself */
	ck_assert_int_eq(eng_patch_sync_all(&t), 0);
	ck_assert_int_eq(eng_patch_lift(&t, at, 5), 0);
	ck_assert_int_eq(eng_patch_lower(&t, at, 5), 0);
	ck_assert(!eng_patch_stands(t.mm, at));
	ck_assert_uint_eq(raw(&t, at), MINE(PAGE - 3));
	ck_assert_int_eq(eng_patch_take(&t, at), 0);
	ck_assert_uint_eq(t.mm->patches.n, 0);
	/* the guest writes into it; and while it is lifted */
	ck_assert_int_eq(eng_patch_put(&t, AREA, jump, 5), 0);
	raw_write(&t, AREA + 2, 0x77);
	ck_assert_int_eq(eng_patch_sync_all(&t), 0);
	expect_raw(&t, AREA, "\x00\x01\x77\x03\x04", 5);
	ck_assert_int_eq(eng_patch_take(&t, AREA), 0);
	ck_assert_int_eq(eng_patch_put(&t, AREA, jump, 5), 0);
	ck_assert_int_eq(eng_patch_lift(&t, AREA, 5), 0);
	put(&t, AREA + 3, 0x78);
	ck_assert_int_eq(eng_patch_lower(&t, AREA, 5), 0);
	expect_raw(&t, AREA, "\x00\x01\x77\x78\x04", 5);
	ck_assert(!eng_patch_stands(t.mm, AREA));
	guest_end(&t);
}
END_TEST

TEST_MAIN("patch", stops, reads, writes, counts, lifted, parked, own_int3, shared, forked, pieces, broken_pieces, random_walk, many, gone)
