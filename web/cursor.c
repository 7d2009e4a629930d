/* See cursor_priv.h: "FILTER-OFFSET-ID", the numbers in hexadecimal. */
#include "web/cursor_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/str.h"

/* With its end, so that "ab", "c" is not "a", "bc". */
static void add(uint64_t *h, const char *s)
{
	*h = str_hash(*h, s, strlen(s) + 1);
}

uint64_t cursor_filter(const struct url *u)
{
	uint64_t h = STR_HASH;

	add(&h, u->path);
	for (size_t i = 0; i < u->n_pairs; i++) {
		if (strcmp(u->pair[i].name, "cursor") == 0 || strcmp(u->pair[i].name, "limit") == 0)
			continue;
		add(&h, u->pair[i].name);
		add(&h, u->pair[i].value);
	}
	return h;
}

void cursor_print(const struct cursor *c, uint64_t filter, char ret[CURSOR_BYTES])
{
	(void)snprintf(ret, CURSOR_BYTES, "%016" PRIx64 "-%" PRIx64 "-%s", filter, c->offset, c->id);
}

static bool get_hex(const char **s, uint64_t *ret)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; *p && strchr("0123456789abcdef", *p); p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	}
	if (p == *s || *p != '-')
		return false;
	*s = p + 1;
	*ret = v;
	return true;
}

int cursor_parse(const char *s, uint64_t filter, struct cursor *ret)
{
	struct cursor c = { 0 };
	uint64_t theirs;

	if (!get_hex(&s, &theirs) || theirs != filter || !get_hex(&s, &c.offset))
		return -EINVAL;
	if (strlen(s) != STORE_ID_LEN || strspn(s, "0123456789abcdef") != STORE_ID_LEN)
		return -EINVAL;
	memcpy(c.id, s, sizeof(c.id));
	*ret = c;
	return 0;
}
