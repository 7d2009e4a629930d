/* The state that is logged at asynchronous points, of a real process. */
#include "recorder/rec_priv.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tests/unit/engine_guest.h"

#define PAGE 4096ull
#define AREA 0x20000000ull
#define STACK 0x30000000ull /* its top */
#define OTHER 0x40000000ull
#define LOW 0x11000000ull

struct fixture {
	struct rec rec;
	struct rec_task t;
	struct event ev;
	uint64_t cpu; /* computed since the point before, ns */
};

static void set_rsp(struct fixture *f, uint64_t rsp)
{
	struct user_regs_struct *r;

	ck_assert_int_eq(eng_regs(&f->t.t, &r), 0);
	r->rsp = rsp;
	eng_regs_changed(&f->t.t);
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	fx_init(&f->rec.fx);
	f->rec.points = (struct rec_point_policy){ .tracked_max = 1000, .rest = 50, .rest_max = 3200, .first_pages = 8192, .hashed_min = 256 };
	f->t.rec = &f->rec;
	guest_start(&f->t.t);
	guest_anon(&f->t.t, AREA, 2048 * PAGE);
	guest_anon(&f->t.t, STACK - 16 * PAGE, 16 * PAGE);
	set_rsp(f, STACK - 2 * PAGE + 128);
	guest_write(&f->t.t, STACK - 2 * PAGE, 1);
}

static void end(struct fixture *f)
{
	fx_done(&f->rec.fx);
	guest_end(&f->t.t);
}

/* Bytes of [addr, addr + len) in effects of that kind. */
static uint64_t covered(const struct fixture *f, enum effect_kind kind, uint64_t addr, uint64_t len)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->rec.fx.n; i++) {
		const struct effect *e = &f->rec.fx.e[i];
		uint64_t lo = MAX(e->addr, addr), hi = MIN(e->addr + e->len, addr + len);

		n += e->kind == kind && lo < hi ? hi - lo : 0;
	}
	return n;
}

/* What holds of every point. */
static void check_point(struct fixture *f)
{
	static uint8_t bytes[1 << 26];
	const struct fx *fx = &f->rec.fx;
	uint64_t input = 0, sum;
	size_t sums = 0;

	ck_assert_int_eq(fx->e[0].kind, EFFECT_REGS);
	ck_assert_int_eq(fx->e[1].kind, EFFECT_XSTATE);
	for (uint32_t i = 2; i < fx->n; i++) {
		const struct effect *e = &fx->e[i];

		ck_assert(e->kind == EFFECT_INPUT || e->kind == EFFECT_HASH);
		ck_assert_uint_le(e->len, sizeof(bytes));
		ck_assert_int_eq(eng_read(&f->t.t, e->addr, bytes, e->len), 0);
		if (e->kind == EFFECT_INPUT) {
			ck_assert(e->addr >= input && e->addr % 8 == 0 && e->len % 8 == 0 && e->len <= PAGE);
			ck_assert_mem_eq(e->data, bytes, e->len);
			input = e->addr + e->len;
		} else {
			ck_assert(e->addr % 8 == 0 && (e->addr + e->len) % PAGE == 0);
			ck_assert_uint_eq(e->hash, eng_hash(bytes, e->len));
			ck_assert_uint_eq(covered(f, EFFECT_HASH, e->addr, e->len), e->len); /* nothing twice */
			for (uint64_t at = 0, len; at < e->len; at += len, sums++) {
				len = MIN(e->len - at, PAGE - (e->addr + at) % PAGE);
				ck_assert_uint_le((sums + 1) * sizeof(sum), f->ev.blob_len);
				memcpy(&sum, (const uint8_t *)f->ev.blob + sums * sizeof(sum), sizeof(sum));
				ck_assert_uint_eq(sum, eng_sum(bytes + at, len));
			}
		}
	}
	ck_assert_uint_eq(f->ev.blob_len, sums * sizeof(sum));
}

/* Captures it; is it proved? */
static uint64_t point(struct fixture *f)
{
	fx_reset(&f->rec.fx);
	f->ev = (struct event){ .kind = EVENT_ASYNC_POINT };
	f->ev.args[EVENT_POINT_PROVED] = 7;
	f->ev.args[EVENT_POINT_CPU] = f->cpu;
	ck_assert_int_eq(rec_point_state(&f->t, &f->ev), 0);
	check_point(f);
	return f->ev.args[EVENT_POINT_PROVED];
}

