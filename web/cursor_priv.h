/* Cursors of lists: where the next page begins. Opaque to clients, and only good for the list that gave them. Pure. */
#ifndef WEB_CURSOR_PRIV_H
#define WEB_CURSOR_PRIV_H

#include "store/store.h"
#include "web/url_priv.h"

#define CURSOR_BYTES 96

struct cursor {
	uint64_t offset;             /* of the next item */
	char id[STORE_ID_LEN + 1];   /* of the last item before */
};

/* What the list is: its path and all parameters but cursor and limit. */
uint64_t cursor_filter(const struct url *u);
void cursor_print(const struct cursor *c, uint64_t filter, char ret[CURSOR_BYTES]);
/* -EINVAL: no cursor, or of another list. */
int cursor_parse(const char *s, uint64_t filter, struct cursor *ret) MUST_CHECK;

#endif
