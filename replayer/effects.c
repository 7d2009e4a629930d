/* Applies the effects of events: the one routine that changes replayed guests, whatever call or signal caused it. */
#define LOG_AREA "replayer.effects"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

/* --- calls of ours --- */

int rep_remote(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret)
{
	int r;

	if (t->place != REP_ENTRY)
		return eng_remote(&t->t, nr, args, ret);
	r = eng_call_instead(&t->t, nr, args, ret);
	t->place = REP_CALLED;
	return r;
}

int rep_remote_quiet(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret)
{
	struct user_regs_struct *r, saved;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	saved = *r;
	saved.orig_rax = (unsigned long)-1;
	rc = rep_remote(t, nr, args, ret);
	if (rc >= 0)
		eng_regs_set(&t->t, &saved);
	return rc;
}

/* --- blobs --- */

/* Some stores lie on file systems mounted noexec: then the content goes through a memfd. */
static int copy_to_memfd(int fd)
{
	int m = memfd_create("hermit-blob", MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (m < 0 || fstat(fd, &st) < 0)
		return m < 0 ? -errno : -EIO;
	while (at < st.st_size)
		if (sendfile(m, fd, &at, (size_t)(st.st_size - at)) <= 0) {
			close(m);
			return -EIO;
		}
	return m;
}

static struct rep_blob_fd *blob_slot(struct rep_session *s, const struct blob_id *id)
{
	struct rep_blob_fd *oldest = &s->blobs[0];

	for (size_t i = 0; i < ARRAY_SIZE(s->blobs); i++) {
		if (s->blobs[i].used && blob_id_equal(&s->blobs[i].id, id))
			return &s->blobs[i];
		if (s->blobs[i].used < oldest->used)
			oldest = &s->blobs[i];
	}
	return oldest;
}

static int blob_fd(struct rep_session *s, const struct blob_id *id, struct rep_blob_fd **ret)
{
	struct rep_blob_fd *b = blob_slot(s, id);
	int r;

	if (!b->used || !blob_id_equal(&b->id, id)) {
		if (b->used)
			close(b->fd);
		b->used = 0;
		r = store_blob_open(store_reader_store(s->reader), id, &b->fd);
		if (r < 0)
			return r;
		b->id = *id;
	}
	b->used = ++s->blob_clock;
	*ret = b;
	return 0;
}

void rep_blobs_free(struct rep_session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->blobs); i++)
		if (s->blobs[i].used)
			close(s->blobs[i].fd);
}

/* --- mappings --- */

static int do_mmap(struct rep_task *t, const struct effect *e, uint32_t flags, int fd)
{
	const uint64_t args[6] = { e->addr, e->len, e->prot, flags | MAP_FIXED, (uint64_t)(int64_t)fd, fd < 0 ? 0 : e->offset };
	int64_t result;
	int r = rep_remote(t, SYS_mmap, args, &result);

	if (r < 0)
		return r;
	if (result < 0)
		return (int)result;
	return (uint64_t)result == e->addr ? 0 : ERR_GUEST;
}

static int map_blob(struct rep_session *s, struct rep_task *t, const struct effect *e)
{
	struct rep_blob_fd *b;
	int r = blob_fd(s, &e->blob, &b), m;

	if (r < 0)
		return r;
	r = do_mmap(t, e, MAP_PRIVATE, b->fd);
	if (r != -EPERM)
		return r;
	m = copy_to_memfd(b->fd);
	if (m < 0)
		return m;
	close(b->fd);
	b->fd = m;
	return do_mmap(t, e, MAP_PRIVATE, b->fd);
}

static int map_object(struct rep_session *s, struct rep_task *t, const struct effect *e, struct mapping *m)
{
	struct rep_object *o;
	int r = rep_object(s, e->object, &o);

	if (r < 0)
		return r;
	if (e->flags & MAP_F_PRIVATE) {
		m->object = 0; /* what is written to it stays here */
		o->viewed = true;
		return do_mmap(t, e, MAP_PRIVATE, o->fd);
	}
	m->flags |= ASPACE_SHARED;
	o->mapped = true;
	return do_mmap(t, e, MAP_SHARED, o->fd);
}