static void poke(struct fixture *f, uint64_t addr, uint64_t value)
{
	ck_assert_int_eq(eng_write(&f->t.t, addr, &value, sizeof(value)), 0);
}

/* --- cases --- */

START_TEST(registers)
{
	const struct user_regs_struct *logged;
	struct user_regs_struct *r;
	uint8_t xstate[ENG_XSTATE_MAX];
	struct fixture f;
	size_t n, len;

	begin(&f);
	ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
	r->rbx = 0x1234;
	r->orig_rax = 5;
	eng_regs_changed(&f.t.t);
	for (int i = 0; i < 3; i++) { /* the first starts tracking, with calls in the guest */
		ck_assert_uint_eq(point(&f), 1);
		logged = f.rec.fx.e[0].data;
		ck_assert_uint_eq(logged->rbx, 0x1234);
		ck_assert_uint_eq(logged->rip, GUEST_CODE + 15);
		ck_assert_uint_eq(logged->orig_rax, UINT64_MAX);
		ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
		ck_assert_uint_eq(r->orig_rax, 5);
	}
	ck_assert_int_eq(eng_xstate(&f.t.t, xstate, sizeof(xstate), &n), 0);
	/* zeros at the end are left out */
	len = f.rec.fx.e[1].len;
	ck_assert(len >= 576 && len <= n && len % 8 == 0);
	ck_assert_mem_eq(f.rec.fx.e[1].data, xstate, len);
	for (size_t i = len; i < n; i++)
		ck_assert_uint_eq(xstate[i], 0);
	ck_assert(len == 576 || memcmp(xstate + len - 8, "\0\0\0\0\0\0\0", 8));
	end(&f);
}
END_TEST

START_TEST(stack_window)
{
	struct fixture f;

	begin(&f);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, STACK - 2 * PAGE, 640), 640);
	point(&f); /* nothing has changed: the window is all of its page that is logged */
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, STACK - 2 * PAGE, PAGE), 640);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, STACK - 2 * PAGE, PAGE), PAGE);
	/* at the very top; over the border of two pages */
	set_rsp(&f, STACK - 64);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, STACK - 192, 192), 192);
	set_rsp(&f, STACK - 3 * PAGE - 4);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, STACK - 3 * PAGE - 136, 648), 648);
	/* a stack pointer that leads nowhere */
	set_rsp(&f, 0x1000);
	point(&f);
	set_rsp(&f, UINT64_MAX);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, STACK - 16 * PAGE, 16 * PAGE), 0);
	end(&f);
}
END_TEST

START_TEST(operands)
{
	/* incq AREA + 0x5008; jmp back */
	static const uint8_t code[] = "\x48\xff\x04\x25\x08\x50\x00\x20\xeb\xf6";
	struct user_regs_struct *r;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(eng_write(&f.t.t, GUEST_CODE + 64, code, sizeof(code) - 1), 0);
	ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
	r->rip = GUEST_CODE + 64;
	r->rbx = AREA + 9 * PAGE + 17; /* only a pointer: its page is looked at */
	eng_regs_changed(&f.t.t);
	poke(&f, AREA + 9 * PAGE + 1024, 1);
	poke(&f, AREA + 9 * PAGE + 128, AREA + 20 * PAGE + 256); /* leads on */
	point(&f);
	/* all of it but zeros, and the words behind the pointer */
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + 9 * PAGE, PAGE), 16 * 8 + 8);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + 20 * PAGE, PAGE), 4 * 8);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + 20 * PAGE + 256, 32), 32);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA, 64 * PAGE), 8);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + 0x5008, 8), 8);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 0x5000, PAGE), PAGE);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 9 * PAGE, PAGE), PAGE);
	end(&f);
}
END_TEST

