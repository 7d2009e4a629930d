/* Machine code as a text that is served as a source, for clients that have no view of their own for it. A listing holds one function, or where nobody knows
 * of functions a stretch around the place; it stays the same text as long as the code does, so that the client's lines stay right.
 *
 * The innermost frame's is made at once, so that a step stays in it. Those of callers are mostly never looked at: they are stretches, whose line is known without
 * decoding anything, and are made when they are. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

/* Instructions of the longest function that is listed whole; those around a place otherwise. */
#define WHOLE_MAX 4096u
#define FIRST_TRY 128u
#define AROUND_BEFORE 48u
#define AROUND_AFTER 208u
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

static int decode_around(struct dap *d, uint64_t addr, struct insns *list)
{
	int r;

	insns_done(list);
	r = disasm_around(d, addr, AROUND_BEFORE, AROUND_AFTER, list);
	return r == 0 && !list->v[AROUND_BEFORE].valid ? -ENOENT : r;
}

static char *name_of(const char *func, uint64_t addr)
{
	return func && strcmp(func, "??") != 0 ? os_asprintf("%s.s", func) : os_asprintf("0x%" PRIx64 ".s", addr);
}

static int decode_for(struct dap *d, uint64_t addr, struct insns *list, size_t *ret_n, char **ret_name)
{
	char *name CLEANUP(freep) = NULL;
	uint64_t start;
	int r = disasm_function(d, addr, &start, &name);

	*ret_n = 0;
	if (r == 0 && start && addr - start < SYMBOL_REACH)
		r = whole(d, start, name, addr, list, ret_n);
	*ret_name = r == 0 ? name_of(*ret_n ? name : NULL, addr) : NULL;
	if (r == 0 && !*ret_n) {
		r = decode_around(d, addr, list);
		*ret_n = list->n;
	}
	return r == 0 && !*ret_name ? -ENOMEM : r;
}

static void put_line(struct listing *l, const struct insn *in)
{
	const char *name = mi_str(in->mi, "func-name");
	char where[64] = "";

	if (name && mi_int(in->mi, "offset", -1) >= 0)
		snprintf(where, sizeof(where), "<+%" PRId64 ">", mi_int(in->mi, "offset", 0));
	l->addr[l->n++] = in->addr;
	buf_printf(&l->text, "0x%016" PRIx64 "  %-8s %-24s  %s\n", in->addr, where, in->valid ? mi_str(in->mi, "opcodes") : "",
		   in->valid ? mi_str(in->mi, "inst") : "(no instruction)");
}

static int print(struct listing *l, const struct insns *list, size_t n)
{
	l->addr = os_calloc(n + 1, sizeof(*l->addr));
	if (!l->addr)
		return -ENOMEM;
	l->addr[l->n++] = 0;
	buf_printf(&l->text, "; machine code of %.*s: there is no source for it\n", (int)(strlen(l->name) - 2), l->name);
	for (size_t i = 0; i < n; i++)
		put_line(l, &list->v[i]);
	return buf_error(&l->text);
}

