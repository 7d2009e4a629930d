/* Debugging sessions on a small recording that is made here: one thread computes, makes a call, computes again and is killed. The states that
 * single steps forwards pass are the truth that everything else is compared with. */
#include "tests/unit/store_help.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "replayer/debug.h"

#define CODE 0x10000ull
#define MEMORY 0x400000ull
#define LOOP (CODE + 5)
#define STORE (CODE + 8)
#define LAST_STEP (CODE + 13)
#define CALL (CODE + 20)
#define ROUNDS 40u
#define ROUND 4u /* instructions */
#define FIRST (1 + ROUNDS * ROUND + 1) /* steps before the call's instruction */
#define STATES (2 * FIRST + 1)
#define PID 4711

/* 0: mov ecx, ROUNDS  5: add rbx, rcx  8: mov [rdi], rbx  11: dec ecx  13: jnz 5  15: mov eax, 39  20: syscall  22: jmp 0 */
static const uint8_t model[] = { 0xb9, ROUNDS, 0, 0, 0, 0x48, 0x01, 0xcb, 0x48, 0x89, 0x1f, 0xff, 0xc9, 0x75, 0xf6,
				0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xe8 };

struct history {
	struct help_store store;
	struct store_writer *w;
	struct manifest m;
	struct store_reader *reader;
	struct dbg *d;
	unsigned ticks; /* of them until an interrupt, 0 = none */
};

struct state {
	struct user_regs_struct regs;
	uint64_t memory;
};

static void add(struct history *h, struct event ev)
{
	ev.text = ev.text ? ev.text : "";
	OK(store_writer_event(h->w, &ev));
}

static bool on_tick(void *ctx, const struct dbg_progress *p UNUSED)
{
	struct history *h = ctx;

	return h->ticks && --h->ticks == 0;
}

struct shape {
	uint32_t rounds;
	bool as_file; /* code that jumps can be put into; else only breakpoints can */
	bool late;    /* it begins at the call, which brings the memory */
};

static void begin_shape(struct history *h, const struct shape *shape)
{
	struct user_regs_struct regs = { .rip = CODE, .rdi = MEMORY, .rsp = MEMORY + 0x1000, .cs = 0x33, .ss = 0x2b, .eflags = 0x202 };
	struct effect memory = { .kind = EFFECT_MAP, .addr = MEMORY, .len = 0x2000, .prot = PROT_READ | PROT_WRITE, .name = "" };
	const struct dbg_options opt = { .tick = on_tick, .ctx = h };
	uint8_t code[sizeof(model)];
	struct effect e[4] = {
		{ .kind = EFFECT_MAP, .addr = CODE, .len = 0x1000, .prot = PROT_READ | PROT_EXEC, .name = "" },
		{ .kind = EFFECT_REGS, .len = sizeof(regs), .data = &regs, .name = "" },
	};
	struct errinfo ei = { 0 };
	struct store_id id;
	uint32_t n = 2;

	if (shape->late) {
		regs.rip = CALL - 5;
		regs.rbx = -(uint64_t)shape->rounds;
	} else {
		e[n++] = memory;
	}
	memcpy(code, model, sizeof(code));
	memcpy(code + 1, &shape->rounds, sizeof(shape->rounds));
	*h = (struct history){ .store = help_open() };
	help_manifest(&h->m);
	OK(store_writer_new(h->store.s, &h->m, &h->w, NULL));
	if (shape->as_file) {
		e[0].source = MAP_SOURCE_BLOB;
		OK(store_blob_add(h->store.s, code, sizeof(code), &e[0].blob));
	} else {
		e[n++] = (struct effect){ .kind = EFFECT_MEM, .addr = CODE, .len = sizeof(code), .data = code, .name = "" };
	}
	add(h, (struct event){ .kind = EVENT_EXEC, .thread = 1, .pid = PID, .tid = PID, .sysno = SYS_execve, .effects = e, .n_effects = n });
	add(h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_getpid, .result = PID, .effects = &memory, .n_effects = shape->late });
	add(h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_getpid, .result = PID });
	add(h, (struct event){ .kind = EVENT_EXIT, .thread = 1, .result = 9 });
	add(h, (struct event){ .kind = EVENT_END });
	id = *store_writer_id(h->w);
	OK(store_writer_commit(h->w, &h->m, NULL));
	store_writer_free(h->w);
	OK(store_reader_open(h->store.s, &id, &h->reader, NULL));
	ck_assert_msg(dbg_open(h->reader, &opt, &h->d, &ei) == 0, "%s", ei.text);
}