START_TEST(changed_words)
{
	const uint64_t page = STACK - 2 * PAGE, first = 1024;
	struct fixture f;

	begin(&f);
	point(&f);
	poke(&f, page + 2000, 5);
	poke(&f, page + 2008, 6);
	poke(&f, page + 3000, 7);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, page + 640, PAGE - 640), 24);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, page + 2000, 16), 16);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, page + 3000, 8), 8);
	point(&f);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, page + 640, PAGE - 640), 0);
	/* many of them: a part, from all over the page */
	for (uint64_t at = first; at < PAGE; at += 8)
		poke(&f, page + at, at);
	point(&f);
	ck_assert_uint_ge(covered(&f, EFFECT_INPUT, page + first, PAGE - first), 64 * 8);
	ck_assert_uint_le(covered(&f, EFFECT_INPUT, page + first, PAGE - first), 64 * 16);
	for (uint64_t at = first; at < PAGE; at += 512)
		ck_assert_uint_gt(covered(&f, EFFECT_INPUT, page + at, 512), 0);
	end(&f);
}
END_TEST

START_TEST(proved)
{
	struct fixture f;

	begin(&f);
	guest_write(&f.t.t, AREA, 100);
	/* the first one: by all memory that there is, whenever it was written */
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 100 * PAGE);
	ck_assert_uint_ge(covered(&f, EFFECT_HASH, STACK - 2 * PAGE, PAGE), PAGE);
	/* from then on by what was written */
	guest_write(&f.t.t, AREA, 1);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), PAGE);
	guest_write(&f.t.t, AREA + 10 * PAGE, 3);
	guest_write(&f.t.t, AREA + 50 * PAGE, 1);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 10 * PAGE, 3 * PAGE), 3 * PAGE);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 50 * PAGE, PAGE), PAGE);
	/* what was never written before; how the pages change from point to point */
	guest_write(&f.t.t, AREA + 50 * PAGE, 1);
	guest_write(&f.t.t, AREA + 1000 * PAGE, 20);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 1000 * PAGE, 20 * PAGE), 20 * PAGE);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + 50 * PAGE, PAGE), 8);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 10 * PAGE, 3 * PAGE), 0);
	end(&f);
}
END_TEST

/* Many written pages are all hashed; of too many as much as is affordable, and tracking rests. */
START_TEST(too_many_pages)
{
	uint64_t hashed;
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 3; i++)
		point(&f);
	guest_write(&f.t.t, AREA, 570);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 570 * PAGE);
	guest_write(&f.t.t, AREA, 700);
	ck_assert_uint_eq(point(&f), 0);
	hashed = covered(&f, EFFECT_HASH, AREA, 700 * PAGE) / PAGE;
	ck_assert_uint_ge(hashed, 250);
	guest_write(&f.t.t, AREA, 100);
	ck_assert_uint_eq(point(&f), 1);
	guest_write(&f.t.t, AREA, 1200);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 1200 * PAGE);
	/* rests for 50 points; at the first one all memory is looked at again */
	for (int i = 0; i < 50; i++) {
		guest_write(&f.t.t, AREA, 1);
		ck_assert_msg(point(&f) == (i == 0), "point %d", i);
	}
	guest_write(&f.t.t, AREA, 1);
	ck_assert_uint_eq(point(&f), 1);
	end(&f);
}
END_TEST

/* Of a process that is too large a part is looked at, a small one as a whole; whatever tells how much is affordable. */
static void rest_tracking(struct fixture *f)
{
	begin(f);
	point(f);
	guest_write(&f->t.t, AREA, 1200);
	ck_assert_uint_eq(point(f), 1);
	ck_assert_uint_eq(point(f), 1);
	ck_assert_uint_eq(point(f), 0);
}

START_TEST(resting_small)
{
	int64_t result;
	struct fixture f;

	rest_tracking(&f);
	/* now there is little memory, and all of it is hashed */
	ck_assert_int_eq(eng_remote(&f.t.t, SYS_madvise, (uint64_t[6]){ AREA + 200 * PAGE, 1848 * PAGE, MADV_DONTNEED }, &result), 0);
	ck_assert_int_eq(result, 0);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 200 * PAGE), 200 * PAGE);
	guest_write(&f.t.t, AREA + 1000 * PAGE, 3);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + 1000 * PAGE, 3 * PAGE), 3 * PAGE);
	end(&f);
}
END_TEST

