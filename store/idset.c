/* See idset_priv.h. */
#include "store/idset_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "store/fs_priv.h"
#include "store/limits_priv.h"

void idset_done(struct idset *s)
{
	free(s->ids);
	free(s->slots);
	*s = (struct idset){ 0 };
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* The slot that holds id, or the free one where it belongs. */
static size_t find_slot(const struct idset *s, const struct blob_id *id)
{
	uint64_t w[4], h;

	memcpy(w, id->sha256, sizeof(w));
	h = mix(mix(w[0] ^ s->seed[0], w[1] ^ s->seed[1]) ^ w[2], w[3] ^ s->seed[1]);
	for (size_t i = h & (s->n_slots - 1);; i = (i + 1) & (s->n_slots - 1))
		if (!s->slots[i] || memcmp(&s->ids[s->slots[i] - 1], id, sizeof(*id)) == 0)
			return i;
}

ssize_t idset_find(const struct idset *s, const struct blob_id *id)
{
	return s->n ? (ssize_t)s->slots[find_slot(s, id)] - 1 : -1;
}

bool idset_has(const struct idset *s, const struct blob_id *id)
{
	return idset_find(s, id) >= 0;
}

static int grow(struct idset *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct blob_id *ids;
	uint32_t *slots;

	if (s->n >= MANIFEST_BLOBS_MAX)
		return ERR_LIMIT;
	ids = os_malloc(cap * sizeof(*ids));
	slots = os_calloc(cap * 2, sizeof(*slots));
	if (!ids || !slots) {
		free(ids);
		free(slots);
		return -ENOMEM;
	}
	if (s->n)
		memcpy(ids, s->ids, s->n * sizeof(*ids));
	free(s->ids);
	free(s->slots);
	s->ids = ids;
	s->slots = slots;
	s->cap = cap;
	s->n_slots = cap * 2;
	for (uint32_t i = 0; i < s->n; i++)
		s->slots[find_slot(s, &s->ids[i])] = i + 1;
	return 0;
}

int idset_add(struct idset *s, const struct blob_id *id)
{
	size_t slot;
	int r = s->cap ? 0 : fs_random(s->seed, sizeof(s->seed));

	if (r < 0)
		return r;
	if (idset_has(s, id))
		return 0;
	r = s->n == s->cap ? grow(s) : 0;
	if (r < 0)
		return r;
	slot = find_slot(s, id);
	s->ids[s->n++] = *id;
	s->slots[slot] = (uint32_t)s->n;
	return 1;
}