static void begin_rounds(struct history *h, bool as_file, uint32_t rounds)
{
	begin_shape(h, &(struct shape){ .rounds = rounds, .as_file = as_file });
}

static void begin(struct history *h, bool as_file)
{
	begin_rounds(h, as_file, ROUNDS);
}

static void end(struct history *h)
{
	dbg_free(h->d);
	ck_assert(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	store_reader_free(h->reader);
	manifest_done(&h->m);
	help_close(&h->store);
}

static struct state look(struct history *h)
{
	struct state s = { 0 };

	OK(dbg_regs(h->d, PID, &s.regs));
	ck_assert_uint_eq(dbg_read(h->d, MEMORY, &s.memory, 8), 8);
	return s;
}

static void same(struct state a, struct state b, unsigned i)
{
	ck_assert_msg(a.regs.rip == b.regs.rip && a.memory == b.memory, "state %u: at %#llx instead of %#llx", i, a.regs.rip, b.regs.rip);
	ck_assert_msg(!memcmp(&a.regs, &b.regs, sizeof(a.regs)), "registers of state %u", i);
}

static struct dbg_stop resume(struct history *h, enum dbg_how how, bool backwards)
{
	const struct dbg_resume r = { .how = how, .backwards = backwards, .tid = PID, .stop_signals = UINT64_MAX };
	struct dbg_stop stop;
	struct errinfo ei = { 0 };

	ck_assert_msg(dbg_resume(h->d, &r, &stop, &ei) == 0, "%s", ei.text);
	return stop;
}

/* All states from the beginning on, by single steps. */
static void walk(struct history *h, struct state *states)
{
	for (unsigned i = 0; i < STATES; i++) {
		states[i] = look(h);
		if (i + 1 < STATES)
			ck_assert_int_eq(resume(h, DBG_STEP, false).kind, DBG_STOP_STEP);
	}
	ck_assert_uint_eq(states[FIRST].regs.rip, CALL);
	ck_assert_uint_eq(states[FIRST + 1].regs.rip, CALL + 2);
	ck_assert_uint_eq(states[FIRST + 1].regs.rax, PID);
}

START_TEST(steps_back_and_forth)
{
	static struct state states[STATES];
	struct history h;

	begin(&h, _i);
	walk(&h, states);
	for (unsigned i = STATES - 1; i-- > 0;) {
		ck_assert_int_eq(resume(&h, DBG_STEP, true).kind, DBG_STOP_STEP);
		same(look(&h), states[i], i);
	}
	ck_assert(dbg_at_begin(h.d));
	ck_assert_int_eq(resume(&h, DBG_STEP, true).kind, DBG_STOP_BEGIN);
	same(look(&h), states[0], 0);
	end(&h);
}
END_TEST

/* A position tells a place however it was come to, and leads back to it. */
START_TEST(positions)
{
	static struct state states[STATES];
	struct dbg_pos pos[STATES], again;
	struct dbg_stop stop;
	struct history h;

	begin(&h, _i);
	walk(&h, states);
	for (unsigned i = STATES; i-- > 0;) {
		OK(dbg_where(h.d, &pos[i], NULL));
		same(look(&h), states[i], i);
		if (i)
			resume(&h, DBG_STEP, true);
	}
	for (unsigned k = 0, i = 3; k < 60; k++, i = (i * 7 + 5) % STATES) {
		OK(dbg_seek(h.d, &pos[i], &stop, NULL));
		ck_assert_int_eq(stop.kind, DBG_STOP_SEEK);
		same(look(&h), states[i], i);
		OK(dbg_where(h.d, &again, NULL));
		ck_assert(!memcmp(&again, &pos[i], sizeof(again)));
	}
	/* no such place: nothing changes */
	OK(dbg_seek(h.d, &pos[9], &stop, NULL));
	again = (struct dbg_pos){ .events = 1, .addr = LOOP, .hits = ROUNDS + 1 };
	ck_assert_int_eq(dbg_seek(h.d, &again, &stop, NULL), ERR_NOT_FOUND);
	same(look(&h), states[9], 9);
	end(&h);
}
END_TEST

START_TEST(texts_of_positions)
{
	static const char *const good[] = { "1", "120!", "120+3", "7:0x401136*7", "7:0x401136*7+2" };
	static const char *const bad[] = { "", "x", "-1", "1:", "1:0x10", "1:0x10*0", "1!2", "1+", "1 ", "99999999999999999999" };
	struct buf text CLEANUP(buf_done) = { 0 };
	struct dbg_pos p;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		OK(dbg_pos_parse(good[i], &p));
		buf_clear(&text);
		dbg_pos_print(&p, &text);
		ck_assert_str_eq(buf_cstr(&text), good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(dbg_pos_parse(bad[i], &p) == -EINVAL, "%s", bad[i]);
}
END_TEST

static int third(void *ctx, struct dbg *d UNUSED, pid_t tid)
{
	unsigned *n = ctx;

	ck_assert_int_eq(tid, PID);
	return ++*n % 3 == 0;
}

/* The same stops in both directions, and reads that do not see the breakpoints. */
START_TEST(breakpoints)
{
	struct dbg_break b = { .kind = DBG_BREAK, .addr = STORE };
	uint64_t seen[ROUNDS];
	uint8_t bytes[sizeof(model)];
	unsigned id, n = 0;
	struct history h;

	begin(&h, _i);
	OK(dbg_break_add(h.d, &b, &id));
	for (unsigned i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_BREAK);
		seen[i] = look(&h).regs.rbx;
		ck_assert_uint_eq(dbg_read(h.d, CODE, bytes, sizeof(bytes)), sizeof(bytes));
		ck_assert(!memcmp(bytes, model, sizeof(bytes)));
	}
	for (unsigned i = ROUNDS - 1; i-- > 0;) {
		ck_assert_int_eq(resume(&h, DBG_CONTINUE, true).kind, DBG_STOP_BREAK);
		ck_assert_uint_eq(look(&h).regs.rip, STORE);
		ck_assert_uint_eq(look(&h).regs.rbx, seen[i]);
	}
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, true).kind, DBG_STOP_BEGIN);
	OK(dbg_break_remove(h.d, id));
	b.cond = third;
	b.ctx = &n;
	OK(dbg_break_add(h.d, &b, &id));
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_BREAK);
	ck_assert_uint_eq(look(&h).regs.rbx, seen[2]);
	ck_assert_int_eq(dbg_break_remove(h.d, id + 1), ERR_NOT_FOUND);
	end(&h);
}
END_TEST

