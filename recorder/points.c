/* The state at asynchronous points: what replay compares to find the place again (docs/ASYNC.md).
 *
 * Replay passes the instruction many times before the right pass. It needs words that are different then, to make
 * a condition of them, and hashes of what was written, to be sure. So a point logs the words around the stack
 * pointer and those that the code ahead works with, the words that have changed since the previous point of the
 * address space (copies of its pages are kept here), and hashes of all pages it looked at.
 *
 * Pages are those that the process writes for itself: not ours, not the kernel's, none that somebody outside of
 * the recording may change. Words are 8 bytes, aligned.
 *
 * Proof. The first point of an address space hashes all of its own memory that exists: nothing else can differ
 * (own.c). A process that comes here computes, so its writes are tracked from then on (engine/dirty.h), and each
 * point takes the pages written since the last take. Let R be where the present run of t began, after its previous
 * event. Replay runs t from there to this point in one go, and whatever t writes meanwhile changes the state that
 * is to be recognised. The pages hashed are all of those when the last take lies before R. It does: takes (and the
 * start of tracking) happen at points only, a point is an event of the thread that ran and ends its run, and
 * between R and now nobody ran but t. That other threads' points took pages between t's previous event and R loses
 * nothing: t wrote none of them since R without their being found again. What others wrote since the last take is
 * hashed in addition; replay has it, because their events stand before this one. So EVENT_POINT_PROVED means:
 * equal registers, equal vector state and equal hashes are the same state. Where only t runs in its address space,
 * the scheduler may interrupt it without an event; then no other point takes its pages either.
 *
 * A point that tracking does not prove (it rests, or is refused, or too much was written) hashes all memory again
 * when that is affordable, and is proved by it. Else it hashes what is near, what changed at the points before
 * (heat.c), and in turn some of the rest, to find out what changes. That is no proof: a state is taken for another
 * one when they differ in nothing but pages that never were hashed when they changed. A loop works with the same
 * pages again and again, so its pages are hot soon; a counter of an outer loop on a page of its own may be missed.
 *
 * Dead stack, below the red zone of a thread, is left out of all this: no program can rely on it (a signal may
 * come), and it differs. The dynamic linker and signal frames leave XSAVE areas there, in which the processor
 * notes what it takes for unused, and that depends on when the kernel switched between threads. */
#define LOG_AREA "recorder.points"
#include "recorder/rec_priv.h"
#include "recorder/points_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/code.h"
#include "engine/dirty.h"

#define PAGE POINT_PAGE
#define WORDS (PAGE / 8)
#define USER_END (1ull << 47)
/* Pages that are looked at because the code seems to work with them, and because they were written. */
#define GUESSED_MAX 64u
#define WRITTEN_MAX 576u
#define PAGES_MAX (GUESSED_MAX + WRITTEN_MAX)
/* Kept per address space. */
#define COPIES_MAX 192u
#define STACK_PAGES 4u
#define RED_ZONE 128u
#define STACK_WINDOW 512u
#define OPERAND_INSNS 64u
/* Mappings of a program's variables up to this size are looked at as a whole. */
#define DATA_PAGES 16u
/* Changed words that are logged, of a page and of a point; pages without a copy that are. */
#define PAGE_WORDS_MAX 64u
#define POINT_WORDS_MAX 1024u
#define FRESH_PAGES_MAX 16u
/* How many, and for how long: struct rec_point_policy. Tracking costs more than 1 us for the first write to a page, and a look at each page that there is: beyond so
 * many written pages, or so much time for the look, it rests for some points. */
#define TRACKED_MAX REC_POINT_TRACKED_MAX
#define TAKE_NS_MAX 500000u
/* So many points with tracking, and a rest is short again. */
#define STEADY_POINTS 20u
/* Without tracking as much of the process's own memory is hashed as is affordable. At an address space's first
 * point, and at so many points when tracking begins to rest (what has changed between them is hot): */
