/* Gathers the effects of one event. */
#define LOG_AREA "recorder.fx"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define BLOCK_SIZE (1u << 20)
/* Zeros from here on cost an event a few bytes instead of their length. */
#define ZERO_MIN 64u

void fx_init(struct fx *fx)
{
	*fx = (struct fx){ 0 };
}

static void free_blocks(struct fx_block *b)
{
	while (b) {
		struct fx_block *next = b->next;

		free(b);
		b = next;
	}
}

void fx_done(struct fx *fx)
{
	free_blocks(fx->blocks);
	free(fx->e);
	fx_init(fx);
}

void fx_reset(struct fx *fx)
{
	fx->n = 0;
	fx->error = 0;
	if (!fx->blocks)
		return;
	/* One block of ordinary size stays; a large read does not pin its memory. */
	free_blocks(fx->blocks->next);
	fx->blocks->next = NULL;
	fx->blocks->used = 0;
	if (fx->blocks->cap > BLOCK_SIZE) {
		free(fx->blocks);
		fx->blocks = NULL;
	}
}

void *fx_alloc(struct fx *fx, size_t n)
{
	struct fx_block *b = fx->blocks;
	void *p;

	n = ALIGN_UP(n, (size_t)16);
	if (!b || b->cap - b->used < n) {
		size_t cap = MAX(n, (size_t)BLOCK_SIZE);

		b = malloc(sizeof(*b) + cap);
		if (!b) {
			fx->error = fx->error ? fx->error : -ENOMEM;
			return NULL;
		}
		*b = (struct fx_block){ .next = fx->blocks, .cap = cap };
		fx->blocks = b;
	}
	p = b->data + b->used;
	b->used += n;
	return p;
}

struct effect *fx_add(struct fx *fx, enum effect_kind kind)
{
	if (fx->n == fx->cap) {
		uint32_t cap = fx->cap ? fx->cap * 2 : 64;
		struct effect *e = cap <= EVENT_EFFECTS_MAX ? reallocarray(fx->e, cap, sizeof(*e)) : NULL;

		if (!e) {
			fx->error = fx->error ? fx->error : cap <= EVENT_EFFECTS_MAX ? -ENOMEM : ERR_LIMIT;
			fx->dummy = (struct effect){ .kind = kind, .name = "" };
			return &fx->dummy;
		}
		fx->e = e;
		fx->cap = cap;
	}
	fx->e[fx->n] = (struct effect){ .kind = kind, .name = "" };
	return &fx->e[fx->n++];
}

void fx_bytes(struct fx *fx, enum effect_kind kind, uint64_t addr, const void *p, size_t n)
{
	void *copy = fx_alloc(fx, n);
	struct effect *e;

	if (!copy)
		return;
	memcpy(copy, p, n);
	e = fx_add(fx, kind);
	e->addr = addr;
	e->len = n;
	e->data = copy;
}

/* At most EFFECT_DATA_MAX bytes; returns how many were readable. */
static size_t memory_piece(struct fx *fx, struct eng_task *t, enum effect_kind kind, uint64_t addr, size_t n)
{
	uint8_t *p = fx_alloc(fx, n);
	size_t got = 0;
	struct effect *e;

	if (!p)
		return 0;
	while (got < n) {
		ssize_t r = eng_read_some(t, addr + got, p + got, n - got);

		if (r <= 0)
			break;
		got += (size_t)r;
	}
	if (!got)
		return 0;
	if (kind == EFFECT_MEM && got >= ZERO_MIN && p[0] == 0 && !memcmp(p, p + 1, got - 1)) {
		e = fx_add(fx, EFFECT_ZERO);
		p = NULL;
	} else {
		e = fx_add(fx, kind);
	}
	e->addr = addr;
	e->len = got;
	e->data = p;
	return got;
}

void fx_memory(struct fx *fx, struct eng_task *t, enum effect_kind kind, uint64_t addr, uint64_t len)
{
	while (len && !fx->error) {
		size_t n = MIN(len, (uint64_t)EFFECT_DATA_MAX);

		if (memory_piece(fx, t, kind, addr, n) < n)
			return;
		addr += n;
		len -= n;
	}
}

void fx_registers(struct fx *fx, struct eng_task *t)
{
	struct user_regs_struct *r;

	if (eng_regs(t, &r) >= 0)
		fx_bytes(fx, EFFECT_REGS, 0, r, sizeof(*r));
}

#define XSTATE_HEADER 512u
#define XSTATE_HEADER_END 576u
#define XSTATE_BV_SSE 2u

/* The processor notes which components are in use, and xsave instructions show it: the dynamic linker leaves that on the stack. An interrupt may turn
 * the SSE registers from unused to used behind the guest's back (measured in virtual machines: half of all cases within 100 us), never back. So they
 * are declared used from the start, whenever the kernel has made them new: exec, handlers, sigreturn. */
static void declare_sse_used(struct eng_task *t, uint8_t *area, size_t n)
{
	if (n < XSTATE_HEADER_END || area[XSTATE_HEADER] & XSTATE_BV_SSE)
		return;
	area[XSTATE_HEADER] |= XSTATE_BV_SSE;
	if (eng_xstate_set(t, area, n) < 0)
		log_debug("task %d: XSAVE header not set", t->tid);
}

void fx_xstate(struct fx *fx, struct eng_task *t)
{
	uint8_t area[ENG_XSTATE_MAX];
	size_t n;

	if (eng_xstate(t, area, sizeof(area), &n) < 0)
		return;
	declare_sse_used(t, area, n);
	/* What lies behind the header is zero in its initial state. The tiles of AMX are 8 KB, and hardly ever used. */
	while (n > XSTATE_HEADER_END && !area[n - 1])
		n--;
	fx_bytes(fx, EFFECT_XSTATE, 0, area, MIN(ALIGN_UP(n, (size_t)8), sizeof(area)));
}
