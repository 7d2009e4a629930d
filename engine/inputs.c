/* Inputs of a call that are worth showing: found at entry, kept by the recorder with the event, read back by the printer.
 * Nothing here is needed to replay; so everything is cut short rather than complete. */
#include "engine/syscall.h"

#include "engine/guestmem_priv.h"

#define STRUCT_SHOWN 4096u  /* of a structure or vector of structures */
#define STRING_SHOWN 4096u  /* PATH_MAX */
#define ARGUMENT_SHOWN 256u /* of an argv string */
#define STRINGS_SHOWN 64u   /* strings of an argv */
#define POINTERS_SHOWN 1024u
#define SOCKADDR_SHOWN 128u
#define CONTROL_SHOWN 256u
#define VECTORS_SHOWN 16u   /* iovecs, messages */

struct showing {
	const struct sys_outs *o;
	const struct sys_mem *mem;
	sys_range_fn fn;
	void *ctx;
};

static int show(const struct showing *w, uint64_t addr, uint64_t len)
{
	int r;

	if (!addr || !len || addr >= SYS_USER_END)
		return 0;
	r = w->fn(w->ctx, addr, MIN(len, SYS_USER_END - addr));
	return r < 0 ? r : 0;
}

static int show_strings(const struct showing *w, unsigned int i)
{
	uint64_t addr = w->o->call.args[i], p;
	unsigned int n = 0;
	int r = 0;

	while (n < POINTERS_SHOWN && sys_mem_read(w->mem, addr + n * 8, &p, 8) >= 0) {
		n++;
		if (!p)
			break;
		/* of the environment (the second vector) only the count is shown */
		if (n <= STRINGS_SHOWN && (i == 0 || w->o->res.row->arg[i - 1].kind != SYS_ARG_STRV))
			r = show(w, p, sys_string_length(w->mem, p, ARGUMENT_SHOWN));
		if (r < 0)
			return r;
	}
	return show(w, addr, n * 8ull);
}

static int show_iov(const struct showing *w, uint64_t addr, uint64_t count, bool data)
{
	struct iovec64 v;
	int r;

	count = MIN(count, (uint64_t)VECTORS_SHOWN);
	r = show(w, addr, count * sizeof(v));
	for (uint64_t k = 0; data && k < count && r >= 0; k++) {
		if (sys_mem_read(w->mem, addr + k * sizeof(v), &v, sizeof(v)) < 0)
			return 0;
		r = show(w, v.base, MIN(v.len, (uint64_t)SYS_INPUT_SHOWN));
	}
	return r;
}

static int show_message(const struct showing *w, uint64_t addr, bool data)
{
	struct msghdr64 h;
	int r = 0;

	if (sys_mem_read(w->mem, addr, &h, sizeof(h)) < 0)
		return 0;
	if (data) {
		r = show(w, h.name, h.namelen > 0 ? MIN((uint32_t)h.namelen, SOCKADDR_SHOWN) : 0);
		if (r >= 0)
			r = show(w, h.control, MIN(h.controllen, (uint64_t)CONTROL_SHOWN));
	}
	return r < 0 ? r : show_iov(w, h.iov, h.iovlen, data);
}

static int show_messages(const struct showing *w, unsigned int i)
{
	const struct sys_arg *a = &w->o->res.row->arg[i];
	uint64_t count = MIN(sys_count_arg(&w->o->call, w->o->res.row, a->len_arg), (uint64_t)VECTORS_SHOWN);
	int r = show(w, w->o->call.args[i], count * sizeof(struct mmsghdr64));

	for (uint64_t k = 0; k < count && r >= 0; k++)
		r = show_message(w, w->o->call.args[i] + k * sizeof(struct mmsghdr64), a->dir != SYS_OUT);
	return r;
}

/* The mask of pselect6() is behind one more pointer. */
static int show_struct(const struct showing *w, unsigned int i, uint64_t len)
{
	const struct sys_arg *a = &w->o->res.row->arg[i];
	uint64_t addr = w->o->call.args[i], mask;
	int r = show(w, addr, MIN(len, (uint64_t)STRUCT_SHOWN));

	if (r >= 0 && a->table == SYS_STRUCT_SIGSET_ARG && sys_mem_read(w->mem, addr, &mask, sizeof(mask)) >= 0)
		r = show(w, mask, 8);
	return r;
}

static int show_arg(const struct showing *w, unsigned int i)
{
	const struct sys_row *row = w->o->res.row;
	const struct sys_arg *a = &row->arg[i];
	uint64_t addr = w->o->call.args[i];
	uint64_t len = sys_room(&w->o->call, row, a, w->mem);

	switch ((enum sys_arg_kind)a->kind) {
	case SYS_ARG_IOV:
		return show_iov(w, addr, sys_count_arg(&w->o->call, row, a->len_arg), a->dir == SYS_IN);
	case SYS_ARG_MSGHDR:
		return show_message(w, addr, a->dir == SYS_IN) ?: show(w, addr, sizeof(struct msghdr64));
	case SYS_ARG_MMSGHDR:
		return show_messages(w, i);
	case SYS_ARG_PATH:
	case SYS_ARG_STR:
		return show(w, addr, sys_string_length(w->mem, addr, STRING_SHOWN));
	case SYS_ARG_STRV:
		return show_strings(w, i);
	case SYS_ARG_SOCKADDR:
		return show(w, addr, MIN(len, (uint64_t)SOCKADDR_SHOWN));
	case SYS_ARG_MSGBUF:
		return show(w, addr, 8 + MIN(len, (uint64_t)SYS_INPUT_SHOWN));
	case SYS_ARG_BUF:
		return show(w, addr, MIN(len, (uint64_t)SYS_INPUT_SHOWN));
	case SYS_ARG_STRUCT:
		return show_struct(w, i, len);
	default:
		return 0;
	}
}

/* Vectors are shown for output calls too: the printer needs them to find the bytes. */
static bool has_input(const struct sys_arg *a)
{
	return (a->dir & SYS_IN) || a->kind == SYS_ARG_IOV || a->kind == SYS_ARG_MSGHDR || a->kind == SYS_ARG_MMSGHDR;
}

int sys_inputs(const struct sys_outs *o, const struct sys_mem *mem, sys_range_fn fn, void *ctx)
{
	const struct showing w = { .o = o, .mem = mem, .fn = fn, .ctx = ctx };
	int r = 0;

	for (unsigned int i = 0; i < o->res.row->nargs && r >= 0; i++)
		if (o->call.args[i] && has_input(&o->res.row->arg[i]))
			r = show_arg(&w, i);
	return r < 0 ? r : 0;
}
