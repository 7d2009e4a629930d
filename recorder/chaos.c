/* Chaos: schedules, slices, wake-ups and results that a kernel may well give but seldom does, to make rare
 * failures happen while recording.
 *
 * Everything is drawn from one seed. What comes out still depends on the machine's timing: the recording is the
 * reproduction, not the seed. Each recording draws a mood first, since different faults need different schedules:
 * some need threads that alternate all the time, others one that starves for long.
 *
 * Most races are between a few instructions that touch the same word. Such words are found by looking at what the
 * code ahead of each thread works with, and which variables the program's own code names; hardware watchpoints
 * then stop a thread just behind its access, and somebody else gets the CPU there. */
#define LOG_AREA "recorder.chaos"
#include "recorder/rec_priv.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/code.h"

#define POOL 128u /* words that threads were about to touch */
#define LOOK_AHEAD 48u /* instructions */
#define CANDIDATES_MAX 32u
/* So far from the stack pointer a word belongs to the thread's own frames. */
#define OWN_STACK (256ull << 10)
#define FUTEX_OPERATION 127u
/* Of the variables that a program names: how many, and in how much of its code. */
#define NAMED_MAX 256u
#define NAMED_CODE (64ull << 10)

struct chaos_word {
	uint64_t addr;
	uint32_t thread;
	const struct eng_mm *mm;
};

/* Chances are of 1024. */
struct mood {
	unsigned give_way;     /* after an event, to give the CPU to somebody else */
	unsigned steps;        /* after an event, to run only a few instructions */
	unsigned steps_max;
	uint64_t slice_min, slice_max; /* ns */
	unsigned watch;        /* after an event, to watch words */
	unsigned touch;        /* to give way behind a watched access */
	unsigned reorder;      /* to draw a new priority when a slice ends; 1024: no priorities at all */
};

/* clang-format off */
static const struct mood moods[] = {
	{ .give_way = 100, .steps = 30, .steps_max = 40, .slice_min = 20000, .slice_max = 2000000, .watch = 300, .touch = 600, .reorder = 1024 },
	{ .give_way = 500, .steps = 200, .steps_max = 16, .slice_min = 10000, .slice_max = 200000, .watch = 100, .touch = 300, .reorder = 1024 },
	{ .give_way = 20, .steps = 10, .steps_max = 200, .slice_min = 1000000, .slice_max = 20000000, .watch = 600, .touch = 900, .reorder = 300 },
	{ .give_way = 200, .steps = 50, .steps_max = 100, .slice_min = 50000, .slice_max = 5000000, .watch = 0, .touch = 0, .reorder = 200 },
	{ .give_way = 10, .steps = 0, .steps_max = 1, .slice_min = 100000, .slice_max = 10000000, .watch = 900, .touch = 700, .reorder = 500 },
};
/* clang-format on */

struct rec_chaos {
	uint64_t state; /* of the generator */
	struct mood mood;
	struct chaos_word pool[POOL];
	unsigned n_pool;
	bool no_watch; /* the machine has no watchpoints */
	const struct eng_mm *named_mm; /* whose variables are `named`, and where its code starts */
	uint64_t named_code;
	uint64_t named[NAMED_MAX];
	unsigned n_named;
};

/* --- chance --- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(struct rec_chaos *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t below(struct rec_chaos *c, uint64_t n)
{
	return n ? draw(c) % n : 0;
}

static bool chance(struct rec_chaos *c, unsigned of_1024)
{
	return draw(c) % 1024 < of_1024;
}

int rec_chaos_new(struct rec *rec)
{
	struct rec_chaos *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->state = rec->opt->chaos_seed;
	c->mood = moods[below(c, ARRAY_SIZE(moods))];
	rec->chaos = c;
	return 0;
}

void rec_chaos_free(struct rec_chaos *c)
{
	free(c);
}

/* --- who, and how long --- */

struct rec_task *rec_chaos_pick(struct rec *rec)
{
	struct rec_chaos *c = rec->chaos;
	struct rec_task *best = rec_fair_starving(rec);
	/* One that polls for what another is to do would never end. */
	bool anew = chance(c, 128);
	unsigned n = 0;

	if (best)
		return best;
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (anew)
			rec_chaos_priority(t);
		if (!rec_runnable(t))
			continue;
		n++;
		if (c->mood.reorder == 1024 ? below(c, n) == 0 : !best || t->priority > best->priority)
			best = t;
	}
	return best;
}

