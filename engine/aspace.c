/* Sorted array of mappings. A few hundred entries: memmove beats a tree. */
#include "engine/aspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

void aspace_init(struct aspace *a)
{
	*a = (struct aspace){ 0 };
}

void aspace_done(struct aspace *a)
{
	free(a->m);
	*a = (struct aspace){ 0 };
}

void aspace_clear(struct aspace *a)
{
	a->changes++;
	a->n = 0;
}

int aspace_copy(const struct aspace *from, struct aspace *ret)
{
	struct mapping *m = malloc(MAX(from->n, (size_t)1) * sizeof(*m));
	uint64_t changes = ret->changes + 1;

	if (!m)
		return -ENOMEM;
	if (from->n)
		memcpy(m, from->m, from->n * sizeof(*m));
	aspace_done(ret);
	*ret = (struct aspace){ .m = m, .n = from->n, .cap = MAX(from->n, (size_t)1), .changes = changes };
	return 0;
}

/* Index of the first mapping with end > addr. */
static size_t lower(const struct aspace *a, uint64_t addr)
{
	size_t lo = 0, hi = a->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (a->m[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int reserve(struct aspace *a, size_t more)
{
	size_t cap;
	struct mapping *m;

	if (a->n + more <= a->cap)
		return 0;
	cap = MAX(a->cap * 2, a->n + more + 16);
	m = reallocarray(a->m, cap, sizeof(*m));
	if (!m)
		return -ENOMEM;
	a->m = m;
	a->cap = cap;
	return 0;
}

static void insert_at(struct aspace *a, size_t i, const struct mapping *m)
{
	memmove(a->m + i + 1, a->m + i, (a->n - i) * sizeof(*m));
	a->m[i] = *m;
	a->n++;
}

static void remove_at(struct aspace *a, size_t i, size_t n)
{
	if (!n)
		return;
	memmove(a->m + i, a->m + i + n, (a->n - i - n) * sizeof(*a->m));
	a->n -= n;
}

/* Makes addr a border between mappings. */
static int split(struct aspace *a, uint64_t addr)
{
	size_t i = lower(a, addr);
	struct mapping right;
	int r;

	if (i == a->n || a->m[i].start >= addr)
		return 0;
	r = reserve(a, 1);
	if (r < 0)
		return r;
	right = a->m[i];
	right.offset += addr - right.start;
	right.start = addr;
	a->m[i].end = addr;
	insert_at(a, i + 1, &right);
	return 0;
}

int aspace_unmap(struct aspace *a, uint64_t start, uint64_t end)
{
	size_t i, j;
	int r;

	if (start >= end)
		return 0;
	a->changes++;
	r = split(a, start);
	if (r >= 0)
		r = split(a, end);
	if (r < 0)
		return r;
	i = lower(a, start);
	for (j = i; j < a->n && a->m[j].start < end; j++)
		;
	remove_at(a, i, j - i);
	return 0;
}

int aspace_map(struct aspace *a, const struct mapping *m)
{
	int r;

	if (m->start >= m->end)
		return -EINVAL;
	a->changes++;
	r = aspace_unmap(a, m->start, m->end);
	if (r >= 0)
		r = reserve(a, 1);
	if (r < 0)
		return r;
	insert_at(a, lower(a, m->start), m);
	return 0;
}

/* Whole mappings lie in the range then: they are going to be changed. */
static int cut_out(struct aspace *a, uint64_t start, uint64_t end)
{
	int r = split(a, start);

	a->changes++;
	return r < 0 ? r : split(a, end);
}

int aspace_protect(struct aspace *a, uint64_t start, uint64_t end, uint32_t prot)
{
	int r = cut_out(a, start, end);

	if (r < 0)
		return r;
	for (size_t i = lower(a, start); i < a->n && a->m[i].start < end; i++)
		a->m[i].prot = prot;
	return 0;
}

int aspace_mark(struct aspace *a, uint64_t start, uint64_t end, uint32_t set, uint32_t clear)
{
	int r = cut_out(a, start, end);

	if (r < 0)
		return r;
	for (size_t i = lower(a, start); i < a->n && a->m[i].start < end; i++)
		a->m[i].flags = (a->m[i].flags & ~clear) | set;
	return 0;
}

/* What lies in [from, from + len), at the place where it goes. */
static int collect(const struct aspace *a, uint64_t from, uint64_t len, uint64_t to, struct aspace *ret)
{
	int r = 0;

	for (size_t i = lower(a, from); i < a->n && a->m[i].start < from + len && r >= 0; i++) {
		struct mapping m = a->m[i];
		uint64_t start = MAX(m.start, from), end = MIN(m.end, from + len);

		m.offset += start - m.start;
		m.start = start - from + to;
		m.end = end - from + to;
		r = aspace_map(ret, &m);
	}
	return r;
}

int aspace_remap(struct aspace *a, uint64_t old, uint64_t old_len, uint64_t new_addr, uint64_t new_len, bool keep_old)
{
	struct aspace pieces;
	int r;

	if (!aspace_find(a, old))
		return -EFAULT;
	aspace_init(&pieces);
	r = collect(a, old, old_len ? MIN(old_len, new_len) : 1, new_addr, &pieces);
	if (r >= 0 && new_len > old_len)
		pieces.m[pieces.n - 1].end = new_addr + new_len;
	if (r >= 0 && !keep_old)
		r = aspace_unmap(a, old, old + old_len);
	if (r >= 0)
		r = aspace_unmap(a, new_addr, new_addr + new_len);
	for (size_t i = 0; i < pieces.n && r >= 0; i++)
		r = aspace_map(a, &pieces.m[i]);
	aspace_done(&pieces);
	return r;
}

const struct mapping *aspace_find(const struct aspace *a, uint64_t addr)
{
	size_t i = lower(a, addr);

	return i < a->n && a->m[i].start <= addr ? &a->m[i] : NULL;
}

const struct mapping *aspace_next(const struct aspace *a, uint64_t addr)
{
	size_t i = lower(a, addr);

	return i < a->n ? &a->m[i] : NULL;
}

static bool parse_line(char *text, struct maps_line *ret)
{
	char perms[5];
	unsigned int major, minor;
	int at = 0;
	struct mapping *m = &ret->map;

	*m = (struct mapping){ 0 };
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start, &m->end, perms, &m->offset,
		   &major, &minor, &m->ino, &at) < 7)
		return false;
	m->dev = makedev(major, minor);
	m->prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) | (perms[2] == 'x' ? PROT_EXEC : 0);
	if (perms[3] == 's')
		m->flags |= ASPACE_SHARED;
	if (!m->ino)
		m->flags |= ASPACE_ANON;
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret->path, sizeof(ret->path), "%s", at ? text + at : "");
	if (!strncmp(ret->path, "[vdso]", 6) || !strncmp(ret->path, "[vvar", 5))
		m->flags |= ASPACE_VDSO;
	if (!strcmp(ret->path, "[stack]"))
		m->flags |= ASPACE_GROWSDOWN;
	return true;
}

