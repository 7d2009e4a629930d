/* Is this the place? Compares a thread with the recorded state of an asynchronous point, and finds out what would
 * have told a wrong pass earlier.
 *
 * In the order of cost: registers, words of memory, vector registers, hashes. A lesson is a value that this pass
 * had wrong; one that changed since the pass before is likely to tell most of the passes to come. */
#define LOG_AREA "replayer.match"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Carry, parity, adjust, zero, sign, direction, overflow. */
#define FLAGS_COMPARED 0xcd5u
#define RANGE_MAX 4096u
/* More than recorders log. */
#define RANGES_MAX 8192u
/* Longer hashed pieces than recorders make teach nothing. */
#define LEARNT_MAX (16 * ENG_PAGE)
/* In an XSAVE area as ptrace shows it. */
#define XSTATE_XCR0 464u
#define XSTATE_HEADER_END 576u

/* By their numbers in instructions. */
static const uint16_t gpr_at[16] = {
	offsetof(struct user_regs_struct, rax), offsetof(struct user_regs_struct, rcx), offsetof(struct user_regs_struct, rdx),
	offsetof(struct user_regs_struct, rbx), offsetof(struct user_regs_struct, rsp), offsetof(struct user_regs_struct, rbp),
	offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdi), offsetof(struct user_regs_struct, r8),
	offsetof(struct user_regs_struct, r9),	offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r11),
	offsetof(struct user_regs_struct, r12), offsetof(struct user_regs_struct, r13), offsetof(struct user_regs_struct, r14),
	offsetof(struct user_regs_struct, r15),
};

static uint64_t gpr(const struct user_regs_struct *r, unsigned i)
{
	return *(const unsigned long long *)((const char *)r + gpr_at[i]);
}

/* --- loading --- */

