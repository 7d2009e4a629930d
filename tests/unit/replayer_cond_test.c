/* Breakpoints whose condition the guest evaluates: what stops, and that nobody notices otherwise. */
#include "replayer/cond_priv.h"

#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/engine_guest.h"

#define AREA 0x20000000ull
#define COUNTER (AREA + 8)
/* In the code page. The jump at LOOP covers an add of 3 bytes and a cmp of 2. */
#define LOOP (GUEST_CODE + 128)

struct fixture {
	struct rep_session s;
	struct rep_task *tasks[4];
	struct rep_task t;
	struct rep_cond *c;
};

static void make_own_code(struct eng_task *t, uint32_t prot)
{
	struct mapping m = { .start = GUEST_CODE, .end = GUEST_CODE + 4096, .prot = prot, .dev = 1, .ino = 1 };

	ck_assert_int_eq(aspace_map(&t->mm->as, &m), 0);
}

static void begin(struct fixture *f)
{
	/* LOOP: add dword [rdi], 1; cmp [rdi], esi; lea rbx, [rbx + 1]; jne LOOP; int3 */
	static const uint8_t code[] = "\x83\x07\x01\x39\x37\x48\x8d\x5b\x01\x75\xf5\xcc";

	*f = (struct fixture){ .s.tasks = f->tasks, .s.cap_tasks = ARRAY_SIZE(f->tasks) };
	ck_assert_int_ge(eng_pin(-1, NULL, 0), 0); /* as replays are: the guest runs while we sleep */
	guest_start(&f->t.t);
	f->tasks[0] = &f->t;
	f->t.session = &f->s;
	guest_anon(&f->t.t, AREA, 4096);
	ck_assert_int_eq(eng_write(&f->t.t, LOOP, code, sizeof(code) - 1), 0);
	make_own_code(&f->t.t, PROT_READ | PROT_EXEC);
}

static void end(struct fixture *f)
{
	guest_end(&f->t.t);
}

/* *(int *)$rdi == n */
static void condition(uint16_t n, struct code_expr *ret)
{
	const uint8_t code[] = { 0x26, 0, 5, 0x19, 0x23, (uint8_t)(n >> 8), (uint8_t)n, 0x13, 0x27 };

	ck_assert_int_eq(code_expr_compile(code, sizeof(code), ret), 0);
}

static int plant(struct fixture *f, uint16_t n)
{
	struct code_expr e;

	condition(n, &e);
	return rep_cond_open(&f->s, &f->t, LOOP, &e, &f->c);
}

static void start_at(struct rep_task *t, uint64_t rip, uint32_t count)
{
	struct user_regs_struct *r;
	const uint32_t zero = 0;

	ck_assert_int_eq(eng_write(&t->t, COUNTER, &zero, 4), 0);
	ck_assert_int_eq(eng_regs(&t->t, &r), 0);
	r->rip = rip;
	r->rdi = COUNTER;
	r->rsi = count;
	r->rbx = 0;
	r->rax = 0x1111;
	r->rcx = 0x2222;
	r->rdx = 0x3333;
	r->orig_rax = UINT64_MAX;
	r->eflags = 0x202 | 0x8d5;
	eng_regs_changed(&t->t);
}

static int run(struct fixture *f, struct rep_task *t, struct eng_stop *st)
{
	ck_assert_int_eq(rep_run(t, st, false), 0);
	return rep_cond_stop(f->c, t, st);
}

static uint32_t counter(struct rep_task *t)
{
	uint32_t v;

	ck_assert_int_eq(eng_read(&t->t, COUNTER, &v, 4), 0);
	return v;
}

static struct user_regs_struct *regs(struct rep_task *t)
{
	struct user_regs_struct *r;

	ck_assert_int_eq(eng_regs(&t->t, &r), 0);
	ck_assert_uint_eq(r->rax, 0x1111);
	ck_assert_uint_eq(r->rcx, 0x2222);
	ck_assert_uint_eq(r->rdx, 0x3333);
	return r;
}

static uint64_t rip(struct rep_task *t)
{
	struct user_regs_struct *r;

	ck_assert_int_eq(eng_regs(&t->t, &r), 0);
	return r->rip;
}

/* Runs to the int3 behind the loop. */
static void run_out(struct fixture *f, struct rep_task *t, uint32_t count)
{
	struct eng_stop st;

	ck_assert_int_eq(run(f, t, &st), REP_COND_NONE);
	ck_assert_uint_eq(regs(t)->rip, LOOP + 12);
	ck_assert_uint_eq(regs(t)->rbx, count);
	ck_assert_uint_eq(counter(t), count);
}