uint64_t rec_chaos_slice(struct rec *rec)
{
	struct rec_chaos *c = rec->chaos;
	uint64_t ns = c->mood.slice_min;

	/* evenly over the orders of magnitude */
	while (ns < c->mood.slice_max && chance(c, 700))
		ns *= 2;
	return MAX(ns + below(c, ns), rec_fair_slice(rec));
}

void rec_chaos_slice_ended(struct rec_task *t)
{
	if (chance(t->rec->chaos, t->rec->chaos->mood.reorder))
		rec_chaos_priority(t);
}

void rec_chaos_priority(struct rec_task *t)
{
	t->priority = (uint32_t)draw(t->rec->chaos);
}

/* t was stopped at a place that matters: most others come before it. */
static void step_back(struct rec_task *t)
{
	t->priority = (uint32_t)below(t->rec->chaos, UINT32_MAX / 16);
	t->rec->give_way = true;
}

unsigned rec_chaos_nudge(struct rec *rec)
{
	/* often right there: what matters may be two instructions long */
	return chance(rec->chaos, 600) ? 0 : (unsigned)below(rec->chaos, 12);
}

/* --- words that several threads touch --- */

struct candidates {
	struct rec_task *t;
	uint64_t addr[CANDIDATES_MAX];
	unsigned n;
	uint64_t rsp;
};

static void candidate(void *ctx, uint64_t addr, unsigned len)
{
	struct candidates *k = ctx;
	const struct mapping *m;

	addr &= ~7ull;
	(void)len;
	if (k->n == CANDIDATES_MAX || addr - (k->rsp - OWN_STACK) < 2 * OWN_STACK)
		return;
	for (unsigned i = 0; i < k->n; i++)
		if (k->addr[i] == addr)
			return;
	m = aspace_find(&k->t->t.mm->as, addr);
	if (m && m->prot & PROT_WRITE && !(m->flags & ASPACE_HERMIT))
		k->addr[k->n++] = addr;
}

static void look_ahead(struct rec_task *t, const struct user_regs_struct *r, struct candidates *ret)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	const struct code_regs regs = {
		.gpr = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8, r->r9, r->r10, r->r11, r->r12,
			 r->r13, r->r14, r->r15 },
		.rip = r->rip,
		.fs_base = r->fs_base,
		.gs_base = r->gs_base,
	};

	ret->t = t;
	ret->n = 0;
	ret->rsp = r->rsp;
	code_operands(&mem, r->rip, LOOK_AHEAD, &regs, candidate, ret);
}

/* --- variables that the program names --- */

