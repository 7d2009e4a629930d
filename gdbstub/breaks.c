/* Z and z: breakpoints and watchpoints with conditions. gdb sends all of them again before each resume and takes them away after each stop, so
 * both are idempotent. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum dbg_break_kind kind;
} break_types[] = { { DBG_BREAK }, { DBG_BREAK }, { DBG_WATCH_WRITE }, { DBG_WATCH_READ }, { DBG_WATCH_ACCESS } };

/* --- conditions --- */

struct asked {
	const struct stub_break *b;
	struct dbg *d;
	pid_t tid;
	bool have_regs, have_xstate;
	struct user_regs_struct regs;
};

static int get_regs(struct asked *a)
{
	int r = a->have_regs ? 0 : dbg_regs(a->d, a->tid, &a->regs);

	a->have_regs = r >= 0;
	return r;
}

static int cond_reg(void *ctx, unsigned number, uint64_t *ret)
{
	struct asked *a = ctx;
	struct stub *s = a->b->stub;
	size_t size = regs_size(&s->layout, number);
	uint8_t v[REGS_BYTES_MAX] = { 0 };
	int r = get_regs(a);

	if (r < 0)
		return r;
	if (!size)
		return ERR_PROTOCOL;
	if (!a->have_xstate && number > REGS_RIP) {
		r = stub_xstate(s, a->tid);
		if (r < 0)
			return r;
		a->have_xstate = true;
	}
	regs_get(&s->layout, number, &a->regs, &s->xstate, v);
	*ret = 0;
	memcpy(ret, v, MIN(size, sizeof(*ret)));
	return 0;
}

static int cond_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct asked *a = ctx;

	return dbg_read(a->d, addr, buf, n) == n ? 0 : -EFAULT;
}

static int cond(void *ctx, struct dbg *d, pid_t tid)
{
	struct asked a = { .b = ctx, .d = d, .tid = tid };
	const struct agent_target t = { cond_reg, cond_read, &a };
	struct view v = view_of(a.b->code.data, a.b->code.len);
	struct view code;
	uint32_t n;

	while (view_left(&v)) {
		uint64_t value;
		int r = view_get_u32(&v, &n);

		if (r >= 0)
			r = view_take(&v, n, &code);
		if (r >= 0)
			r = agent_eval(code.p, n, &t, &value);
		if (r < 0 || value)
			return r < 0 ? r : 1;
	}
	return 0;
}

/* ";X len,bytes X len,bytes ...", appended to code. Commands (cmds:) are not offered. */
static int get_conditions(struct view *v, struct buf *code)
{
	for (;;) {
		struct view hex;
		uint64_t n;
		int r;

		(void)rsp_get_char(v, ';');
		if (!view_left(v))
			return buf_error(code);
		if (!rsp_get_char(v, 'X') || rsp_get_hex(v, &n) < 0 || !rsp_get_char(v, ','))
			return ERR_PROTOCOL;
		if (n > AGENT_CODE_MAX || code->len + n > STUB_CONDITIONS_MAX)
			return ERR_LIMIT;
		r = view_take(v, (size_t)n * 2, &hex);
		if (r < 0)
			return r;
		buf_put_u32(code, (uint32_t)n);
		r = rsp_get_bytes(&hex, code);
		if (r < 0)
			return r;
	}
}

/* --- the list --- */

static void free_break(struct stub_break *b)
{
	buf_done(&b->code);
	free(b);
}

/* Index, or n_breaks. */
static size_t find(const struct stub *s, unsigned type, uint64_t addr, uint64_t len)
{
	size_t i = 0;

	while (i < s->n_breaks && (s->breaks[i]->type != type || s->breaks[i]->addr != addr || s->breaks[i]->len != len))
		i++;
	return i;
}

const struct stub_break *stub_break_find(const struct stub *s, unsigned id)
{
	for (size_t i = 0; i < s->n_breaks; i++)
		if (s->breaks[i]->id == id)
			return s->breaks[i];
	return NULL;
}

