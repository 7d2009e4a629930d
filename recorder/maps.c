/* Address spaces: what a new mapping holds, shared objects, and changes that reach memory through files.
 *
 * A private file mapping is logged as a blob (the whole file, content-addressed). A shared mapping belongs to an object, numbered by
 * (dev, ino); its present content follows as MEM effects, so that replay's object is right from then on whatever happened before. */
#define LOG_AREA "recorder.maps"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

#define PAGE 4096ull
/* A file beyond this is not stored whole for a mapping of a small part of it. */
#define WHOLE_FILE_MAX (256ull << 20)
/* Content beyond this is logged in pieces of this size. */
#define LATE_MIN (8ull << 20)
/* How far below a growing stack's known start an address still counts as part of it. */
#define STACK_REACH (64ull << 20)

/* --- objects --- */

static struct rec_object *object_of(struct rec *rec, uint64_t dev, uint64_t ino)
{
	struct rec_object *o;

	for (size_t i = 0; i < rec->n_objects; i++)
		if (rec->objects[i].dev == dev && rec->objects[i].ino == ino && ino)
			return &rec->objects[i];
	o = reallocarray(rec->objects, rec->n_objects + 1, sizeof(*o));
	if (!o)
		return NULL;
	rec->objects = o;
	o = &rec->objects[rec->n_objects++];
	*o = (struct rec_object){ .number = ++rec->last_object, .dev = dev, .ino = ino };
	return o;
}

static void object_size(struct rec *rec, struct rec_object *o, uint64_t size)
{
	struct effect *e;

	if (o->size == size)
		return;
	o->size = size;
	e = fx_add(&rec->fx, EFFECT_RESIZE);
	e->object = o->number;
	e->len = size;
}

/* --- what a range holds --- */

static bool all_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* MEM effects for the pages of a range that are not zero. */
static void nonzero_content(struct rec_task *t, uint64_t addr, uint64_t len)
{
	enum { CHUNK = 1 << 20 };
	uint8_t *p = malloc(CHUNK);

	for (uint64_t at = 0; p && at < len; at += CHUNK) {
		ssize_t n = eng_read_some(&t->t, addr + at, p, MIN(len - at, (uint64_t)CHUNK));

		for (ssize_t i = 0; i < n;) {
			ssize_t j = i;

			while (j < n && !all_zero(p + j, (size_t)MIN((ssize_t)PAGE, n - j)))
				j += (ssize_t)PAGE;
			j = MIN(j, n);
			if (j > i)
				fx_bytes(&t->rec->fx, EFFECT_MEM, addr + at + (uint64_t)i, p + i, (size_t)(j - i));
			i = j + (ssize_t)PAGE;
		}
		if (n <= 0)
			break; /* beyond the end of the file */
	}
	free(p);
}

/* The content of a new mapping: now, or when it is large after the call's event, in pieces: an event is held in memory as a whole. */
static void mapping_content(struct rec_task *t, const struct mapping *m)
{
	uint64_t len = m->end - m->start;

	if (len <= LATE_MIN) {
		nonzero_content(t, m->start, len);
		return;
	}
	t->late_addr = m->start;
	t->late_len = len;
}

int rec_late_content(struct rec_task *t)
{
	int r = 0;

	while (t->late_len && r >= 0) {
		uint64_t n = MIN(t->late_len, LATE_MIN);
		struct event ev;

		nonzero_content(t, t->late_addr, n);
		t->late_addr += n;
		t->late_len -= n;
		if (!t->rec->fx.n)
			continue;
		rec_event_init(t, &ev, EVENT_NOTE);
		ev.text = "content of a large mapping";
		r = rec_log(t->rec, &ev);
	}
	return r;
}

/* The file behind the mapping at addr, as /proc shows it: works for deleted and renamed files and memfds. -1 when it cannot be opened. */
static int open_mapped(struct rec_task *t, uint64_t start, uint64_t end)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", t->t.tid, start, end);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int open_guest_fd(struct rec_task *t, int fd)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Stores the file and gives blob and offset; false: take the bytes from guest memory. */
static bool file_blob(struct rec_task *t, int fd, const struct stat *st, struct effect *e)
{
	if (fd < 0 || !S_ISREG(st->st_mode) || (uint64_t)st->st_size > WHOLE_FILE_MAX)
		return false;
	if (store_blob_add_file(t->rec->store, fd, st, &e->blob) < 0)
		return false;
	return store_writer_use_blob(t->rec->writer, &e->blob) >= 0;
}

static const char *keep_name(struct fx *fx, const char *name)
{
	size_t n = strlen(name) + 1;
	char *copy = fx_alloc(fx, n);

	return copy ? memcpy(copy, name, n) : "";
}