START_TEST(one_of_many)
{
	uint8_t before[64], after[64];
	struct timespec a, b;
	struct eng_stop st;
	struct fixture f;
	uint64_t room;

	begin(&f);
	ck_assert_int_eq(eng_read(&f.t.t, LOOP, before, 64), 0);
	ck_assert_int_eq(plant(&f, 60000), 1);
	ck_assert_uint_eq(rep_cond_at(f.c), LOOP);
	ck_assert_int_eq(eng_read(&f.t.t, LOOP, after, 64), 0);
	ck_assert_mem_eq(before, after, 64);
	ck_assert_int_eq(rep_cond_check(f.c, &f.t), 1);
	start_at(&f.t, LOOP, 200000);
	clock_gettime(CLOCK_MONOTONIC, &a);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_TRUE);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("60000 false conditions: %.2f ms\n", (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
	ck_assert_uint_eq(regs(&f.t)->rbx, 60000);
	ck_assert_uint_eq(counter(&f.t), 60000);
	/* it does not hit again where it stands */
	ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
	run_out(&f, &f.t, 200000);
	/* nothing of it stays */
	for (room = 0; room < 1ull << 46; room += 1ull << 16)
		if (rep_cond_covers(f.c, room, 1ull << 16))
			break;
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	ck_assert_int_eq(pread(f.t.t.mm->mem_fd, after, 64, (off_t)LOOP), 64);
	ck_assert_mem_eq(before, after, 64);
	for (uint64_t at = room; at < room + (1ull << 16); at += 4096)
		ck_assert_int_eq(eng_read(&f.t.t, at, after, 1), -EFAULT);
	ck_assert_uint_eq(f.t.t.mm->patches.n, 0);
	end(&f);
}
END_TEST

/* Steps, from every pass. */
START_TEST(stepped)
{
	struct eng_stop st;
	struct fixture f;
	unsigned passes = 0;

	begin(&f);
	ck_assert_int_eq(plant(&f, 3), 1);
	start_at(&f.t, LOOP, 5);
	for (unsigned i = 0; i < 20; i++) {
		static const unsigned at[] = { 3, 5, 9, 0 };

		passes += regs(&f.t)->rip == LOOP;
		ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
		ck_assert_int_eq(rep_step(&f.t, &st), 0);
		ck_assert_int_eq(st.signo, SIGTRAP);
		ck_assert_int_le(rep_cond_stop(f.c, &f.t, &st), i % 4 < 2 ? REP_COND_MOVED : REP_COND_NONE);
		ck_assert_uint_eq(regs(&f.t)->rip, LOOP + (i == 19 ? 11 : at[i % 4]));
	}
	ck_assert_uint_eq(passes, 5);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	end(&f);
}
END_TEST

START_TEST(cannot_tell)
{
	/* *(char *)$r15, *(char *)$pc */
	static const uint8_t wild[] = { 0x26, 0, 15, 0x17, 0x27 }, own[] = { 0x26, 0, 16, 0x17, 0x27 };
	struct code_expr e;
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(code_expr_compile(wild, sizeof(wild), &e), 0);
	ck_assert_int_eq(rep_cond_open(&f.s, &f.t, LOOP, &e, &f.c), 1);
	start_at(&f.t, LOOP, 2);
	regs(&f.t)->r15 = 8;
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_ASK);
		ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
		ck_assert_uint_eq(counter(&f.t), i);
		if (i == 0)
			ck_assert_uint_eq(regs(&f.t)->eflags & 0x108d5, 0x8d5);
		ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
	}
	run_out(&f, &f.t, 2);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	ck_assert_int_eq(code_expr_compile(own, sizeof(own), &e), 0);
	ck_assert_int_eq(rep_cond_open(&f.s, &f.t, LOOP, &e, &f.c), 1);
	start_at(&f.t, LOOP, 1);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_ASK);
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
	/* a fault of the program's own in the copy */
	start_at(&f.t, LOOP, 1);
	regs(&f.t)->rdi = 24;
	ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_MOVED);
	ck_assert_int_eq(st.signo, SIGSEGV);
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	end(&f);
}
END_TEST

/* A jump into the middle of ours. */
START_TEST(middle)
{
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(plant(&f, 50), 1);
	start_at(&f.t, LOOP + 3, 100);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_ON);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_TRUE);
	ck_assert_uint_eq(counter(&f.t), 50);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	/* nobody may stand there when it is put */
	start_at(&f.t, LOOP + 3, 100);
	ck_assert_int_eq(plant(&f, 50), 0);
	start_at(&f.t, LOOP + 5, 100);
	ck_assert_int_eq(plant(&f, 50), 1);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	end(&f);
}
END_TEST

