/* Hot pages: those that changed from point to point. Where writes cannot be tracked, or are too many, not all
 * memory can be hashed at each point; what a loop works with is among the pages that changed at the points before,
 * since it changes in each pass.
 *
 * A table that forgets: a page has one slot, and shares it with others. The hotter one stays. */
#include "recorder/rec_priv.h"
#include "recorder/points_priv.h"

#include <stdlib.h>
#include <string.h>

#define PAGE POINT_PAGE
#define SLOTS 8192u
#define HEAT_GAIN 2u
#define HEAT_MAX 8u

struct heat {
	struct slot {
		uint64_t addr; /* 0 = free */
		uint64_t sum;
		uint32_t heat;
	} slot[SLOTS];
};

struct heat *heat_new(void)
{
	return calloc(1, sizeof(struct heat));
}

/* Much faster than a hash, and enough to see a change. The place counts too: sorting is a change. */
static uint64_t sum_of(const uint8_t *page)
{
	uint64_t sum = 0, place = 0;

	for (unsigned i = 0; i < PAGE / 8; i++, place += 0x9e3779b97f4a7c15ull) {
		uint64_t w;

		memcpy(&w, page + i * 8, sizeof(w));
		sum += w ^ place;
	}
	return sum;
}

void heat_note(struct heat *h, uint64_t addr, const uint8_t *page)
{
	struct slot *s = &h->slot[addr / PAGE % SLOTS];
	uint64_t sum = sum_of(page);

	if (s->addr == addr && s->sum != sum)
		s->heat = MIN(s->heat + HEAT_GAIN, HEAT_MAX);
	else if (s->heat)
		s->heat--;
	else
		s->addr = addr;
	if (s->addr == addr)
		s->sum = sum;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint32_t heat_pages(const struct heat *h, uint64_t *ret, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t heat = HEAT_MAX; heat; heat--)
		for (uint32_t i = 0; i < SLOTS && n < max; i++)
			if (h->slot[i].heat == heat)
				ret[n++] = h->slot[i].addr;
	qsort(ret, n, sizeof(ret[0]), by_address);
	return n;
}
