/* Hardware watchpoints. */
#include "tests/unit/engine_guest.h"

#include <unistd.h>

#define AREA 0x20000000ull

/* From 64 on in the code page: each with its int3. */
enum { STORE_BYTE = 64, LOAD_BYTE = 72, STORE_WORD = 80 };

static bool begin(struct eng_task *t)
{
	static const uint8_t code[] = "\xc6\x07\x01\x90\xcc\x90\x90\x90"         /* movb $1, (%rdi) */
				      "\x8a\x07\x90\xcc\x90\x90\x90\x90"         /* mov (%rdi), %al */
				      "\x48\x89\x37\x90\xcc\x90\x90\x90";        /* mov %rsi, (%rdi) */

	guest_start(t);
	guest_anon(t, AREA, 4096);
	ck_assert_int_eq(eng_write(t, GUEST_CODE + STORE_BYTE, code, sizeof(code) - 1), 0);
	/* some machines have none: nothing to test there */
	return eng_watch(t, &(struct eng_watch){ AREA, 8, false }, 1) >= 0;
}

/* Runs one of them: which watchpoints stopped it behind its access. */
static unsigned met(struct eng_task *t, unsigned code, uint64_t addr)
{
	struct user_regs_struct *r;
	unsigned mask = 0, last = 0;
	struct eng_stop st;
	siginfo_t si;

	ck_assert_int_eq(eng_regs(t, &r), 0);
	r->rip = GUEST_CODE + code;
	r->rdi = addr;
	r->orig_rax = UINT64_MAX;
	eng_regs_changed(t);
	ck_assert_int_eq(eng_resume(t, ENG_RUN, 0), 0);
	ck_assert_int_eq(eng_wait_task(t, &st), 0);
	ck_assert_int_eq(st.kind, ENG_STOP_SIGNAL);
	ck_assert_int_eq(st.signo, SIGTRAP);
	ck_assert_int_eq(eng_siginfo(t, &si), 0);
	ck_assert_int_eq(eng_watch_hits(t, &mask), 0);
	ck_assert_int_eq(mask != 0, si.si_code == TRAP_HWBKPT);
	ck_assert_int_eq(eng_watch_hits(t, &last), 0);
	ck_assert_uint_eq(last, 0);
	return mask;
}

START_TEST(hits)
{
	const struct eng_watch w[] = { { AREA, 8, true }, { AREA + 8, 1, true }, { AREA + 10, 2, false }, { AREA + 12, 4, false } };
	struct eng_task t;

	if (!begin(&t))
		return;
	ck_assert_int_eq(eng_watch(&t, w, ARRAY_SIZE(w)), 0);
	for (unsigned i = 0; i < 24; i++) {
		unsigned want = i < 8 ? 1 : i == 8 ? 2 : i == 10 || i == 11 ? 4 : i >= 12 && i < 16 ? 8 : 0;

		ck_assert_uint_eq(met(&t, STORE_BYTE, AREA + i), want);
		ck_assert_uint_eq(met(&t, LOAD_BYTE, AREA + i), want & 12);
	}
	ck_assert_uint_eq(met(&t, STORE_WORD, AREA + 8), 14); /* all that it touches */
	ck_assert_int_eq(eng_watch(&t, w + 1, 1), 0);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA), 0);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA + 8), 1);
	ck_assert_int_eq(eng_watch(&t, NULL, 0), 0);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA + 8), 0);
	guest_end(&t);
}
END_TEST

START_TEST(refused)
{
	const struct eng_watch bad[] = { { AREA + 1, 2, false }, { AREA + 4, 8, false }, { AREA, 3, false }, { AREA, 0, false }, { AREA, 16, false } };
	const struct eng_watch many[5] = { { AREA, 1, true }, { AREA, 1, true }, { AREA, 1, true }, { AREA, 1, true }, { AREA, 1, true } };
	struct eng_task t;

	if (!begin(&t))
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(eng_watch(&t, &bad[i], 1), -EINVAL);
	ck_assert_int_eq(eng_watch(&t, many, 5), -ERANGE);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA), 1); /* what was set before is */
	ck_assert_int_lt(eng_watch(&t, &(struct eng_watch){ 1ull << 63, 8, false }, 1), 0);
	guest_end(&t);
}
END_TEST

/* Whoever makes tasks sets their watchpoints. */
START_TEST(not_inherited)
{
	struct eng_task t, child, thread;
	struct eng_stop st;
	pid_t tid;

	if (!begin(&t))
		return;
	guest_fork(&t, &child);
	ck_assert_uint_eq(met(&child, STORE_BYTE, AREA), 0);
	guest_end(&child);
	tid = (pid_t)guest_call(&t, SYS_clone, 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 /* VM FS FILES SIGHAND THREAD */, AREA + 2048, 0, 0, 0);
	ck_assert_int_gt(tid, 0);
	eng_task_init(&thread, tid, t.tgid, eng_mm_ref(t.mm));
	ck_assert_int_eq(eng_wait_task(&thread, &st), 0);
	ck_assert_uint_eq(met(&thread, STORE_BYTE, AREA), 0);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA), 1);
	ck_assert_int_eq(eng_watch(&thread, &(struct eng_watch){ AREA + 8, 1, true }, 1), 0);
	ck_assert_uint_eq(met(&thread, STORE_BYTE, AREA + 8), 1);
	ck_assert_uint_eq(met(&t, STORE_BYTE, AREA + 8), 0);
	eng_task_done(&thread);
	guest_end(&t);
}
END_TEST

START_TEST(split)
{
	struct eng_watch w[40];

	for (uint64_t addr = 0x1000; addr < 0x1010; addr++)
		for (uint64_t len = 0; len < 64; len++) {
			int n = eng_watch_split(addr, len, w, ARRAY_SIZE(w));
			uint64_t at = addr;

			ck_assert_int_ge(n, 0);
			for (int i = 0; i < n; at += w[i++].len) {
				ck_assert_uint_eq(w[i].addr, at);
				ck_assert(w[i].len && w[i].len <= 8 && !(w[i].len & (w[i].len - 1)) && at % w[i].len == 0);
			}
			ck_assert_uint_eq(at, addr + len);
			if (n)
				ck_assert_int_eq(eng_watch_split(addr, len, w, (unsigned)n - 1), -ERANGE);
			ck_assert_int_eq(eng_watch_split(addr, len, w, (unsigned)n), n);
			/* no two would do as one */
			ck_assert_int_le(n, (int)(len / 8 + 6));
			if (len && len <= 8 && !(len & (len - 1)) && addr % len == 0)
				ck_assert_int_eq(n, 1);
		}
	ck_assert_int_eq(eng_watch_split(0x1001, 31, w, 4), -ERANGE);
	ck_assert_int_eq(eng_watch_split(0x1000, 32, w, 4), 4);
	ck_assert_int_eq(eng_watch_split(UINT64_MAX - 3, 8, w, 4), -ERANGE);
	ck_assert_int_eq(eng_watch_split(0x1000, UINT64_MAX, w, 4), -ERANGE);
}
END_TEST

TEST_MAIN("watch", hits, refused, not_inherited, split)