/* More than the debug registers hold are watched by guarded pages: _i & 2. Of very much only a part is compared: _i & 4. */
START_TEST(watchpoints)
{
	const uint64_t before_it = _i & 4 ? 3u << 19 : 0;
	const struct dbg_break b = { .kind = DBG_WATCH_WRITE, .addr = MEMORY - before_it, .len = before_it + (_i & 6 ? 100 : 8) };
	struct state behind, before;
	struct dbg_stop stop;
	struct history h;
	unsigned id;

	begin(&h, _i & 1);
	OK(dbg_break_add(h.d, &b, &id));
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_WATCH);
		ck_assert_uint_eq(look(&h).regs.rip, STORE + 3);
		ck_assert_uint_eq(look(&h).memory, look(&h).regs.rbx);
	}
	behind = look(&h);
	stop = resume(&h, DBG_CONTINUE, true);
	ck_assert_int_eq(stop.kind, DBG_STOP_WATCH);
	ck_assert_uint_eq(stop.break_id, id);
	before = look(&h);
	ck_assert_uint_eq(before.regs.rip, STORE);
	ck_assert_uint_eq(before.regs.rbx, behind.regs.rbx);
	ck_assert_uint_ne(before.memory, behind.memory);
	OK(dbg_break_remove(h.d, id));
	OK(dbg_seek_end(h.d, &stop, NULL));
	OK(dbg_last_write(h.d, MEMORY, 8, &stop, NULL));
	ck_assert_int_eq(stop.kind, DBG_STOP_WATCH);
	ck_assert_uint_eq(look(&h).regs.rip, STORE);
	ck_assert_uint_eq(look(&h).regs.rcx, 1);
	OK(dbg_last_write(h.d, MEMORY + 64, 8, &stop, NULL));
	ck_assert_int_eq(stop.kind, DBG_STOP_BEGIN);
	end(&h);
}
END_TEST

