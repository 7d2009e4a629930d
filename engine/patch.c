/* Breakpoints that nobody sees: see engine/patch.h. The overlay is one sorted array, so a read costs a branch without patches and a
 * binary search with them. */
#include "engine/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/mem_priv.h"

#define INT3 0xcc

/* Index of the first one at addr or behind. */
static size_t first(const struct eng_patches *ps, uint64_t addr)
{
	size_t lo = 0, hi = ps->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (ps->p[mid].addr >= addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool is_at(const struct eng_patches *ps, size_t i, uint64_t addr)
{
	return i < ps->n && ps->p[i].addr == addr;
}

const struct eng_patch *eng_patch_find(const struct eng_mm *mm, uint64_t addr)
{
	size_t i = first(&mm->patches, addr);

	return is_at(&mm->patches, i, addr) ? &mm->patches.p[i] : NULL;
}

/* --- one of them --- */

/* GROWSDOWN mappings reach further down than the model says. */
static const struct mapping *memory_at(const struct eng_mm *mm, uint64_t addr)
{
	const struct mapping *m = aspace_next(&mm->as, addr);

	return m && (m->start <= addr || m->flags & ASPACE_GROWSDOWN) ? m : NULL;
}

static bool is_own(const struct mapping *m)
{
	return !(m->flags & (ASPACE_SHARED | ASPACE_VIEW));
}

static void park(struct eng_patch *p)
{
	p->planted = false;
	p->dev = p->ino = p->offset = 0;
}

/* Other memory than that which the patch was planted in? (Of anonymous memory one cannot tell.) */
static bool is_other(const struct eng_patch *p, const struct mapping *m)
{
	return p->dev != m->dev || p->ino != m->ino || (m->ino && p->offset != m->offset + (p->addr - m->start));
}

/* Is our byte there, as far as one knows without looking? Right between a change of mappings and the next sync too. */
static bool is_live(const struct eng_mm *mm, const struct eng_patch *p)
{
	const struct mapping *m;

	if (!p->planted || mm->patches.changes == mm->as.changes)
		return p->planted;
	m = memory_at(mm, p->addr);
	return m && is_own(m) && !is_other(p, m);
}

static int put(const struct eng_mm *mm, uint64_t addr, uint8_t byte)
{
	ssize_t r = mem_write_raw(mm, addr, &byte, 1);

	return r > 0 ? 0 : r < 0 ? (int)r : ERR_GUEST_GONE;
}

/* The memory is there and is the process's own, as far as the model knows. */
static int plant(const struct eng_mm *mm, struct eng_patch *p, const struct mapping *m)
{
	uint8_t raw;
	ssize_t n = mem_read_raw(mm, p->addr, &raw, 1);
	int r = 0;

	if (n == 1 && p->planted && raw == p->byte && !is_other(p, m))
		return 1;
	if (n == 1)
		r = put(mm, p->addr, p->byte);
	if (n != 1 || r < 0) {
		park(p);
		/* EFAULT: behind the end of a file */
		return n < 0 && n != -EFAULT ? (int)n : n == 0 ? ERR_GUEST_GONE : r == -EFAULT ? 0 : r;
	}
	p->dev = m->dev;
	p->ino = m->ino;
	p->offset = m->ino ? m->offset + (p->addr - m->start) : 0;
	p->original = raw;
	p->planted = true;
	return 1;
}

/* Takes the byte away again unless the guest has. */
static int pull(const struct eng_mm *mm, const struct eng_patch *p)
{
	uint8_t raw;
	ssize_t n = mem_read_raw(mm, p->addr, &raw, 1);

	if (n == -EFAULT || (n == 1 && raw != p->byte))
		return 0;
	if (n != 1)
		return n < 0 ? (int)n : ERR_GUEST_GONE;
	return put(mm, p->addr, p->original);
}

/* A byte of a piece: it stays where it is, or comes back to the very same memory. */
static int settle_piece(const struct eng_mm *mm, struct eng_patch *p, const struct mapping *m)
{
	uint8_t raw;
	bool same = m && !p->shared && p->users && !is_other(p, m) && mem_read_raw(mm, p->addr, &raw, 1) == 1 &&
		    raw == (p->planted ? p->byte : p->original);
	int r = same && !p->planted ? put(mm, p->addr, p->byte) : 0;

	p->planted = same && r >= 0;
	p->users = p->planted; /* once gone it does not come back */
	return r == -EFAULT ? 0 : r;
}

static int settle(const struct eng_mm *mm, struct eng_patch *p)
{
	const struct mapping *m = memory_at(mm, p->addr);

	p->shared = m && !is_own(m);
	if (p->lifted)
		return 0;
	if (p->piece)
		return settle_piece(mm, p, m);
	if (m && !p->shared)
		return plant(mm, p, m);
	park(p);
	return 0;
}

/* --- setting and clearing --- */

static int insert(struct eng_patches *ps, size_t i, uint64_t addr)
{
	if (ps->n == ps->cap) {
		size_t cap = ps->cap * 2 + 16;
		struct eng_patch *more = reallocarray(ps->p, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		ps->p = more;
		ps->cap = cap;
	}
	memmove(ps->p + i + 1, ps->p + i, (ps->n - i) * sizeof(*ps->p));
	ps->p[i] = (struct eng_patch){ .addr = addr, .users = 1, .byte = INT3 };
	ps->n++;
	return 0;
}

static void take_out(struct eng_patches *ps, size_t i)
{
	ps->n--;
	memmove(ps->p + i, ps->p + i + 1, (ps->n - i) * sizeof(*ps->p));
}

int eng_patch_set(struct eng_task *t, uint64_t addr)
{
	struct eng_patches *ps = &t->mm->patches;
	const struct mapping *m = memory_at(t->mm, addr);
	size_t i = first(ps, addr);
	int r;

	if (m && !is_own(m))
		return -EBUSY;
	if (is_at(ps, i, addr)) {
		if (ps->p[i].piece)
			return -EEXIST;
		ps->p[i].users++;
		return ps->p[i].planted || ps->p[i].lifted;
	}
	if (!ps->n)
		ps->changes = t->mm->as.changes;
	r = insert(ps, i, addr);
	if (r < 0 || !m)
		return r;
	r = plant(t->mm, &ps->p[i], m);
	if (r < 0)
		take_out(ps, i);
	return r;
}

int eng_patch_clear(struct eng_task *t, uint64_t addr)
{
	struct eng_patches *ps = &t->mm->patches;
	size_t i = first(ps, addr);
	int r = 0;

	if (!is_at(ps, i, addr) || ps->p[i].piece)
		return ERR_NOT_FOUND;
	if (--ps->p[i].users)
		return 0;
	if (ps->p[i].planted)
		r = pull(t->mm, &ps->p[i]);
	take_out(ps, i);
	return r;
}

/* --- pieces --- */

/* Index of the first byte of the piece at addr, or ps->n. */
static size_t find_piece(const struct eng_patches *ps, uint64_t addr)
{
	size_t i = first(ps, addr);

	return is_at(ps, i, addr) && ps->p[i].piece && ps->p[i].place == 0 ? i : ps->n;
}

static bool stands(const struct eng_patch *p)
{
	for (unsigned k = 0; k < p->piece; k++)
		if (!p[k].planted)
			return false;
	return true;
}

/* What is left of it, from the first byte on: an instruction must not lose its end before its beginning. */
static int pull_piece(struct eng_task *t, struct eng_patch *p)
{
	int r = 0;

	for (unsigned k = 0; k < p->piece; k++) {
		int e = p[k].planted ? pull(t->mm, &p[k]) : 0;

		p[k].planted = false;
		p[k].users = 0;
		r = MIN(r, e);
	}
	return r;
}

int eng_patch_put(struct eng_task *t, uint64_t addr, const uint8_t *bytes, uint8_t n)
{
	struct eng_patches *ps = &t->mm->patches;
	size_t at = first(ps, addr);
	int r = 0;

	if (at < ps->n && ps->p[at].addr - addr < n)
		return -EEXIST;
	for (unsigned k = 0; k < n && r >= 0; k++) {
		r = eng_patch_set(t, addr + k);
		r = r == 0 ? -EFAULT : r;
	}
	for (unsigned k = 0; k < n && r >= 0; k++) {
		struct eng_patch *p = &ps->p[at + k];

		p->byte = bytes[k];
		p->piece = n;
		p->place = (uint8_t)k;
		r = put(t->mm, p->addr, p->byte);
	}
	/* int3s or pieces of the piece */
	while (r < 0 && at < ps->n && ps->p[at].addr - addr < n) {
		struct eng_patch *p = &ps->p[at];

		if (p->planted && put(t->mm, p->addr, p->original) < 0)
			p->planted = false;
		take_out(ps, at);
	}
	return MIN(r, 0);
}

bool eng_patch_stands(const struct eng_mm *mm, uint64_t addr)
{
	size_t i = find_piece(&mm->patches, addr);

	return i < mm->patches.n && stands(&mm->patches.p[i]);
}

int eng_patch_take(struct eng_task *t, uint64_t addr)
{
	struct eng_patches *ps = &t->mm->patches;
	size_t i = find_piece(ps, addr);
	int r;

	if (i == ps->n)
		return ERR_NOT_FOUND;
	r = pull_piece(t, &ps->p[i]);
	for (unsigned n = ps->p[i].piece; n--;)
		take_out(ps, i);
	return r;
}

/* --- all of them --- */

static bool is_lifted(const struct eng_patch *p)
{
	for (unsigned k = 0; k < p->piece; k++)
		if (p[k].lifted)
			return true;
	return false;
}

/* No half pieces. */
static int settle_pieces(struct eng_task *t)
{
	struct eng_patches *ps = &t->mm->patches;
	int r = 0;

	for (size_t i = 0; i < ps->n && r >= 0; i += MAX(ps->p[i].piece, 1))
		if (ps->p[i].piece && !is_lifted(&ps->p[i]) && !stands(&ps->p[i]))
			r = pull_piece(t, &ps->p[i]);
	return r;
}

int eng_patch_sync_all(struct eng_task *t)
{
	struct eng_patches *ps = &t->mm->patches;
	int r = 0;

	for (size_t i = 0; i < ps->n && r >= 0; i++)
		r = settle(t->mm, &ps->p[i]);
	if (r >= 0)
		r = settle_pieces(t);
	if (r < 0)
		return r;
	ps->changes = t->mm->as.changes;
	ps->stale = false;
	return 0;
}

int eng_patch_sync(struct eng_task *t)
{
	const struct eng_patches *ps = &t->mm->patches;

	return ps->n && (ps->stale || ps->changes != t->mm->as.changes) ? eng_patch_sync_all(t) : 0;
}

/* The patches of a range, pieces as a whole. */
static void find_range(const struct eng_patches *ps, uint64_t addr, uint64_t len, size_t *ret_from, size_t *ret_to)
{
	size_t from = first(ps, addr), to = from;

	while (to < ps->n && ps->p[to].addr - addr < len)
		to++;
	if (from < to) {
		from -= ps->p[from].place;
		if (ps->p[to - 1].piece)
			to += ps->p[to - 1].piece - 1u - ps->p[to - 1].place;
	}
	*ret_from = from;
	*ret_to = to;
}

int eng_patch_lift(struct eng_task *t, uint64_t addr, uint64_t len)
{
	struct eng_patches *ps = &t->mm->patches;
	size_t from, to;
	int r = 0;

	find_range(ps, addr, len, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct eng_patch *p = &ps->p[i];
		int e = p->planted ? pull(t->mm, p) : 0;

		p->lifted++;
		must(p->lifted);
		p->planted = false;
		r = MIN(r, e);
	}
	return r;
}

int eng_patch_lower(struct eng_task *t, uint64_t addr, uint64_t len)
{
	struct eng_patches *ps = &t->mm->patches;
	size_t from, to;
	int r = 0, e;

	find_range(ps, addr, len, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct eng_patch *p = &ps->p[i];

		if (!p->lifted || --p->lifted) /* not lifted: set since */
			continue;
		e = settle(t->mm, p);
		r = MIN(r, e);
	}
	e = settle_pieces(t);
	return MIN(r, e);
}

/* --- reading and writing --- */

bool eng_patch_overlaps(const struct eng_mm *mm, uint64_t addr, uint64_t n)
{
	const struct eng_patches *ps = &mm->patches;

	for (size_t i = ps->n ? first(ps, addr) : 0; i < ps->n && ps->p[i].addr - addr < n; i++)
		if (is_live(mm, &ps->p[i]))
			return true;
	return false;
}

void eng_patch_hide(const struct eng_mm *mm, uint64_t addr, void *buf, size_t n)
{
	const struct eng_patches *ps = &mm->patches;

	for (size_t i = ps->n ? first(ps, addr) : 0; i < ps->n && ps->p[i].addr - addr < n; i++) {
		uint8_t *byte = (uint8_t *)buf + (ps->p[i].addr - addr);

		if (*byte == ps->p[i].byte && is_live(mm, &ps->p[i]))
			*byte = ps->p[i].original;
	}
}

ssize_t patch_write(struct eng_mm *mm, uint64_t addr, const void *buf, size_t n)
{
	struct eng_patches *ps = &mm->patches;
	size_t from = first(ps, addr);
	uint8_t bytes[ENG_PAGE];
	ssize_t r;

	n = MIN(n, sizeof(bytes));
	memcpy(bytes, buf, n);
	for (size_t i = from; i < ps->n && ps->p[i].addr - addr < n; i++)
		if (is_live(mm, &ps->p[i]))
			bytes[ps->p[i].addr - addr] = ps->p[i].byte;
	r = mem_write_raw(mm, addr, bytes, n);
	for (size_t i = from; r > 0 && i < ps->n && ps->p[i].addr - addr < (size_t)r; i++)
		if (is_live(mm, &ps->p[i]))
			ps->p[i].original = ((const uint8_t *)buf)[ps->p[i].addr - addr];
	return r;
}

int eng_patches_copy(const struct eng_patches *from, struct eng_patches *ret)
{
	struct eng_patch *p = from->n ? reallocarray(NULL, from->n, sizeof(*p)) : NULL;

	if (from->n && !p)
		return -ENOMEM;
	if (p)
		memcpy(p, from->p, from->n * sizeof(*p));
	/* a fork leaves out memory that the guest wants left out */
	*ret = (struct eng_patches){ .p = p, .n = from->n, .cap = from->n, .stale = true };
	return 0;
}

void eng_patches_done(struct eng_patches *ps)
{
	free(ps->p);
	*ps = (struct eng_patches){ 0 };
}