static int map(struct rep_session *s, struct rep_task *t, const struct effect *e)
{
	struct mapping m = { .start = e->addr, .end = e->addr + e->len, .prot = e->prot, .offset = e->offset, .object = e->object };
	uint32_t flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	int r;

	if (e->flags & MAP_F_VDSO)
		return 0;
	if ((e->addr | e->len) & 4095 || !e->len || e->addr + e->len > 1ull << 47 || e->prot & ~(uint32_t)(PROT_READ | PROT_WRITE | PROT_EXEC))
		return ERR_CORRUPT;
	switch (e->source) {
	case MAP_SOURCE_BLOB:
		memcpy(&m.dev, e->blob.sha256, sizeof(m.dev));
		memcpy(&m.ino, e->blob.sha256 + sizeof(m.dev), sizeof(m.ino));
		r = map_blob(s, t, e);
		break;
	case MAP_SOURCE_SHARED:
		r = map_object(s, t, e, &m);
		break;
	default:
		m.flags |= ASPACE_ANON;
		if (e->flags & MAP_F_GROWSDOWN) {
			flags |= MAP_GROWSDOWN;
			m.flags |= ASPACE_GROWSDOWN;
		}
		r = do_mmap(t, e, flags, -1);
	}
	return r < 0 ? r : aspace_map(&t->t.mm->as, &m);
}

static int unmap(struct rep_task *t, const struct effect *e)
{
	const uint64_t args[6] = { e->addr, e->len };
	int64_t result;
	int r = rep_remote(t, SYS_munmap, args, &result);
	if (r >= 0)
		r = (int)result;
	return r < 0 ? r : aspace_unmap(&t->t.mm->as, e->addr, e->addr + e->len);
}

/* --- memory and registers --- */

/* Shared objects are written through their descriptor: a mapping of them may be read-only. */
static int write_piece(struct rep_session *s, struct rep_task *t, uint64_t addr, const uint8_t *p, size_t n, size_t *ret_done)
{
	const struct mapping *m = aspace_find(&t->t.mm->as, addr);
	const struct mapping *next = m ? NULL : aspace_next(&t->t.mm->as, addr);
	uint64_t end = m ? m->end : next ? next->start : UINT64_MAX;

	n = MIN((uint64_t)n, end - addr);
	*ret_done = n;
	if (m && m->object)
		return rep_object_write(s, m->object, m->offset + (addr - m->start), p, n);
	return eng_write(&t->t, addr, p, n);
}

static int write_memory(struct rep_session *s, struct rep_task *t, uint64_t addr, const uint8_t *p, size_t n)
{
	while (n) {
		size_t done;
		int r = write_piece(s, t, addr, p, n, &done);

		if (r < 0)
			return r;
		addr += done;
		p += done;
		n -= done;
	}
	return 0;
}

static int zero(struct rep_session *s, struct rep_task *t, const struct effect *e)
{
	static const uint8_t zeros[1 << 16];

	for (uint64_t at = 0; at < e->len; at += sizeof(zeros)) {
		int r = write_memory(s, t, e->addr + at, zeros, MIN(e->len - at, (uint64_t)sizeof(zeros)));

		if (r < 0)
			return r;
	}
	return 0;
}