#define FULL_POINTS 2u
#define FIRST_LOOKS (1u << 20)
/* Later: so much of the time computed since, at about so much a page, and not less than so many. */
#define HASH_PERCENT 3u
#define PAGE_NS 2000u
#define LOOKS_PER_PAGE 16u
/* So much of it are pages that changed at earlier points. */
#define HOT_PERCENT 75u
/* Pages that are read and hashed together: they stay in the cache meanwhile. */
#define JOINT_MAX 32u
/* Replay hashes a piece again at each pass that only this piece tells to be wrong, and for each word of it that might
 * have told. */
#define PIECE_PAGES 4u
/* Words behind each pointer of a register that are taken for pointers themselves, and words behind those. */
#define CHASE_WORDS 16u
#define CHASED_WORDS 4u
/* Threads whose dead stack is known; the others' is compared like all memory. */
#define DEAD_MAX 64u


struct look {
	uint64_t addr;
	bool near; /* named by the stack pointer, another register or an operand */
	bool written;
	uint16_t from; /* bytes before it are dead stack */
	int16_t copy; /* -1 = none */
	uint64_t log[WORDS / 64]; /* words to log */
};

struct copy {
	uint64_t addr; /* 0 = free */
	uint32_t point; /* the last one that looked at it */
};

/* What is kept per address space: mm->owner. */
struct points {
	const struct rec_point_policy *policy;
	uint32_t point; /* number of the present one, from 1 */
	struct copy copy[COPIES_MAX];
	uint8_t *copies;  /* their pages */
	struct heat *heat;
	uint64_t cursor;  /* where the next point goes on to look at pages that it has no reason to look at */
	struct eng_dirty *dirty; /* NULL = not tracked */
	bool untracked;   /* it cannot be */
	uint32_t since;   /* first point with what was written */
	uint32_t awake;   /* number of the point at which tracking may start again */
	uint32_t rest;    /* points, the next time */
	uint32_t full;    /* so many points without proof may hash as much as the first one */
	/* of the present point: */
	uint32_t afford; /* pages that may be hashed without tracking */
	struct look look[PAGES_MAX]; /* by address */
	unsigned n, max;
	uint8_t *pages; /* their contents */
	uint8_t joint[JOINT_MAX * PAGE];
	bool ok[PAGES_MAX]; /* could be read */
	struct dead {
		uint64_t start, end;
	} dead[DEAD_MAX]; /* stack below the threads' red zones */
	unsigned n_dead;
	struct run run[TRACKED_MAX]; /* written pages */
	uint32_t n_runs, n_written;
	unsigned slow_takes; /* in a row */
	bool moved; /* mremap() has moved pages since the last take: kernels before 6.13 lose track of them then */
	bool foreign; /* pages that a point may not look at were written */
	struct own own; /* all pages, when it is not known which were written */
	struct buf sums; /* of the pages of each HASH effect, in their order */
};

static void points_free(void *owner)
{
	struct points *p = owner;

	if (!p)
		return;
	eng_dirty_free(p->dirty);
	free(p->copies);
	free(p->heat);
	free(p->pages);
	buf_done(&p->sums);
	free(p);
}

static struct points *points_of(struct eng_mm *mm, const struct rec_point_policy *policy)
{
	struct points *p;

	if (mm->owner)
		return mm->owner;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->copies = malloc((size_t)COPIES_MAX * PAGE);
	p->pages = malloc((size_t)PAGES_MAX * PAGE);
	p->heat = heat_new();
	if (!p->copies || !p->pages || !p->heat) {
		points_free(p);
		return NULL;
	}
	buf_init(&p->sums);
	p->awake = 1;
	p->full = 1;
	p->policy = policy;
	p->rest = policy->rest;
	mm->owner = p;
	mm->owner_free = points_free;
	return p;
}

/* --- which pages --- */

