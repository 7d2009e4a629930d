/* Recordings made to break out of the replay: their code and events are chosen here. Each must end in an error, and no call of the guest
 * may reach the kernel. The bait is a pipe: replayed processes share our descriptors, so a write that really ran would be seen. */
#include "tests/unit/store_help.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include "engine/engine.h"
#include "replayer/replayer.h"

#define CODE 0x10000ull
#define TOP 0x18000ull

/* --- guest code --- */

struct code {
	uint8_t b[256];
	size_t n;
};

static void put(struct code *c, const void *p, size_t n)
{
	memcpy(c->b + c->n, p, n);
	c->n += n;
}

static void load(struct code *c, const char *opcode, uint64_t v)
{
	put(c, opcode, 2);
	put(c, &v, sizeof(v));
}

static void add_call(struct code *c, uint64_t nr, const uint64_t *a)
{
	load(c, "\x48\xb8", nr);   /* mov $nr, %rax */
	load(c, "\x48\xbf", a[0]); /* rdi */
	load(c, "\x48\xbe", a[1]); /* rsi */
	load(c, "\x48\xba", a[2]); /* rdx */
	load(c, "\x49\xba", a[3]); /* r10 */
	load(c, "\x49\xb8", a[4]); /* r8 */
	put(c, "\x0f\x05", 2);	   /* syscall */
}

/* --- the recording --- */

struct hostile {
	struct help_store store;
	struct store_writer *w;
	struct manifest m;
	int bait[2];
};

static void add_event(struct hostile *h, struct event ev)
{
	ev.text = ev.text ? ev.text : "";
	OK(store_writer_event(h->w, &ev));
}

static void add_effect(struct hostile *h, struct effect e)
{
	e.name = "";
	add_event(h, (struct event){ .kind = EVENT_NOTE, .thread = 1, .effects = &e, .n_effects = 1 });
}

static void add_exec(struct hostile *h, const struct code *c)
{
	struct user_regs_struct regs = { .rip = CODE, .rsp = TOP, .cs = 0x33, .ss = 0x2b, .eflags = 0x202 };
	struct effect e[] = {
		{ .kind = EFFECT_MAP, .addr = CODE, .len = TOP - CODE, .prot = PROT_READ | PROT_WRITE | PROT_EXEC, .name = "" },
		{ .kind = EFFECT_MEM, .addr = CODE, .len = c->n, .data = c->b, .name = "" },
		{ .kind = EFFECT_REGS, .len = sizeof(regs), .data = &regs, .name = "" },
	};

	add_event(h, (struct event){ .kind = EVENT_EXEC, .thread = 1, .sysno = SYS_execve, .effects = e, .n_effects = ARRAY_SIZE(e) });
}

/* A recording of a guest that makes this call and then waits for ever. */
static void begin(struct hostile *h, uint64_t nr, const uint64_t *args)
{
	struct code c = { .n = 0 };

	*h = (struct hostile){ .store = help_open() };
	OK(pipe(h->bait));
	help_manifest(&h->m);
	OK(store_writer_new(h->store.s, &h->m, &h->w, NULL));
	put(&c, "\x0f\xa2", 2); /* cpuid: not trapped here, since the manifest does not say that it was */
	if (nr == SYS_write)
		add_call(&c, nr, (uint64_t[6]){ (uint64_t)h->bait[1], CODE, 1 });
	else
		add_call(&c, nr, args);
	put(&c, "\xeb\xfe", 2); /* jmp . */
	add_exec(h, &c);
}

static void begin_write(struct hostile *h)
{
	begin(h, SYS_write, NULL);
}

static int replay(struct hostile *h, struct errinfo *ei)
{
	const struct rep_options opt = { .stdout_fd = -1, .stderr_fd = -1 };
	struct store_id id = *store_writer_id(h->w);
	struct store_reader *reader;
	struct rep_session *s;
	struct rep_result result;
	int r;

	add_event(h, (struct event){ .kind = EVENT_END });
	OK(store_writer_commit(h->w, &h->m, NULL));
	store_writer_free(h->w);
	OK(store_reader_open(h->store.s, &id, &reader, NULL));
	r = rep_session_new(reader, &opt, &s, ei);
	ck_assert_msg(r == 0, "%s", ei->text);
	r = rep_session_run(s, &result, ei);
	rep_session_free(s); /* nothing may be left behind that this waits for */
	store_reader_free(reader);
	return r;
}

static void expect(struct hostile *h, int want)
{
	struct pollfd p = { .fd = h->bait[0], .events = POLLIN };
	struct errinfo ei = { 0 };
	int r = replay(h, &ei);

	ck_assert_msg(r == want, "got %d (%s), want %s", r, ei.text, err_str(want));
	ck_assert_msg(poll(&p, 1, 0) == 0, "the guest's write was run");
	close(h->bait[0]);
	close(h->bait[1]);
	manifest_done(&h->m);
	help_close(&h->store);
}

