/* Write tracking: see engine/dirty.h.
 *
 * The userfaultfd belongs to the guest's address space, so the guest must make it; we fetch it and close it there,
 * nothing of it stays in the guest's descriptor table. Nobody ever reads it: with WP_ASYNC the kernel takes the
 * protection away at the first write by itself.
 *
 * "Written" is the absence of a protection bit in the page table. So a page that appears (first touch, mremap, a
 * new mapping) counts as written until the first take has protected it, without anybody telling us; taking in a
 * mapping late loses nothing. What has no page table cannot have been written: such holes are passed over, and get
 * no page tables from us (1 TiB of reserved address space costs nothing).
 *
 * The kernel looks fast (.7 ns a page) for nothing but that bit. Then entries without a page are found too, and
 * pages that were only read: the zero page, unmodified pages of privately mapped files. So a first look finds runs
 * without the bit, a second one, there alone, sorts out what is no written page and protects the others. To
 * protect at the first look would be wrong: an empty entry with the bit looks like a swapped page. */
#define LOG_AREA "engine.dirty"
#include "engine/dirty.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define PAGE ENG_PAGE
#define USER_END 0x7ffffffff000ull

/* Newer than the headers of some systems. Linux 6.7: include/uapi/linux/userfaultfd.h, fs.h. */
#define FEATURE_WP_UNPOPULATED (1u << 13)
#define FEATURE_WP_ASYNC (1u << 15)
#define USER_MODE_ONLY 1u
#define PIDFD_OF_THREAD O_EXCL /* Linux 6.9 */

enum page_category {
	PAGE_WRITTEN = 1 << 1,
	PAGE_FILE = 1 << 2, /* of a file or shared memory, as opposed to anonymous */
	PAGE_PRESENT = 1 << 3,
	PAGE_SWAPPED = 1 << 4,
	PAGE_ZERO = 1 << 5, /* the zero page that reading gives */
};

enum { SCAN_PROTECT_FOUND = 1 << 0 };

struct page_run {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof_mask, return_mask;
};
static_assert(sizeof(struct scan_arg) == 96, "struct pm_scan_arg");
#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)

struct eng_dirty {
	int uffd, pagemap;
	bool partial;     /* some mapping cannot be tracked */
	bool looked;      /* at the mappings, ever */
	uint64_t changes; /* of the model, when we last looked at its mappings */
	struct page_run run[256];   /* without protection */
	struct page_run pages[256]; /* of these: written pages */
};
/* Runs with no more between them get the second look together. */
#define GAP_PAGES 64u

/* --- the descriptor --- */

static int fetch_fd(struct eng_task *t, int guest_fd)
{
	CLEANUP(closep) int pidfd = (int)syscall(SYS_pidfd_open, t->tid, PIDFD_OF_THREAD);
	int fd;

	if (pidfd < 0) /* the first thread does as long as it lives */
		pidfd = (int)syscall(SYS_pidfd_open, t->tgid, 0);
	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, guest_fd, 0);
	return fd >= 0 ? fd : -errno;
}

static int make_uffd(struct eng_task *t)
{
	int64_t fd, closed;
	int r = eng_remote(t, SYS_userfaultfd, (uint64_t[6]){ O_CLOEXEC | USER_MODE_ONLY }, &fd);
	int ours;

	if (r < 0 || fd < 0)
		return r < 0 ? r : (int)fd;
	ours = fetch_fd(t, (int)fd);
	r = eng_remote(t, SYS_close, (uint64_t[6]){ (uint64_t)fd }, &closed);
	if (r < 0 && ours >= 0)
		close(ours);
	return r < 0 ? r : ours;
}

static int enable(int uffd)
{
	struct uffdio_api api = { .api = UFFD_API, .features = FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED };

	return ioctl(uffd, UFFDIO_API, &api) < 0 ? -errno : 0;
}

static int open_pagemap(pid_t tid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* --- mappings --- */

static int track(struct eng_dirty *d, uint64_t start, uint64_t end)
{
	struct uffdio_register reg = { .range = { start, end - start }, .mode = UFFDIO_REGISTER_MODE_WP };

	return ioctl(d->uffd, UFFDIO_REGISTER, &reg) < 0 ? -errno : 0;
}

static bool is_tracked(const struct mapping *m)
{
	return (m->prot & PROT_WRITE) && !(m->flags & (ASPACE_HERMIT | ASPACE_VDSO));
}

/* The model does not follow a stack's growth, and half of a stack must not be tracked: it may begin anywhere above
 * the mapping below. */
static uint64_t first_address(const struct aspace *as, size_t i)
{
	if (!(as->m[i].flags & ASPACE_GROWSDOWN))
		return as->m[i].start;
	return i ? as->m[i - 1].end : PAGE;
}

/* Takes in what is new; what is tracked already stays so (and that is a cheap question). */
static void track_all(struct eng_dirty *d, const struct aspace *as)
{
	d->partial = false;
	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];
		int r = is_tracked(m) ? track(d, first_address(as, i), m->end) : 0;

		if (r < 0) {
			log_debug("mapping %#" PRIx64 "-%#" PRIx64 " is not tracked: %s", m->start, m->end, err_str(r));
			d->partial = true;
		}
	}
	d->looked = true;
	d->changes = as->changes;
}

void eng_dirty_cover(struct eng_dirty *d, uint64_t addr, uint64_t len)
{
	uint64_t start = ALIGN_DOWN(addr, (uint64_t)PAGE), end = ALIGN_UP(addr + len, (uint64_t)PAGE);

	if (start < end && end <= USER_END && track(d, start, end) < 0)
		log_debug("%#" PRIx64 "-%#" PRIx64 " is not tracked as a whole", start, end);
}