/* Lets it run for a moment. */
static void run_briefly(struct fixture *f, unsigned us, struct eng_stop *st)
{
	ck_assert_int_eq(eng_resume(&f->t.t, ENG_RUN, 0), 0);
	usleep(us);
	ck_assert_int_eq(eng_interrupt(&f->t.t), 0);
	ck_assert_int_eq(eng_wait_task(&f->t.t, st), 0);
}

/* Interrupted anywhere, it goes on as if nothing had been. */
START_TEST(interrupted)
{
	enum { BEGIN = 70000, ENOUGH = 40, MOST = 1000 };
	unsigned moved = 0, interrupts = 0;
	struct eng_stop st = { 0 };
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(plant(&f, UINT16_MAX), 1);
	start_at(&f.t, LOOP, UINT32_MAX);
	ck_assert_int_eq(eng_write(&f.t.t, COUNTER, &(uint32_t){ BEGIN }, 4), 0);
	for (interrupts = 1; interrupts < MOST && moved < ENOUGH; interrupts++) {
		bool ends = interrupts % 3 == 0;
		int hit = REP_COND_NONE;
		uint64_t at;

		run_briefly(&f, 100 + interrupts * 7 % 500, &st);
		/* its end must do what nobody has done before */
		if (ends && st.kind == ENG_STOP_TRAP)
			ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
		else
			hit = rep_cond_stop(f.c, &f.t, &st);
		at = regs(&f.t)->rip - LOOP;
		if (hit == REP_COND_ON)
			continue;
		ck_assert(hit == REP_COND_NONE || hit == REP_COND_MOVED || hit == REP_COND_PAST);
		ck_assert_int_eq(st.kind, ENG_STOP_TRAP);
		moved += hit != REP_COND_NONE;
		ck_assert_msg(at == 0 || at == 3 || at == 5 || at == 9, "%lu", at);
		ck_assert_uint_eq(counter(&f.t) - BEGIN - regs(&f.t)->rbx, at == 3 || at == 5);
		if (hit == REP_COND_PAST)
			ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
		if (ends && at == 3)
			ck_assert_int_eq(rep_step(&f.t, &(struct eng_stop){ 0 }), 0);
		if (ends)
			ck_assert_int_eq(plant(&f, UINT16_MAX), 1);
	}
	printf("interrupted %u times, %u of them in the trampoline, after %u passes\n", interrupts, moved, counter(&f.t) - BEGIN);
	ck_assert_uint_gt(moved, 0);
	/* the end comes in sight */
	regs(&f.t)->rsi = counter(&f.t) + 1000;
	eng_regs_changed(&f.t.t);
	while (run(&f, &f.t, &st) == REP_COND_ON)
		;
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP + 12);
	ck_assert_uint_eq(counter(&f.t), regs(&f.t)->rsi);
	ck_assert_uint_eq(regs(&f.t)->rbx, counter(&f.t) - BEGIN);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	end(&f);
}
END_TEST

/* A call is several instructions in the trampoline: stopped between any two of them it has not begun, or is done. */
START_TEST(calls)
{
	static const struct {
		const char *code;
		uint8_t len;
	} rows[] = {
		{ "\xe8\xfb\x00\x00\x00", 5 },          /* call LOOP + 256 */
		{ "\xff\x14\x25\x40\x00\x00\x20", 7 },  /* call [AREA + 64] */
		{ "\xff\x97\x38\x00\x00\x00", 6 },      /* call [rdi + 56]: the same */
	};
	const uint64_t target = LOOP + 256, stack = AREA + 2048;
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(eng_write(&f.t.t, AREA + 64, &target, 8), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		ck_assert_int_eq(eng_write(&f.t.t, LOOP, rows[i].code, rows[i].len), 0);
		ck_assert_int_eq(plant(&f, 1), 1);
		for (unsigned steps = 0; steps < 9; steps++) {
			uint64_t back = 0;
			int hit;

			start_at(&f.t, LOOP, 0);
			regs(&f.t)->rsp = stack;
			ck_assert_int_eq(eng_write(&f.t.t, stack - 8, &back, 8), 0);
			ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
			for (unsigned k = 0; k < steps && rip(&f.t) != target; k++)
				ck_assert_int_eq(rep_step(&f.t, &st), 0);
			st = (struct eng_stop){ .kind = ENG_STOP_TRAP };
			hit = rep_cond_stop(f.c, &f.t, &st);
			ck_assert_int_eq(st.kind, ENG_STOP_TRAP);
			ck_assert_uint_eq(regs(&f.t)->rdi, COUNTER);
			ck_assert_int_eq(eng_read(&f.t.t, stack - 8, &back, 8), 0);
			if (steps == 0) {
				ck_assert_int_eq(hit, REP_COND_PAST);
				ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
				ck_assert_uint_eq(regs(&f.t)->rsp, stack);
				ck_assert_uint_eq(back, 0);
				continue;
			}
			ck_assert_uint_eq(regs(&f.t)->rip, target);
			ck_assert_uint_eq(regs(&f.t)->rsp, stack - 8);
			ck_assert_uint_eq(back, LOOP + rows[i].len);
		}
		ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	}
	end(&f);
}
END_TEST

