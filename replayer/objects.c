/* Shared objects: memory that several mappings of guests show. Each is a memfd of ours. */
#define LOG_AREA "replayer.objects"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OBJECTS_MAX (1u << 20)

static int reserve(struct rep_session *s, uint64_t n)
{
	uint64_t cap = MAX(n + 1, s->cap_objects * 2);
	struct rep_object **v;

	if (n < s->cap_objects)
		return 0;
	v = reallocarray(s->objects, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memset(v + s->cap_objects, 0, (cap - s->cap_objects) * sizeof(*v));
	s->objects = v;
	s->cap_objects = cap;
	return 0;
}

static int new_object(struct rep_object **ret)
{
	struct rep_object *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->refs = 1;
	o->fd = memfd_create("hermit-object", MFD_CLOEXEC);
	if (o->fd < 0) {
		free(o);
		return -errno;
	}
	*ret = o;
	return 0;
}

int rep_object(struct rep_session *s, uint64_t n, struct rep_object **ret)
{
	int r;

	if (!n || n > OBJECTS_MAX)
		return ERR_CORRUPT;
	r = reserve(s, n);
	if (r >= 0 && !s->objects[n])
		r = new_object(&s->objects[n]);
	if (r < 0)
		return r;
	*ret = s->objects[n];
	return 0;
}

int rep_object_fd(struct rep_session *s, uint64_t n)
{
	struct rep_object *o;
	int r = rep_object(s, n, &o);

	return r < 0 ? r : o->fd;
}

void rep_object_unref(struct rep_object *o)
{
	if (!o || --o->refs > 0)
		return;
	close(o->fd);
	free(o);
}

void rep_objects_free(struct rep_session *s)
{
	for (uint64_t i = 0; i < s->cap_objects; i++)
		rep_object_unref(s->objects[i]);
	free(s->objects);
}

int rep_object_resize(struct rep_session *s, uint64_t n, uint64_t size)
{
	struct rep_object *o;
	int r = rep_object(s, n, &o);

	if (r >= 0)
		r = rep_snapshots_resize(s, o, size);
	if (r < 0)
		return r;
	o->size = size;
	o->writes = ++s->object_writes;
	return ftruncate(o->fd, (off_t)size) < 0 ? -errno : 0;
}

/* Bytes in the last page of an object but behind its end: only a mapping reaches them. */
static int write_tail(int fd, uint64_t off, const uint8_t *p, size_t n)
{
	uint64_t page = ALIGN_DOWN(off, 4096ull);
	uint8_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);

	if (m == MAP_FAILED)
		return -errno;
	memcpy(m + (off - page), p, MIN((uint64_t)n, page + 4096 - off));
	munmap(m, 4096);
	return 0;
}

int rep_object_write(struct rep_session *s, uint64_t n, uint64_t off, const uint8_t *p, size_t len)
{
	struct rep_object *o;
	int r = rep_object(s, n, &o);
	size_t inside;
	ssize_t w;

	if (r < 0)
		return r;
	o->writes = ++s->object_writes;
	inside = off < o->size ? MIN((uint64_t)len, o->size - off) : 0;
	w = inside ? pwrite(o->fd, p, inside, (off_t)off) : 0;
	if (w != (ssize_t)inside)
		return -EIO;
	if (inside == len || off + inside >= ALIGN_UP(o->size, 4096ull))
		return 0; /* nothing can be there */
	return write_tail(o->fd, off + inside, p + inside, len - inside);
}