static struct effect *map_effect(struct rec_task *t, const struct mapping *m, uint32_t flags, const char *name)
{
	const char *kept = name[0] ? keep_name(&t->rec->fx, name) : "";
	struct effect *e = fx_add(&t->rec->fx, EFFECT_MAP);

	e->addr = m->start;
	e->len = m->end - m->start;
	e->prot = m->prot;
	e->flags = flags;
	e->offset = m->offset;
	e->name = kept;
	return e;
}

/* --- exec images --- */

static uint32_t image_flags(const struct maps_line *line)
{
	if (line->map.flags & ASPACE_VDSO)
		return MAP_F_VDSO;
	if (line->map.flags & ASPACE_GROWSDOWN)
		return MAP_F_STACK | MAP_F_GROWSDOWN;
	return strcmp(line->path, "[heap]") ? 0 : MAP_F_HEAP;
}

/* The first bytes of a file mapped by exec are known from the file; a writable segment's last page may have been cleared behind the data. */
static void image_tail(struct rec_task *t, const struct mapping *m)
{
	if (m->prot & PROT_WRITE)
		fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, m->end - PAGE, PAGE);
}

int rec_map_image(struct rec_task *t, const struct maps_line *line)
{
	const struct mapping *m = &line->map;
	struct effect *e = map_effect(t, m, image_flags(line), line->path);
	size_t at = (size_t)(e - t->rec->fx.e);
	struct stat st;
	int fd;

	if ((m->flags & (ASPACE_ANON | ASPACE_VDSO)) || t->rec->fx.error)
		return t->rec->fx.error;
	fd = open_mapped(t, m->start, m->end);
	if (fd < 0)
		fd = open(line->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == m->ino && file_blob(t, fd, &st, e)) {
		rec_note_mapped(t->rec, &st, line->path);
		e->source = MAP_SOURCE_BLOB;
		image_tail(t, m);
	} else {
		t->rec->fx.e[at].offset = 0;
		nonzero_content(t, m->start, m->end - m->start);
	}
	if (fd >= 0)
		close(fd);
	return t->rec->fx.error;
}

/* --- mmap --- */

static void map_private(struct rec_task *t, struct mapping *m, int guest_fd)
{
	struct effect *e = map_effect(t, m, 0, "");
	int fd = open_guest_fd(t, guest_fd);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && file_blob(t, fd, &st, e)) {
		e->source = MAP_SOURCE_BLOB;
	} else {
		e->offset = 0;
		mapping_content(t, m);
	}
	if (fd >= 0)
		close(fd);
}

static int map_shared(struct rec_task *t, struct mapping *m, uint64_t size)
{
	struct rec_object *o = object_of(t->rec, m->dev, m->ino);
	struct effect *e;
	bool known;

	if (!o)
		return -ENOMEM;
	known = o->known;
	o->known = true;
	m->object = o->number;
	object_size(t->rec, o, size);
	e = map_effect(t, m, 0, "");
	e->source = MAP_SOURCE_SHARED;
	e->object = o->number;
	if (known && m->ino) { /* it was mapped before and may hold what is no longer there (also: another file with the same number) */
		e = fx_add(&t->rec->fx, EFFECT_ZERO);
		e->addr = m->start;
		e->len = m->end - m->start;
	}
	if (m->ino)
		mapping_content(t, m);
	return 0;
}

static bool object_in_use(struct rec *rec, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < rec->n_objects; i++)
		if (rec->objects[i].dev == dev && rec->objects[i].ino == ino && ino)
			return true;
	return false;
}

/* A private mapping of a file that is a shared object too shows what others write. First mapped shared, to bring the object up to date, then
 * privately on top. */
static int map_private_object(struct rec_task *t, struct mapping *m, uint64_t size)
{
	uint64_t object;
	struct effect *e;
	int r = map_shared(t, m, size);

	if (r < 0)
		return r;
	if (t->late_len) { /* it belongs to the object, not to the view */
		nonzero_content(t, m->start, m->end - m->start);
		t->late_len = 0;
	}
	object = m->object;
	m->object = 0;
	m->flags |= ASPACE_VIEW;
	e = map_effect(t, m, MAP_F_PRIVATE, "");
	e->source = MAP_SOURCE_SHARED;
	e->object = object;
	return 0;
}

/* The path of the file as the guest's kernel shows it; "" when there is none. */
static void file_path(struct rec_task *t, int guest_fd, char *ret, size_t cap)
{
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, guest_fd);
	n = readlink(path, ret, cap - 1);
	ret[MAX(n, (ssize_t)0)] = '\0';
}