/* What the condition reads is not the program's access; what its instructions do there is. */
START_TEST(watched)
{
	struct eng_watch w = { .addr = COUNTER, .len = 4 };
	struct eng_stop st;
	struct fixture f;
	unsigned mask;

	begin(&f);
	if (eng_watch(&f.t.t, &w, 1) < 0) {
		end(&f);
		return; /* the machine has none */
	}
	ck_assert_int_eq(plant(&f, 50), 1);
	start_at(&f.t, LOOP, 100);
	ck_assert_int_eq(eng_watch(&f.t.t, &w, 1), 0);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_ASK);
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP);
	ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
	ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_MOVED);
	ck_assert_uint_eq(regs(&f.t)->rip, LOOP + 3);
	ck_assert_uint_eq(counter(&f.t), 1);
	ck_assert_int_eq(eng_watch_hits(&f.t.t, &mask), 0);
	ck_assert_uint_eq(mask, 1);
	w.writes_only = true;
	ck_assert_int_eq(eng_watch(&f.t.t, &w, 1), 0);
	for (unsigned i = 2; i < 50; i++) {
		ck_assert_int_eq(rep_cond_go_on(f.c, &f.t), 0);
		ck_assert_int_eq(run(&f, &f.t, &st), REP_COND_MOVED);
		ck_assert_uint_eq(counter(&f.t), i);
	}
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	end(&f);
}
END_TEST

START_TEST(forked)
{
	struct rep_task child = { 0 };
	struct rep_cond *copy, *own;
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(plant(&f, 10), 1);
	guest_fork(&f.t.t, &child.t);
	f.tasks[1] = &child;
	child.session = &f.s;
	ck_assert_int_eq(rep_cond_copy(f.c, &copy), 0);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	f.c = copy;
	ck_assert_int_eq(eng_patch_sync(&child.t), 0);
	ck_assert_int_eq(rep_cond_check(copy, &child), 1);
	start_at(&child, LOOP, 20);
	ck_assert_int_eq(run(&f, &child, &st), REP_COND_TRUE);
	ck_assert_uint_eq(counter(&child), 10);
	own = f.c;
	ck_assert_int_eq(rep_cond_close(own, &child), 0);
	ck_assert_uint_eq(child.t.mm->patches.n, 0);
	guest_end(&child.t);
	f.tasks[1] = NULL;
	end(&f);
}
END_TEST