static int load_range(struct rep_session *s, struct rep_point *p, const struct effect *e, struct errinfo *ei)
{
	struct rep_range *r;
	void *bytes;

	if (!e->len || e->len > RANGE_MAX || p->n_ranges == RANGES_MAX)
		return ERR_LIMIT;
	r = reallocarray(p->ranges, p->n_ranges + 1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	p->ranges = r;
	r[p->n_ranges++] = (struct rep_range){ .addr = e->addr, .len = e->len, .at = p->want.len };
	bytes = buf_extend(&p->want, e->len);
	return bytes ? store_reader_data(s->reader, e, 0, bytes, e->len, ei) : -ENOMEM;
}

static size_t pages_of(uint64_t addr, uint64_t len)
{
	return len ? (addr + len - 1) / ENG_PAGE - addr / ENG_PAGE + 1 : 0;
}

static int load_hash(struct rep_point *p, const struct effect *e)
{
	struct rep_hashed *h;

	if (e->len > EVENT_POINT_HASHED_MAX - p->hashed || p->n_hashes == EVENT_POINT_HASHES_MAX)
		return ERR_LIMIT;
	h = reallocarray(p->hashes, p->n_hashes + 1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	p->hashes = h;
	p->hashed += e->len;
	h[p->n_hashes++] = (struct rep_hashed){ .addr = e->addr, .len = e->len, .hash = e->hash, .first_sum = p->sums_named };
	p->sums_named += pages_of(e->addr, e->len);
	return 0;
}

/* End of the XSAVE area of a CPU with these components, which have the same places everywhere. */
static size_t xstate_end(struct rep_session *s, uint64_t xcr0)
{
	size_t end = XSTATE_HEADER_END;
	uint32_t v[4];

	for (unsigned i = 2; i < 63; i++) {
		if (!(xcr0 >> i & 1))
			continue;
		eng_traps_cpuid(&s->traps, 0xd, i, v); /* size, offset */
		if (v[0] <= ENG_XSTATE_MAX && v[1] <= ENG_XSTATE_MAX - v[0])
			end = MAX(end, (size_t)v[0] + v[1]);
	}
	return end;
}

/* Zeros at its end were not logged. They count as far as the recording CPU had registers there: this one may have
 * others. */
static int load_xstate(struct rep_session *s, struct rep_point *p, const struct effect *e, struct errinfo *ei)
{
	uint64_t xcr0;
	int r;

	if (e->len > ENG_XSTATE_MAX || e->len < XSTATE_HEADER_END || p->xstate)
		return ERR_CORRUPT;
	p->xstate = calloc(1, ENG_XSTATE_MAX);
	if (!p->xstate)
		return -ENOMEM;
	r = store_reader_data(s->reader, e, 0, p->xstate, e->len, ei);
	if (r < 0)
		return r;
	memcpy(&xcr0, p->xstate + XSTATE_XCR0, sizeof(xcr0));
	p->xstate_len = MAX((size_t)e->len, xstate_end(s, xcr0));
	return 0;
}

static int load(struct rep_session *s, struct rep_point *p, const struct effect *e, struct errinfo *ei)
{
	switch (e->kind) {
	case EFFECT_REGS:
		return e->len == sizeof(p->regs) ? store_reader_data(s->reader, e, 0, &p->regs, e->len, ei) : ERR_CORRUPT;
	case EFFECT_XSTATE:
		return load_xstate(s, p, e, ei);
	case EFFECT_INPUT:
		return load_range(s, p, e, ei);
	case EFFECT_HASH:
		return load_hash(p, e);
	default:
		return 0;
	}
}

/* All ranges are there. */
static int loaded(struct rep_session *s, struct rep_point *p, int r)
{
	uint32_t v[4];

	if (r >= 0 && !buf_extend(&p->last, p->want.len) && p->want.len)
		r = -ENOMEM;
	/* where the parts of the AVX-512 registers lie in the XSAVE area */
	eng_traps_cpuid(&s->traps, 0xd, 6, v);
	p->zmm_hi256 = v[0] == 512 ? v[1] : 0;
	eng_traps_cpuid(&s->traps, 0xd, 7, v);
	p->hi16_zmm = v[0] == 1024 ? v[1] : 0;
	if (r < 0)
		rep_point_done(p);
	return r;
}

int rep_point_load(struct rep_session *s, const struct event *ev, struct rep_point *ret, struct errinfo *ei)
{
	int r = 0;

	*ret = (struct rep_point){ .sums = ev->blob, .n_sums = ev->blob_len / 8 };
	buf_init(&ret->want);
	buf_init(&ret->last);
	for (uint32_t i = 0; i < ev->n_effects && r >= 0; i++)
		if (!ev->effects[i].thread || ev->effects[i].thread == ev->thread)
			r = load(s, ret, &ev->effects[i], ei);
	if (r >= 0 && !ret->regs.rip)
		r = ERR_CORRUPT;
	return loaded(s, ret, r);
}

/* Memory that is there, of at most n bytes from addr on. */
static int take_range(struct rep_task *t, struct rep_point *p, uint64_t addr, size_t n)
{
	struct rep_range *v = reallocarray(p->ranges, p->n_ranges + 1, sizeof(*v));
	uint8_t bytes[RANGE_MAX];
	ssize_t got = eng_read_some(&t->t, addr, bytes, MIN(n, sizeof(bytes)));

	if (!v)
		return -ENOMEM;
	p->ranges = v;
	if (got <= 0)
		return 0;
	v[p->n_ranges++] = (struct rep_range){ .addr = addr, .len = (size_t)got, .at = p->want.len };
	return buf_put(&p->want, bytes, (size_t)got), buf_error(&p->want);
}

int rep_point_take(struct rep_task *t, struct rep_point *ret)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	*ret = (struct rep_point){ 0 };
	buf_init(&ret->want);
	buf_init(&ret->last);
	ret->xstate = calloc(1, ENG_XSTATE_MAX);
	if (rc >= 0 && !ret->xstate)
		rc = -ENOMEM;
	if (rc >= 0)
		rc = eng_xstate(&t->t, ret->xstate, ENG_XSTATE_MAX, &ret->xstate_len);
	if (rc >= 0) {
		ret->regs = *r;
		rc = take_range(t, ret, (r->rsp - 128) & ~7ull, 1024);
	}
	if (rc >= 0 && (r->rbp - r->rsp > 512 || r->rbp < r->rsp))
		rc = take_range(t, ret, (r->rbp - 256) & ~7ull, 512);
	return loaded(t->session, ret, rc);
}

void rep_point_done(struct rep_point *p)
{
	free(p->xstate);
	free(p->ranges);
	free(p->hashes);
	buf_done(&p->want);
	buf_done(&p->last);
	*p = (struct rep_point){ 0 };
}

/* --- lessons --- */

/* What is asked of each candidate for a lesson. */
struct lesson {
	const struct code_cond *known;
	unsigned n;
	struct code_cond *ret; /* NULL: nothing is to be learnt; .kind CODE_COND_MAX_: nothing has been yet */
	bool changed;          /* only values that changed since the pass before */
};

static bool same_subject(const struct code_cond *a, const struct code_cond *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->word == b->word && a->addr == b->addr && a->len == b->len;
}

static bool learn(const struct lesson *l, const struct code_cond *c)
{
	for (unsigned i = 0; i < l->n; i++)
		if (same_subject(&l->known[i], c))
			return false;
	*l->ret = *c;
	return true;
}

static bool learn_register(const struct rep_point *p, const struct user_regs_struct *r, const struct lesson *l)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gpr_at); i++) {
		struct code_cond c = { .kind = CODE_COND_REG, .reg = (uint8_t)i, .value = gpr(&p->regs, i) };

		if (gpr(r, i) == c.value || (l->changed && gpr(r, i) == gpr(&p->last_regs, i)))
			continue;
		if (learn(l, &c))
			return true;
	}
	return false;
}

