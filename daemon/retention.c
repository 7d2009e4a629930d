/* What may stay, and what is to be verified next. Pure; see house_priv.h. */
#include "daemon/house_priv.h"

#define NS_PER_S 1000000000ull
/* Even one recording alone is looked at within this. */
#define SCAN_PAUSE_MAX_NS (3600 * NS_PER_S)

void retention_choose(const struct retention_item *items, size_t n, uint64_t now_ns, uint64_t max_age_s, uint64_t max_size, enum retention_why *why)
{
	unsigned __int128 total = 0; /* sizes are what a stranger's manifest says */

	for (size_t i = 0; i < n; i++) {
		uint64_t age = now_ns > items[i].start_ns ? now_ns - items[i].start_ns : 0;

		why[i] = RETENTION_STAYS;
		if (max_age_s && !items[i].spared && age / NS_PER_S >= max_age_s)
			why[i] = RETENTION_AGE;
		else
			total += items[i].bytes;
	}
	for (size_t i = n; max_size && i-- > 0 && total > max_size;) {
		if (items[i].spared || why[i] != RETENTION_STAYS)
			continue;
		why[i] = RETENTION_SIZE;
		total -= items[i].bytes;
	}
}

ssize_t scan_choose(const struct catalog_view *v, uint64_t now_ns, uint64_t every_s)
{
	ssize_t best = -1;

	for (size_t i = 0; every_s && i < v->n; i++) {
		const struct catalog_entry *e = v->entry[i];
		uint64_t ago = now_ns > e->verified_ns ? now_ns - e->verified_ns : 0;

		if (e->live || e->state == RECORDING_OPEN || (e->broken && !e->verified_ns) || ago / NS_PER_S < every_s)
			continue;
		if (best < 0 || e->verified_ns < v->entry[best]->verified_ns)
			best = (ssize_t)i;
	}
	return best;
}

uint64_t scan_pause_ns(size_t n, uint64_t every_s)
{
	uint64_t pause = every_s * NS_PER_S / 2 / (n + 1);

	return pause < NS_PER_S ? NS_PER_S : pause > SCAN_PAUSE_MAX_NS ? SCAN_PAUSE_MAX_NS : pause;
}