/* --- looking --- */

struct taking {
	const struct aspace *as;
	eng_dirty_fn fn;
	void *ctx;
	uint64_t left; /* pages that fn may still get */
	bool more;
	int error;
};

static void hand_out(struct taking *k, uint64_t start, uint64_t end)
{
	uint64_t pages = (end - start) / PAGE, n = MIN(pages, k->left);

	k->more |= n < pages;
	k->left -= n;
	if (n && k->error >= 0)
		k->error = MIN(k->fn(k->ctx, start, n), 0);
}

/* Pages of a file in a private mapping were read, not written. */
static void hand_out_shared(struct taking *k, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end;) {
		const struct mapping *m = aspace_next(k->as, at);
		uint64_t stop = m ? MIN(m->start > at ? m->start : m->end, end) : end;

		if (m && m->start <= at && (m->flags & ASPACE_SHARED))
			hand_out(k, at, stop);
		at = stop;
	}
}

/* Runs from s->start on: how many, negative errors. s->start moves on. */
static int scan(struct eng_dirty *d, struct scan_arg *s, struct page_run *ret, size_t cap)
{
	int n;

	s->size = sizeof(*s);
	s->vec = (uint64_t)(uintptr_t)ret;
	s->vec_len = cap;
	n = ioctl(d->pagemap, SCAN_IOCTL, s);
	if (n < 0)
		return errno == ESRCH ? ERR_GUEST_GONE : -errno;
	if (s->walk_end <= s->start)
		return -EIO; /* rather than for ever */
	s->start = s->walk_end;
	return n;
}

/* The second look. */
static int take_pages(struct eng_dirty *d, struct taking *k, uint64_t start, uint64_t end)
{
	struct scan_arg s = {
		.flags = SCAN_PROTECT_FOUND,
		.start = start,
		.end = end,
		.category_inverted = PAGE_ZERO,
		.category_mask = PAGE_WRITTEN | PAGE_ZERO,
		.category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
		.return_mask = PAGE_FILE,
	};

	while (s.start < s.end) {
		int n = scan(d, &s, d->pages, ARRAY_SIZE(d->pages));

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			const struct page_run *p = &d->pages[i];

			(p->categories & PAGE_FILE ? hand_out_shared : hand_out)(k, p->start, p->end);
		}
	}
	return 0;
}

/* The first look. */
static int take_range(struct eng_dirty *d, struct taking *k, uint64_t start, uint64_t end)
{
	struct scan_arg s = {
		.start = start,
		.end = end,
		.category_mask = PAGE_WRITTEN, /* with anything more the kernel looks slowly */
		.return_mask = PAGE_WRITTEN,
	};
	int r = 0;

	while (s.start < s.end && r >= 0) {
		unsigned n, last;

		r = scan(d, &s, d->run, ARRAY_SIZE(d->run));
		n = r > 0 ? (unsigned)r : 0;
		for (unsigned i = 0; i < n && r >= 0; i = last + 1) {
			for (last = i; last + 1 < n && d->run[last + 1].start - d->run[last].end <= GAP_PAGES * PAGE; last++)
				;
			r = take_pages(d, k, d->run[i].start, d->run[last].end);
		}
	}
	return r;
}

/* Mappings with nothing else between them are looked at together. */
static int look(struct eng_dirty *d, struct taking *k)
{
	const struct aspace *as = k->as;
	int r = 0;

	for (size_t i = 0, last; i < as->n && r >= 0; i = last + 1) {
		last = i;
		if (!is_tracked(&as->m[i]))
			continue;
		while (last + 1 < as->n && is_tracked(&as->m[last + 1]))
			last++;
		r = take_range(d, k, first_address(as, i), as->m[last].end);
	}
	return r;
}

int eng_dirty_take(struct eng_dirty *d, struct eng_task *t, uint64_t max, eng_dirty_fn fn, void *ctx)
{
	struct taking k = { .as = &t->mm->as, .fn = fn, .ctx = ctx, .left = max };
	int r;

	if (!d->looked || d->changes != k.as->changes)
		track_all(d, k.as);
	r = look(d, &k);
	if (r < 0 || k.error < 0)
		return r < 0 ? r : k.error;
	return k.more || d->partial;
}

static int nothing(void *ctx, uint64_t addr, uint64_t pages)
{
	(void)ctx, (void)addr, (void)pages;
	return 0;
}

static int start(struct eng_dirty *d, struct eng_task *t)
{
	int r;

	d->uffd = make_uffd(t);
	if (d->uffd < 0)
		return d->uffd;
	r = enable(d->uffd);
	if (r < 0)
		return r;
	d->pagemap = open_pagemap(t->tid);
	return d->pagemap < 0 ? d->pagemap : eng_dirty_take(d, t, 0, nothing, NULL);
}

int eng_dirty_new(struct eng_task *t, struct eng_dirty **ret)
{
	struct eng_dirty *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->uffd = d->pagemap = -1;
	r = start(d, t);
	if (r < 0) {
		eng_dirty_free(d);
		/* EPERM: somebody's filter, EINVAL: features, ENOTTY: PAGEMAP_SCAN */
		return r == -EPERM || r == -EINVAL || r == -ENOTTY ? -ENOSYS : r;
	}
	*ret = d;
	return 0;
}

void eng_dirty_free(struct eng_dirty *d)
{
	if (!d)
		return;
	/* The kernel takes away the protection with the last descriptor. */
	if (d->uffd >= 0)
		close(d->uffd);
	if (d->pagemap >= 0)
		close(d->pagemap);
	free(d);
}
