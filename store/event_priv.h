/* What the frames know about events beyond store/event.h: times relative to the frame, and where its data may lie. */
#ifndef STORE_EVENT_PRIV_H
#define STORE_EVENT_PRIV_H

#include <stdbool.h>
#include "store/event.h"

/* sizeof(struct user_regs_struct) of x86-64 */
#define REGS_LEN 216u

/* Whether effects of the kind carry bytes (len of them). */
bool effect_has_data(enum effect_kind kind);

/* event_encode() with the time written as the difference to time_base. */
int event_encode_at(const struct event *ev, uint64_t time_base, size_t inline_max, event_put_data_fn put_data, void *ctx,
		    struct buf *out) MUST_CHECK;
int event_decode_at(struct view *v, uint64_t time_base, struct event_memory *mem, struct event *ret_ev) MUST_CHECK;

#endif
