/* See history_priv.h. */
#include "dap/history_priv.h"

#include <string.h>

void place_done(struct place *p)
{
	freep(&p->position);
	*p = (struct place){ 0 };
}

void history_done(struct history *h)
{
	while (h->n)
		place_done(&h->v[--h->n]);
	h->behind = 0;
}

static bool same(const struct place *a, const struct place *b)
{
	if (a->event != b->event || !a->position != !b->position)
		return false;
	return !a->position || strcmp(a->position, b->position) == 0;
}

void history_leave(struct history *h, struct place *from)
{
	while (h->n > h->behind)
		place_done(&h->v[--h->n]);
	if (h->n && same(&h->v[h->n - 1], from)) {
		place_done(from);
		return;
	}
	if (h->n == HISTORY_MAX) {
		place_done(&h->v[0]);
		memmove(&h->v[0], &h->v[1], (HISTORY_MAX - 1) * sizeof(h->v[0]));
		h->n--;
	}
	h->v[h->n++] = *from;
	h->behind = h->n;
	*from = (struct place){ 0 };
}

const struct place *history_look(const struct history *h, bool forward)
{
	if (forward)
		return h->behind < h->n ? &h->v[h->behind] : NULL;
	return h->behind ? &h->v[h->behind - 1] : NULL;
}

void history_move(struct history *h, bool forward, struct place *from)
{
	struct place *at;

	must(history_look(h, forward));
	at = &h->v[forward ? h->behind : h->behind - 1];
	place_done(at);
	*at = *from;
	*from = (struct place){ 0 };
	h->behind = forward ? h->behind + 1 : h->behind - 1;
}
