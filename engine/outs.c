/* What a system call writes to guest memory: slots at entry, ranges at exit; and what of its input is worth showing.
 *
 * Everything read here comes from the guest: counts are clamped to what the kernel would accept, sums cannot overflow, and a
 * structure that cannot be read adds nothing (the kernel will have answered EFAULT).
 */
#include "engine/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "engine/guestmem_priv.h"

#define SOCKADDR_MAX 128u        /* sizeof(struct sockaddr_storage) */
#define HANDLE_MAX 128u          /* MAX_HANDLE_SZ */
#define FAULT_BYTES_MAX (16u << 20) /* after EFAULT: how far a single slot is searched for stored bytes */

enum { NR_ioctl = 16, NR_name_to_handle_at = 303, NR_statmount = 457 };

void sys_outs_init(struct sys_outs *o)
{
	memset(o, 0, sizeof(*o));
}

void sys_outs_done(struct sys_outs *o)
{
	free(o->slot);
	memset(o, 0, sizeof(*o));
}

static int outs_grow(struct sys_outs *o)
{
	uint32_t cap = o->cap ? o->cap * 2 : 64;
	struct sys_slot *p = reallocarray(o->slot, cap, sizeof(*p));

	if (!p)
		return -ENOMEM;
	o->slot = p;
	o->cap = cap;
	return 0;
}

int sys_outs_add(struct sys_outs *o, const struct sys_slot *s)
{
	struct sys_slot *to;

	if (!s->addr || !s->max || s->addr >= SYS_USER_END)
		return 0;
	if (o->n == SYS_SLOTS_MAX) {
		o->res.unknown = true;
		return 0;
	}
	if (o->n == o->cap) {
		int r = outs_grow(o);
		if (r < 0)
			return r;
	}
	to = &o->slot[o->n++];
	*to = *s;
	to->max = MIN(to->max, (uint64_t)SYS_SLOT_BYTES_MAX);
	to->max = MIN(to->max, SYS_USER_END - to->addr);
	return 0;
}

static struct sys_slot slot_of(const struct sys_outs *o, unsigned int i)
{
	const struct sys_arg *a = &o->res.row->arg[i];

	return (struct sys_slot){ .arg = (uint8_t)i, .len = a->len, .dir = a->dir, .on_error = a->on_error, .size = a->size,
				  .addr = o->call.args[i] };
}

static int add_plain(struct sys_outs *o, unsigned int i, const struct sys_mem *mem)
{
	const struct sys_arg *a = &o->res.row->arg[i];
	struct sys_slot s = slot_of(o, i);

	s.max = sys_room(&o->call, o->res.row, a, mem);
	if (a->len == SYS_LEN_PTR)
		s.len_addr = o->call.args[a->len_arg];
	return sys_outs_add(o, &s);
}

/* One slot for each element: filled in order by the result, or by the message's length. */
static int add_iov(struct sys_outs *o, struct sys_slot s, uint64_t addr, uint64_t count, const struct sys_mem *mem)
{
	struct iovec64 v[64];
	int r = 0;

	if (count > IOV_COUNT_MAX)
		return 0;
	s.nested = 1;
	s.len = SYS_LEN_RET;
	s.size = 1;
	for (uint64_t at = 0; at < count && r >= 0; at += ARRAY_SIZE(v)) {
		size_t n = MIN(ARRAY_SIZE(v), count - at);

		if (sys_mem_read(mem, addr + at * sizeof(v[0]), v, n * sizeof(v[0])) < 0)
			return 0;
		for (size_t k = 0; k < n && r >= 0; k++) {
			s.addr = v[k].base;
			s.max = v[k].len;
			r = sys_outs_add(o, &s);
		}
	}
	return r;
}

/* What recvmsg() stores through the header at addr. The header itself is a slot of the caller's. */
static int add_message(struct sys_outs *o, struct sys_slot s, uint64_t addr, const struct sys_mem *mem)
{
	struct msghdr64 h;
	int r;

	if (sys_mem_read(mem, addr, &h, sizeof(h)) < 0)
		return 0;
	s.nested = 1;
	s.len = SYS_LEN_PTR;
	s.dir = SYS_OUT;
	s.size = 1;
	s.addr = h.name;
	s.max = h.namelen > 0 ? MIN((uint32_t)h.namelen, SOCKADDR_MAX) : 0;
	s.len_addr = addr + offsetof(struct msghdr64, namelen);
	r = sys_outs_add(o, &s);
	if (r < 0)
		return r;
	s.addr = h.control;
	s.max = h.controllen;
	s.len_addr = addr + offsetof(struct msghdr64, controllen);
	r = sys_outs_add(o, &s);
	if (r < 0)
		return r;
	s.len_addr = 0;
	return add_iov(o, s, h.iov, h.iovlen, mem);
}