/* The first write changes nothing of the memory, which is not there yet where the search begins. */
START_TEST(last_write_to_new_memory)
{
	struct dbg_stop stop;
	struct history h;

	begin_shape(&h, &(struct shape){ .rounds = ROUNDS, .as_file = _i, .late = true });
	for (unsigned i = 0; i < 2; i++) {
		OK(dbg_seek_end(h.d, &stop, NULL));
		OK(dbg_last_write(h.d, MEMORY, 8, &stop, NULL));
		ck_assert_int_eq(stop.kind, DBG_STOP_WATCH);
		ck_assert_uint_eq(look(&h).regs.rip, STORE);
		ck_assert_uint_eq(look(&h).regs.rcx, 1);
	}
	end(&h);
}
END_TEST

START_TEST(ends_and_calls)
{
	uint64_t calls[8] = { 1ull << SYS_getpid };
	struct dbg_resume r = { .how = DBG_CONTINUE, .catch_calls = calls };
	static const struct {
		bool backwards;
		enum dbg_stop_kind kind;
	} want[] = {
		{ false, DBG_STOP_CALL_ENTRY }, { false, DBG_STOP_CALL_RETURN }, { false, DBG_STOP_CALL_ENTRY }, { true, DBG_STOP_CALL_RETURN },
		{ true, DBG_STOP_CALL_ENTRY },	{ true, DBG_STOP_BEGIN },
	};
	struct dbg_stop stop;
	struct history h;

	begin(&h, _i);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		r.backwards = want[i].backwards;
		OK(dbg_resume(h.d, &r, &stop, NULL));
		ck_assert_msg(stop.kind == want[i].kind, "stop %zu is %d", i, stop.kind);
	}
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_END);
	ck_assert(dbg_at_end(h.d));
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_END);
	end(&h);
}
END_TEST

/* Run to, not stepped to: back to right before a call, and to before the computation that led there. */
START_TEST(back_from_a_call)
{
	uint64_t calls[8] = { 1ull << SYS_getpid };
	const struct dbg_resume r = { .how = DBG_CONTINUE, .catch_calls = calls };
	static struct state states[STATES];
	struct dbg_stop stop;
	struct history h;

	begin(&h, _i);
	walk(&h, states);
	for (unsigned i = 0; i < 2; i++) {
		OK(dbg_seek_begin(h.d, &stop, NULL));
		OK(dbg_resume(h.d, &r, &stop, NULL));
		ck_assert_int_eq(stop.kind, DBG_STOP_CALL_ENTRY);
		ck_assert_uint_eq(look(&h).regs.rip, CALL + 2);
		if (i == 0) {
			ck_assert_int_eq(resume(&h, DBG_STEP, true).kind, DBG_STOP_STEP);
			same(look(&h), states[FIRST], FIRST);
		} else {
			OK(dbg_seek(h.d, &(struct dbg_pos){ .events = dbg_events(h.d) }, &stop, NULL));
			same(look(&h), states[0], 0);
		}
	}
	end(&h);
}
END_TEST

/* What is written in a diversion is gone behind it; outside nothing can be written. */
/* To the call at the end of a computation, by running. */
static void to_call(struct history *h)
{
	uint64_t calls[8] = { 1ull << SYS_getpid };
	const struct dbg_resume r = { .how = DBG_CONTINUE, .catch_calls = calls };
	struct dbg_stop stop;

	OK(dbg_resume(h->d, &r, &stop, NULL));
	ck_assert_int_eq(stop.kind, DBG_STOP_CALL_ENTRY);
}