static int memory(struct rep_session *s, struct rep_task *t, const struct effect *e, struct errinfo *ei)
{
	enum { CHUNK = 1 << 20 };
	CLEANUP(freep) uint8_t *p = NULL;

	if (e->data)
		return write_memory(s, t, e->addr, e->data, e->len);
	p = malloc(MIN(e->len, (uint64_t)CHUNK));
	if (!p)
		return -ENOMEM;
	for (uint64_t at = 0; at < e->len; at += CHUNK) {
		size_t n = MIN(e->len - at, (uint64_t)CHUNK);
		int r = store_reader_data(s->reader, e, at, p, n, ei);

		if (r >= 0)
			r = write_memory(s, t, e->addr + at, p, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static int registers(struct rep_session *s, struct rep_task *t, const struct effect *e, struct errinfo *ei)
{
	struct user_regs_struct r;
	int rc;

	if (e->len != sizeof(r))
		return ERR_CORRUPT;
	rc = store_reader_data(s->reader, e, 0, &r, sizeof(r), ei);
	if (rc < 0)
		return rc;
	r.orig_rax = (unsigned long)-1; /* nothing to skip or restart */
	r.cs = 0x33;
	r.ss = 0x2b;
	eng_regs_set(&t->t, &r);
	return 0;
}

/* The area of this CPU may be longer than the recorded one: components keep their places. */
static int xstate(struct rep_session *s, struct rep_task *t, const struct effect *e, struct errinfo *ei)
{
	uint8_t area[ENG_XSTATE_MAX], recorded[ENG_XSTATE_MAX];
	size_t n;
	int r;

	if (e->len > sizeof(recorded) || e->len < 576)
		return ERR_CORRUPT;
	r = store_reader_data(s->reader, e, 0, recorded, e->len, ei);
	if (r >= 0)
		r = eng_xstate(&t->t, area, sizeof(area), &n);
	if (r < 0)
		return r;
	if (n < e->len)
		return ERR_UNSUPPORTED_CPU;
	memset(area, 0, n);
	memcpy(area, recorded, e->len);
	r = eng_xstate_set(&t->t, area, n);
	return r == -EINVAL ? ERR_UNSUPPORTED_CPU : r;
}

static int apply_one(struct rep_session *s, struct rep_task *t, const struct effect *e, struct errinfo *ei)
{
	switch (e->kind) {
	case EFFECT_MEM:
		return memory(s, t, e, ei);
	case EFFECT_ZERO:
		return zero(s, t, e);
	case EFFECT_MAP:
		return map(s, t, e);
	case EFFECT_UNMAP:
		return unmap(t, e);
	case EFFECT_REGS:
		return registers(s, t, e, ei);
	case EFFECT_XSTATE:
		return xstate(s, t, e, ei);
	case EFFECT_RESIZE:
		return rep_object_resize(s, e->object, e->len);
	case EFFECT_INPUT:
	case EFFECT_HASH:
	case EFFECT_OUTPUT:
		return 0;
	default:
		return ERR_CORRUPT;
	}
}

static bool changes_memory(enum effect_kind kind)
{
	return kind == EFFECT_MEM || kind == EFFECT_ZERO || kind == EFFECT_MAP || kind == EFFECT_UNMAP;
}

/* On another thread than the event's: its registers stay, the outcome of its own call may be in them already. */
static int apply_elsewhere(struct rep_session *s, struct rep_task *to, const struct effect *e, struct errinfo *ei)
{
	struct user_regs_struct *r, saved;
	int rc;

	if (e->kind != EFFECT_MAP && e->kind != EFFECT_UNMAP)
		return apply_one(s, to, e, ei);
	rc = eng_regs(&to->t, &r);
	if (rc < 0)
		return rc;
	saved = *r;
	saved.orig_rax = (unsigned long)-1;
	rc = apply_one(s, to, e, ei);
	if (rc >= 0)
		eng_regs_set(&to->t, &saved);
	return rc;
}

int rep_apply(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];
		struct rep_task *to = e->thread ? rep_task(s, e->thread) : t;
		int r;

		if (!to)
			return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": effect on thread %u, which is not alive", ev->number, e->thread);
		if (changes_memory(e->kind) && rep_touches_gate(e->addr, e->len))
			return errinfo_set(ei, ERR_CORRUPT, "event %" PRIu64 ": the recorded program uses the page at %#llx, which replay needs",
					   ev->number, ENG_STUB_GATE);
		r = to == t ? apply_one(s, to, e, ei) : apply_elsewhere(s, to, e, ei);
		if (r < 0)
			return errinfo_set_r(ei, r, "event %" PRIu64 ": effect %u (%s at %#" PRIx64 ", %" PRIu64 " bytes) of thread %u", ev->number, i,
					     effect_kind_name(e->kind), e->addr, e->len, to->num);
	}
	return 0;
}

int rep_check_inputs(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei)
{
	uint8_t want[4096], got[4096];

	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind != EFFECT_INPUT || e->len > sizeof(want))
			continue;
		if (store_reader_data(s->reader, e, 0, want, e->len, ei) < 0 || eng_read(&t->t, e->addr, got, e->len) < 0 ||
		    memcmp(want, got, e->len))
			return rep_diverged(s, t, ev, ei, "the %" PRIu64 " bytes at %#" PRIx64 " that the call reads differ from the recorded ones",
					    e->len, e->addr);
	}
	return 0;
}