/* Where our jump stands the guest sees something else than we do. */
static bool is_ours(const struct rep_point *p, uint64_t addr, uint64_t len)
{
	return p->hidden_at < addr + len && addr < p->hidden_at + p->hidden_len;
}

/* now: what the ranges hold in this pass. */
static bool learn_word(const struct rep_point *p, const uint8_t *now, const struct lesson *l)
{
	for (size_t i = 0; i < p->n_ranges; i++)
		for (size_t off = 0; off + 8 <= p->ranges[i].len; off += 8) {
			size_t at = p->ranges[i].at + off;
			struct code_cond c = { .kind = CODE_COND_WORD, .addr = p->ranges[i].addr + off };

			memcpy(&c.value, p->want.data + at, 8);
			if (!memcmp(now + at, p->want.data + at, 8) || is_ours(p, c.addr, 8))
				continue;
			if (l->changed && p->have_last && !memcmp(now + at, p->last.data + at, 8))
				continue;
			if (learn(l, &c))
				return true;
		}
	return false;
}

/* --- lessons from sums --- */

/* What a HASH effect covers, in this pass. */
struct hashed_now {
	const struct rep_hashed *h;
	uint8_t *mem;
};

/* A page of it, or the part of one. */
struct part {
	size_t off, len;
	uint64_t missing; /* what the sum lacks to be the wanted one */
};

/* The parts whose sums differ: how many, and the first one. Not when sums were not recorded. */
static size_t differing_parts(const struct rep_point *p, const struct hashed_now *n, struct part *ret)
{
	size_t differ = 0, i = n->h->first_sum;

	for (size_t off = 0, len; off < n->h->len && i < p->n_sums; off += len, i++) {
		uint64_t want;
		struct part part;

		len = MIN(n->h->len - off, ENG_PAGE - (n->h->addr + off) % ENG_PAGE);
		memcpy(&want, p->sums + i * sizeof(want), sizeof(want));
		part = (struct part){ off, len, want - eng_sum(n->mem + off, len) };
		if (part.missing && !differ++)
			*ret = part;
	}
	return differ;
}

/* Is it one word alone that differs? The sum says what each word had to be then, the hash whether it is so: the
 * wanted word is known. */
static bool learn_lone_word(const struct hashed_now *n, const struct part *part, const struct lesson *l)
{
	uint64_t missing = part->missing;

	for (size_t off = part->off + part->len; off > part->off; missing *= ENG_SUM_INVERSE) {
		struct code_cond c = { .kind = CODE_COND_WORD };
		uint64_t now;
		bool equal;

		off -= sizeof(now);
		memcpy(&now, n->mem + off, sizeof(now));
		c.addr = n->h->addr + off;
		c.value = now + missing;
		memcpy(n->mem + off, &c.value, sizeof(now));
		equal = eng_hash(n->mem, n->h->len) == n->h->hash;
		memcpy(n->mem + off, &now, sizeof(now));
		if (equal)
			return learn(l, &c);
	}
	return false;
}

static void learn_sum(const struct rep_point *p, const struct hashed_now *n, const struct lesson *l)
{
	struct part part;
	struct code_cond c;
	size_t differ;

	if (is_ours(p, n->h->addr, n->h->len) || n->h->len > LEARNT_MAX || n->h->len % 8)
		return;
	differ = differing_parts(p, n, &part);
	if (!differ || part.len % 8 || (differ == 1 && learn_lone_word(n, &part, l)))
		return;
	c = (struct code_cond){ .kind = CODE_COND_SUM, .addr = n->h->addr + part.off, .len = (uint32_t)part.len };
	c.value = eng_sum(n->mem + part.off, part.len) + part.missing;
	learn(l, &c);
}

/* --- comparing --- */