static uint64_t entry_of_program(const struct rec_task *t)
{
	char path[32];
	uint64_t aux[64] = { 0 };
	CLEANUP(closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/auxv", t->t.tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, aux, sizeof(aux));
	for (size_t i = 0; i + 1 < (size_t)MAX(n, 0) / sizeof(aux[0]); i += 2)
		if (aux[i] == AT_ENTRY)
			return aux[i + 1];
	return 0;
}

static void note_named(void *ctx, uint64_t addr, unsigned len)
{
	struct rec_task *t = ctx;
	struct rec_chaos *c = t->rec->chaos;
	const struct mapping *m = aspace_find(&t->t.mm->as, addr);

	(void)len;
	addr &= ~7ull;
	if (!m || !(m->prot & PROT_WRITE) || m->flags & ASPACE_HERMIT)
		return;
	for (unsigned i = 0; i < c->n_named; i++)
		if (c->named[i] == addr)
			return;
	/* beyond the most, each takes the place of some other */
	c->named[c->n_named < NAMED_MAX ? c->n_named++ : below(c, NAMED_MAX)] = addr;
}

static bool named_are_of(const struct rec_chaos *c, const struct eng_mm *mm)
{
	const struct mapping *m = aspace_find(&mm->as, c->named_code);

	return mm == c->named_mm && m && m->start == c->named_code;
}

/* Lists the variables of the program that t runs, when it is another one than before. */
static void find_named(struct rec_task *t)
{
	struct rec_chaos *c = t->rec->chaos;
	struct sys_mem mem = eng_sys_mem(&t->t);
	const struct mapping *m;
	uint64_t from;

	if (named_are_of(c, t->t.mm))
		return;
	m = aspace_find(&t->t.mm->as, entry_of_program(t));
	if (!m)
		return;
	c->named_mm = t->t.mm;
	c->named_code = from = m->start;
	c->n_named = 0;
	if (m->end - from > NAMED_CODE)
		from += below(c, m->end - from - NAMED_CODE);
	code_named(&mem, from, MIN(m->end, from + NAMED_CODE), note_named, t);
}

static bool touched_by_others(const struct rec_chaos *c, const struct rec_task *t, uint64_t addr)
{
	for (unsigned i = 0; i < MIN(c->n_pool, POOL); i++)
		if (c->pool[i].addr == addr && c->pool[i].thread != t->num && c->pool[i].mm == t->t.mm)
			return true;
	return false;
}

static void remember(struct rec_chaos *c, const struct rec_task *t, uint64_t addr)
{
	c->pool[c->n_pool++ % POOL] = (struct chaos_word){ .addr = addr, .thread = t->num, .mm = t->t.mm };
	if (c->n_pool == 2 * POOL)
		c->n_pool = POOL;
}

/* Some that the program names; words that t is about to touch and others were; then words of others; then any of t's. */
static unsigned choose_words(struct rec_chaos *c, const struct rec_task *t, const struct candidates *k, uint64_t ret[ENG_WATCH_MAX])
{
	unsigned n = 0, named = c->n_named ? (unsigned)below(c, ENG_WATCH_MAX) : 0;

	while (n < named)
		ret[n++] = c->named[below(c, c->n_named)];
	for (unsigned i = 0; i < k->n && n < ENG_WATCH_MAX; i++)
		if (touched_by_others(c, t, k->addr[i]))
			ret[n++] = k->addr[i];
	for (unsigned i = 0; i < 8 && n < ENG_WATCH_MAX - 1 && c->n_pool; i++) {
		const struct chaos_word *w = &c->pool[below(c, MIN(c->n_pool, POOL))];

		if (w->thread != t->num && w->mm == t->t.mm)
			ret[n++] = w->addr;
	}
	for (unsigned i = 0; i < 4 && n < ENG_WATCH_MAX && k->n; i++)
		ret[n++] = k->addr[below(c, k->n)];
	return n;
}

static int watch(struct rec_task *t, const struct user_regs_struct *r)
{
	struct rec_chaos *c = t->rec->chaos;
	struct candidates k;
	uint64_t words[ENG_WATCH_MAX];
	struct eng_watch watches[ENG_WATCH_MAX];
	unsigned n;
	int rc;

	find_named(t);
	look_ahead(t, r, &k);
	n = choose_words(c, t, &k, words);
	for (unsigned i = 0; i < k.n; i++)
		remember(c, t, k.addr[i]);
	if (!n)
		return 0;
	for (unsigned i = 0; i < n; i++)
		watches[i] = (struct eng_watch){ .addr = ALIGN_DOWN(words[i], 8ull), .len = 8 };
	rc = eng_watch(&t->t, watches, n);
	if (rc < 0 && rc != ERR_GUEST_GONE) {
		log_debug("no watchpoints: %s", err_str(rc));
		c->no_watch = true;
		return 0;
	}
	t->watching = true;
	return rc;
}

int rec_chaos_touched(struct rec_task *t)
{
	struct rec_chaos *c = t->rec->chaos;
	int rc = 0;

	if (!rec_fair_affords(t->rec) || chance(c, 512)) { /* else the next access counts as well */
		t->watching = false;
		rc = eng_watch(&t->t, NULL, 0);
	}
	rec_ready(t, ENG_RUN, 0);
	if (rc < 0 || !rec_fair_affords(t->rec) || !chance(c, c->mood.touch))
		return rc;
	step_back(t);
	return rec_async_point(t, EVENT_POINT_CHAOS);
}

/* --- after events --- */

/* A thread that does not want SIGTRAP now is not watched. */
static int quiet_watch(struct rec_task *t)
{
	int rc = t->watching ? rec_forced_may_trap(t) : 1;

	if (rc)
		return MIN(rc, 0);
	t->watching = false;
	return eng_watch(&t->t, NULL, 0);
}

int rec_chaos_before_run(struct rec_task *t)
{
	struct rec_chaos *c = t->rec->chaos;
	struct user_regs_struct *r;
	int rc;

	rc = t->ran ? 0 : quiet_watch(t);
	if (rc < 0)
		return rc;
	if (t->rec->n_tasks == 1 || t->ran || !rec_fair_affords(t->rec))
		return 0;
	if (!c->no_watch && t->t.mm->refs > 1 && chance(c, c->mood.watch) && rec_forced_may_trap(t) > 0) {
		rc = eng_regs(&t->t, &r);
		if (rc >= 0)
			rc = watch(t, r);
		if (rc < 0)
			return rc;
	}
	if (t->t.stop.kind != ENG_STOP_SYSCALL && t->t.stop.kind != ENG_STOP_SIGNAL)
		return 0; /* from other stops the first step runs no instruction */
	if (t->next_signo || rec_memory_private(t) || !chance(c, c->mood.steps))
		return 0;
	step_back(t);
	rc = rec_async_steps(t, 1 + (unsigned)below(c, c->mood.steps_max));
	return rc < 0 ? rc : 1;
}

void rec_chaos_after_event(struct rec *rec)
{
	if (chance(rec->chaos, rec->chaos->mood.give_way))
		rec->give_way = true;
}

bool rec_chaos_defers_signal(struct rec_task *t)
{
	return chance(t->rec->chaos, 400);
}

bool rec_chaos_signal_into_call(struct rec_task *t)
{
	return t->outs.res.row->flags & SYS_F_BLOCK && chance(t->rec->chaos, 700);
}

/* --- results of calls --- */

enum stream { STREAM_NONE, STREAM_PIPE, STREAM_SOCKET };

/* Something where what is not read now is read the next time. */
static enum stream stream_of(struct rec_task *t, int fd)
{
	char path[48];
	CLEANUP(closep) int pidfd = -1, ours = -1;
	struct stat st;
	int type = 0;
	socklen_t len = sizeof(type);

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, fd);
	if (stat(path, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return STREAM_NONE;
	pidfd = (int)syscall(SYS_pidfd_open, t->t.tgid, 0);
	ours = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (ours < 0)
		return STREAM_NONE;
	if (S_ISFIFO(st.st_mode))
		return fcntl(ours, F_GETFL) & O_DIRECT ? STREAM_NONE : STREAM_PIPE; /* O_DIRECT: packets */
	return getsockopt(ours, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM ? STREAM_SOCKET : STREAM_NONE;
}

/* A stream may be cut anywhere. What is written to a pipe in one piece of up to PIPE_BUF bytes stays in one piece,
 * as Linux handles it; programs rely on that. */
static uint64_t shorter(struct rec_chaos *c, enum stream s, uint64_t n)
{
	switch (s) {
	case STREAM_SOCKET:
		return 1 + below(c, n);
	case STREAM_PIPE:
		return n > PIPE_BUF ? PIPE_BUF * (1 + below(c, (n - 1) / PIPE_BUF)) : n;
	default:
		return n;
	}
}

static int short_read(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;
	uint64_t n;

	if (a[2] < 2 || !chance(t->rec->chaos, 256) || (t->outs.call.nr == SYS_recvfrom && a[3] & MSG_WAITALL))
		return 0;
	n = shorter(t->rec->chaos, stream_of(t, (int)a[0]), a[2]);
	return n < a[2] ? rec_change_arg(t, 2, n) : 0;
}

/* Wakes more than were asked for: FUTEX_WAIT may end for no reason, and who comes first is for us to say then. */
static int wake_more(struct rec_task *t)
{
	const uint64_t *a = t->outs.call.args;

	if ((a[1] & FUTEX_OPERATION) != FUTEX_WAKE || !a[2] || !chance(t->rec->chaos, 256))
		return 0;
	t->wake_asked = (uint32_t)a[2];
	return rec_change_arg(t, 2, INT32_MAX);
}

static const struct chaos_call {
	uint32_t nr;
	int (*enter)(struct rec_task *t);
} calls[] = {
	{ SYS_read, short_read },
	{ SYS_recvfrom, short_read },
	{ SYS_futex, wake_more },
};

int rec_chaos_call(struct rec_task *t)
{
	t->wake_asked = 0;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == t->outs.call.nr)
			return calls[i].enter(t);
	return 0;
}

int64_t rec_chaos_result(struct rec_task *t, int64_t result)
{
	return t->wake_asked && result > (int64_t)t->wake_asked ? (int64_t)t->wake_asked : result;
}
