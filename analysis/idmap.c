/* See idmap_priv.h. */
#include "analysis/idmap_priv.h"

#include <errno.h>
#include <stdlib.h>
#include "base/os.h"

void idmap_done(struct idmap *m)
{
	free(m->slot);
	*m = (struct idmap){ 0 };
}

static struct idmap_entry *find(const struct idmap *m, uint32_t key)
{
	uint32_t at = key * 0x9e3779b1u & (m->n_slots - 1);

	while (m->slot[at].key && m->slot[at].key != key)
		at = (at + 1) & (m->n_slots - 1);
	return &m->slot[at];
}

uint32_t *idmap_find(const struct idmap *m, uint32_t key)
{
	struct idmap_entry *e = m->n_slots && key ? find(m, key) : NULL;

	return e && e->key ? &e->value : NULL;
}

static int grow(struct idmap *m)
{
	struct idmap old = *m;

	if (m->n >= IDMAP_MAX)
		return ERR_LIMIT;
	m->n_slots = old.n_slots ? old.n_slots * 2 : 64;
	m->slot = os_calloc(m->n_slots, sizeof(*m->slot));
	if (!m->slot) {
		*m = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.n_slots; i++)
		if (old.slot[i].key)
			*find(m, old.slot[i].key) = old.slot[i];
	free(old.slot);
	return 0;
}

int idmap_put(struct idmap *m, uint32_t key, uint32_t value)
{
	struct idmap_entry *e;
	int r = m->n >= m->n_slots / 2 ? grow(m) : 0;

	if (r < 0)
		return r;
	e = find(m, key);
	m->n += e->key == 0;
	*e = (struct idmap_entry){ key, value };
	return 0;
}
