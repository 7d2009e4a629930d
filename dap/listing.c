/* Machine code as a text that is served as a source, for clients that have no view of their own for it. A listing holds one function, or where nobody knows
 * of functions a stretch around the place; it stays the same text as long as the code does, so that the client's lines stay right. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

/* Instructions of the longest function that is listed whole; those around a place otherwise. */
#define WHOLE_MAX 4096u
#define FIRST_TRY 128u
#define AROUND_BEFORE 64u
#define AROUND_AFTER 448u
/* Behind this far from its symbol, code is more likely a function that has none. */
#define SYMBOL_REACH (64u << 10)

static void clear(struct listing *l)
{
	free(l->name);
	free(l->addr);
	buf_done(&l->text);
	*l = (struct listing){ 0 };
}

static void drop(struct dap_sources *s, struct listing *l)
{
	s->listing_bytes -= l->text.len;
	clear(l);
}

void listings_free(struct dap_sources *s)
{
	for (size_t i = 0; i < LISTINGS_MAX; i++)
		drop(s, &s->listing[i]);
}

int64_t listing_reference(const struct listing *l)
{
	return 2 * (int64_t)l->id + 1;
}

const struct listing *listing_get(const struct dap *d, int64_t reference)
{
	const struct listing *l = reference > 0 && reference % 2 ? &d->sources->listing[(size_t)(reference / 2) % LISTINGS_MAX] : NULL;

	return l && l->id && listing_reference(l) == reference ? l : NULL;
}

/* --- making one --- */

/* How many of the list belong to the function. */
static size_t of_function(const struct insns *list, const char *name)
{
	size_t n = 0;

	while (n < list->n && list->v[n].valid && mi_str(list->v[n].mi, "func-name") && !strcmp(mi_str(list->v[n].mi, "func-name"), name))
		n++;
	return n;
}

/* The function from start on, unless it is too long to hold addr. *ret_n: how many of the list are of it, 0 = it does not do. */
static int whole(struct dap *d, uint64_t start, const char *name, uint64_t addr, struct insns *list, size_t *ret_n)
{
	for (size_t n = FIRST_TRY;; n *= 2) {
		int r = disasm_around(d, start, 0, n, list);

		if (r < 0)
			return r;
		*ret_n = of_function(list, name);
		if (*ret_n < n || n >= WHOLE_MAX)
			break;
		insns_done(list);
	}
	if (*ret_n && (list->v[*ret_n - 1].addr < addr || list->v[0].addr > addr))
		*ret_n = 0;
	return 0;
}

static int decode_for(struct dap *d, uint64_t addr, struct insns *list, size_t *ret_n, char **ret_name)
{
	char *name CLEANUP(freep) = NULL;
	uint64_t start;
	int r = disasm_function(d, addr, &start, &name);

	*ret_n = 0;
	if (r == 0 && start && addr - start < SYMBOL_REACH)
		r = whole(d, start, name, addr, list, ret_n);
	if (r < 0)
		return r;
	if (!*ret_n) {
		insns_done(list);
		r = disasm_around(d, addr, AROUND_BEFORE, AROUND_AFTER, list);
		*ret_n = list->n;
		if (r < 0 || !list->v[AROUND_BEFORE].valid)
			return r < 0 ? r : -ENOENT;
		free(name);
		name = os_asprintf("0x%" PRIx64, addr);
	}
	*ret_name = os_asprintf("%s.s", name ? name : "code");
	return *ret_name ? 0 : -ENOMEM;
}

static void put_line(struct listing *l, const struct insn *in)
{
	const char *name = mi_str(in->mi, "func-name");
	char where[64] = "";

	if (name && mi_int(in->mi, "offset", -1) >= 0)
		snprintf(where, sizeof(where), "<+%" PRId64 ">", mi_int(in->mi, "offset", 0));
	l->addr[l->n++] = in->addr;
	buf_printf(&l->text, "0x%016" PRIx64 "  %-8s %-24s  %s\n", in->addr, where, mi_str(in->mi, "opcodes"), mi_str(in->mi, "inst"));
}

