/* See names.h. Open addressing, at most half full; strings lie one behind the other. */
#include "analysis/names.h"

#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define SLOTS_FIRST 256u

void names_done(struct names *t)
{
	buf_done(&t->text);
	free(t->offset);
	free(t->slot);
	*t = (struct names){ 0 };
}

static uint32_t hash_of(const char *s, size_t n)
{
	uint64_t h = str_hash(STR_HASH, s, n);

	return (uint32_t)(h ^ h >> 32);
}

const char *names_get(const struct names *t, uint32_t number)
{
	return number && number <= t->n ? (const char *)t->text.data + t->offset[number - 1] : NULL;
}

/* The slot of the string, or the free one where it belongs. */
static uint32_t *find_slot(const struct names *t, const char *s, size_t n)
{
	uint32_t at = hash_of(s, n) & (t->n_slots - 1);

	for (; t->slot[at]; at = (at + 1) & (t->n_slots - 1)) {
		const char *have = names_get(t, t->slot[at]);

		if (strncmp(have, s, n) == 0 && !have[n])
			break;
	}
	return &t->slot[at];
}

static bool grow_slots(struct names *t)
{
	uint32_t n = t->n_slots ? t->n_slots * 2 : SLOTS_FIRST;
	uint32_t *slot = os_calloc(n, sizeof(*slot));

	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->n_slots = n;
	for (uint32_t i = 1; i <= t->n; i++) {
		const char *s = names_get(t, i);

		*find_slot(t, s, strlen(s)) = i;
	}
	return true;
}

static bool make_room(struct names *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : SLOTS_FIRST, *offset;

	if (t->n == t->cap) {
		offset = reallocarray(t->offset, cap, sizeof(*offset));
		if (!offset)
			return false;
		t->offset = offset;
		t->cap = cap;
	}
	return t->n < t->n_slots / 2 || grow_slots(t);
}

uint32_t names_find(const struct names *t, const char *s, size_t n)
{
	n = strnlen(s, n);
	return n && t->n_slots ? *find_slot(t, s, n) : 0;
}

uint32_t names_add(struct names *t, const char *s, size_t n)
{
	uint32_t *slot, number = names_find(t, s, n);

	n = strnlen(s, n);
	if (!n || number)
		return number;
	if (t->n >= NAMES_MAX || n >= NAMES_BYTES_MAX - t->text.len || !make_room(t)) {
		t->full = true;
		return 0;
	}
	slot = find_slot(t, s, n);
	t->offset[t->n] = (uint32_t)t->text.len;
	buf_put(&t->text, s, n);
	buf_put_u8(&t->text, 0);
	if (buf_error(&t->text)) {
		t->full = true;
		return 0;
	}
	return *slot = ++t->n;
}