/* Searches backwards leave checkpoints in a computation that is long enough, and count passes over some address, not all of them:
 * names must not go by that. */
START_TEST(names_after_searches)
{
	enum { LONG = 40 * 1000 * 1000, STEPS = 12 };
	struct user_regs_struct regs;
	struct history h;
	struct dbg_pos p;

	begin_rounds(&h, true, LONG);
	to_call(&h);
	for (unsigned i = 0; i < STEPS; i++) {
		ck_assert_int_eq(resume(&h, DBG_STEP, true).kind, DBG_STOP_STEP);
		regs = look(&h).regs;
		if (regs.rip >= CALL - 5)
			continue;
		OK(dbg_where(h.d, &p, NULL));
		ck_assert_uint_eq(p.addr, regs.rip);
		ck_assert_uint_eq(p.hits, LONG - regs.rcx + (regs.rip <= LAST_STEP - 2));
	}
	end(&h);
}
END_TEST

static int countdown(void *ctx, struct dbg *d UNUSED, pid_t tid UNUSED)
{
	unsigned *left = ctx;

	return *left ? --*left == 0 : 1;
}

/* Checkpoints of the same computation may lie behind the place from where something is searched backwards. */
START_TEST(back_from_before_checkpoints)
{
	enum { LONG = 60000, NEAR = 300 };
	unsigned left = LONG - 1, id;
	const struct dbg_break b = { .kind = DBG_BREAK, .addr = STORE, .cond = countdown, .ctx = &left };
	struct dbg_stop stop;
	struct history h;
	struct dbg_pos p;

	begin_rounds(&h, _i, LONG);
	OK(dbg_break_add(h.d, &b, &id));
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_BREAK);
	ck_assert_uint_eq(look(&h).regs.rcx, 2);
	OK(dbg_where(h.d, &p, NULL));
	OK(dbg_seek_begin(h.d, &stop, NULL));
	left = NEAR;
	ck_assert_int_eq(resume(&h, DBG_CONTINUE, false).kind, DBG_STOP_BREAK);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(look(&h).regs.rip, STORE);
		ck_assert_uint_eq(look(&h).regs.rcx, LONG - NEAR + 1 + i);
		ck_assert_int_eq(resume(&h, DBG_CONTINUE, true).kind, DBG_STOP_BREAK);
	}
	end(&h);
}
END_TEST

START_TEST(diversions)
{
	struct user_regs_struct regs;
	const uint64_t other = 99;
	struct dbg_stop stop;
	struct history h;
	struct state was;

	begin(&h, _i);
	for (unsigned i = 0; i < 10; i++)
		resume(&h, DBG_STEP, false);
	was = look(&h);
	regs = was.regs;
	ck_assert_int_eq(dbg_set_regs(h.d, PID, &regs), -EROFS);
	ck_assert_int_eq(dbg_write(h.d, MEMORY, &other, 8), -EROFS);
	OK(dbg_divert(h.d, NULL));
	OK(dbg_write(h.d, MEMORY, &other, 8));
	ck_assert_uint_eq(look(&h).memory, other);
	regs.rip = CALL;
	regs.rax = SYS_gettid;
	OK(dbg_set_regs(h.d, PID, &regs));
	resume(&h, DBG_STEP, false);
	stop = resume(&h, DBG_STEP, false);
	ck_assert_int_eq(stop.kind, DBG_STOP_STEP);
	ck_assert_uint_eq(look(&h).regs.rip, CODE);
	ck_assert_uint_eq(look(&h).regs.rax, PID);
	OK(dbg_divert_end(h.d, NULL));
	same(look(&h), was, 10);
	ck_assert(!dbg_diverted(h.d));
	end(&h);
}
END_TEST

HELP_MAIN("replayer_debug", { steps_back_and_forth, 2 }, { positions, 2 }, { texts_of_positions, 1 }, { breakpoints, 2 }, { watchpoints, 6 },
	  { last_write_to_new_memory, 2 }, { names_after_searches, 1 }, { back_from_before_checkpoints, 2 }, { ends_and_calls, 2 },
	  { back_from_a_call, 2 }, { diversions, 2 })