/* What cannot be read is left out. */
static int print(struct listing *l, const struct insns *list, size_t n)
{
	l->addr = os_calloc(n + 1, sizeof(*l->addr));
	if (!l->addr)
		return -ENOMEM;
	l->addr[l->n++] = 0;
	buf_printf(&l->text, "; machine code of %.*s: there is no source for it\n", (int)(strlen(l->name) - 2), l->name);
	for (size_t i = 0; i < n; i++)
		if (list->v[i].valid)
			put_line(l, &list->v[i]);
	return buf_error(&l->text);
}

static int make(struct dap *d, uint64_t addr, struct listing *ret)
{
	struct insns list CLEANUP(insns_done) = { 0 };
	size_t n;
	int r = decode_for(d, addr, &list, &n, &ret->name);

	return r < 0 ? r : print(ret, &list, n);
}

/* --- keeping them --- */

/* The line of the instruction that holds addr, from 1. */
static size_t line_around(const struct listing *l, uint64_t addr)
{
	size_t line = 0;

	for (size_t i = 1; i < l->n && l->addr[i] <= addr; i++)
		line = i + 1;
	return line && addr - l->addr[line - 1] < 15 ? line : 0;
}

/* The same of the instruction that begins there. */
static size_t line_at(const struct listing *l, uint64_t addr)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->addr[i] == addr)
			return i + 1;
	return 0;
}

/* The oldest go when there is no room. */
static struct listing *keep(struct dap_sources *s, struct listing *made)
{
	struct listing *l;

	for (uint32_t id = s->last_listing + 1; id < s->last_listing + LISTINGS_MAX && s->listing_bytes + made->text.len > LISTINGS_BYTES_MAX; id++)
		drop(s, &s->listing[id % LISTINGS_MAX]);
	l = &s->listing[++s->last_listing % LISTINGS_MAX];
	drop(s, l);
	*l = *made;
	l->id = s->last_listing;
	s->listing_bytes += l->text.len;
	*made = (struct listing){ 0 };
	return l;
}

static struct listing *holding(struct dap_sources *s, uint64_t addr)
{
	for (size_t i = 0; i < LISTINGS_MAX; i++)
		if (s->listing[i].id && line_at(&s->listing[i], addr))
			return &s->listing[i];
	return NULL;
}

static bool same_text(const struct listing *a, const struct listing *b)
{
	return a->text.len == b->text.len && !memcmp(a->text.data, b->text.data, a->text.len);
}

/* Makes the one for an address; one that says the same stays. */
static int remake(struct dap *d, uint64_t addr, struct listing **ret)
{
	struct dap_sources *s = d->sources;
	struct listing made CLEANUP(clear) = { 0 };
	int r = make(d, addr, &made);
	size_t i = 0;

	if (r < 0)
		return r;
	while (i < LISTINGS_MAX && !(s->listing[i].id && same_text(&s->listing[i], &made)))
		i++;
	if (i == LISTINGS_MAX)
		made.from = addr;
	*ret = i < LISTINGS_MAX ? &s->listing[i] : keep(s, &made);
	(*ret)->generation = s->generation;
	return 0;
}

int listing_of(struct dap *d, uint64_t addr, const struct listing **ret, int64_t *ret_line)
{
	struct listing *l = holding(d->sources, addr);
	int r = 0;

	/* libraries came or went since then: other code may lie there now */
	if (l && l->generation != d->sources->generation)
		r = remake(d, l->from, &l);
	if (r == 0 && (!l || !line_at(l, addr)))
		r = remake(d, addr, &l);
	if (r < 0)
		return r;
	*ret = l;
	*ret_line = (int64_t)line_around(l, addr);
	return *ret_line ? 0 : -ENOENT;
}