/* recvmmsg() stores whole messages; sendmmsg() (direction INOUT) only their lengths. The kernel takes 1024 at once. */
static int add_messages(struct sys_outs *o, unsigned int i, const struct sys_mem *mem)
{
	const struct sys_arg *a = &o->res.row->arg[i];
	uint64_t count = MIN(sys_count_arg(&o->call, o->res.row, a->len_arg), (uint64_t)IOV_COUNT_MAX);
	struct sys_slot s = slot_of(o, i);
	int r;

	s.max = count * sizeof(struct mmsghdr64);
	r = sys_outs_add(o, &s);
	if (r < 0 || a->dir != SYS_OUT)
		return r;
	for (uint64_t k = 0; k < count && r >= 0; k++) {
		s.message = (uint16_t)k;
		r = add_message(o, s, o->call.args[i] + k * sizeof(struct mmsghdr64), mem);
	}
	return r;
}

/* The type is stored with every message, its text as long as the result says. */
static int add_msgbuf(struct sys_outs *o, unsigned int i, const struct sys_mem *mem)
{
	struct sys_slot s = slot_of(o, i);

	s.head = 8;
	s.max = MIN(sys_room(&o->call, o->res.row, &o->res.row->arg[i], mem), (uint64_t)SYS_SLOT_BYTES_MAX) + s.head;
	return sys_outs_add(o, &s);
}

static int add_arg(struct sys_outs *o, unsigned int i, const struct sys_mem *mem)
{
	const struct sys_arg *a = &o->res.row->arg[i];
	int r;

	switch ((enum sys_arg_kind)a->kind) {
	case SYS_ARG_IOV:
		return add_iov(o, slot_of(o, i), o->call.args[i], sys_count_arg(&o->call, o->res.row, a->len_arg), mem);
	case SYS_ARG_MSGHDR:
		r = add_plain(o, i, mem);
		return r < 0 ? r : add_message(o, slot_of(o, i), o->call.args[i], mem);
	case SYS_ARG_MMSGHDR:
		return add_messages(o, i, mem);
	case SYS_ARG_MSGBUF:
		return add_msgbuf(o, i, mem);
	default:
		return add_plain(o, i, mem);
	}
}

/* The handle follows its head, which says how many bytes there is room for. With AT_HANDLE_MNT_ID_UNIQUE the id has 64 bits. */
static int add_handle(struct sys_outs *o, const struct sys_mem *mem)
{
	uint64_t addr = o->call.args[2];
	struct sys_slot s = { .arg = 2, .nested = 1, .len = SYS_LEN_PTR, .dir = SYS_OUT, .size = 1, .addr = addr + 8, .len_addr = addr };
	struct sys_slot id = { .arg = 3, .len = SYS_LEN_FIXED, .dir = SYS_OUT, .on_error = true, .addr = o->call.args[3], .max = 8 };
	uint32_t room_left;
	int r;

	if (sys_mem_read(mem, addr, &room_left, sizeof(room_left)) < 0)
		return 0;
	s.max = MIN(room_left, HANDLE_MAX);
	r = sys_outs_add(o, &s);
	return r < 0 || !(o->call.args[4] & 1) ? r : sys_outs_add(o, &id);
}

/* Calls whose outputs the rules cannot say. */
static int add_extra(struct sys_outs *o, const struct sys_mem *mem)
{
	switch (o->call.nr) {
	case NR_ioctl:
		return sys_ioctl_outs(o, mem);
	case NR_name_to_handle_at:
		return add_handle(o, mem);
	case NR_statmount:
		for (uint32_t i = 0; i < o->n; i++) { /* the buffer's first word is its true size */
			o->slot[i].len = SYS_LEN_PTR;
			o->slot[i].len_addr = o->slot[i].addr;
		}
		return 0;
	default:
		return 0;
	}
}