/* --- events that would let a call pass --- */

START_TEST(emulated)
{
	struct hostile h;

	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_write, .result = 1 });
	expect(&h, 0);
}
END_TEST

START_TEST(run_again)
{
	struct hostile h;

	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_write, .result = 1, .flags = EVENT_F_REEXEC });
	expect(&h, ERR_CORRUPT);
}
END_TEST

/* Entered, and then the thread is made to go on without a result. */
START_TEST(no_result)
{
	const struct event next[] = {
		{ .kind = EVENT_SIGNAL, .thread = 1, .signo = SIGSEGV },
		{ .kind = EVENT_TSC, .thread = 1 },
		{ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_write },
	};
	struct hostile h;

	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = SYS_write });
	add_event(&h, next[_i]);
	expect(&h, ERR_CORRUPT);
}
END_TEST

/* A signal at the call that does not say how the thread goes on. */
START_TEST(signal_without_registers)
{
	struct hostile h;

	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_SIGNAL, .thread = 1, .signo = SIGUSR1, .flags = EVENT_F_ASYNC | EVENT_F_AT_CALL });
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_write, .result = 1 });
	expect(&h, ERR_CORRUPT);
}
END_TEST

/* --- the gate page --- */

START_TEST(gate_effects)
{
	const struct effect effects[] = {
		{ .kind = EFFECT_MEM, .addr = ENG_STUB_GATE - 1, .len = 2, .data = "ab" },
		{ .kind = EFFECT_ZERO, .addr = ENG_STUB_GATE + 4095, .len = 8 },
		{ .kind = EFFECT_MAP, .addr = ENG_STUB_GATE, .len = 4096, .prot = PROT_READ | PROT_WRITE | PROT_EXEC },
		{ .kind = EFFECT_MAP, .addr = 4096, .len = 1ull << 40, .prot = PROT_READ },
		{ .kind = EFFECT_UNMAP, .addr = 0, .len = UINT64_MAX },
	};
	struct hostile h;

	begin_write(&h);
	add_effect(&h, effects[_i]);
	expect(&h, ERR_CORRUPT);
}
END_TEST

/* --- calls that are run again --- */

START_TEST(reexec_arguments)
{
	const struct {
		uint64_t nr, a[5];
		int64_t result;
	} calls[] = {
		{ SYS_mprotect, { ENG_STUB_GATE, 4096, 7 }, 0 },
		{ SYS_mprotect, { ENG_STUB_GATE - 4096, 8192, 7 }, -ENOMEM },
		{ SYS_mprotect, { CODE, UINT64_MAX, 7 }, -ENOMEM },
		{ SYS_pkey_mprotect, { ENG_STUB_GATE, 1, 7, UINT64_MAX }, 0 },
		{ SYS_madvise, { ENG_STUB_GATE, 4096, MADV_DONTNEED }, 0 },
		{ SYS_madvise, { CODE, 4096, MADV_HWPOISON }, 0 },
		{ SYS_mremap, { CODE, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, ENG_STUB_GATE }, ENG_STUB_GATE },
		{ SYS_mremap, { CODE, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, ENG_STUB_GATE }, CODE },
		{ SYS_mremap, { CODE, 4096, 4096, MREMAP_MAYMOVE }, ENG_STUB_GATE },
		{ SYS_mremap, { ENG_STUB_GATE, 4096, 4096, MREMAP_MAYMOVE }, TOP },
		{ SYS_mremap, { CODE, 4096, 4096, MREMAP_MAYMOVE }, -ENOMEM },
		{ SYS_arch_prctl, { 0x1012, 1 }, 0 },      /* ARCH_SET_CPUID */
		{ SYS_arch_prctl, { 0x2003, 0x20000 }, 0 }, /* ARCH_MAP_VDSO_64 */
		{ SYS_munmap, { ENG_STUB_GATE, 4096 }, 0 },
		{ SYS_prctl, { 26, 1 }, 0 },
		{ SYS_getpid, { 0 }, 0 },
	};
	struct hostile h;

	ck_assert_int_lt(_i, (int)ARRAY_SIZE(calls));
	begin(&h, calls[_i].nr, calls[_i].a);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = (uint32_t)calls[_i].nr, .result = calls[_i].result,
				      .flags = EVENT_F_REEXEC });
	expect(&h, ERR_CORRUPT);
}
END_TEST

START_TEST(reexec_passes)
{
	const uint64_t readable[5] = { TOP - 4096, 4096, PROT_READ };
	struct hostile h;

	begin(&h, SYS_mprotect, readable);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_mprotect, .flags = EVENT_F_REEXEC });
	expect(&h, 0);
}
END_TEST

