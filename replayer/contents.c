/* Saves what shared objects hold, and puts it back.
 *
 * Guests write to mappings of them unseen, so all of a mapped object is read at each save; pieces that are as in the save
 * before are shared with that one. Pieces of zeros are not kept: they are holes when they are put back. */
#define LOG_AREA "replayer.contents"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"

#define PIECE 16384u

struct piece {
	unsigned refs;
	uint64_t at;
	uint8_t bytes[PIECE];
};

/* One object's content. */
struct content {
	unsigned refs;
	struct rep_object *object;
	uint64_t size, writes;
	struct piece **pieces; /* ascending */
	size_t n, cap;
	uint8_t tail[4096];    /* behind the end, in the last page */
	size_t tail_len;
};

struct rep_contents {
	struct content **of; /* by number, NULL = none */
	uint64_t n;
};

/* --- memory --- */

static void piece_unref(struct piece *p)
{
	if (--p->refs == 0)
		free(p);
}

static void content_unref(struct content *c)
{
	if (!c || --c->refs > 0)
		return;
	for (size_t i = 0; i < c->n; i++)
		piece_unref(c->pieces[i]);
	free(c->pieces);
	rep_object_unref(c->object);
	free(c);
}

void rep_contents_free(struct rep_contents *c)
{
	if (!c)
		return;
	for (uint64_t i = 0; i < c->n; i++)
		content_unref(c->of[i]);
	free(c->of);
	free(c);
}

uint64_t rep_contents_bytes(const struct rep_contents *c)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		const struct content *o = c->of[i];

		if (!o || o->refs > 1)
			continue;
		n += sizeof(*o) + o->cap * sizeof(struct piece *);
		for (size_t k = 0; k < o->n; k++)
			n += o->pieces[k]->refs == 1 ? sizeof(struct piece) : 0;
	}
	return n;
}

uint64_t rep_contents_share(const struct rep_contents *c)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		const struct content *o = c->of[i];

		for (size_t k = 0; o && k < o->n; k++)
			n += sizeof(struct piece) / ((uint64_t)o->pieces[k]->refs * o->refs);
	}
	return n;
}

/* --- saving --- */

static bool all_zero(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* Takes the reference. */
static int add_piece(struct content *c, struct piece *p)
{
	if (c->n == c->cap) {
		size_t cap = c->cap * 2 + 16;
		struct piece **v = reallocarray(c->pieces, cap, sizeof(struct piece *));

		if (!v) {
			piece_unref(p);
			return -ENOMEM;
		}
		c->pieces = v;
		c->cap = cap;
	}
	c->pieces[c->n++] = p;
	return 0;
}

/* *seen: how many pieces of `before` lie in front of what was saved last. */
static int save_piece(struct content *c, const struct content *before, size_t *seen, uint64_t at)
{
	uint8_t bytes[PIECE] = { 0 };
	ssize_t n = os_pread_full(c->object->fd, bytes, MIN((uint64_t)PIECE, c->size - at), (off_t)at);
	struct piece *p;

	if (n < 0)
		return (int)n;
	if (all_zero(bytes, sizeof(bytes)))
		return 0;
	while (before && *seen < before->n && before->pieces[*seen]->at < at)
		++*seen;
	if (before && *seen < before->n && before->pieces[*seen]->at == at && !memcmp(before->pieces[*seen]->bytes, bytes, PIECE)) {
		before->pieces[*seen]->refs++;
		return add_piece(c, before->pieces[*seen]);
	}
	p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->refs = 1;
	p->at = at;
	memcpy(p->bytes, bytes, PIECE);
	return add_piece(c, p);
}

static int save_pieces(struct content *c, const struct content *before)
{
	uint64_t at = 0;
	size_t seen = 0;
	int r = 0;

	while (at < c->size && r >= 0) {
		off_t data = lseek(c->object->fd, (off_t)at, SEEK_DATA);

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		at = MAX(at, ALIGN_DOWN((uint64_t)data, (uint64_t)PIECE));
		if (at < c->size)
			r = save_piece(c, before, &seen, at);
		at += PIECE;
	}
	return r;
}

static int save_tail(struct content *c)
{
	uint64_t page = ALIGN_DOWN(c->size, 4096ull);
	off_t data = lseek(c->object->fd, (off_t)page, SEEK_DATA);
	uint8_t *m;

	if (c->size == page || data < 0 || (uint64_t)data >= c->size)
		return 0;
	m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, c->object->fd, (off_t)page);
	if (m == MAP_FAILED)
		return -errno;
	c->tail_len = 4096 - (c->size - page);
	memcpy(c->tail, m + (c->size - page), c->tail_len);
	munmap(m, 4096);
	if (all_zero(c->tail, c->tail_len))
		c->tail_len = 0;
	return 0;
}