/* Index of the first page at or behind addr. */
static unsigned lower(const struct points *p, uint64_t addr)
{
	unsigned lo = 0, hi = p->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (p->look[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The page at addr, taken in when it is new. NULL when there is no room. */
static struct look *look_at(struct points *p, uint64_t addr)
{
	unsigned i = lower(p, addr);

	if (i < p->n && p->look[i].addr == addr)
		return &p->look[i];
	if (p->n == p->max)
		return NULL;
	memmove(p->look + i + 1, p->look + i, (p->n - i) * sizeof(p->look[0]));
	p->n++;
	p->look[i] = (struct look){ .addr = addr };
	return &p->look[i];
}

static void look_near(struct points *p, const struct aspace *as, uint64_t addr)
{
	struct look *l = own_is(own_mapping(as, addr)) ? look_at(p, ALIGN_DOWN(addr, (uint64_t)PAGE)) : NULL;

	if (l)
		l->near = true;
}

static void set_word(struct look *l, unsigned w)
{
	l->log[w / 64] |= 1ull << w % 64;
}

static bool has_word(const struct look *l, unsigned w)
{
	return l->log[w / 64] >> w % 64 & 1;
}

/* The words of a range are to be logged, and their pages looked at. */
static void want_words(struct points *p, const struct aspace *as, uint64_t addr, uint64_t len)
{
	for (uint64_t at = ALIGN_DOWN(addr, (uint64_t)8); at < addr + len; at += 8) {
		struct look *l = own_is(own_mapping(as, at)) ? look_at(p, ALIGN_DOWN(at, (uint64_t)PAGE)) : NULL;

		if (!l)
			continue;
		l->near = true;
		set_word(l, (unsigned)(at % PAGE / 8));
	}
}

struct operands {
	struct points *p;
	const struct aspace *as;
};

static void want_operand(void *ctx, uint64_t addr, unsigned len)
{
	struct operands *o = ctx;

	if (addr < USER_END && len <= PAGE)
		want_words(o->p, o->as, addr, len);
}

static void look_registers(struct points *p, struct rec_task *t, const struct user_regs_struct *r)
{
	const struct code_regs regs = {
		.gpr = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14,
			 r->r15 },
		.rip = r->rip,
		.fs_base = r->fs_base,
		.gs_base = r->gs_base,
	};
	const struct aspace *as = &t->t.mm->as;
	const struct sys_mem mem = eng_sys_mem(&t->t);
	struct operands o = { p, as };

	if (r->rsp > RED_ZONE && r->rsp < USER_END) {
		want_words(p, as, r->rsp - RED_ZONE, RED_ZONE + STACK_WINDOW);
		for (unsigned i = 0; i < STACK_PAGES; i++)
			look_near(p, as, r->rsp - RED_ZONE + i * PAGE);
	}
	code_operands(&mem, r->rip, OPERAND_INSNS, &regs, want_operand, &o);
	for (size_t i = 0; i < ARRAY_SIZE(regs.gpr); i++)
		if (regs.gpr[i] < USER_END)
			look_near(p, as, regs.gpr[i]);
}

/* Interpreters keep their variables behind two pointers. Where it is not known what was written, these words are
 * all that replay can learn from. */
static void chase_registers(struct points *p, struct rec_task *t, const struct user_regs_struct *r)
{
	const uint64_t from[] = { r->rsp, r->rbp, r->rbx, r->rsi, r->rdi, r->rdx, r->rcx, r->rax,
				  r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };
	const struct aspace *as = &t->t.mm->as;
	uint64_t w[CHASE_WORDS];

	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		uint64_t at = ALIGN_DOWN(from[i], (uint64_t)8);

		if (at >= USER_END || !own_is(own_mapping(as, at)) || eng_read(&t->t, at, w, sizeof(w)) < 0)
			continue;
		want_words(p, as, at, sizeof(w));
		for (size_t k = 0; k < CHASE_WORDS; k++)
			if (w[k] < USER_END && own_is(own_mapping(as, w[k])))
				want_words(p, as, w[k], CHASED_WORDS * 8);
	}
}

/* Variables of program and libraries: .data is a small writable mapping of a file, .bss lies right behind it. */
static void look_data(struct points *p, const struct aspace *as)
{
	for (size_t i = 0; i < as->n && p->n < p->max; i++) {
		const struct mapping *m = &as->m[i], *before = i ? &as->m[i - 1] : NULL;
		bool bss = (m->flags & ASPACE_ANON) && before && before->end == m->start && !(before->flags & ASPACE_ANON);

		if (!own_is(m) || (m->flags & ASPACE_SHARED) || m->end - m->start > DATA_PAGES * PAGE || (!bss && (m->flags & ASPACE_ANON)))
			continue;
		for (uint64_t at = m->start; at < m->end; at += PAGE)
			look_at(p, at);
	}
}

/* --- written pages --- */

struct taking {
	struct points *p;
	const struct aspace *as;
};

static int note_written(void *ctx, uint64_t addr, uint64_t pages)
{
	struct taking *k = ctx;

	for (uint64_t at = addr, end = addr + pages * PAGE; at < end;) {
		const struct mapping *m = own_mapping(k->as, at);
		uint64_t stop = m ? MIN(m->end, end) : end;

		if (own_is(m)) {
			uint32_t n = (uint32_t)((stop - at) / PAGE);

			k->p->run[k->p->n_runs++] = (struct run){ at, n };
			k->p->n_written += n;
		} else if (!m || ((m->prot & PROT_WRITE) && !(m->flags & ASPACE_HERMIT))) {
			k->p->foreign = true; /* one that is read-only by now was written before this run */
		}
		at = stop;
	}
	return 0;
}

static void rest(struct points *p)
{
	if (p->dirty && p->point - p->since >= STEADY_POINTS)
		p->rest = p->policy->rest;
	eng_dirty_free(p->dirty);
	p->dirty = NULL;
	p->awake = p->point + p->rest;
	p->full = FULL_POINTS;
	p->rest = MIN(p->rest * 2, p->policy->rest_max);
}

/* Collects what was written since the last take: 1 = all of it, 0 = not. */
static int take_written(struct points *p, struct rec_task *t)
{
	struct taking k = { p, &t->t.mm->as };
	uint64_t start = os_cpu_ns();
	int r;

	p->n_runs = p->n_written = 0;
	p->foreign = false;
	if (!p->dirty)
		return 0;
	r = eng_dirty_take(p->dirty, &t->t, p->policy->tracked_max, note_written, &k);
	p->slow_takes = os_cpu_ns() - start > TAKE_NS_MAX ? p->slow_takes + 1 : 0;
	if (r < 0 || (r > 0 && p->n_written == p->policy->tracked_max) || p->slow_takes > 1)
		rest(p);
	if (p->moved)
		p->foreign = true;
	p->moved = false;
	return r == ERR_GUEST_GONE ? r : r == 0 && !p->foreign;
}

static int start_tracking(struct points *p, struct rec_task *t)
{
	struct eng_sigsets sets;
	int r;

	if (p->dirty || p->untracked || p->point < p->awake)
		return 0;
	/* A call in the guest would meet a SIGSTOP, which cannot be blocked, and lose it. */
	if (eng_sigsets(&t->t, &sets) < 0 || (sets.pending >> (SIGSTOP - 1) & 1))
		return 0;
	r = eng_dirty_new(&t->t, &p->dirty);
	if (r < 0) {
		log_debug("writes of process %d are not tracked: %s", t->t.tgid, err_str(r));
		p->untracked = r == -ENOSYS;
		rest(p);
	}
	p->since = p->point + 1;
	return r == ERR_GUEST_GONE ? r : 0;
}

/* All written pages, or as many as there may be, spread. True: all. */
static bool look_written(struct points *p)
{
	uint32_t step = p->n_written > WRITTEN_MAX ? p->n_written / WRITTEN_MAX : 1, skip = 0;
	bool all = step == 1;

	for (uint32_t i = 0; i < p->n_runs; i++)
		for (uint32_t page = 0; page < p->run[i].pages; page++) {
			struct look *l = skip ? NULL : look_at(p, p->run[i].addr + (uint64_t)page * PAGE);

			skip = skip ? skip - 1 : step - 1;
			if (l)
				l->written = true;
			all &= l != NULL;
		}
	return all;
}

static bool written_are_read(const struct points *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->look[i].written && !p->ok[i])
			return false;
	return true;
}

