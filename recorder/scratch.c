/* Buffers of calls that may sleep are moved to scratch memory in the guest: the kernel may fill them while other threads run, and no log could
 * say when those saw it. The bytes are copied to the guest's buffer when the thread is looked at again; that is when they are logged.
 *
 * Only needed where others can see the buffer: address spaces with several threads, and shared mappings. */
#define LOG_AREA "recorder.scratch"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/log.h"

#define SCRATCH_MAX (64ull << 20)
#define SCRATCH_ALIGN 16ull

struct scratch_move {
	uint64_t from, to, len; /* the guest's buffer, its scratch place */
};

void rec_scratch_forget(struct rec_task *t)
{
	free(t->moves);
	t->moves = NULL;
	t->n_moves = 0;
}

static bool needed(struct rec_task *t)
{
	if (t->t.mm->refs > 1)
		return true;
	for (uint32_t i = 0; i < t->outs.n; i++)
		if (rec_range_shared(t, t->outs.slot[i].addr, t->outs.slot[i].max))
			return true;
	return false;
}

/* Bytes for all slots and rebuilt structures; 0 when the call must be left as it is. */
static uint64_t room(struct rec_task *t)
{
	uint64_t total = 4096 + t->outs.n * sizeof(struct iovec);

	for (uint32_t i = 0; i < t->outs.n; i++) {
		const struct sys_slot *s = &t->outs.slot[i];

		if (s->max > SCRATCH_MAX || !rec_range_writable(t, s->addr, s->max))
			return 0; /* the kernel shall say EFAULT about the real place */
		total += s->max + SCRATCH_ALIGN;
	}
	return total <= SCRATCH_MAX ? total : 0;
}

/* The guest may have unmapped it, or mapped something over it. */
static bool still_ours(struct rec_task *t, uint64_t start, uint64_t len)
{
	const struct mapping *m = aspace_find(&t->t.mm->as, start);

	return m && (m->flags & ASPACE_HERMIT) && m->end - start >= len;
}

/* Takes a piece that an ended thread has left. */
static bool take_spare(struct rec_task *t)
{
	struct eng_mm *mm = t->t.mm;

	while (mm->n_spare) {
		t->scratch = mm->spare[--mm->n_spare];
		t->scratch_len = REC_SCRATCH_DEFAULT;
		if (still_ours(t, t->scratch, t->scratch_len))
			return true;
	}
	t->scratch_len = 0;
	return false;
}

static int ensure(struct rec_task *t, uint64_t size)
{
	const uint64_t args[6] = { 0, MAX(ALIGN_UP(size, 4096ull), REC_SCRATCH_DEFAULT), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   UINT64_MAX, 0 };
	struct mapping m = { .prot = PROT_READ | PROT_WRITE, .flags = ASPACE_ANON | ASPACE_HERMIT };
	int64_t result;
	int r;

	if (t->scratch_len && !still_ours(t, t->scratch, t->scratch_len))
		t->scratch_len = 0;
	if (t->scratch_len >= size || (!t->scratch_len && args[1] == REC_SCRATCH_DEFAULT && take_spare(t)))
		return 1;
	r = eng_remote_at_entry(&t->t, SYS_mmap, args, &result);
	if (r < 0 || result < 0)
		return r < 0 ? r : 0;
	t->scratch = m.start = (uint64_t)result;
	t->scratch_len = args[1];
	m.end = m.start + args[1];
	r = aspace_map(&t->t.mm->as, &m);
	return r < 0 ? r : 1;
}

static uint64_t *argument(struct user_regs_struct *r, unsigned i)
{
	unsigned long long *const regs[6] = { &r->rdi, &r->rsi, &r->rdx, &r->r10, &r->r8, &r->r9 };

	return (uint64_t *)regs[i];
}

static uint64_t moved(const struct rec_task *t, uint64_t addr)
{
	for (uint32_t i = 0; i < t->n_moves; i++)
		if (addr >= t->moves[i].from && addr - t->moves[i].from < MAX(t->moves[i].len, (uint64_t)1))
			return t->moves[i].to + (addr - t->moves[i].from);
	return addr;
}

/* Places every slot; what the kernel also reads is copied. */
static int place_slots(struct rec_task *t, uint64_t *at)
{
	t->moves = calloc(t->outs.n + 1, sizeof(*t->moves));
	if (!t->moves)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->outs.n; i++) {
		const struct sys_slot *s = &t->outs.slot[i];
		CLEANUP(freep) void *copy = NULL;

		t->moves[t->n_moves++] = (struct scratch_move){ s->addr, *at, s->max };
		if (s->dir == SYS_INOUT || t->outs.res.row->arg[s->arg].dir == SYS_INOUT) {
			copy = malloc(s->max ? s->max : 1);
			if (!copy || eng_read(&t->t, s->addr, copy, s->max) < 0 || eng_write(&t->t, *at, copy, s->max) < 0)
				return -EFAULT;
		}
		*at += ALIGN_UP(s->max, SCRATCH_ALIGN);
	}
	return 0;
}