static void name_effects(struct rec_task *t, const char *name)
{
	const char *kept = keep_name(&t->rec->fx, name);

	for (uint32_t i = 0; i < t->rec->fx.n; i++)
		if (t->rec->fx.e[i].kind == EFFECT_MAP)
			t->rec->fx.e[i].name = kept;
}

static int make_views(struct rec_task *t, const struct stat *st, const char *path);

static int map_file(struct rec_task *t, struct mapping *m, int guest_fd, bool shared)
{
	char path[48], name[4096];
	struct stat st = { 0 };
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, guest_fd);
	if (stat(path, &st) < 0)
		return -errno;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 5)) { /* /dev/zero */
		m->ino = 0;
		m->flags |= ASPACE_ANON;
	}
	if (shared && m->ino && !object_in_use(t->rec, m->dev, m->ino))
		r = make_views(t, &st, path);
	if (r < 0)
		return r;
	if (shared)
		r = map_shared(t, m, m->ino ? (uint64_t)st.st_size : m->end - m->start);
	else if (object_in_use(t->rec, m->dev, m->ino))
		r = map_private_object(t, m, (uint64_t)st.st_size);
	else
		map_private(t, m, guest_fd);
	file_path(t, guest_fd, name, sizeof(name));
	name_effects(t, name);
	if (m->ino)
		rec_note_mapped(t->rec, &st, name);
	if (shared) /* its memory may be written */
		rec_mapped_written(t->rec, m->dev, m->ino);
	return r;
}

/* Length in whole pages, which may be huge ones. */
static uint64_t mapped_length(uint64_t len, uint32_t flags)
{
	unsigned shift = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	if (!(flags & MAP_HUGETLB) || !(flags & MAP_ANONYMOUS))
		return ALIGN_UP(len, PAGE);
	return ALIGN_UP(len, 1ull << (shift ? shift : 21)); /* 2 MiB unless the machine was set up otherwise */
}

int rec_mapped(struct rec_task *t, uint64_t addr)
{
	const uint64_t *a = t->outs.call.args;
	uint32_t flags = (uint32_t)a[3];
	bool shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
	struct mapping m = { .start = addr, .end = addr + mapped_length(a[1], flags), .prot = (uint32_t)a[2] & 7 };
	struct effect *e;
	int r = 0;

	if (shared)
		m.flags |= ASPACE_SHARED;
	if (flags & MAP_GROWSDOWN)
		m.flags |= ASPACE_GROWSDOWN;
	if (flags & MAP_ANONYMOUS)
		m.flags |= ASPACE_ANON;
	else
		m.offset = a[5];
	if (!(flags & MAP_ANONYMOUS)) {
		r = map_file(t, &m, (int)a[4], shared);
	} else if (shared) {
		r = map_shared(t, &m, m.end - m.start);
	} else {
		e = map_effect(t, &m, 0, "");
		e->flags = (flags & MAP_GROWSDOWN ? MAP_F_GROWSDOWN : 0) | (flags & MAP_NORESERVE ? MAP_F_NORESERVE : 0);
	}
	return r < 0 ? r : aspace_map(&t->t.mm->as, &m);
}

struct shm_find {
	uint64_t addr;
	struct mapping map;
};

static int shm_line(void *ctx, const struct maps_line *line)
{
	struct shm_find *f = ctx;

	if (line->map.start != f->addr)
		return 0;
	f->map = line->map;
	return 1;
}

int rec_shm_attached(struct rec_task *t, uint64_t addr)
{
	struct shm_find f = { .addr = addr };
	int r = maps_read(t->t.tid, shm_line, &f);

	if (r <= 0)
		return r < 0 ? r : ERR_GUEST;
	r = map_shared(t, &f.map, f.map.end - f.map.start);
	return r < 0 ? r : aspace_map(&t->t.mm->as, &f.map);
}

/* --- writes to mapped files --- */

/* The part of the mapping that shows [off, off+len) of the file, whole pages. */
static void changed_in(struct rec_task *owner, struct rec_task *writer, const struct mapping *m, uint64_t off, uint64_t len)
{
	uint64_t lo = MAX(off, m->offset), hi = MIN(off + len, m->offset + (m->end - m->start));
	uint32_t from = writer->rec->fx.n;

	if (lo >= hi)
		return;
	fx_memory(&writer->rec->fx, &owner->t, EFFECT_MEM, m->start + (lo - m->offset), hi - lo);
	for (uint32_t i = from; i < writer->rec->fx.n; i++)
		writer->rec->fx.e[i].thread = owner->num;
}