/* What has changed at some points is hashed at the next. */
START_TEST(hot_pages)
{
	static const uint64_t hot[] = { 5, 300, 301, 777, 1150 };
	uint64_t seen[ARRAY_SIZE(hot)] = { 0 };
	struct fixture f;

	rest_tracking(&f);
	for (int k = 0; k < 40; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(hot); i++)
			guest_write(&f.t.t, AREA + hot[i] * PAGE, 1);
		ck_assert_uint_eq(point(&f), 0);
		ck_assert_uint_le(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 400 * PAGE);
		for (size_t i = 0; i < ARRAY_SIZE(hot); i++)
			seen[i] += k >= 20 && covered(&f, EFFECT_HASH, AREA + hot[i] * PAGE, PAGE) == PAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hot); i++)
		ck_assert_msg(seen[i] == 20, "page %d: %d", (int)hot[i], (int)seen[i]);
	end(&f);
}
END_TEST

/* Those that have not changed come in turn. */
START_TEST(cold_pages)
{
	static bool seen[1200];
	struct fixture f;

	rest_tracking(&f);
	for (int k = 0; k < 20; k++) {
		ck_assert_uint_eq(point(&f), 0);
		for (uint64_t i = 0; i < ARRAY_SIZE(seen); i++)
			seen[i] |= covered(&f, EFFECT_HASH, AREA + i * PAGE, PAGE) == PAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		ck_assert_msg(seen[i], "page %d", (int)i);
	end(&f);
}
END_TEST

/* The more has been computed, the more is hashed. */
START_TEST(affordable)
{
	struct fixture f;

	rest_tracking(&f);
	f.cpu = 40000000;
	ck_assert_uint_eq(point(&f), 0);
	ck_assert_uint_ge(covered(&f, EFFECT_HASH, AREA, 1200 * PAGE), 500 * PAGE);
	ck_assert_uint_le(covered(&f, EFFECT_HASH, AREA, 1200 * PAGE), 700 * PAGE);
	f.cpu = 200000000;
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 1200 * PAGE), 1200 * PAGE);
	end(&f);
}
END_TEST

/* The first point of a large process: 32 MB, and what is not of one piece comes first. */
START_TEST(large_process)
{
	struct fixture f;

	begin(&f);
	guest_anon(&f.t.t, LOW, 9000 * PAGE);
	guest_write(&f.t.t, LOW, 9000);
	for (uint64_t i = 0; i < 2000; i += 20)
		guest_write(&f.t.t, AREA + i * PAGE, 1);
	ck_assert_uint_eq(point(&f), 0);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 100 * PAGE);
	ck_assert_uint_ge(covered(&f, EFFECT_HASH, LOW, 9000 * PAGE), 8000 * PAGE);
	ck_assert_uint_le(covered(&f, EFFECT_HASH, LOW, 9000 * PAGE), 8192 * PAGE);
	guest_write(&f.t.t, LOW + 8990 * PAGE, 1);
	ck_assert_uint_eq(point(&f), 1); /* by tracking */
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, LOW, 9000 * PAGE), PAGE);
	end(&f);
}
END_TEST

/* What a private mapping only shows of its file was not written. */
START_TEST(file_pages)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(ftruncate(fd, 64 * PAGE), 0);
	guest_map(&f.t.t, OTHER, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	guest_read(&f.t.t, OTHER, 1);
	guest_write(&f.t.t, OTHER + 40 * PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 64 * PAGE), 2 * PAGE);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER + 40 * PAGE, 2 * PAGE), 2 * PAGE);
	close(fd);
	end(&f);
}
END_TEST

/* Neither our own memory nor what others may change is looked at; a write to the latter leaves the point without
 * proof. */
