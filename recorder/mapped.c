/* Which files guests have mapped: whether a write must be looked at (rec_maybe_mapped), and whether somebody else changed one meanwhile, which no
 * event can tell: that is found at the end and said in the manifest. */
#define LOG_AREA "recorder.mapped"
#include "recorder/rec_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

/* Files that are watched; programs map a few hundred. */
#define WATCHED_MAX 4096

struct rec_mapped {
	uint64_t dev, ino;
	int64_t size;
	struct timespec mtime;
	bool written_by_guest;
	char *path;
};

static unsigned filter_bit(uint64_t dev, uint64_t ino)
{
	return (unsigned)((dev * 31 + ino) * 0x9e3779b97f4a7c15ull >> 52); /* 12 bits */
}

bool rec_maybe_mapped(const struct rec *rec, uint64_t dev, uint64_t ino)
{
	unsigned bit = filter_bit(dev, ino);

	return rec->mapped_filter[bit / 64] >> bit % 64 & 1;
}

static struct rec_mapped *find(struct rec *rec, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < rec->n_mapped; i++)
		if (rec->mapped[i].ino == ino && rec->mapped[i].dev == dev)
			return &rec->mapped[i];
	return NULL;
}

void rec_note_mapped(struct rec *rec, const struct stat *st, const char *path)
{
	unsigned bit = filter_bit(st->st_dev, st->st_ino);
	struct rec_mapped *m;

	rec->mapped_filter[bit / 64] |= 1ull << bit % 64;
	if (rec->n_mapped == WATCHED_MAX || path[0] != '/' || !S_ISREG(st->st_mode) || find(rec, st->st_dev, st->st_ino))
		return;
	if (rec->n_mapped % 64 == 0) {
		m = reallocarray(rec->mapped, rec->n_mapped + 64, sizeof(*m));
		if (!m)
			return; /* a warning less */
		rec->mapped = m;
	}
	m = &rec->mapped[rec->n_mapped];
	*m = (struct rec_mapped){ .dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .mtime = st->st_mtim, .path = strdup(path) };
	if (m->path)
		rec->n_mapped++;
}

void rec_mapped_written(struct rec *rec, uint64_t dev, uint64_t ino)
{
	struct rec_mapped *m = find(rec, dev, ino);

	if (m)
		m->written_by_guest = true;
}

void rec_mapped_touched(struct rec *rec, const struct stat *st)
{
	struct rec_mapped *m = rec_maybe_mapped(rec, st->st_dev, st->st_ino) ? find(rec, st->st_dev, st->st_ino) : NULL;

	if (m)
		m->mtime = st->st_mtim;
}

void rec_mapped_check(struct rec *rec)
{
	for (size_t i = 0; i < rec->n_mapped; i++) {
		const struct rec_mapped *m = &rec->mapped[i];
		struct stat st;

		if (m->written_by_guest || stat(m->path, &st) < 0 || st.st_ino != m->ino || st.st_dev != m->dev)
			continue;
		if (st.st_size != m->size || st.st_mtim.tv_sec != m->mtime.tv_sec || st.st_mtim.tv_nsec != m->mtime.tv_nsec)
			rec_warn(rec, "%s was changed from outside while the guest had mapped it: what the guest saw of the change is not recorded", m->path);
	}
}

void rec_mapped_done(struct rec *rec)
{
	for (size_t i = 0; i < rec->n_mapped; i++)
		free(rec->mapped[i].path);
	free(rec->mapped);
}
