/* The state at asynchronous points: what replay compares to find the place again (docs/ASYNC.md).
 *
 * Replay passes the instruction many times before the right pass. It needs words that are different then, to make a condition of them, and
 * hashes of what was written, to be sure. So a point logs the words around the stack pointer and those that the code ahead works with, the words
 * that have changed since the previous point of the address space (copies of its pages are kept here), and hashes of all pages it looked at.
 *
 * Pages are those that the process writes for itself: not ours, not the kernel's, none that somebody outside of the recording may change.
 * Words are 8 bytes, aligned. */
#define LOG_AREA "recorder.points"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/code.h"

#define PAGE ENG_PAGE
#define WORDS (PAGE / 8)
#define USER_END (1ull << 47)
/* Pages looked at, and copies kept, per address space. */
#define PAGES_MAX 128u
/* Pages that are looked at when nobody knows which ones were written. */
#define GUESSED_MAX 32u
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
/* How far below a growing stack's known start an address still counts as part of it. */
#define STACK_REACH (64ull << 20)

struct look {
	uint64_t addr;
	bool near; /* named by the stack pointer, another register or an operand */
	uint64_t log[WORDS / 64]; /* words to log */
};

struct copy {
	uint64_t addr; /* 0 = free */
	uint32_t point; /* the last one that looked at it */
};

/* What is kept per address space: mm->owner. */
struct points {
	uint32_t point; /* number of the present one, from 1 */
	struct copy copy[PAGES_MAX];
	uint8_t *copies;  /* PAGES_MAX pages */
	/* of the present point: */
	struct look look[PAGES_MAX]; /* by address */
	unsigned n, max;
	uint8_t *pages; /* their contents */
	bool ok[PAGES_MAX]; /* could be read */
};

static void points_free(void *owner)
{
	struct points *p = owner;

	if (!p)
		return;
	free(p->copies);
	free(p->pages);
	free(p);
}

static struct points *points_of(struct eng_mm *mm)
{
	struct points *p;

	if (mm->owner)
		return mm->owner;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->copies = malloc((size_t)PAGES_MAX * PAGE);
	p->pages = malloc((size_t)PAGES_MAX * PAGE);
	if (!p->copies || !p->pages) {
		points_free(p);
		return NULL;
	}
	mm->owner = p;
	mm->owner_free = points_free;
	return p;
}

/* --- which pages --- */

/* The mapping that holds addr, which may be a stack that has grown. */
static const struct mapping *mapping_of(const struct aspace *as, uint64_t addr)
{
	const struct mapping *m = aspace_next(as, addr);

	if (!m || m->start <= addr)
		return m;
	return (m->flags & ASPACE_GROWSDOWN) && m->start - addr <= STACK_REACH ? m : NULL;
}

/* May a point look at it? What a file's view or a shared mapping of a file holds may come from outside of the recording. */
static bool is_own(const struct mapping *m)
{
	if (!m || !(m->prot & PROT_WRITE) || (m->flags & (ASPACE_HERMIT | ASPACE_VDSO | ASPACE_VIEW)))
		return false;
	return !(m->flags & ASPACE_SHARED) || (m->flags & ASPACE_ANON);
}

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
	struct look *l = is_own(mapping_of(as, addr)) ? look_at(p, ALIGN_DOWN(addr, (uint64_t)PAGE)) : NULL;

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
		struct look *l = is_own(mapping_of(as, at)) ? look_at(p, ALIGN_DOWN(at, (uint64_t)PAGE)) : NULL;

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

