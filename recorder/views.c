/* Private mappings of files that change while they are mapped.
 *
 * A page of such a mapping that its process has not written shows what the file holds now, whoever changes it and however. Replay maps an ordinary
 * private mapping from a blob, which never changes. So at the first change (a write, a truncation, a shared mapping of the file) the mapping becomes
 * a private view of the file's object:
 *     MAP shared, MEM of the file's bytes     bring the object up to date
 *     MAP private view on top                 from now on it follows the object by itself
 *     MEM of the copied pages                 what the process had written stays its own (the kernel's pagemap tells which)
 * Later changes need only the first part, and not even that where a shared mapping carries them (maps.c). */
#define LOG_AREA "recorder.views"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

#define PAGE 4096ull
/* Bits of an entry of /proc/PID/pagemap (kernel: Documentation/admin-guide/mm/pagemap.rst). */
#define PM_PRESENT (1ull << 63)
#define PM_SWAPPED (1ull << 62)
#define PM_FILE (1ull << 61)

/* The part of a mapping that shows [off, off+len) of its file, whole pages; an empty one has start == end. */
static struct mapping part_of(const struct mapping *m, uint64_t off, uint64_t len)
{
	uint64_t lo = MAX(ALIGN_DOWN(off, PAGE), m->offset), end = m->offset + (m->end - m->start);
	uint64_t hi = MIN(len > end ? end : ALIGN_UP(off + len, PAGE), end);
	struct mapping part = *m;

	part.start = m->start + (lo - m->offset);
	part.end = hi > lo ? part.start + (hi - lo) : part.start;
	part.offset = lo;
	return part;
}

static struct effect *map_part(struct rec_task *t, const struct mapping *part, uint64_t object, uint32_t flags)
{
	struct effect *e = fx_add(&t->rec->fx, EFFECT_MAP);

	e->addr = part->start;
	e->len = part->end - part->start;
	e->prot = part->prot;
	e->flags = flags;
	e->offset = part->offset;
	e->source = MAP_SOURCE_SHARED;
	e->object = object;
	return e;
}

/* What the file holds behind the part. */
static void file_content(struct rec_task *t, const struct mapping *part, int file)
{
	enum { CHUNK = 1 << 16 };
	uint8_t *p = malloc(CHUNK);
	struct effect *zero = fx_add(&t->rec->fx, EFFECT_ZERO);

	zero->addr = part->start;
	zero->len = part->end - part->start;
	for (uint64_t at = 0; p && at < part->end - part->start; at += CHUNK) {
		ssize_t n = pread(file, p, MIN(part->end - part->start - at, (uint64_t)CHUNK), (off_t)(part->offset + at));

		if (n <= 0)
			break;
		if (p[0] || memcmp(p, p + 1, (size_t)n - 1))
			fx_bytes(&t->rec->fx, EFFECT_MEM, part->start + at, p, (size_t)n);
	}
	free(p);
}

static void copied_pages(struct rec_task *t, struct rec_task *owner, const struct mapping *part)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", owner->t.tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (uint64_t at = part->start; fd >= 0 && at < part->end; at += PAGE) {
		uint64_t entry = 0;

		if (pread(fd, &entry, sizeof(entry), (off_t)(at / PAGE * sizeof(entry))) != sizeof(entry))
			break;
		if ((entry & PM_SWAPPED) || ((entry & PM_PRESENT) && !(entry & PM_FILE)))
			fx_memory(&t->rec->fx, &owner->t, EFFECT_MEM, at, PAGE);
	}
	if (fd >= 0)
		close(fd);
}

static void refresh(struct rec_task *t, struct rec_task *owner, const struct mapping *part, uint64_t object, int file)
{
	uint32_t from = t->rec->fx.n;

	if (owner->ran && owner != t)
		rec_warn(t->rec, "a file was changed that process %d had mapped privately while it computed: replay may diverge", owner->t.tgid);
	map_part(t, part, object, 0);
	file_content(t, part, file);
	map_part(t, part, object, MAP_F_PRIVATE);
	copied_pages(t, owner, part);
	for (uint32_t i = from; i < t->rec->fx.n; i++)
		t->rec->fx.e[i].thread = owner->num;
}

/* Does a shared mapping bring the change to the object already? */
static bool carried(const struct rec *rec, const struct mapping *view, uint64_t off, uint64_t len)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next)
		for (size_t i = 0; o->t.mm && i < o->t.mm->as.n; i++) {
			const struct mapping *m = &o->t.mm->as.m[i];

			if ((m->flags & ASPACE_SHARED) && m->ino == view->ino && m->dev == view->dev && m->offset <= off &&
			    off + len <= m->offset + (m->end - m->start))
				return true;
		}
	return false;
}

void rec_view_changed(struct rec_task *t, struct rec_task *owner, struct mapping *m, uint64_t object, const char *path, uint64_t off, uint64_t len)
{
	bool first = !(m->flags & ASPACE_VIEW);
	struct mapping part = first ? *m : part_of(m, off, len);
	int file;

	if (part.start == part.end || (!first && carried(t->rec, m, off, len)))
		return;
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file < 0) {
		rec_warn(t->rec, "%s was changed while it was mapped and cannot be read: replay may diverge", path);
		return;
	}
	refresh(t, owner, &part, object, file);
	close(file);
	m->flags |= ASPACE_VIEW;
}