/* --- dead stack --- */

/* Only of stacks that are nothing else: the first thread's, and those that have the thread's own data at their
 * upper end, as the C libraries make them. Others, of coroutines say, may lie in the middle of anything. */
static void note_dead(struct points *p, const struct aspace *as, const struct user_regs_struct *r)
{
	const struct mapping *m = r->rsp > RED_ZONE && r->rsp < USER_END ? own_mapping(as, r->rsp - RED_ZONE) : NULL;
	bool grows = m && (m->flags & ASPACE_GROWSDOWN);

	if (p->n_dead == DEAD_MAX || !own_is(m) || r->rsp >= m->end || (!grows && (r->fs_base < r->rsp || r->fs_base >= m->end)))
		return;
	p->dead[p->n_dead++] = (struct dead){ grows ? m->start - MIN(m->start, STACK_REACH) : m->start,
					       ALIGN_DOWN(r->rsp - RED_ZONE, (uint64_t)8) };
}

static void find_dead(struct points *p, struct rec_task *t, const struct user_regs_struct *regs)
{
	p->n_dead = 0;
	note_dead(p, &t->t.mm->as, regs);
	for (struct rec_task *o = t->rec->tasks; o; o = o->next) {
		struct user_regs_struct *r = &o->entry;

		if (o == t || o->t.mm != t->t.mm || o->t.gone || (!o->in_call && (o->t.running || eng_regs(&o->t, &r) < 0)))
			continue;
		note_dead(p, &t->t.mm->as, r);
	}
}