static int save(struct rep_object *o, struct content *before, struct content **ret)
{
	struct content *c;
	int r;

	if (before && before->object == o && before->writes == o->writes && !o->mapped) {
		before->refs++;
		*ret = before;
		return 0;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	o->refs++;
	*c = (struct content){ .refs = 1, .object = o, .size = o->size, .writes = o->writes };
	r = save_pieces(c, before);
	if (r >= 0)
		r = save_tail(c);
	if (r < 0) {
		content_unref(c);
		return r;
	}
	*ret = c;
	return 0;
}

int rep_contents_save(struct rep_session *s, const struct rep_contents *before, struct rep_contents **ret)
{
	struct rep_contents *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->n = s->cap_objects;
	c->of = calloc(MAX(c->n, (uint64_t)1), sizeof(struct content *));
	if (!c->of) {
		free(c);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < c->n && r >= 0; i++)
		if (s->objects[i])
			r = save(s->objects[i], before && i < before->n ? before->of[i] : NULL, &c->of[i]);
	if (r < 0) {
		rep_contents_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* --- putting back --- */

static int punch(const struct content *c, uint64_t from, uint64_t to)
{
	if (from >= to)
		return 0;
	return fallocate(c->object->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) < 0 ? -errno : 0;
}

static int load_pieces(const struct content *c)
{
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; i < c->n && r >= 0; i++) {
		const struct piece *p = c->pieces[i];

		r = punch(c, at, p->at);
		if (r >= 0)
			r = os_pwrite_full(c->object->fd, p->bytes, MIN((uint64_t)PIECE, c->size - p->at), (off_t)p->at);
		at = p->at + PIECE;
	}
	return r < 0 ? r : punch(c, at, ALIGN_UP(c->size, 4096ull));
}

/* Without a saved tail there are zeros: the page may not have been there. */
static int load_tail(const struct content *c)
{
	uint64_t page = ALIGN_DOWN(c->size, 4096ull), off = c->size - page;
	uint8_t *m;

	if (!off || (!c->tail_len && (!c->n || c->pieces[c->n - 1]->at + PIECE < c->size)))
		return 0;
	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, c->object->fd, (off_t)page);
	if (m == MAP_FAILED)
		return -errno;
	memset(m + off, 0, 4096 - off);
	memcpy(m + off, c->tail, c->tail_len);
	munmap(m, 4096);
	return 0;
}

static int load(struct rep_session *s, const struct content *c)
{
	struct rep_object *o = c->object;
	int r;

	if (!o->mapped && o->writes == c->writes)
		return 0;
	r = rep_snapshots_resize(s, o, c->size);
	if (r < 0)
		return r;
	o->size = c->size;
	o->writes = UINT64_MAX; /* not known while it is half done */
	r = ftruncate(o->fd, (off_t)c->size) < 0 ? -errno : load_pieces(c);
	if (r >= 0)
		r = load_tail(c);
	if (r >= 0)
		o->writes = c->writes;
	return r;
}

int rep_contents_load(struct rep_session *s, const struct rep_contents *c)
{
	int r = 0;

	/* Objects are never taken out of the table: it is as long as it was then, or longer. */
	for (uint64_t i = 0; i < s->cap_objects; i++) {
		struct rep_object *o = i < c->n && c->of[i] ? c->of[i]->object : NULL;

		if (o)
			o->refs++;
		rep_object_unref(s->objects[i]);
		s->objects[i] = o;
	}
	for (uint64_t i = 0; i < c->n && r >= 0; i++)
		if (c->of[i])
			r = load(s, c->of[i]);
	return r;
}
