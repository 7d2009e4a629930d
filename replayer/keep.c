/* Keeps pages of frozen processes that are about to be lost.
 *
 * When an object shrinks, the kernel takes the pages behind its new end out of all mappings, those that a private mapping has copied too
 * (mm/truncate.c: as truncate(2) must have it). The guest's own are to go, but the frozen processes' belong to another time. So they are put aside
 * before, and written again where they were in what is made of the frozen process. */
#define LOG_AREA "replayer.keep"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

struct rep_kept {
	struct rep_kept *next;
	uint64_t addr;
	uint8_t bytes[ENG_PAGE];
};

struct keeper {
	struct stat of;
	uint64_t size; /* that it is about to have */
	int mem, pagemap;
	struct rep_kept **list;
};

static int keep_page(struct keeper *k, uint64_t addr)
{
	struct rep_kept *p = malloc(sizeof(*p));
	ssize_t n;

	if (!p)
		return -ENOMEM;
	n = os_pread_full(k->mem, p->bytes, ENG_PAGE, (off_t)addr);
	if (n != ENG_PAGE) {
		free(p);
		return n < 0 ? (int)n : ERR_GUEST_GONE;
	}
	p->addr = addr;
	p->next = *k->list;
	*k->list = p;
	return 0;
}

/* There and no page of the file: a copy (Documentation/admin-guide/mm/pagemap.rst). */
static bool is_copy(uint64_t entry)
{
	return entry >> 62 && !(entry >> 61 & 1);
}

static int keep_range(struct keeper *k, uint64_t start, uint64_t end)
{
	uint64_t entries[512];
	int r = 0;

	for (uint64_t at = start; at < end && r >= 0;) {
		size_t n = MIN((end - at) / ENG_PAGE, (uint64_t)ARRAY_SIZE(entries));
		ssize_t got = os_pread_full(k->pagemap, entries, n * sizeof(entries[0]), (off_t)(at / ENG_PAGE * sizeof(entries[0])));

		if (got != (ssize_t)(n * sizeof(entries[0])))
			return got < 0 ? (int)got : ERR_GUEST_GONE;
		for (size_t i = 0; i < n && r >= 0; i++, at += ENG_PAGE)
			if (is_copy(entries[i]))
				r = keep_page(k, at);
	}
	return r;
}

static int keep_line(void *ctx, const struct maps_line *line)
{
	struct keeper *k = ctx;
	const struct mapping *m = &line->map;
	uint64_t first = ALIGN_UP(k->size, (uint64_t)ENG_PAGE), skip = first > m->offset ? first - m->offset : 0;

	if (m->flags & ASPACE_SHARED || m->ino != k->of.st_ino || m->dev != k->of.st_dev || skip >= m->end - m->start)
		return 0;
	return keep_range(k, m->start + skip, m->end);
}

static int open_proc(pid_t pid, const char *name)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int rep_keep(pid_t pid, const struct rep_object *o, uint64_t size, struct rep_kept **list)
{
	CLEANUP(closep) int mem = open_proc(pid, "mem"), pagemap CLEANUP(closep) = open_proc(pid, "pagemap");
	struct keeper k = { .size = size, .mem = mem, .pagemap = pagemap, .list = list };

	if (mem < 0 || pagemap < 0)
		return mem < 0 ? mem : pagemap;
	return fstat(o->fd, &k.of) < 0 ? -errno : maps_read(pid, keep_line, &k);
}

int rep_kept_write(const struct rep_kept *list, struct rep_task *t)
{
	int r = 0;

	for (; list && r >= 0; list = list->next)
		r = eng_write(&t->t, list->addr, list->bytes, sizeof(list->bytes));
	return r;
}

uint64_t rep_kept_bytes(const struct rep_kept *list)
{
	uint64_t n = 0;

	for (; list; list = list->next)
		n += sizeof(*list);
	return n;
}

void rep_kept_free(struct rep_kept *list)
{
	while (list) {
		struct rep_kept *next = list->next;

		free(list);
		list = next;
	}
}