/* What lies at l->from, as far as it can be read. -ENOENT: nothing can. */
static int read_code(struct dap *d, const struct listing *l, uint8_t ret[LISTING_CODE])
{
	struct buf b CLEANUP(buf_done) = { 0 };
	int r = memory_read(d, l->from, LISTING_CODE, &b);

	memset(ret, 0, LISTING_CODE);
	if (r == 0 && b.len)
		memcpy(ret, b.data, b.len);
	return r == 0 && !b.len ? -ENOENT : r;
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
static void make_room(struct dap_sources *s, const struct listing *stays, size_t bytes)
{
	for (uint32_t i = 1; i <= LISTINGS_MAX && s->listing_bytes + bytes > LISTINGS_BYTES_MAX; i++) {
		struct listing *l = &s->listing[(s->last_listing + i) % LISTINGS_MAX];

		if (l != stays)
			drop(s, l);
	}
	s->listing_bytes += bytes;
}

static struct listing *keep(struct dap_sources *s, struct listing *made)
{
	struct listing *l = &s->listing[++s->last_listing % LISTINGS_MAX];

	drop(s, l);
	*l = *made;
	*made = (struct listing){ 0 };
	l->id = s->last_listing;
	l->generation = s->generation;
	make_room(s, l, l->text.len);
	return l;
}

/* Libraries that came or went may have put other code there. */
static int is_current(struct dap *d, struct listing *l, bool *ret)
{
	uint8_t code[LISTING_CODE];
	int r;

	*ret = true;
	if (l->generation == d->sources->generation)
		return 0;
	r = read_code(d, l, code);
	*ret = r == 0 && !memcmp(code, l->code, sizeof(code));
	if (*ret)
		l->generation = d->sources->generation;
	return r == -ENOENT ? 0 : r;
}

static bool holds(const struct listing *l, uint64_t addr)
{
	if (!l->id)
		return false;
	return l->addr ? l->n > 1 && addr >= l->addr[1] && addr <= l->addr[l->n - 1] && line_at(l, addr) : l->from == addr;
}

/* The newest that holds addr and is not out of date; *ret NULL: there is none. */
static int find_listing(struct dap *d, uint64_t addr, bool made, struct listing **ret)
{
	struct dap_sources *s = d->sources;
	bool current = false;
	int r = 0;

	*ret = NULL;
	for (uint32_t i = 0; r == 0 && !current && i < LISTINGS_MAX; i++) {
		struct listing *l = &s->listing[(s->last_listing - i) % LISTINGS_MAX];

		if (!holds(l, addr) || (made && !l->addr))
			continue;
		r = is_current(d, l, &current);
		if (r == 0 && current)
			*ret = l;
	}
	return r;
}

static int make(struct dap *d, uint64_t addr, struct listing **ret)
{
	struct insns list CLEANUP(insns_done) = { 0 };
	struct listing made CLEANUP(clear) = { .from = addr };
	size_t n;
	int r = decode_for(d, addr, &list, &n, &made.name);

	if (r == 0)
		r = print(&made, &list, n);
	if (r == 0)
		r = read_code(d, &made, made.code);
	if (r == 0)
		*ret = keep(d->sources, &made);
	return r;
}

int listing_of(struct dap *d, uint64_t addr, const struct listing **ret, int64_t *ret_line)
{
	struct listing *l;
	int r = find_listing(d, addr, true, &l);

	if (r == 0 && !l)
		r = make(d, addr, &l);
	if (r < 0)
		return r;
	*ret = l;
	*ret_line = (int64_t)line_around(l, addr);
	return *ret_line ? 0 : -ENOENT;
}

int listing_later(struct dap *d, uint64_t addr, const char *func, const struct listing **ret, int64_t *ret_line)
{
	struct listing *l, made CLEANUP(clear) = { .from = addr };
	int r = find_listing(d, addr, false, &l);

	if (r == 0 && !l) {
		made.name = name_of(func, addr);
		r = made.name ? read_code(d, &made, made.code) : -ENOMEM;
		if (r == 0)
			l = keep(d->sources, &made);
	}
	if (r < 0)
		return r;
	*ret = l;
	/* behind the head line */
	*ret_line = l->addr ? (int64_t)line_at(l, addr) : AROUND_BEFORE + 2;
	return 0;
}

/* Somebody looks at it. */
static int fill(struct dap *d, struct listing *l)
{
	struct insns list CLEANUP(insns_done) = { 0 };
	int r = decode_around(d, l->from, &list);

	if (r == 0)
		r = print(l, &list, list.n);
	if (r == 0)
		make_room(d->sources, l, l->text.len);
	return r;
}

int listing_get(struct dap *d, int64_t reference, const struct listing **ret)
{
	struct listing *l = reference > 0 && reference % 2 ? &d->sources->listing[(size_t)(reference / 2) % LISTINGS_MAX] : NULL;
	int r = 0;

	if (!l || !l->id || listing_reference(l) != reference)
		l = NULL;
	if (l && !l->addr)
		r = fill(d, l);
	*ret = l;
	return r;
}
