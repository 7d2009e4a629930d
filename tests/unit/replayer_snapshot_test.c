/* Snapshots of small recordings that are made here: what the cases of tests/run (`snapshots`) cannot aim at. */
#include "tests/unit/store_help.h"

#include <asm/prctl.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include "replayer/rep_priv.h"

#define CODE 0x10000ull
#define TOP 0x18000ull
#define SHARED 0x40000ull
#define MEMORY 0x10000000ull
#define GS 0x123000u

struct tale {
	struct help_store store;
	struct store_writer *w;
	struct manifest m;
	struct store_reader *reader;
	struct rep_session *s;
};

static void add(struct tale *a, struct event ev)
{
	ev.text = ev.text ? ev.text : "";
	OK(store_writer_event(a->w, &ev));
}

static void add_effects(struct tale *a, struct effect *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		e[i].name = "";
	add(a, (struct event){ .kind = EVENT_NOTE, .thread = 1, .effects = e, .n_effects = n });
}

/* One thread that runs this code. */
static void begin(struct tale *a, const void *code, size_t n)
{
	struct user_regs_struct regs = { .rip = CODE, .rsp = TOP, .cs = 0x33, .ss = 0x2b, .eflags = 0x202 };
	struct effect e[] = {
		{ .kind = EFFECT_MAP, .addr = CODE, .len = TOP - CODE, .prot = PROT_READ | PROT_WRITE | PROT_EXEC, .name = "" },
		{ .kind = EFFECT_MEM, .addr = CODE, .len = n, .data = code, .name = "" },
		{ .kind = EFFECT_REGS, .len = sizeof(regs), .data = &regs, .name = "" },
	};

	*a = (struct tale){ .store = help_open() };
	help_manifest(&a->m);
	OK(store_writer_new(a->store.s, &a->m, &a->w, NULL));
	add(a, (struct event){ .kind = EVENT_EXEC, .thread = 1, .sysno = SYS_execve, .effects = e, .n_effects = ARRAY_SIZE(e) });
}

static void open_replay(struct tale *a)
{
	const struct rep_options opt = { .stdout_fd = -1, .stderr_fd = -1 };
	struct store_id id = *store_writer_id(a->w);

	add(a, (struct event){ .kind = EVENT_END });
	OK(store_writer_commit(a->w, &a->m, NULL));
	store_writer_free(a->w);
	OK(store_reader_open(a->store.s, &id, &a->reader, NULL));
	OK(rep_session_new(a->reader, &opt, &a->s, NULL));
}

static void steps(struct tale *a, uint64_t to)
{
	struct errinfo ei = { 0 };

	while (a->s->event < to)
		ck_assert_msg(rep_session_step(a->s, &ei) == 1, "event %d: %s", (int)a->s->event, ei.text);
}

static struct rep_snapshot *take(struct tale *a)
{
	struct rep_snapshot *snap;

	OK(rep_snapshot_take(a->s, &snap, NULL));
	return snap;
}