/* The object's size follows the file's. */
static void follow_size(struct rec_task *t, const struct stat *st)
{
	if (object_in_use(t->rec, st->st_dev, st->st_ino))
		object_size(t->rec, object_of(t->rec, st->st_dev, st->st_ino), (uint64_t)st->st_size);
}

static bool first_of_its_memory(const struct rec *rec, const struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o != t; o = o->next)
		if (o->t.mm == t->t.mm && o->state != REC_DYING)
			return false;
	return true;
}

typedef int (*mapping_fn)(struct rec_task *t, struct rec_task *owner, struct mapping *m, void *ctx);

/* Calls fn for each mapping of the file, shared or private, in every address space once. */
static int each_mapping(struct rec_task *t, uint64_t dev, uint64_t ino, bool shared, mapping_fn fn, void *ctx)
{
	for (struct rec_task *o = t->rec->tasks; o; o = o->next) {
		struct aspace *as = o->t.mm ? &o->t.mm->as : NULL;

		if (!as || o->state == REC_DYING || !first_of_its_memory(t->rec, o))
			continue;
		for (size_t i = 0; i < as->n; i++) {
			struct mapping *m = &as->m[i];
			int r = m->ino == ino && m->dev == dev && !!(m->flags & ASPACE_SHARED) == shared ? fn(t, o, m, ctx) : 0;

			if (r < 0)
				return r;
		}
	}
	return t->rec->fx.error;
}

struct change {
	const char *path; /* opens the file */
	uint64_t off, len, size;
};

static int shared_changed(struct rec_task *t, struct rec_task *owner, struct mapping *m, void *ctx)
{
	const struct change *c = ctx;

	changed_in(owner, t, m, c->off, c->len);
	return 0;
}

static int view_changed(struct rec_task *t, struct rec_task *owner, struct mapping *m, void *ctx)
{
	const struct change *c = ctx;
	struct rec_object *o = object_of(t->rec, m->dev, m->ino);

	if (!o)
		return -ENOMEM;
	o->known = true;
	object_size(t->rec, o, c->size);
	rec_view_changed(t, owner, m, o->number, c->path, c->off, c->len);
	return 0;
}

/* The file is about to be mapped shared for the first time: whoever has it privately will see what is written there. */
static int make_views(struct rec_task *t, const struct stat *st, const char *path)
{
	struct change c = { .path = path, .len = UINT64_MAX / 2, .size = (uint64_t)st->st_size };

	if (!rec_maybe_mapped(t->rec, st->st_dev, st->st_ino))
		return 0;
	return each_mapping(t, st->st_dev, st->st_ino, false, view_changed, &c);
}

int rec_inode_changed(struct rec_task *t, const struct stat *st, const char *path, uint64_t off, uint64_t len)
{
	struct change c = { .path = path, .off = off, .len = len, .size = (uint64_t)st->st_size };
	int r;

	if (!rec_maybe_mapped(t->rec, st->st_dev, st->st_ino))
		return 0;
	rec_mapped_written(t->rec, st->st_dev, st->st_ino);
	follow_size(t, st);
	r = each_mapping(t, st->st_dev, st->st_ino, true, shared_changed, &c);
	return r < 0 ? r : each_mapping(t, st->st_dev, st->st_ino, false, view_changed, &c);
}

int rec_file_changed(struct rec_task *t, int fd, uint64_t off, uint64_t len)
{
	const struct fd_info *fi = rec_fd(t, fd);
	char path[48];
	struct stat st;

	if (fi->cls != FD_REGULAR || !rec_maybe_mapped(t->rec, fi->dev, fi->ino))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->t.tid, fd);
	return stat(path, &st) < 0 ? 0 : rec_inode_changed(t, &st, path, off, len);
}

void rec_shared_content(struct rec_task *t)
{
	const struct aspace *as = &t->t.mm->as;

	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];
		struct effect *e;

		if (!m->object || !(m->prot & PROT_WRITE))
			continue;
		e = fx_add(&t->rec->fx, EFFECT_ZERO);
		e->addr = m->start;
		e->len = m->end - m->start;
		nonzero_content(t, m->start, m->end - m->start);
	}
}

static bool written_by_anybody(const struct rec *rec, uint64_t object)
{
	for (const struct rec_task *t = rec->tasks; t; t = t->next)
		for (size_t i = 0; t->t.mm && i < t->t.mm->as.n; i++)
			if (t->t.mm->as.m[i].object == object && (t->t.mm->as.m[i].prot & PROT_WRITE))
				return true;
	return false;
}

