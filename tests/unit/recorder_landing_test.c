/* Landing at places that are passed seldom, in a real process. */
#include "recorder/landing_priv.h"

#include <sys/time.h>
#include "engine/code.h"
#include "tests/unit/engine_guest.h"

#define CODE 0x50000000ull
#define INNER (CODE + 5)  /* two instructions that jump back to themselves a thousand times */
#define SELDOM (CODE + 9) /* behind them */
#define ONCE (CODE + 0x45) /* the same, but the end is a trap */
#define ONCE_SELDOM (CODE + 0x49)
#define EVER (CODE + 0x80) /* jumps to itself */

/* mov ecx, 1000; inner: dec ecx; jnz inner; mov rax, 1; inc rbx; jmp CODE */
static const uint8_t loops[] = "\xb9\xe8\x03\x00\x00\xff\xc9\x75\xfc\x48\xc7\xc0\x01\x00\x00\x00\x48\xff\xc3\xeb\xeb\xcc";
static const uint8_t once[] = "\xb9\xe8\x03\x00\x00\xff\xc9\x75\xfc\x48\xc7\xc0\x01\x00\x00\x00\xcc";
static const uint8_t ever[] = "\xeb\xfe\x48\xc7\xc0\x01\x00\x00\x00\xcc";

struct fixture {
	struct rec rec;
	struct rec_task t;
	uint8_t page[4096];
};

static void on_tick(int signo)
{
	(void)signo;
}

static void begin(struct fixture *f)
{
	const struct mapping m = { .start = CODE, .end = CODE + sizeof(f->page), .prot = PROT_READ | PROT_EXEC, .ino = 7 };
	const struct sigaction sa = { .sa_handler = on_tick };

	memset(f, 0, sizeof(*f));
	sigaction(SIGALRM, &sa, NULL);
	f->t.rec = &f->rec;
	f->rec.tick_ns = 10000000;
	guest_start(&f->t.t);
	guest_map(&f->t.t, CODE, sizeof(f->page), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ck_assert_int_eq(aspace_map(&f->t.t.mm->as, &m), 0); /* as one of a file */
	memset(f->page, 0xcc, sizeof(f->page));
	memcpy(f->page, loops, sizeof(loops) - 1);
	memcpy(f->page + 0x40, once, sizeof(once) - 1);
	memcpy(f->page + 0x80, ever, sizeof(ever) - 1);
	ck_assert_int_eq(eng_write(&f->t.t, CODE, f->page, sizeof(f->page)), 0);
}

static struct user_regs_struct *regs(struct fixture *f)
{
	struct user_regs_struct *r;

	ck_assert_int_eq(eng_regs(&f->t.t, &r), 0);
	return r;
}

static void stand_at(struct fixture *f, uint64_t rip)
{
	struct user_regs_struct *r = regs(f);

	r->rip = rip;
	r->rcx = 1000;
	r->orig_rax = UINT64_MAX;
	eng_regs_changed(&f->t.t);
}

/* Whatever came of it, the guest's code is its own again. */
static enum landing land(struct fixture *f)
{
	uint8_t now[sizeof(f->page)];
	enum landing where;

	ck_assert_int_eq(rec_land_rarely(&f->t, &where), 0);
	ck_assert(!f->t.t.running);
	ck_assert_int_eq(eng_read(&f->t.t, CODE, now, sizeof(now)), 0);
	ck_assert_mem_eq(now, f->page, sizeof(now));
	return where;
}

static void end(struct fixture *f)
{
	const struct itimerval off = { 0 };

	setitimer(ITIMER_REAL, &off, NULL);
	guest_end(&f->t.t);
}

START_TEST(behind_the_loop)
{
	struct fixture f;
	uint64_t passes;

	begin(&f);
	stand_at(&f, INNER);
	ck_assert_int_eq(land(&f), LANDED);
	ck_assert_uint_eq(regs(&f)->rip, SELDOM);
	ck_assert_uint_eq(regs(&f)->rcx, 0);
	ck_assert_uint_eq(f.t.rare.at, SELDOM);
	passes = regs(&f)->rbx;
	stand_at(&f, INNER);
	ck_assert_int_eq(land(&f), LANDED); /* is remembered: the next pass */
	ck_assert_uint_eq(regs(&f)->rip, SELDOM);
	ck_assert_uint_eq(regs(&f)->rbx, passes);
	end(&f);
}
END_TEST

START_TEST(an_event_comes_first)
{
	struct fixture f;

	begin(&f);
	stand_at(&f, ONCE);
	ck_assert_int_eq(land(&f), MET_EVENT);
	ck_assert_int_eq(f.t.t.stop.kind, ENG_STOP_SIGNAL);
	ck_assert_uint_eq(regs(&f)->rip, CODE + 0x51);
	ck_assert_uint_eq(regs(&f)->rax, 1);
	ck_assert_uint_eq(f.t.rare.at, 0);
	f.t.rare = (struct rec_rare){ .at = SELDOM, .key = aspace_code_key(&f.t.t.mm->as, SELDOM), .uses = 9 };
	stand_at(&f, ONCE_SELDOM);
	ck_assert_int_eq(land(&f), MET_EVENT);
	end(&f);
}
END_TEST

START_TEST(nothing_seldom)
{
	struct fixture f;

	begin(&f);
	stand_at(&f, EVER);
	ck_assert_int_eq(land(&f), NOT_RARE);
	ck_assert_uint_eq(regs(&f)->rip, EVER);
	ck_assert_uint_eq(f.t.rare.pause, 1);
	ck_assert_int_eq(land(&f), NOT_RARE);
	ck_assert_uint_eq(f.t.rare.pause, 0);
	ck_assert_int_eq(land(&f), NOT_RARE);
	ck_assert_uint_eq(f.t.rare.pause, 3); /* searched again, in vain again */
	end(&f);
}
END_TEST

/* A remembered place that is not passed any more is forgotten. So is one whose code has become another. */
START_TEST(forgotten)
{
	struct fixture f;

	begin(&f);
	f.t.rare = (struct rec_rare){ .at = SELDOM, .key = aspace_code_key(&f.t.t.mm->as, SELDOM), .uses = 9 };
	stand_at(&f, EVER);
	ck_assert_int_eq(land(&f), NOT_RARE);
	ck_assert_uint_eq(f.t.rare.at, 0);
	f.t.rare = (struct rec_rare){ .at = EVER, .key = 5, .uses = 9 };
	stand_at(&f, INNER);
	ck_assert_int_eq(land(&f), LANDED);
	ck_assert_uint_eq(f.t.rare.at, SELDOM);
	end(&f);
}
END_TEST

/* Code that others see, or that can be written, is left alone. */
START_TEST(not_its_own)
{
	static const struct mapping maps[] = {
		{ .start = CODE, .end = CODE + 4096, .prot = PROT_READ | PROT_WRITE | PROT_EXEC, .ino = 7 },
		{ .start = CODE, .end = CODE + 4096, .prot = PROT_READ | PROT_EXEC, .ino = 7, .flags = ASPACE_SHARED, .object = 1 },
	};
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		ck_assert_int_eq(aspace_map(&f.t.t.mm->as, &maps[i]), 0);
		f.t.rare = (struct rec_rare){ 0 };
		stand_at(&f, INNER);
		ck_assert_int_eq(land(&f), NOT_RARE);
		ck_assert_uint_eq(regs(&f)->rip, INNER); /* it has not even run */
	}
	end(&f);
}
END_TEST

TEST_MAIN("recorder_landing", behind_the_loop, an_event_comes_first, nothing_seldom, forgotten, not_its_own)