/* Variables of program and libraries: .data is a small writable mapping of a file, .bss lies right behind it. */
static void look_data(struct points *p, const struct aspace *as)
{
	for (size_t i = 0; i < as->n && p->n < p->max; i++) {
		const struct mapping *m = &as->m[i], *before = i ? &as->m[i - 1] : NULL;
		bool bss = (m->flags & ASPACE_ANON) && before && before->end == m->start && !(before->flags & ASPACE_ANON);

		if (!is_own(m) || (m->flags & ASPACE_SHARED) || m->end - m->start > DATA_PAGES * PAGE || (!bss && (m->flags & ASPACE_ANON)))
			continue;
		for (uint64_t at = m->start; at < m->end; at += PAGE)
			look_at(p, at);
	}
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

/* Of many changed words a part is taken, spread over the page: a loop that fills it has left some of them behind in each pass. */
static unsigned changed_words(struct look *l, const uint8_t *now, const uint8_t *before, unsigned max)
{
	uint16_t changed[WORDS];
	unsigned n = 0, take;

	if (!memcmp(now, before, PAGE))
		return 0;
	for (unsigned w = 0; w < WORDS; w++)
		if (word(now, w) != word(before, w) && !has_word(l, w))
			changed[n++] = (uint16_t)w;
	take = MIN(n, max);
	for (unsigned i = 0; i < take; i++)
		set_word(l, changed[i * n / take]);
	return take;
}

static void whole_page(struct look *l, const uint8_t *now)
{
	for (unsigned w = 0; w < WORDS; w++)
		if (word(now, w))
			set_word(l, w);
}

static struct copy *copy_of(struct points *p, uint64_t addr)
{
	for (unsigned i = 0; i < PAGES_MAX; i++)
		if (p->copy[i].addr == addr)
			return &p->copy[i];
	return NULL;
}

static struct copy *oldest_copy(struct points *p)
{
	struct copy *c = &p->copy[0];

	for (unsigned i = 0; i < PAGES_MAX; i++)
		if (p->copy[i].point < c->point)
			c = &p->copy[i];
	return c;
}

static uint8_t *copy_bytes(struct points *p, const struct copy *c)
{
	return p->copies + (size_t)(c - p->copy) * PAGE;
}

struct budget {
	unsigned words, fresh;
};

/* A page is compared with its copy and becomes the copy. */
static void look_page(struct points *p, unsigned i, struct budget *left)
{
	struct look *l = &p->look[i];
	const uint8_t *now = p->pages + (size_t)i * PAGE;
	struct copy *c = copy_of(p, l->addr);

	if (c) {
		left->words -= changed_words(l, now, copy_bytes(p, c), MIN(PAGE_WORDS_MAX, left->words));
	} else {
		c = oldest_copy(p);
		c->addr = l->addr;
		if (left->fresh) {
			left->fresh--;
			whole_page(l, now);
		}
	}
	c->point = p->point;
	memcpy(copy_bytes(p, c), now, PAGE);
}

/* What the code works with comes first, the rest as far as it goes. */
static void choose_words(struct points *p)
{
	struct budget left = { POINT_WORDS_MAX, FRESH_PAGES_MAX };

	/* first of all, so that none makes room for another page of this point */
	for (unsigned i = 0; i < p->n; i++) {
		struct copy *c = copy_of(p, p->look[i].addr);

		if (c)
			c->point = p->point;
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
	for (unsigned w = 0; w < WORDS;) {
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

static void add_hashes(struct fx *fx, const struct points *p)
{
	for (unsigned i = 0; i < p->n;) {
		unsigned end = i + 1;
		struct effect *e;

		if (!p->ok[i]) {
			i++;
			continue;
		}
		while (end < p->n && p->ok[end] && p->look[end].addr == p->look[end - 1].addr + PAGE)
			end++;
		e = fx_add(fx, EFFECT_HASH);
		e->addr = p->look[i].addr;
		e->len = (uint64_t)(end - i) * PAGE;
		e->hash = eng_hash(p->pages + (size_t)i * PAGE, e->len);
		i = end;
	}
}

int rec_point_state(struct rec_task *t, struct event *ev)
{
	struct fx *fx = &t->rec->fx;
	struct user_regs_struct *r, regs;
	struct points *p = points_of(t->t.mm);
	int rc = eng_regs(&t->t, &r);

	if (rc < 0 || !p)
		return rc < 0 ? rc : -ENOMEM;
	regs = *r;
	regs.orig_rax = UINT64_MAX; /* tells of the stop before, not of the program */
	fx_bytes(fx, EFFECT_REGS, 0, &regs, sizeof(regs));
	fx_xstate(fx, &t->t);
	p->point++;
	p->n = 0;
	p->max = GUESSED_MAX;
	look_registers(p, t, r);
	look_data(p, &t->t.mm->as);
	read_pages(p, &t->t);
	choose_words(p);
	for (unsigned i = 0; i < p->n; i++)
		if (p->ok[i])
			add_words(fx, &p->look[i], p->pages + (size_t)i * PAGE);
	add_hashes(fx, p);
	ev->args[EVENT_POINT_PROVED] = 0;
	return fx->error;
}