static uint16_t dead_bytes(const struct points *p, uint64_t page)
{
	for (unsigned i = 0; i < p->n_dead; i++)
		if (page >= p->dead[i].start && page < p->dead[i].end)
			return (uint16_t)MIN(p->dead[i].end - page, (uint64_t)PAGE);
	return 0;
}

static void leave_out_dead(struct points *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct look l = p->look[i];

		l.from = dead_bytes(p, l.addr);
		if (l.from < PAGE)
			p->look[n++] = l;
	}
	p->n = n;
}

static void read_pages(struct points *p, struct eng_task *t)
{
	uint64_t addr[PAGES_MAX];

	for (unsigned i = 0; i < p->n; i++)
		addr[i] = p->look[i].addr;
	eng_read_pages(t, addr, p->n, p->pages, p->ok);
}

/* --- which words --- */

static uint64_t word(const uint8_t *page, unsigned w)
{
	uint64_t v;

	memcpy(&v, page + w * 8, sizeof(v));
	return v;
}

/* Of many changed words a part is taken, spread over the page: a loop that fills it has left some of them behind
 * in each pass. */
static unsigned changed_words(struct look *l, const uint8_t *now, const uint8_t *before, unsigned max)
{
	uint16_t changed[WORDS];
	unsigned n = 0, take;

	if (!memcmp(now, before, PAGE))
		return 0;
	for (unsigned w = l->from / 8; w < WORDS; w++)
		if (word(now, w) != word(before, w) && !has_word(l, w))
			changed[n++] = (uint16_t)w;
	take = MIN(n, max);
	for (unsigned i = 0; i < take; i++)
		set_word(l, changed[i * n / take]);
	return take;
}

static void whole_page(struct look *l, const uint8_t *now)
{
	for (unsigned w = l->from / 8; w < WORDS; w++)
		if (word(now, w))
			set_word(l, w);
}

/* The one to be given up; NULL: all are of this point. */
static struct copy *oldest_copy(struct points *p)
{
	struct copy *c = &p->copy[0];

	for (unsigned i = 0; i < COPIES_MAX; i++)
		if (p->copy[i].point < c->point)
			c = &p->copy[i];
	return c->point == p->point ? NULL : c;
}

static uint8_t *copy_bytes(struct points *p, const struct copy *c)
{
	return p->copies + (size_t)(c - p->copy) * PAGE;
}