bool rec_memory_private(const struct rec_task *t)
{
	const struct aspace *as = &t->t.mm->as;

	if (t->t.mm->refs > 1)
		return false;
	for (size_t i = 0; i < as->n; i++)
		if ((as->m[i].flags & ASPACE_SHARED) && written_by_anybody(t->rec, as->m[i].object))
			return false;
	return true;
}

/* --- questions about ranges --- */

static bool range_has(struct rec_task *t, uint64_t addr, uint64_t len, uint32_t prot, uint32_t flags, bool all)
{
	uint64_t end = addr + len;

	for (uint64_t at = addr; at < end;) {
		const struct mapping *m = aspace_find(&t->t.mm->as, at);

		if (!m) { /* below a stack that will grow? */
			m = aspace_next(&t->t.mm->as, at);
			if (!m || !(m->flags & ASPACE_GROWSDOWN) || m->start - at > STACK_REACH)
				return false;
		}
		if (all && (m->prot & prot) != prot)
			return false;
		if (!all && (m->flags & flags))
			return true;
		at = m->end;
	}
	return all;
}

bool rec_range_shared(struct rec_task *t, uint64_t addr, uint64_t len)
{
	return range_has(t, addr, len, 0, ASPACE_SHARED, false);
}

bool rec_range_writable(struct rec_task *t, uint64_t addr, uint64_t len)
{
	return range_has(t, addr, len, PROT_WRITE, 0, true);
}

/* --- calls with unknown effects --- */

/* How much is copied around such a call at most. */
#define SNAPSHOT_MAX (1ull << 30)

/* The mappings may change during the call, when others run: so the ranges are kept with their bytes. */
struct rec_snapshot {
	uint8_t *bytes;
	size_t n;
	struct rec_range {
		uint64_t start, len;
	} range[];
};

void rec_snapshot_free(struct rec_task *t)
{
	if (t->snapshot)
		free(t->snapshot->bytes);
	free(t->snapshot);
	t->snapshot = NULL;
}

/* Chooses the ranges; the sum of their bytes. */
static uint64_t choose_ranges(struct rec_task *t, struct rec_snapshot *s)
{
	const struct aspace *as = &t->t.mm->as;
	uint64_t total = 0;

	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];
		uint64_t len = m->end - m->start;

		if (!(m->prot & PROT_WRITE) || (m->flags & ASPACE_HERMIT))
			continue;
		if (total + len > SNAPSHOT_MAX) {
			rec_warn(t->rec, "effects of an unknown %s on more than %llu MiB of memory were not looked for", t->outs.res.row->name,
				 SNAPSHOT_MAX >> 20);
			continue;
		}
		s->range[s->n++] = (struct rec_range){ m->start, len };
		total += len;
	}
	return total;
}

static void copy_range(struct rec_task *t, const struct rec_range *range, uint8_t *copy)
{
	for (uint64_t at = 0; at < range->len;) {
		ssize_t n = eng_read_some(&t->t, range->start + at, copy + at, range->len - at);

		at += n > 0 ? (uint64_t)n : PAGE;
	}
}

static void compare_range(struct rec_task *t, const struct rec_range *range, const uint8_t *copy)
{
	uint8_t page[PAGE];

	for (uint64_t at = 0; at < range->len; at += PAGE)
		if (eng_read_some(&t->t, range->start + at, page, PAGE) == (ssize_t)PAGE && memcmp(page, copy + at, PAGE))
			fx_bytes(&t->rec->fx, EFFECT_MEM, range->start + at, page, PAGE);
}

int rec_snapshot_take(struct rec_task *t)
{
	struct rec_snapshot *s = calloc(1, sizeof(*s) + t->t.mm->as.n * sizeof(s->range[0]));
	uint64_t at = 0;

	rec_snapshot_free(t);
	if (!s)
		return -ENOMEM;
	t->snapshot = s;
	s->bytes = calloc(1, MAX(choose_ranges(t, s), (uint64_t)1));
	if (!s->bytes)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; at += s->range[i++].len)
		copy_range(t, &s->range[i], s->bytes + at);
	return 0;
}

void rec_snapshot_compare(struct rec_task *t)
{
	const struct rec_snapshot *s = t->snapshot;
	uint64_t at = 0;

	for (size_t i = 0; i < s->n; at += s->range[i++].len)
		compare_range(t, &s->range[i], s->bytes + at);
	rec_snapshot_free(t);
}

/* --- checksums --- */

int rec_checksum(struct rec_task *t)
{
	struct event ev;
	uint64_t hash;
	int r = eng_memory_hash(&t->t, &hash);

	if (r < 0)
		return r;
	rec_event_init(t, &ev, EVENT_CHECKSUM);
	ev.args[0] = hash;
	return rec_log(t->rec, &ev);
}