int sys_outs_enter(struct sys_outs *o, const struct sys_call *c, const struct sys_mem *mem)
{
	const struct sys_row *row;

	o->call = *c;
	o->n = 0;
	sys_resolve(&o->call, &o->res);
	row = o->res.row;
	if (row->cls == SYS_REFUSE)
		return 0;
	for (unsigned int i = 0; i < row->nargs; i++) {
		int r;

		if (!(row->arg[i].dir & SYS_OUT) || !c->args[i])
			continue;
		r = add_arg(o, i, mem);
		if (r < 0)
			return r;
	}
	return add_extra(o, mem);
}

/* How much of a range that may be larger than what was written can be read: whole pages from its start. */
static uint64_t readable(const struct sys_mem *mem, uint64_t addr, uint64_t len)
{
	uint64_t at = 0;
	uint8_t byte;

	while (at < len) {
		if (sys_mem_read(mem, addr + at, &byte, 1) < 0)
			return at;
		at += PAGE - (addr + at) % PAGE;
	}
	return len;
}

/* Within a page there is nothing to find out: it was writable or the call failed. */
static uint64_t superset(const struct sys_mem *mem, uint64_t addr, uint64_t len)
{
	return addr / PAGE == (addr + len - 1) / PAGE ? len : readable(mem, addr, len);
}

/* State of the walk over vectors: bytes of the message (or the whole result) not yet given to a slot. */
struct walk {
	const struct sys_outs *o;
	const struct sys_mem *mem;
	int64_t result;
	int message; /* whose bytes `left` counts, -1 at the start */
	uint64_t left;
};

static uint64_t message_length(const struct walk *w, const struct sys_slot *s)
{
	uint64_t at = w->o->call.args[s->arg] + s->message * sizeof(struct mmsghdr64) + offsetof(struct mmsghdr64, len);
	uint32_t len;

	return sys_mem_read(w->mem, at, &len, sizeof(len)) < 0 ? 0 : len;
}

static uint64_t in_order(struct walk *w, const struct sys_slot *s)
{
	bool many = w->o->res.row->arg[s->arg].kind == SYS_ARG_MMSGHDR;
	uint64_t n;

	if (w->message != s->message) {
		w->message = s->message;
		w->left = many ? message_length(w, s) : (uint64_t)w->result;
	}
	n = MIN(w->left, s->max);
	w->left -= n;
	return n;
}

static uint64_t by_result(int64_t result, const struct sys_slot *s)
{
	uint64_t head = MIN((uint64_t)s->head, s->max);

	return head + MIN(sys_mul_clamped((uint64_t)result, s->size), s->max - head);
}

static uint64_t written(struct walk *w, const struct sys_slot *s)
{
	uint32_t len;

	if (s->nested && w->o->res.row->arg[s->arg].kind == SYS_ARG_MMSGHDR && s->message >= w->result)
		return 0;
	switch ((enum sys_len)s->len) {
	case SYS_LEN_RET:
		if (w->result < 0)
			return 0;
		return s->nested ? in_order(w, s) : by_result(w->result, s);
	case SYS_LEN_PTR:
		if (sys_mem_read(w->mem, s->len_addr, &len, sizeof(len)) < 0)
			return superset(w->mem, s->addr, s->max);
		return (int32_t)len < 0 ? 0 : MIN(sys_mul_clamped(len, s->size), s->max);
	default:
		return superset(w->mem, s->addr, s->max);
	}
}

int sys_outs_leave(struct sys_outs *o, int64_t result, const struct sys_mem *mem, sys_range_fn fn, void *ctx)
{
	struct walk w = { .o = o, .mem = mem, .result = result, .message = -1 };
	bool failed = result < 0 && result >= -4095, fault = result == -EFAULT;

	for (uint32_t i = 0; i < o->n; i++) {
		const struct sys_slot *s = &o->slot[i];
		uint64_t len;
		int r;

		if (fault) /* stored up to the bad page, and the result does not say how far */
			len = readable(mem, s->addr, MIN(s->max, (uint64_t)FAULT_BYTES_MAX));
		else if (failed && !s->on_error)
			continue;
		else
			len = written(&w, s);
		if (!len)
			continue;
		r = fn(ctx, s->addr, len);
		if (r < 0)
			return r;
	}
	return 0;
}