struct budget {
	unsigned words, fresh;
	bool copies;
};

/* A page is compared with its copy and becomes the copy. */
static void look_page(struct points *p, unsigned i, struct budget *left)
{
	struct look *l = &p->look[i];
	const uint8_t *now = p->pages + (size_t)i * PAGE;
	struct copy *c = l->copy >= 0 ? &p->copy[l->copy] : NULL;

	if (c) {
		left->words -= changed_words(l, now, copy_bytes(p, c), MIN(PAGE_WORDS_MAX, left->words));
	} else if (left->fresh) {
		left->fresh--;
		whole_page(l, now);
	}
	if (!c && left->copies)
		c = oldest_copy(p);
	left->copies = left->copies && c;
	if (!c)
		return;
	c->addr = l->addr;
	c->point = p->point;
	memcpy(copy_bytes(p, c), now, PAGE);
}

/* What the code works with comes first, the rest as far as it goes. */
static void choose_words(struct points *p)
{
	struct budget left = { POINT_WORDS_MAX, FRESH_PAGES_MAX, true };

	for (unsigned i = 0; i < p->n; i++)
		p->look[i].copy = -1;
	/* first of all, so that none makes room for another page of this point */
	for (unsigned c = 0; c < COPIES_MAX; c++) {
		unsigned i = lower(p, p->copy[c].addr);

		if (i < p->n && p->copy[c].addr && p->look[i].addr == p->copy[c].addr) {
			p->look[i].copy = (int16_t)c;
			p->copy[c].point = p->point;
		}
	}
	for (int near = 1; near >= 0; near--)
		for (unsigned i = 0; i < p->n; i++)
			if (p->ok[i] && p->look[i].near == near)
				look_page(p, i, &left);
}

/* --- effects --- */

/* Runs of chosen words; one word between two is cheaper to log than another effect's head. */
static void add_words(struct fx *fx, const struct look *l, const uint8_t *bytes)
{
	for (unsigned w = l->from / 8; w < WORDS;) {
		unsigned end = w + 1;

		if (!l->log[w / 64] && w % 64 == 0) {
			w += 64;
			continue;
		}
		if (!has_word(l, w)) {
			w++;
			continue;
		}
		while (end < WORDS && (has_word(l, end) || (end + 1 < WORDS && has_word(l, end + 1))))
			end++;
		fx_bytes(fx, EFFECT_INPUT, l->addr + w * 8, bytes + w * 8, (end - w) * 8);
		w = end;
	}
}

/* Adjacent pages; the first one behind its dead stack. */
static void add_hash(struct points *p, struct fx *fx, const uint8_t *bytes, uint64_t addr, uint64_t pages, uint64_t from)
{
	struct effect *e = fx_add(fx, EFFECT_HASH);

	e->addr = addr + from;
	e->len = pages * PAGE - from;
	e->hash = eng_hash(bytes + from, e->len);
	for (uint64_t at = from; at < pages * PAGE; at = ALIGN_DOWN(at + PAGE, (uint64_t)PAGE))
		buf_put_u64(&p->sums, eng_sum(bytes + at, PAGE - at % PAGE));
}

static void add_hashes(struct points *p, struct fx *fx)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->ok[i])
			heat_note(p->heat, p->look[i].addr, p->pages + (size_t)i * PAGE);
	for (unsigned i = 0; i < p->n;) {
		unsigned end = i + 1;

		if (!p->ok[i]) {
			i++;
			continue;
		}
		while (end < p->n && end - i < PIECE_PAGES && p->ok[end] && p->look[end].addr == p->look[end - 1].addr + PAGE && !p->look[end].from)
			end++;
		add_hash(p, fx, p->pages + (size_t)i * PAGE, p->look[i].addr, end - i, p->look[i].from);
		i = end;
	}
}

/* --- all memory --- */

static bool is_looked_at(const struct points *p, uint64_t addr)
{
	unsigned i = lower(p, addr);

	return i < p->n && p->look[i].addr == addr && p->ok[i];
}

