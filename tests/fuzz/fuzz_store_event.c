/* One event from the fuzzer's bytes: what decodes must encode to the same bytes again, and print. */
#include <stdlib.h>
#include <string.h>
#include "store/event_json.h"
#include "store/event_priv.h"

/* Gives back the places that decoding found. */
struct places {
	uint64_t off[64];
	size_t n, next;
};

static int place(void *ctx, const void *p, size_t n, uint64_t *ret_off)
{
	struct places *pl = ctx;

	(void)p;
	(void)n;
	*ret_off = pl->off[pl->next++ % 64];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode_again(const struct event *ev, const uint8_t *data, size_t n, struct places *pl)
{
	struct buf again;

	buf_init(&again);
	/* inlining is the writer's choice by size: only events whose data lie all here or all there can be compared */
	if (event_encode(ev, pl->n ? 0 : SIZE_MAX, place, pl, &again) < 0 || again.len != n || memcmp(again.data, data, n) != 0)
		abort();
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = view_of(data, size);
	struct event_memory *mem;
	struct places pl = { 0 };
	size_t here = 0;
	struct event ev;
	json_t *j;

	if (event_memory_new(&mem) < 0)
		abort();
	if (event_decode(&v, mem, &ev) == 0) {
		for (uint32_t i = 0; i < ev.n_effects; i++) {
			if (!effect_has_data(ev.effects[i].kind))
				continue;
			if (ev.effects[i].data) {
				here += ev.effects[i].len > 0;
				continue;
			}
			pl.off[pl.n++ % 64] = ev.effects[i].data_off;
			ev.effects[i].data = data; /* never read: only its place is asked for */
		}
		if (pl.n <= 64 && (pl.n == 0 || here == 0))
			encode_again(&ev, data, (size_t)(v.p - data), &pl);
		for (uint32_t i = 0; i < ev.n_effects; i++)
			if (effect_has_data(ev.effects[i].kind) && pl.n && ev.effects[i].data == data)
				ev.effects[i].data = NULL;
		if (event_to_json(&ev, 64, &j) == 0)
			json_decref(j);
	} else if (v.p != data) {
		abort();
	}
	event_memory_free(mem);
	return 0;
}