int maps_read(pid_t tid, maps_fn fn, void *ctx)
{
	char path[32], *text = NULL;
	struct maps_line line;
	size_t cap = 0;
	FILE *f;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!r && getline(&text, &cap, f) > 0) {
		/* The legacy vsyscall page lies in kernel space: the same everywhere, never in a model. */
		if (!parse_line(text, &line) || line.map.start >= 1ULL << 47)
			continue;
		r = fn(ctx, &line);
	}
	free(text);
	fclose(f);
	return r;
}

uint64_t aspace_code_key(const struct aspace *a, uint64_t addr)
{
	const struct mapping *m = aspace_find(a, addr);
	uint64_t h;

	if (!m || !m->ino || m->prot & PROT_WRITE || m->flags & ASPACE_SHARED)
		return 0;
	h = (m->dev * 0x9e3779b97f4a7c15ULL ^ m->ino) * 0xff51afd7ed558ccdULL;
	h ^= (addr - m->start + m->offset) >> 12;
	h *= 0x9fb21c651e98df25ULL;
	return h ? h : 1;
}

bool aspace_code_own(const struct aspace *a, uint64_t addr)
{
	const struct mapping *m = aspace_find(a, addr);

	return m && !m->object && !(m->flags & (ASPACE_SHARED | ASPACE_VIEW | ASPACE_HERMIT)) && aspace_code_key(a, addr);
}
