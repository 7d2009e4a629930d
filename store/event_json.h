/* Events as JSON, for scripts and the web. */
#ifndef STORE_EVENT_JSON_H
#define STORE_EVENT_JSON_H

#include <jansson.h>
#include "store/event.h"

/* One object with the members that the kind has: "number", "kind", "thread", "time_ns", "flags" (array of names), then the fields of
 * store/events.def under their names, "regs_hash" and "effects" where there are any. Addresses, arguments and hashes are strings "0x...",
 * since JSON readers lose bits of large numbers. Of an effect's bytes the first data_max are given in hex if they are inside the event.
 * New reference. -ENOMEM. */
int event_to_json(const struct event *ev, size_t data_max, json_t **ret) MUST_CHECK;
/* Names of the flags in `flags`, in the order of their bits; the rest is skipped. New reference, NULL when out of memory. */
json_t *event_flags_to_json(uint32_t flags);

#endif
