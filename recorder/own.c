/* A process's own memory: what nobody outside of the recording can change, and so may tell one state from another.
 *
 * All of it that exists is all that can differ between two passes of a run of computation (no call, no other
 * thread in between): a page that does not exist at the end of the run was not written in it, since only calls
 * take pages away. It still holds zeros, or what its file holds. The same is true of pages of files in private
 * mappings: writing would have made a copy. It is not of shared mappings, whose pages the kernel may take out of
 * the page table at any time, written or not: all of theirs have to be there. Lazily freed memory (MADV_FREE) is
 * the recorder's affair: it makes that certain (MADV_DONTNEED). */
#include "recorder/rec_priv.h"
#include "recorder/points_priv.h"

#include <sys/mman.h>
#include <unistd.h>

#include "engine/present.h"

#define PAGE POINT_PAGE
#define CHUNK 512u

const struct mapping *own_mapping(const struct aspace *as, uint64_t addr)
{
	const struct mapping *m = aspace_next(as, addr);

	if (!m || m->start <= addr)
		return m;
	return (m->flags & ASPACE_GROWSDOWN) && m->start - addr <= STACK_REACH ? m : NULL;
}

static bool is_writable(const struct mapping *m)
{
	return (m->prot & PROT_WRITE) && !(m->flags & (ASPACE_HERMIT | ASPACE_VDSO));
}

/* What a file's view or a shared mapping of a file holds may come from outside of the recording. */
bool own_is(const struct mapping *m)
{
	if (!m || !is_writable(m) || (m->flags & ASPACE_VIEW))
		return false;
	return !(m->flags & ASPACE_SHARED) || (m->flags & ASPACE_ANON);
}

/* The model does not follow a stack's growth. */
static uint64_t first_address(const struct aspace *as, size_t i)
{
	const struct mapping *m = &as->m[i];
	uint64_t below = i ? as->m[i - 1].end : PAGE;

	if (!(m->flags & ASPACE_GROWSDOWN))
		return m->start;
	return m->start - below > STACK_REACH ? m->start - STACK_REACH : below;
}

struct walk {
	struct own *own;
	uint32_t max_pages;
	uint64_t looks;
};

/* False: it is one too many. */
static bool add_page(struct walk *w, uint64_t addr)
{
	struct own *o = w->own;
	struct run *last = o->n_runs ? &o->run[o->n_runs - 1] : NULL;
	bool joins = last && last->addr + (uint64_t)last->pages * PAGE == addr;

	if (o->n_pages == w->max_pages || (!joins && o->n_runs == OWN_RUNS_MAX)) {
		o->next = addr;
		return false;
	}
	if (joins)
		last->pages++;
	else
		o->run[o->n_runs++] = (struct run){ addr, 1 };
	o->n_pages++;
	return true;
}

/* One page of a writable mapping. */
static bool add_kind(struct walk *w, const struct mapping *m, uint64_t addr, enum eng_page kind)
{
	bool shared = m->flags & ASPACE_SHARED;

	if (shared && kind == ENG_PAGE_ABSENT)
		w->own->foreign = true; /* the kernel may have taken it out */
	if (kind == ENG_PAGE_ABSENT || (!shared && kind == ENG_PAGE_FILE))
		return true;
	if (own_is(m))
		return add_page(w, addr);
	w->own->foreign = true;
	return true;
}

/* 1: all of [start, end) seen. 0: a limit. */
static int add_range(struct walk *w, int fd, const struct mapping *m, uint64_t start, uint64_t end)
{
	uint8_t kind[CHUNK];

	for (uint64_t at = start; at < end;) {
		size_t n = MIN((end - at) / PAGE, (uint64_t)CHUNK);
		int r;

		if (w->looks < n) {
			w->own->next = at;
			return 0;
		}
		w->looks -= n;
		r = eng_present(fd, at, n, kind);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++, at += PAGE)
			if (!add_kind(w, m, at, kind[i]))
				return 0;
	}
	return 1;
}

int own_pages(struct eng_task *t, uint64_t from, uint32_t max_pages, uint64_t max_looks, struct own *ret)
{
	const struct aspace *as = &t->mm->as;
	struct walk w = { ret, max_pages, max_looks };
	CLEANUP(closep) int fd = eng_present_open(t);
	int r = fd < 0 ? fd : 1;

	ret->n_runs = ret->n_pages = 0;
	ret->foreign = false;
	ret->next = 0;
	for (size_t i = 0; i < as->n && r > 0; i++) {
		const struct mapping *m = &as->m[i];

		if (is_writable(m) && m->end > from)
			r = add_range(&w, fd, m, MAX(first_address(as, i), from), m->end);
	}
	return r < 0 ? r : 0;
}