/* How many of the pages from addr on can be hashed together, and where that starts in the first; PAGE: it is dead
 * stack, or hashed already. */
static uint32_t joint_pages(const struct points *p, uint64_t addr, uint32_t pages, uint64_t *ret_from)
{
	uint32_t n = 1;

	*ret_from = is_looked_at(p, addr) ? PAGE : dead_bytes(p, addr);
	if (*ret_from == PAGE)
		return 1;
	for (; n < MIN(pages, JOINT_MAX); n++)
		if (dead_bytes(p, addr + (uint64_t)n * PAGE) || is_looked_at(p, addr + (uint64_t)n * PAGE))
			break;
	return n;
}

/* Returns how many of them could be read, from the front on: these are hashed. */
static uint32_t hash_readable(struct points *p, struct rec_task *t, uint64_t start, uint32_t n, uint64_t from)
{
	uint64_t addr[JOINT_MAX];
	bool ok[JOINT_MAX];
	uint32_t readable = 0;

	for (uint32_t i = 0; i < n; i++)
		addr[i] = start + (uint64_t)i * PAGE;
	eng_read_pages(&t->t, addr, n, p->joint, ok);
	while (readable < n && ok[readable]) {
		heat_note(p->heat, addr[readable], p->joint + (size_t)readable * PAGE);
		readable++;
	}
	for (uint32_t i = 0; i < readable; i += PIECE_PAGES, from = 0)
		add_hash(p, &t->rec->fx, p->joint + (size_t)i * PAGE, start + (uint64_t)i * PAGE, MIN(readable - i, PIECE_PAGES), from);
	return readable;
}

/* False: some page cannot be read. */
static bool hash_run(struct points *p, struct rec_task *t, const struct run *run)
{
	bool all = true;
	uint32_t n;

	for (uint32_t i = 0; i < run->pages; i += n) {
		uint64_t addr = run->addr + (uint64_t)i * PAGE, from;
		uint32_t readable;

		n = joint_pages(p, addr, run->pages - i, &from);
		if (from == PAGE)
			continue;
		readable = hash_readable(p, t, addr, n, from);
		if (readable < n) {
			all = false;
			n = readable + 1;
		}
	}
	return all;
}

static int by_length(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->pages != y->pages ? (x->pages < y->pages ? -1 : 1) : (x->addr < y->addr ? -1 : x->addr > y->addr);
}

/* Long runs are what a program works on, short ones what it works with. */
static void keep_short_runs(struct own *own, uint32_t pages)
{
	uint32_t n = 0;

	qsort(own->run, own->n_runs, sizeof(own->run[0]), by_length);
	while (n < own->n_runs && pages) {
		struct run *r = &own->run[n++];

		r->pages = MIN(r->pages, pages);
		pages -= r->pages;
	}
	own->n_runs = n;
}

/* Which runs? 1: all that there is. 0: as much as is affordable: what changed at earlier points (it is looked at
 * anyway) and, in turn, some of the rest, to find out what else changes. */
static int choose_runs(struct points *p, struct rec_task *t)
{
	bool first = p->full > 0;
	struct own *own = &p->own;
	int r = own_pages(&t->t, 0, first ? UINT32_MAX : p->afford + 1, first ? FIRST_LOOKS : (uint64_t)p->afford * LOOKS_PER_PAGE, own);

	if (r < 0 || (!own->next && !own->foreign && own->n_pages <= p->afford))
		return r < 0 ? r : 1;
	if (first) {
		if (own->n_pages > p->afford)
			keep_short_runs(own, p->afford);
	} else if (own->next || own->n_pages > p->afford) {
		uint32_t left = p->afford - MIN(p->afford, p->n);

		r = own_pages(&t->t, p->cursor, left, (uint64_t)left * LOOKS_PER_PAGE, own);
		p->cursor = own->next;
	}
	return MIN(r, 0);
}