/* Where there can be none, and what ends one. */
START_TEST(no_longer)
{
	struct fixture f;
	struct mapping m = { .end = 0, .prot = PROT_READ, .flags = ASPACE_ANON };
	uint8_t raw[8];

	begin(&f);
	make_own_code(&f.t.t, PROT_READ | PROT_WRITE | PROT_EXEC);
	ck_assert_int_eq(plant(&f, 1), 0);
	make_own_code(&f.t.t, PROT_READ | PROT_EXEC);
	ck_assert_int_eq(eng_patch_set(&f.t.t, LOOP + 3), 1);
	ck_assert_int_eq(plant(&f, 1), 0);
	ck_assert_int_eq(eng_patch_clear(&f.t.t, LOOP + 3), 0);
	/* code that is written by an event */
	ck_assert_int_eq(plant(&f, 1), 1);
	ck_assert_int_eq(eng_write(&f.t.t, LOOP + 2, "\x02", 1), 0);
	ck_assert_int_eq(rep_cond_check(f.c, &f.t), 0);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	ck_assert_int_eq(pread(f.t.t.mm->mem_fd, raw, 8, (off_t)LOOP), 8);
	ck_assert_mem_eq(raw, "\x83\x07\x02\x39\x37", 5);
	/* a jump that is gone */
	ck_assert_int_eq(plant(&f, 1), 1);
	ck_assert_int_eq(pwrite(f.t.t.mm->mem_fd, "\x90", 1, (off_t)LOOP + 1), 1);
	ck_assert_int_eq(eng_patch_sync_all(&f.t.t), 0);
	ck_assert_int_eq(eng_write(&f.t.t, LOOP + 1, "\x07", 1), 0);
	ck_assert_int_eq(rep_cond_check(f.c, &f.t), 0);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	ck_assert_int_eq(pread(f.t.t.mm->mem_fd, raw, 8, (off_t)LOOP), 8);
	ck_assert_mem_eq(raw, "\x83\x07\x02\x39\x37", 5);
	/* code that may be written */
	ck_assert_int_eq(plant(&f, 1), 1);
	make_own_code(&f.t.t, PROT_READ | PROT_WRITE | PROT_EXEC);
	ck_assert_int_eq(eng_patch_sync(&f.t.t), 0);
	ck_assert_int_eq(rep_cond_check(f.c, &f.t), 0);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	make_own_code(&f.t.t, PROT_READ | PROT_EXEC);
	/* a mapping in the place of the room */
	ck_assert_int_eq(plant(&f, 1), 1);
	for (m.start = 0; !rep_cond_covers(f.c, m.start, 4096); m.start += 4096)
		;
	ck_assert(!rep_cond_covers(f.c, m.start - 4096, 4096));
	ck_assert(!rep_cond_covers(f.c, m.start, 0));
	m.end = m.start + 4096;
	ck_assert_int_eq(guest_call(&f.t.t, SYS_mmap, m.start, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX), (int64_t)m.start);
	ck_assert_int_eq(aspace_map(&f.t.t.mm->as, &m), 0);
	ck_assert_int_eq(eng_patch_sync(&f.t.t), 0);
	ck_assert_int_eq(rep_cond_check(f.c, &f.t), 0);
	ck_assert_int_eq(rep_cond_close(f.c, &f.t), 0);
	ck_assert_uint_eq(guest_byte(&f.t.t, m.start), 0);
	ck_assert_int_eq(pread(f.t.t.mm->mem_fd, raw, 8, (off_t)LOOP), 8);
	ck_assert_mem_eq(raw, "\x83\x07\x02\x39\x37", 5);
	end(&f);
}
END_TEST

/* An interrupt that is reported late is no step, and takes none. */
START_TEST(late_interrupt)
{
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	start_at(&f.t, LOOP, 100);
	ck_assert_int_eq(eng_interrupt(&f.t.t), 0);
	ck_assert_int_eq(rep_step(&f.t, &st), 0);
	ck_assert_int_eq(st.kind, ENG_STOP_SIGNAL);
	ck_assert_int_eq(st.signo, SIGTRAP);
	ck_assert_uint_eq(rip(&f.t), LOOP + 3);
	ck_assert_uint_eq(counter(&f.t), 1);
	end(&f);
}
END_TEST

static int runs(void *ctx, struct rep_task *t)
{
	(void)ctx;
	(void)t;
	return REP_RUNS;
}

static int nothing(void *ctx, struct rep_task *t, struct eng_stop *st, bool is_step)
{
	(void)ctx;
	(void)t;
	(void)st;
	(void)is_step;
	return 0;
}

static bool always(void *ctx, struct rep_task *t)
{
	(void)t;
	++*(unsigned *)ctx;
	return true;
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Halted in the moment of a breakpoint it has met it, or has not come there. */
START_TEST(halted_at_breakpoint)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	const struct itimerval often = { .it_interval.tv_usec = 20, .it_value.tv_usec = 20 }, off = { 0 };
	unsigned ticks = 0;
	const struct rep_hooks hooks = { .before = runs, .stopped = nothing, .tick = always, .ctx = &ticks };
	struct user_regs_struct *r;
	uint64_t met = 0;
	struct eng_stop st;
	struct fixture f;

	begin(&f);
	f.s.hooks = &hooks;
	ck_assert_int_eq(eng_write(&f.t.t, LOOP, "\x48\xff\xc3\xcc\xeb\xfa", 6), 0); /* LOOP: inc rbx; int3; jmp LOOP */
	start_at(&f.t, LOOP, 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 20000 && ticks < 400; i++) {
		int rc = rep_run(&f.t, &st, 0);

		ck_assert(rc == 0 || rc == ERR_STOPPED);
		ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
		met += rc == 0;
		/* behind the int3 only when that has been told */
		ck_assert_uint_eq(r->rbx, r->rip == LOOP + 3 ? met + 1 : met);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	printf("%u ticks, %lu breakpoints\n", ticks, (unsigned long)met);
	end(&f);
}
END_TEST

TEST_MAIN("cond", one_of_many, stepped, cannot_tell, middle, interrupted, calls, watched, forked, no_longer, late_interrupt, halted_at_breakpoint)