static void note_closest(struct rep_point *p, enum rep_differs what, uint64_t at)
{
	if (what < p->closest)
		return;
	p->closest = what;
	p->closest_at = at;
}

void rep_point_closest(const struct rep_point *p, struct buf *out)
{
	static const char *const texts[] = {
		[REP_DIFFERS_ALL] = "the instruction was never reached",
		[REP_DIFFERS_REGS] = "the registers were never equal",
		[REP_DIFFERS_WORDS] = "the closest pass differed in the memory at",
		[REP_DIFFERS_VECTORS] = "the closest pass differed in floating point or vector registers, XSAVE offset",
		[REP_DIFFERS_MEMORY] = "the closest pass differed in the hash of memory at",
	};

	buf_printf(out, "%s", texts[p->closest]);
	if (p->closest > REP_DIFFERS_REGS)
		buf_printf(out, " %#llx", (unsigned long long)p->closest_at);
}

static bool registers_equal(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gpr_at); i++)
		if (gpr(a, i) != gpr(b, i))
			return false;
	return a->rip == b->rip && !((a->eflags ^ b->eflags) & FLAGS_COMPARED) && a->fs_base == b->fs_base && a->gs_base == b->gs_base;
}

bool rep_point_registers(const struct rep_point *p, const struct user_regs_struct *r)
{
	return registers_equal(r, &p->regs);
}

/* Guest memory as the guest left it. */
static int read_memory(const struct rep_point *p, struct rep_task *t, uint64_t addr, uint8_t *buf, size_t n)
{
	int r = eng_read(&t->t, addr, buf, n);

	for (size_t i = 0; r >= 0 && i < p->hidden_len; i++)
		if (p->hidden_at + i - addr < n)
			buf[p->hidden_at + i - addr] = p->hidden[i];
	return r;
}

static void read_ranges(struct rep_point *p, struct rep_task *t, uint8_t *now)
{
	for (size_t i = 0; i < p->n_ranges; i++)
		if (read_memory(p, t, p->ranges[i].addr, now + p->ranges[i].at, p->ranges[i].len) < 0)
			memset(now + p->ranges[i].at, 0, p->ranges[i].len);
}

static uint64_t first_difference(const struct rep_point *p, const uint8_t *now)
{
	for (size_t i = 0; i < p->n_ranges; i++)
		for (size_t k = 0; k < p->ranges[i].len; k++)
			if (now[p->ranges[i].at + k] != p->want.data[p->ranges[i].at + k])
				return p->ranges[i].addr + k;
	return 0;
}

/* Byte `at` of the XSAVE area as a condition. False: of no vector register. */
static bool vector_element(const struct rep_point *p, size_t at, struct code_cond *ret)
{
	const struct {
		size_t start, each, count;
		unsigned reg, word;
	} parts[] = {
		{ 160, 16, 16, 0, 0 }, { 576, 16, 16, 0, 2 }, { p->zmm_hi256, 32, 16, 0, 4 }, { p->hi16_zmm, 64, 16, 16, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t off = at - parts[i].start;

		if (!parts[i].start || at < parts[i].start || off >= parts[i].each * parts[i].count)
			continue;
		*ret = (struct code_cond){ .kind = CODE_COND_VEC, .reg = (uint8_t)(parts[i].reg + off / parts[i].each),
					   .word = (uint8_t)(parts[i].word + off % parts[i].each / 8) };
		memcpy(&ret->value, p->xstate + (at & ~(size_t)7), 8);
		return true;
	}
	return false;
}

/* Where the last x87 instruction and its operand were (copies of instructions run elsewhere), what the kernel
 * keeps there, and which parts are in their initial state: none of it is program state. */
static bool xstate_compared(size_t at)
{
	return !(at >= 6 && at < 24) && !(at >= 464 && at < 576);
}

/* 1 equal, 0 not. */
static int xstate_equal(struct rep_point *p, struct rep_task *t, const struct lesson *l)
{
	uint8_t now[ENG_XSTATE_MAX];
	struct code_cond c;
	size_t n, len;
	int r;

	if (!p->xstate)
		return 1;
	r = eng_xstate(&t->t, now, sizeof(now), &n);
	if (r < 0)
		return r;
	len = MIN(n, p->xstate_len);
	r = 1;
	for (size_t i = 0; i < len; i += 8) {
		size_t k = 0;

		if (i + 8 <= len && !memcmp(now + i, p->xstate + i, 8))
			continue;
		while (k < 8 && i + k < len && (now[i + k] == p->xstate[i + k] || !xstate_compared(i + k)))
			k++;
		if (k == 8 || i + k == len)
			continue;
		if (r)
			note_closest(p, REP_DIFFERS_VECTORS, i + k);
		r = 0;
		if (!l->ret || (vector_element(p, i + k, &c) && learn(l, &c)))
			return 0;
	}
	return r;
}

/* What told the last wrong pass comes first: it is likely to tell the next one, and there may be megabytes to hash. */
static void move_to_front(struct rep_point *p, size_t i)
{
	struct rep_hashed h = p->hashes[i];

	memmove(p->hashes + 1, p->hashes, i * sizeof(h));
	p->hashes[0] = h;
}

static int hashes_equal(struct rep_point *p, struct rep_task *t, const struct lesson *l)
{
	size_t cap = 0;
	uint8_t *mem;
	int r = 1;

	for (size_t i = 0; i < p->n_hashes; i++)
		cap = MAX(cap, (size_t)p->hashes[i].len);
	mem = malloc(cap + 1);
	if (!mem)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_hashes && r > 0; i++) {
		const struct rep_hashed *h = &p->hashes[i];

		bool there = read_memory(p, t, h->addr, mem, h->len) >= 0;

		r = there && eng_hash(mem, h->len) == h->hash;
		if (!r) {
			if (l->ret && there)
				learn_sum(p, &(struct hashed_now){ h, mem }, l);
			note_closest(p, REP_DIFFERS_MEMORY, h->addr);
			move_to_front(p, i);
		}
	}
	free(mem);
	return r;
}

