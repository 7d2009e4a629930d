/* See source_priv.h: the plain kinds. The .xz kind is in xz.c. */
#include "store/source_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

ssize_t source_pread(struct source *s, void *p, size_t n, uint64_t off)
{
	return s->ops->pread(s, p, n, off);
}

int source_size(struct source *s, uint64_t *ret)
{
	return s->ops->size(s, ret);
}

void source_free(struct source *s)
{
	if (s)
		s->ops->free(s);
}

void source_freep(struct source **s)
{
	source_free(*s);
}

struct file_source {
	struct source base;
	int fd;
};

static ssize_t file_pread(struct source *s, void *p, size_t n, uint64_t off)
{
	struct file_source *f = CONTAINER_OF(s, struct file_source, base);

	if (off > INT64_MAX)
		return 0;
	return os_pread_full(f->fd, p, n, (off_t)off);
}

static int file_size(struct source *s, uint64_t *ret)
{
	struct file_source *f = CONTAINER_OF(s, struct file_source, base);
	struct stat st;
	int r = os_fstat(f->fd, &st);

	if (r < 0)
		return r;
	*ret = (uint64_t)st.st_size;
	return 0;
}

static void file_free(struct source *s)
{
	struct file_source *f = CONTAINER_OF(s, struct file_source, base);

	os_close(f->fd);
	free(f);
}

int source_file(int fd, struct source **ret)
{
	static const struct source_ops ops = { .pread = file_pread, .size = file_size, .free = file_free };
	struct file_source *f = os_malloc(sizeof(*f));

	if (!f) {
		os_close(fd);
		return -ENOMEM;
	}
	*f = (struct file_source){ .base.ops = &ops, .fd = fd };
	*ret = &f->base;
	return 0;
}

struct memory_source {
	struct source base;
	const uint8_t *p;
	size_t n;
};

static ssize_t memory_pread(struct source *s, void *p, size_t n, uint64_t off)
{
	struct memory_source *m = CONTAINER_OF(s, struct memory_source, base);

	if (off >= m->n)
		return 0;
	n = MIN(n, m->n - (size_t)off);
	memcpy(p, m->p + off, n);
	return (ssize_t)n;
}

static int memory_size(struct source *s, uint64_t *ret)
{
	*ret = CONTAINER_OF(s, struct memory_source, base)->n;
	return 0;
}

static void memory_free(struct source *s)
{
	free(CONTAINER_OF(s, struct memory_source, base));
}

int source_memory(const void *p, size_t n, struct source **ret)
{
	static const struct source_ops ops = { .pread = memory_pread, .size = memory_size, .free = memory_free };
	struct memory_source *m = os_malloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct memory_source){ .base.ops = &ops, .p = p, .n = n };
	*ret = &m->base;
	return 0;
}