/* A copy of an iovec array whose elements point to scratch. */
static int move_iov(struct rec_task *t, uint64_t addr, uint64_t n, uint64_t at)
{
	CLEANUP(freep) struct iovec *v = NULL;

	if (n > IOV_MAX)
		return -EINVAL;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	if (eng_read(&t->t, addr, v, n * sizeof(*v)) < 0)
		return -EFAULT;
	for (uint64_t i = 0; i < n; i++)
		v[i].iov_base = (void *)moved(t, (uint64_t)v[i].iov_base);
	return eng_write(&t->t, at, v, n * sizeof(*v));
}

static int move_msghdr(struct rec_task *t, uint64_t addr, uint64_t at)
{
	uint64_t iov_at = at + 128;
	struct msghdr h;
	int r;

	if (eng_read(&t->t, addr, &h, sizeof(h)) < 0)
		return -EFAULT;
	r = move_iov(t, (uint64_t)h.msg_iov, h.msg_iovlen, iov_at);
	if (r < 0)
		return r;
	h.msg_iov = (struct iovec *)iov_at;
	if (h.msg_name)
		h.msg_name = (void *)moved(t, (uint64_t)h.msg_name);
	if (h.msg_control)
		h.msg_control = (void *)moved(t, (uint64_t)h.msg_control);
	/* Fields of the header itself are slots too: the whole header moves. */
	for (uint32_t i = 0; i < t->n_moves; i++)
		if (t->moves[i].from >= addr && t->moves[i].from < addr + sizeof(h))
			t->moves[i].to = at + (t->moves[i].from - addr);
	return eng_write(&t->t, at, &h, sizeof(h));
}

/* Points the arguments to the scratch copies. 0: done. Negative: leave the call alone. */
static int redirect(struct rec_task *t, struct user_regs_struct *r, uint64_t at)
{
	const struct sys_row *row = t->outs.res.row;

	for (unsigned i = 0; i < row->nargs; i++) {
		uint64_t *arg = argument(r, i);
		int rc = 0;

		if (!*arg || row->arg[i].dir == SYS_IN || row->arg[i].dir == SYS_NONE)
			continue;
		switch (row->arg[i].kind) {
		case SYS_ARG_IOV:
			rc = move_iov(t, *arg, t->outs.call.args[row->arg[i].len_arg], at);
			*arg = at;
			break;
		case SYS_ARG_MSGHDR:
			rc = move_msghdr(t, *arg, at);
			*arg = at;
			break;
		case SYS_ARG_MMSGHDR:
			rc = -ENOSYS;
			break;
		default:
			*arg = moved(t, *arg);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

int rec_scratch_move(struct rec_task *t)
{
	struct user_regs_struct *r, changed;
	uint64_t at, total;
	int rc;

	/* Futex words and pages given to a pipe are used where they are. Moves that a restarted call still has stay. */
	if (t->n_moves || (t->outs.res.row->flags & SYS_F_EARLY) || !needed(t))
		return 0;
	total = room(t);
	if (!total)
		return 0;
	rc = ensure(t, total);
	if (rc <= 0)
		return rc;
	at = t->scratch;
	rc = place_slots(t, &at);
	if (rc >= 0)
		rc = eng_regs(&t->t, &r);
	if (rc >= 0) {
		changed = *r;
		rc = redirect(t, &changed, at);
	}
	if (rc < 0) {
		rec_scratch_forget(t);
		return rc == ERR_GUEST_GONE ? rc : 0;
	}
	eng_regs_set(&t->t, &changed);
	t->args_changed = true;
	return 0;
}

static int read_moved(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct rec_task *t = ctx;

	return eng_read(&t->t, moved(t, addr), buf, n);
}

/* What the effect says, at its place. */
static int write_effect(struct rec_task *t, const struct effect *e)
{
	static const uint8_t zeros[4096];
	int r = 0;

	if (e->data)
		return eng_write(&t->t, e->addr, e->data, e->len);
	for (uint64_t at = 0; at < e->len && r >= 0; at += sizeof(zeros))
		r = eng_write(&t->t, e->addr + at, zeros, MIN(e->len - at, (uint64_t)sizeof(zeros)));
	return r;
}

static int copy_back(void *ctx, uint64_t addr, uint64_t len)
{
	struct rec_task *t = ctx;
	uint64_t from = moved(t, addr);
	uint32_t first = t->rec->fx.n;

	fx_memory(&t->rec->fx, &t->t, EFFECT_MEM, from, len);
	for (uint32_t i = first; i < t->rec->fx.n; i++) {
		struct effect *e = &t->rec->fx.e[i];

		e->addr = addr + (e->addr - from);
		if (from != addr && write_effect(t, e) < 0)
			log_debug("thread %u: buffer %#lx vanished during the call", t->num, e->addr);
	}
	return 0;
}

int rec_scratch_leave(struct rec_task *t, int64_t result)
{
	struct sys_mem mem = { .read = read_moved, .ctx = t };

	return sys_outs_leave(&t->outs, result, &mem, copy_back, t);
}
