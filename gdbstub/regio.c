/* g, p, G, P: registers of a thread. Writing what is there already is no change and therefore allowed: gdb restores registers one by one after
 * a call of a function. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <string.h>

int stub_xstate(struct stub *s, pid_t tid)
{
	size_t len = 0;
	void *p;
	int r;

	buf_clear(&s->xstate);
	p = buf_extend(&s->xstate, REGS_XSAVE_MAX);
	if (!p)
		return -ENOMEM;
	r = dbg_xstate(s->d, tid, p, REGS_XSAVE_MAX, &len);
	s->xstate.len = r < 0 ? 0 : MIN(len, (size_t)REGS_XSAVE_MAX);
	return r;
}

static int get_all(struct stub *s, pid_t tid, struct user_regs_struct *ret)
{
	int r = dbg_regs(s->d, tid, ret);

	return r < 0 ? r : stub_xstate(s, tid);
}

int stub_regs_read(struct stub *s, struct view *v)
{
	pid_t tid = stub_general(s, v);
	struct user_regs_struct u;
	int r = get_all(s, tid, &u);

	if (r < 0)
		return r;
	for (unsigned n = 0; n < s->layout.n; n++) {
		uint8_t value[REGS_BYTES_MAX];

		regs_get(&s->layout, n, &u, &s->xstate, value);
		rsp_put_hex(&s->reply, value, regs_size(&s->layout, n));
	}
	return 0;
}

int stub_reg_read(struct stub *s, struct view *v)
{
	pid_t tid = stub_general(s, v);
	uint8_t value[REGS_BYTES_MAX];
	struct user_regs_struct u;
	uint64_t n;
	int r = rsp_get_hex(v, &n);

	if (r < 0 || view_left(v) || n >= s->layout.n)
		return r < 0 ? r : ERR_PROTOCOL;
	r = get_all(s, tid, &u);
	if (r < 0)
		return r;
	regs_get(&s->layout, (unsigned)n, &u, &s->xstate, value);
	rsp_put_hex(&s->reply, value, regs_size(&s->layout, (unsigned)n));
	return 0;
}

/* --- writing --- */

struct change {
	struct user_regs_struct u;
	struct buf x;      /* XSAVE area, owned */
	bool regs, xstate;
};

static void change_done(struct change *c)
{
	buf_done(&c->x);
}

static int change_init(struct stub *s, pid_t tid, struct change *c)
{
	int r = get_all(s, tid, &c->u);

	if (r >= 0)
		buf_put(&c->x, s->xstate.data, s->xstate.len);
	return r < 0 ? r : buf_error(&c->x);
}

static void set(struct stub *s, struct change *c, unsigned n, const uint8_t v[REGS_BYTES_MAX])
{
	uint8_t now[REGS_BYTES_MAX];

	regs_get(&s->layout, n, &c->u, &c->x, now);
	if (memcmp(now, v, regs_size(&s->layout, n)) == 0)
		return;
	/* a thread in a copy is in no system call, whatever gdb writes before and after a call of a function */
	if (s->divert != DIVERT_NONE && n == REGS_ORIG_RAX)
		return;
	if (regs_set(&s->layout, n, &c->u, &c->x, v))
		c->xstate = true;
	else
		c->regs = true;
}

static int store(struct stub *s, pid_t tid, struct change *c)
{
	int r = 0;

	if (!c->regs && !c->xstate) {
		stub_puts(s, "OK");
		return 0;
	}
	if (!stub_divert_write(s, tid, true, 0))
		return 0;
	if (c->regs)
		r = dbg_set_regs(s->d, tid, &c->u);
	if (r >= 0 && c->xstate)
		r = buf_error(&c->x) ? -ENOMEM : dbg_set_xstate(s->d, tid, c->x.data, c->x.len);
	if (r < 0)
		return r;
	stub_divert_check(s);
	stub_puts(s, "OK");
	return 0;
}

int stub_reg_write(struct stub *s, struct view *v)
{
	pid_t tid = stub_general(s, v);
	struct buf value CLEANUP(buf_done) = { 0 };
	struct change c CLEANUP(change_done) = { 0 };
	uint64_t n;

	if (rsp_get_hex(v, &n) < 0 || !rsp_get_char(v, '=') || rsp_get_bytes(v, &value) < 0)
		return ERR_PROTOCOL;
	if (n >= s->layout.n || value.len != regs_size(&s->layout, (unsigned)n))
		return -EINVAL;
	int r = change_init(s, tid, &c);

	if (r < 0)
		return r;
	set(s, &c, (unsigned)n, value.data);
	return store(s, tid, &c);
}

int stub_regs_write(struct stub *s, struct view *v)
{
	pid_t tid = stub_general(s, v);
	struct buf values CLEANUP(buf_done) = { 0 };
	struct change c CLEANUP(change_done) = { 0 };
	int r = rsp_get_bytes(v, &values);
	size_t at = 0;

	if (r >= 0)
		r = change_init(s, tid, &c);
	if (r < 0)
		return r;
	for (unsigned n = 0; n < s->layout.n; n++) {
		size_t size = regs_size(&s->layout, n);

		if (values.len - at < size)
			return -EINVAL;
		set(s, &c, n, values.data + at);
		at += size;
	}
	return store(s, tid, &c);
}