static void end(struct tale *a)
{
	rep_session_free(a->s);
	ck_assert(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	store_reader_free(a->reader);
	manifest_done(&a->m);
	help_close(&a->store);
}

static struct user_regs_struct registers(struct tale *a)
{
	struct user_regs_struct *r;

	OK(eng_regs(&rep_task(a->s, 1)->t, &r));
	return *r;
}

/* Between entry and exit of a call that is run again and changes registers. */
START_TEST(inside_of_arch_prctl)
{
	static const uint8_t code[] = { 0xb8, 158, 0, 0, 0, 0xbf, 0x01, 0x10, 0, 0, 0xbe, 0, 0x30, 0x12, 0, 0x0f, 0x05, 0xeb, 0xfe };
	struct tale a;
	struct rep_snapshot *snap;

	begin(&a, code, sizeof(code));
	add(&a, (struct event){ .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = SYS_arch_prctl, .args = { ARCH_SET_GS, GS } });
	add(&a, (struct event){ .kind = EVENT_SYSCALL_EXIT, .thread = 1, .sysno = SYS_arch_prctl, .flags = EVENT_F_REEXEC });
	open_replay(&a);
	steps(&a, 2);
	snap = take(&a);
	ck_assert_uint_eq(registers(&a).orig_rax, SYS_arch_prctl);
	for (int i = 0; i < 3; i++) {
		steps(&a, 3);
		ck_assert_uint_eq(registers(&a).gs_base, GS);
		ck_assert_uint_eq(registers(&a).rax, 0);
		OK(rep_snapshot_restore(a.s, snap, NULL));
		ck_assert_uint_eq(registers(&a).gs_base, 0);
		ck_assert(rep_task(a.s, 1)->in_call);
	}
	end(&a); /* the session frees what is left */
}
END_TEST

static void expect_text(struct tale *a, uint64_t addr, const char *want)
{
	char got[16] = "";

	OK(eng_read(&rep_task(a->s, 1)->t, addr, got, strlen(want) + 1));
	ck_assert_str_eq(got, want);
}

static void add_object(struct tale *a, uint64_t object, uint64_t addr, uint64_t size, const char *text)
{
	struct effect e[] = {
		{ .kind = EFFECT_RESIZE, .object = object, .len = size },
		{ .kind = EFFECT_MAP, .source = MAP_SOURCE_SHARED, .object = object, .addr = addr, .len = 0x40000, .prot = PROT_READ | PROT_WRITE },
		{ .kind = EFFECT_MEM, .addr = addr, .len = strlen(text) + 1, .data = text },
	};

	add_effects(a, e, ARRAY_SIZE(e));
}

static void add_text(struct tale *a, uint64_t addr, const char *text)
{
	struct effect e = { .kind = EFFECT_MEM, .addr = addr, .len = strlen(text) + 1, .data = text };

	add_effects(a, &e, 1);
}

/* Content, size, what lies behind the end, holes; an object that is made again is another one than that of a later snapshot. */
START_TEST(objects)
{
	enum { SIZE = 0x20000, BIT = 100 };
	const uint64_t second = SHARED + 0x100000;
	struct rep_snapshot *early, *late;
	struct effect shrink = { .kind = EFFECT_RESIZE, .object = 1, .len = BIT };
	struct tale a;
	uint64_t bytes;
	struct stat st;

	begin(&a, "\xeb\xfe", 2);
	add_object(&a, 1, SHARED, SIZE, "one");       /* 2 */
	add_text(&a, SHARED + 0x10000, "far");	     /* 3 */
	add_effects(&a, &shrink, 1);		     /* 4 */
	add_text(&a, SHARED, "two");		     /* 5 */
	add_text(&a, SHARED + BIT + 8, "behind");    /* 6 */
	add_object(&a, 2, second, SIZE, "three");     /* 7 */
	open_replay(&a);
	steps(&a, 3);
	early = take(&a);
	steps(&a, 7);
	late = take(&a);
	for (int i = 0; i < 3; i++) {
		OK(rep_snapshot_restore(a.s, early, NULL));
		expect_text(&a, SHARED, "one");
		expect_text(&a, SHARED + 0x10000, "far");
		expect_text(&a, SHARED + BIT + 8, "");
		ck_assert(!a.s->objects[2]);
		OK(fstat(a.s->objects[1]->fd, &st));
		ck_assert_int_eq(st.st_size, SIZE);
		ck_assert_int_le(st.st_blocks * 512, 2 * 0x4000); /* the two pieces, holes elsewhere */
		steps(&a, 7);
		expect_text(&a, second, "three");
		OK(pwrite(a.s->objects[2]->fd, "four", 5, 0));
		OK(rep_snapshot_restore(a.s, late, NULL));
		expect_text(&a, SHARED, "two");
		expect_text(&a, SHARED + BIT + 8, "behind");
		expect_text(&a, second, "three");
		OK(fstat(a.s->objects[1]->fd, &st));
		ck_assert_int_eq(st.st_size, BIT);
	}
	bytes = rep_snapshot_bytes(late);
	ck_assert_uint_gt(bytes, 4096);
	ck_assert_uint_lt(bytes, 1 << 20);
	rep_snapshot_free(a.s, early);
	OK(rep_snapshot_restore(a.s, late, NULL));
	expect_text(&a, SHARED, "two");
	rep_snapshot_free(a.s, late);
	end(&a);
}
END_TEST

/* A snapshot at an end that is an error leads back. */
START_TEST(after_divergence)
{
	static const uint8_t code[] = { 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe };
	struct errinfo ei = { 0 };
	struct rep_snapshot *snap;
	struct tale a;

	begin(&a, code, sizeof(code));
	add(&a, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_getppid });
	open_replay(&a);
	steps(&a, 1);
	snap = take(&a);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rep_session_step(a.s, &ei), ERR_DIVERGED);
		OK(rep_snapshot_restore(a.s, snap, NULL));
		ck_assert_uint_eq(registers(&a).rip, CODE);
		ck_assert_uint_eq(a.s->event, 1);
	}
	/* the tree was killed from outside */
	kill(rep_task(a.s, 1)->t.tid, SIGKILL);
	ck_assert_int_lt(rep_session_step(a.s, &ei), 0);
	OK(rep_snapshot_restore(a.s, snap, NULL));
	ck_assert_uint_eq(registers(&a).rip, CODE);
	end(&a);
}
END_TEST

static void fill(struct tale *a, size_t n, uint8_t with)
{
	uint8_t page[4096];

	memset(page, with, sizeof(page));
	for (size_t at = 0; at < n; at += sizeof(page))
		OK(eng_write(&rep_task(a->s, 1)->t, MEMORY + at, page, sizeof(page)));
}

/* Two hold what the tree has changed since: together it counts once, though freeing one of them gives nothing back. */
START_TEST(memory_together)
{
	enum { SIZE = 16 << 20 };
	struct effect map = { .kind = EFFECT_MAP, .addr = MEMORY, .len = SIZE, .prot = PROT_READ | PROT_WRITE };
	struct rep_snapshot *snap[2];
	struct tale a;

	begin(&a, "\xeb\xfe", 2);
	add_effects(&a, &map, 1);
	open_replay(&a);
	steps(&a, 2);
	fill(&a, SIZE, 1);
	snap[0] = take(&a);
	snap[1] = take(&a);
	ck_assert_uint_lt(rep_snapshots_bytes(a.s), 1 << 20);
	fill(&a, SIZE, 2);
	ck_assert_uint_lt(rep_snapshot_bytes(snap[0]), 1 << 20);
	ck_assert_uint_lt(rep_snapshot_bytes(snap[1]), 1 << 20);
	ck_assert_uint_gt(rep_snapshots_bytes(a.s), SIZE);
	ck_assert_uint_lt(rep_snapshots_bytes(a.s), SIZE + (1 << 20));
	rep_snapshot_free(a.s, snap[0]);
	ck_assert_uint_gt(rep_snapshot_bytes(snap[1]), SIZE);
	ck_assert_uint_lt(rep_snapshots_bytes(a.s), SIZE + (1 << 20));
	end(&a);
}
END_TEST

HELP_MAIN("replayer_snapshot", { inside_of_arch_prctl, 1 }, { objects, 1 }, { after_divergence, 1 },
	  { memory_together, 1 })