static int drop(struct stub *s, size_t i)
{
	int r = dbg_break_remove(s->d, s->breaks[i]->id);

	free_break(s->breaks[i]);
	s->breaks[i] = s->breaks[--s->n_breaks];
	return r;
}

void stub_breaks_clear(struct stub *s)
{
	while (s->n_breaks)
		if (drop(s, s->n_breaks - 1) < 0)
			continue; /* the session knows it no more: fine */
}

static int make_room(struct stub *s)
{
	size_t cap = s->cap_breaks ? s->cap_breaks * 2 : 16;
	struct stub_break **more;

	if (s->n_breaks == STUB_BREAKS_MAX)
		return ERR_LIMIT;
	if (s->n_breaks < s->cap_breaks)
		return 0;
	more = reallocarray(s->breaks, cap, sizeof(struct stub_break *));
	if (!more)
		return -ENOMEM;
	s->breaks = more;
	s->cap_breaks = cap;
	return 0;
}

/* Takes over b, also on failure. */
static int add(struct stub *s, struct stub_break *b)
{
	struct dbg_break db = {
		.kind = break_types[b->type].kind,
		.addr = b->addr,
		.len = b->type < 2 ? 1 : b->len,
		.cond = b->code.len ? cond : NULL,
		.ctx = b,
	};
	struct view v = view_of(b->code.data, b->code.len), code;
	uint32_t n;
	int r = make_room(s);

	/* several conditions are told here only */
	if (view_get_u32(&v, &n) >= 0 && view_take(&v, n, &code) >= 0 && !view_left(&v)) {
		db.bytecode = code.p;
		db.bytecode_len = n;
	}
	if (r >= 0)
		r = dbg_break_add(s->d, &db, &b->id);
	if (r < 0) {
		free_break(b);
		return r;
	}
	s->breaks[s->n_breaks++] = b;
	return 0;
}

/* "T,ADDR,LEN" */
static int get_place(struct view *v, unsigned *ret_type, uint64_t *ret_addr, uint64_t *ret_len)
{
	uint64_t type;

	if (rsp_get_hex(v, &type) < 0 || !rsp_get_char(v, ',') || rsp_get_hex(v, ret_addr) < 0 || !rsp_get_char(v, ',') ||
	    rsp_get_hex(v, ret_len) < 0)
		return ERR_PROTOCOL;
	if (type >= ARRAY_SIZE(break_types))
		return -ENOTSUP;
	if (type >= 2 && (!*ret_len || *ret_addr + *ret_len < *ret_addr))
		return -EINVAL;
	*ret_type = (unsigned)type;
	return 0;
}

int stub_break_insert(struct stub *s, struct view *v)
{
	struct buf code CLEANUP(buf_done) = { 0 };
	unsigned type;
	uint64_t addr, len;
	struct stub_break *b;
	size_t old;
	int r = get_place(v, &type, &addr, &len);

	if (r == -ENOTSUP)
		return 0;
	if (r >= 0)
		r = get_conditions(v, &code);
	if (r < 0)
		return r;
	old = find(s, type, addr, len);
	if (old < s->n_breaks && code.len == s->breaks[old]->code.len && (!code.len || !memcmp(code.data, s->breaks[old]->code.data, code.len))) {
		stub_puts(s, "OK");
		return 0;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct stub_break){ .type = type, .addr = addr, .len = len, .code = code, .stub = s };
	code = (struct buf){ 0 };
	r = old < s->n_breaks ? drop(s, old) : 0;
	if (r < 0)
		free_break(b);
	else
		r = add(s, b);
	if (r < 0)
		return r;
	stub_puts(s, "OK");
	return 0;
}

int stub_break_remove(struct stub *s, struct view *v)
{
	unsigned type;
	uint64_t addr, len;
	size_t i;
	int r = get_place(v, &type, &addr, &len);

	if (r == -ENOTSUP)
		return 0;
	if (r < 0)
		return r;
	i = find(s, type, addr, len);
	r = i < s->n_breaks ? drop(s, i) : 0;
	if (r < 0)
		return r;
	stub_puts(s, "OK");
	return 0;
}