START_TEST(left_out)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct fixture f;
	struct user_regs_struct *r;
	struct mapping *ours;

	begin(&f);
	ck_assert_int_eq(ftruncate(fd, 8 * PAGE), 0);
	guest_map(&f.t.t, OTHER, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	guest_map(&f.t.t, OTHER + 16 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	guest_map(&f.t.t, OTHER + 32 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ours = (struct mapping *)aspace_find(&f.t.t.mm->as, OTHER + 16 * PAGE);
	ours->flags |= ASPACE_HERMIT;
	ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
	r->rbx = OTHER + 8;
	r->rcx = OTHER + 16 * PAGE + 8;
	r->rdx = OTHER + 32 * PAGE + 8;
	eng_regs_changed(&f.t.t);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(point(&f), i > 0); /* nobody knows what was written to OTHER before the first one */
		ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 32 * PAGE), 0);
		ck_assert_uint_eq(covered(&f, EFFECT_INPUT, OTHER, 32 * PAGE), 0);
		ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER + 32 * PAGE, 8 * PAGE), PAGE);
	}
	guest_write(&f.t.t, OTHER + 16 * PAGE, 2);
	guest_write(&f.t.t, OTHER + 33 * PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 32 * PAGE), 0);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER + 32 * PAGE, 8 * PAGE), 3 * PAGE);
	guest_write(&f.t.t, OTHER, 1);
	ck_assert_uint_eq(point(&f), 0);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 32 * PAGE), 0);
	ck_assert_uint_eq(point(&f), 1);
	close(fd);
	end(&f);
}
END_TEST

/* Below the red zone of a thread's own stack nothing counts. */
START_TEST(dead_stack)
{
	const uint64_t page = STACK - 8 * PAGE, rsp = page + 1024;
	struct user_regs_struct *r;
	struct rec_task other;
	struct fixture f;

	begin(&f);
	set_rsp(&f, rsp);
	for (int i = 0; i < 3; i++)
		point(&f);
	guest_write(&f.t.t, page - PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, page - PAGE, 2 * PAGE), 2 * PAGE); /* any memory so far */
	ck_assert_int_eq(eng_regs(&f.t.t, &r), 0);
	r->fs_base = STACK - 64;
	eng_regs_changed(&f.t.t);
	guest_write(&f.t.t, page - PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, page - PAGE, 2 * PAGE), PAGE - 1024 + 128);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, rsp - 128, PAGE - 1024 + 128), PAGE - 1024 + 128);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, page - PAGE, PAGE + 1024 - 128), 0);
	ck_assert_uint_eq(covered(&f, EFFECT_INPUT, rsp - 128, 640), 640);
	/* that of another thread, which sleeps in a call */
	memset(&other, 0, sizeof(other));
	other.t = f.t.t;
	other.in_call = true;
	other.entry.rsp = AREA + 1024 * PAGE + 128;
	other.entry.fs_base = AREA + 1030 * PAGE;
	f.rec.tasks = &other;
	guest_write(&f.t.t, AREA + 1020 * PAGE, 20);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA, 2048 * PAGE), 16 * PAGE);
	end(&f);
}
END_TEST

/* What came between two points is hashed too. */
START_TEST(new_memory)
{
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 3; i++)
		point(&f);
	guest_anon(&f.t.t, OTHER, 16 * PAGE);
	guest_write(&f.t.t, OTHER + 4 * PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 16 * PAGE), 2 * PAGE);
	guest_write(&f.t.t, OTHER + 5 * PAGE, 2);
	ck_assert_uint_eq(point(&f), 1);
	ck_assert_uint_eq(covered(&f, EFFECT_HASH, OTHER, 16 * PAGE), 2 * PAGE);
	end(&f);
}
END_TEST

/* More pages than copies are kept of: each point is right nevertheless. */
START_TEST(many_pages)
{
	struct fixture f;

	begin(&f);
	point(&f);
	point(&f);
	for (uint64_t i = 0; i < 12; i++) {
		guest_write(&f.t.t, AREA + i * 90 * PAGE, 100);
		ck_assert_uint_eq(point(&f), 1);
		ck_assert_uint_eq(covered(&f, EFFECT_HASH, AREA + i * 90 * PAGE, 100 * PAGE), 100 * PAGE);
		guest_write(&f.t.t, AREA + i * 90 * PAGE, 100);
		ck_assert_uint_eq(point(&f), 1);
		ck_assert_uint_eq(covered(&f, EFFECT_INPUT, AREA + i * 90 * PAGE, 100 * PAGE), 100 * 8);
	}
	end(&f);
}
END_TEST

/* Asked without the code under test. */
static bool kernel_can_track(void)
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
	const TTest *const tests[] = { stack_window, operands, changed_words, registers, proved, too_many_pages, resting_small, hot_pages,
					cold_pages, affordable, large_process, file_pages, left_out, new_memory, many_pages, dead_stack };

	/* the last ones are about proofs */
	return test_run("points", tests, kernel_can_track() ? ARRAY_SIZE(tests) : 3);
}