/* --- threads --- */

static void add_birth(struct hostile *h, uint32_t child, uint64_t flags)
{
	add_event(h, (struct event){ .kind = EVENT_BIRTH, .thread = 1, .sysno = SYS_clone, .args = { flags }, .child = child });
}

/* Thread 1 is there already; the one that was made for nothing must not keep the replay from ending. */
START_TEST(born_twice)
{
	const uint64_t flags = _i ? CLONE_VM | CLONE_THREAD | CLONE_SIGHAND : 0;
	struct hostile h;

	begin(&h, SYS_clone, (uint64_t[5]){ flags });
	add_birth(&h, 1, flags);
	expect(&h, ERR_CORRUPT);
}
END_TEST

START_TEST(exec_beside_threads)
{
	struct hostile h;

	begin(&h, SYS_clone, (uint64_t[5]){ 0 });
	add_birth(&h, 2, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND);
	add_event(&h, (struct event){ .kind = EVENT_EXEC, .thread = 1 });
	expect(&h, ERR_CORRUPT);
}
END_TEST

START_TEST(no_such_thread)
{
	struct hostile h;

	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_SYSCALL, .thread = _i ? UINT32_MAX : 2, .sysno = SYS_write });
	expect(&h, ERR_CORRUPT);
}
END_TEST

/* --- asynchronous points --- */

/* Places that are none, and states that cannot be: refused or diverged. */
START_TEST(points)
{
	static const uint8_t xstate[600];
	struct user_regs_struct regs = { .rip = CODE, .rsp = TOP, .cs = 0x33, .ss = 0x2b, .eflags = 0x202, .rax = 77 };
	const struct {
		uint64_t kind, steps, rip;
		struct effect e;
		int want;
	} p[] = {
		{ EVENT_POINT_STATE, 0, 0, { .kind = EFFECT_REGS, .len = 0 }, ERR_CORRUPT }, /* no registers */
		{ EVENT_POINT_STATE, 0, 0, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_CORRUPT },
		{ EVENT_POINT_STATE, 0, 1, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ EVENT_POINT_BREAK, 0, 1ull << 63, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ EVENT_POINT_STATE, 0, ENG_STUB_GATE, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ EVENT_POINT_BREAK, 0, ENG_STUB_GATE, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ 99, 0, CODE + 1, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ UINT64_MAX, 0, TOP - 1, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ EVENT_POINT_STEPS, 1ull << 63, CODE, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_LIMIT },
		{ EVENT_POINT_STEPS, 4, CODE, { .kind = EFFECT_REGS, .len = sizeof(regs) }, ERR_DIVERGED },
		{ EVENT_POINT_STATE, 0, CODE, { .kind = EFFECT_HASH, .addr = 0, .len = UINT64_MAX }, ERR_LIMIT },
		{ EVENT_POINT_STATE, 0, CODE, { .kind = EFFECT_HASH, .addr = (1ull << 63) - 8, .len = 4096 }, ERR_DIVERGED },
		{ EVENT_POINT_STATE, 0, CODE, { .kind = EFFECT_INPUT, .addr = (1ull << 63) - 8, .len = 600, .data = xstate }, ERR_DIVERGED },
		{ EVENT_POINT_STATE, 0, CODE, { .kind = EFFECT_INPUT, .addr = 0 }, ERR_LIMIT },
		{ EVENT_POINT_STATE, 0, CODE, { .kind = EFFECT_XSTATE, .len = 4, .data = xstate }, ERR_CORRUPT },
	};
	struct effect e[2] = { { .kind = EFFECT_REGS, .len = sizeof(regs), .data = &regs, .name = "" }, p[_i].e };
	struct hostile h;

	regs.rip = p[_i].rip;
	e[1].name = "";
	if (e[1].kind == EFFECT_REGS)
		e[1].data = &regs;
	begin_write(&h);
	add_event(&h, (struct event){ .kind = EVENT_ASYNC_POINT, .thread = 1, .rip = p[_i].rip, .args = { p[_i].kind, 1, UINT64_MAX, 0, p[_i].steps },
				      .blob = xstate, .blob_len = sizeof(xstate) - 3, /* sums that are none */
				      .effects = p[_i].e.len || e[1].kind != EFFECT_REGS ? e : NULL,
				      .n_effects = e[1].kind == EFFECT_REGS ? !!p[_i].e.len : 2 });
	expect(&h, p[_i].want);
}
END_TEST

HELP_MAIN("replayer_hostile", { emulated, 1 }, { run_again, 1 }, { no_result, 3 }, { signal_without_registers, 1 }, { gate_effects, 5 },
	  { reexec_arguments, 16 }, { reexec_passes, 1 }, { born_twice, 2 }, { exec_beside_threads, 1 }, { no_such_thread, 2 }, { points, 15 })