/* 1: all that can differ is hashed. 0: a part. */
static int hash_memory(struct points *p, struct rec_task *t)
{
	int r = choose_runs(p, t);
	bool all = r > 0;

	p->full -= p->full > 0;
	add_hashes(p, &t->rec->fx);
	for (uint32_t i = 0; r >= 0 && i < p->own.n_runs; i++)
		all &= hash_run(p, t, &p->own.run[i]);
	return r < 0 ? r : all;
}

static void look_hot(struct points *p, const struct aspace *as)
{
	uint64_t addr[PAGES_MAX];
	uint32_t n = heat_pages(p->heat, addr, MIN(p->afford * HOT_PERCENT / 100, PAGES_MAX));

	for (uint32_t i = 0; i < n; i++)
		if (own_is(own_mapping(as, addr[i])))
			look_at(p, addr[i]);
}

static uint32_t affordable_pages(const struct points *p, uint64_t computed_ns)
{
	uint64_t n = MIN(computed_ns / 100 * HASH_PERCENT / PAGE_NS, (uint64_t)p->policy->first_pages);

	return p->full ? p->policy->first_pages : (uint32_t)MAX(n, (uint64_t)p->policy->hashed_min);
}

static int look_around(struct points *p, struct rec_task *t, const struct user_regs_struct *r, uint64_t computed_ns, bool *ret_all)
{
	int all = take_written(p, t);

	if (all < 0)
		return all;
	p->afford = affordable_pages(p, computed_ns); /* the take may have begun a rest */
	p->n = 0;
	p->max = GUESSED_MAX;
	look_registers(p, t, r);
	if (!all)
		chase_registers(p, t, r);
	if (!all && !p->n_written)
		look_data(p, &t->t.mm->as);
	p->max = PAGES_MAX;
	if (!all)
		look_hot(p, &t->t.mm->as);
	*ret_all = look_written(p) && all;
	find_dead(p, t, r);
	leave_out_dead(p);
	return 0;
}

int rec_point_state(struct rec_task *t, struct event *ev)
{
	struct fx *fx = &t->rec->fx;
	struct user_regs_struct *r, regs;
	struct points *p = points_of(t->t.mm, &t->rec->points);
	uint64_t start = os_cpu_ns();
	bool all;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0 || !p)
		return rc < 0 ? rc : -ENOMEM;
	p->point++;
	buf_clear(&p->sums);
	rc = look_around(p, t, r, ev->args[EVENT_POINT_CPU], &all);
	if (rc < 0)
		return rc;
	regs = *r;
	regs.orig_rax = UINT64_MAX; /* tells of the stop before, not of the program */
	fx_bytes(fx, EFFECT_REGS, 0, &regs, sizeof(regs));
	fx_xstate(fx, &t->t);
	read_pages(p, &t->t);
	choose_words(p);
	for (unsigned i = 0; i < p->n; i++)
		if (p->ok[i])
			add_words(fx, &p->look[i], p->pages + (size_t)i * PAGE);
	all = all && written_are_read(p);
	if (all)
		add_hashes(p, fx);
	else
		rc = hash_memory(p, t);
	if (rc < 0)
		return rc;
	ev->args[EVENT_POINT_PROVED] = all || rc;
	ev->blob = p->sums.data;
	ev->blob_len = p->sums.len;
	if (buf_error(&p->sums))
		return buf_error(&p->sums);
	log_debug("point %u of process %d: %u pages looked at, %u written, proved %d, %u us", p->point, t->t.tgid, p->n, p->n_written,
		  (int)ev->args[EVENT_POINT_PROVED], (unsigned)((os_cpu_ns() - start) / 1000));
	rc = start_tracking(p, t);
	return rc < 0 ? rc : fx->error;
}

void rec_point_remap(struct rec_task *t, uint64_t addr, uint64_t len)
{
	const struct points *p = t->t.mm->owner;

	if (p && p->dirty)
		eng_dirty_cover(p->dirty, addr, len);
}

void rec_point_moved(struct rec_task *t)
{
	struct points *p = t->t.mm->owner;

	if (p)
		p->moved = true;
}