/* A lesson of general registers and words: first of those that changed. */
static bool learn_general(const struct rep_point *p, const struct user_regs_struct *r, const uint8_t *now, struct lesson *l)
{
	static const bool changed_first[] = { true, false };

	for (size_t i = 0; i < ARRAY_SIZE(changed_first); i++) {
		l->changed = changed_first[i];
		if (learn_register(p, r, l) || learn_word(p, now, l))
			return true;
	}
	return false;
}

/* Vectors and hashed memory: 1 equal, 0 not. What has no condition (flags, x87) may change together with what has. */
static int compare_rest(struct rep_point *p, struct rep_task *t, const struct lesson *l)
{
	int r = xstate_equal(p, t, l), hashes;

	if (r < 0 || (!r && (!l->ret || l->ret->kind != CODE_COND_MAX_)))
		return r;
	hashes = hashes_equal(p, t, l);
	return hashes <= 0 ? hashes : r;
}

static int compare(struct rep_point *p, struct rep_task *t, const struct user_regs_struct *r, uint8_t *now, struct lesson *l)
{
	bool equal = registers_equal(r, &p->regs);
	enum rep_differs closest;
	uint64_t closest_at;
	int rc;

	if (!equal)
		note_closest(p, REP_DIFFERS_REGS, 0);
	if (!equal && !l->ret)
		return 0;
	read_ranges(p, t, now);
	if (equal && (!p->want.len || !memcmp(now, p->want.data, p->want.len)))
		return compare_rest(p, t, l);
	if (equal)
		note_closest(p, REP_DIFFERS_WORDS, first_difference(p, now));
	if (!l->ret || learn_general(p, r, now, l))
		return 0;
	closest = p->closest;
	closest_at = p->closest_at;
	rc = compare_rest(p, t, l);
	p->closest = closest;
	p->closest_at = closest_at;
	return MIN(rc, 0);
}

int rep_point_compare(struct rep_point *p, struct rep_task *t, const struct code_cond *known, unsigned n,
		      struct code_cond *ret_lesson)
{
	struct code_cond none = { .kind = CODE_COND_MAX_ };
	struct lesson l = { .known = known, .n = n, .ret = ret_lesson };
	struct user_regs_struct *r;
	uint8_t *now = malloc(p->want.len + 1);
	int rc = eng_regs(&t->t, &r);

	if (rc < 0 || !now) {
		free(now);
		return rc < 0 ? rc : -ENOMEM;
	}
	if (ret_lesson) {
		*ret_lesson = (struct code_cond){ .kind = CODE_COND_MAX_ };
		l.ret = p->passes++ ? ret_lesson : &none; /* after the first pass nobody knows what changes */
	}
	rc = compare(p, t, r, now, &l);
	if (rc == 0 && ret_lesson) {
		p->last_regs = *r;
		if (p->last.len)
			memcpy(p->last.data, now, p->last.len);
		p->have_last = true;
	}
	free(now);
	return rc;
}
