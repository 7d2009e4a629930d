/* Calls as strace shows them: arguments by kind, results, what is only known at exit. Structures are in the print_*.c files. */
#include "engine/sysprint.h"

#include <stdio.h>
#include <string.h>
#include "engine/print_priv.h"

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

#define STRING_DEFAULT 32u
#define ARRAY_DEFAULT 16u
#define STRING_LIMIT (1u << 20)
#define PATH_SHOWN 4096u
#define POINTERS_COUNTED 1024u

enum {
	NR_open = 2,
	NR_poll = 7,
	NR_ioctl = 16,
	NR_select = 23,
	NR_mremap = 25,
	NR_nanosleep = 35,
	NR_socket = 41,
	NR_socketpair = 53,
	NR_setsockopt = 54,
	NR_getsockopt = 55,
	NR_clone = 56,
	NR_wait4 = 61,
	NR_fcntl = 72,
	NR_getcwd = 79,
	NR_times = 100,
	NR_rt_sigtimedwait = 128,
	NR_mknod = 133,
	NR_quotactl = 179,
	NR_futex = 202,
	NR_clock_nanosleep = 230,
	NR_mq_open = 240,
	NR_openat = 257,
	NR_mknodat = 259,
	NR_pselect6 = 270,
	NR_ppoll = 271,
	NR_quotactl_fd = 443,
};

const char *sysprint_errno(int e)
{
	return sys_name_of(SYS_NAMES_ERRNO, (uint64_t)(int64_t)e);
}

static bool failed(int64_t result)
{
	return result < 0 && result >= -4095;
}

static void put_error(struct buf *out, int e)
{
	const char *name = sysprint_errno(e);
	const char *text = strerrordesc_np(e);

	if (name && e >= 512) /* the kernel's own: it restarts the call or makes EINTR of it */
		buf_printf(out, "? %s", name);
	else if (name)
		buf_printf(out, "-1 %s (%s)", name, text ? text : "?");
	else
		buf_printf(out, "-1 (errno %d)", e);
}

void sysprint_result(struct buf *out, const struct sys_row *row, int64_t result)
{
	buf_put(out, "= ", 2);
	if (row->ret == SYS_ARG_KIND_MAX_)
		buf_put_u8(out, '?');
	else if (row->ret == SYS_ARG_UINT)
		buf_printf(out, "%lu", (uint64_t)result);
	else if (failed(result))
		put_error(out, (int)-result);
	else if (row->ret == SYS_ARG_ADDR && !result)
		buf_put(out, "NULL", 4);
	else if (row->ret == SYS_ARG_ADDR || row->ret == SYS_ARG_HEX)
		buf_printf(out, "%#lx", (uint64_t)result);
	else if (row->ret == SYS_ARG_MODE)
		buf_printf(out, "%#03lo", (uint64_t)result);
	else
		buf_printf(out, "%ld", result);
}

static void look_at_entry(struct printer *p)
{
	p->mem = p->entry;
	p->at_exit = false;
}

static void look_at_exit(struct printer *p)
{
	p->mem = p->exit;
	p->at_exit = true;
}

static bool is_select(uint32_t nr)
{
	return nr == NR_select || nr == NR_pselect6;
}

static bool is_poll(uint32_t nr)
{
	return nr == NR_poll || nr == NR_ppoll;
}

/* Is there output of this argument to show? wait4() without a child stores nothing. What is stored with an error is worth showing only when it is the
 * purpose of the argument: the rest of a sleep, values that are read and written. */
static bool is_written(const struct printer *p, const struct sys_arg *a)
{
	uint32_t nr = p->call->nr;

	if (nr == NR_wait4)
		return p->result > 0;
	if (!failed(p->result))
		return true;
	if (a->dir == SYS_INOUT)
		return a->on_error && nr != NR_ioctl;
	return a->on_error && (nr == NR_nanosleep || nr == NR_clock_nanosleep || nr == NR_times);
}

/* Bytes of an argument: by the rule at entry, clamped at exit by what the kernel said. */
static uint64_t arg_bytes(const struct printer *p, const struct sys_arg *a)
{
	uint64_t room = sys_room(p->call, p->row, a, p->entry);
	uint32_t len;

	if (!p->at_exit)
		return room;
	if (a->len == SYS_LEN_RET)
		return p->result <= 0 ? 0 : MIN(sys_mul_clamped((uint64_t)p->result, a->size), room);
	if (a->len == SYS_LEN_PTR && sys_mem_read(p->exit, p->call->args[a->len_arg], &len, sizeof(len)) >= 0)
		return MIN(sys_mul_clamped(len, a->size), room);
	return room;
}

/* One structure with a size, or a vector of them. */
static void print_struct_arg(struct printer *p, const struct sys_arg *a, uint64_t addr)
{
	enum sys_struct type = (enum sys_struct)a->table;
	uint64_t n = arg_bytes(p, a), one = print_struct_size(type);

	if (one && (a->len == SYS_LEN_FIXED ? a->size >= 2 * one : a->size > 1))
		print_vector_at(p, type, addr, n);
	else
		print_struct_at(p, type, addr, n);
}

static void print_strings(struct printer *p, unsigned int i)
{
	uint64_t addr = p->call->args[i], string;
	bool count_only = i > 0 && p->row->arg[i - 1].kind == SYS_ARG_STRV;
	unsigned int n = 0;

	if (!addr || sys_mem_read(p->mem, addr, &string, 8) < 0) {
		print_addr(p, addr);
		return;
	}
	if (count_only)
		PUT(p, "%#lx /* ", addr);
	else
		PUT(p, "[");
	for (; n < POINTERS_COUNTED && sys_mem_read(p->mem, addr + n * 8, &string, 8) >= 0 && string; n++) {
		if (count_only)
			continue;
		if (!print_next(p, n))
			break;
		print_string(p, string, p->string_max);
	}
	if (count_only)
		PUT(p, "%u var%s */", n, n == 1 ? "" : "s");
	else
		PUT(p, "]");
}

static void print_command(struct printer *p, unsigned int i)
{
	uint32_t v = (uint32_t)p->call->args[i];
	uint32_t nr = p->call->nr;

	if (nr == NR_setsockopt || nr == NR_getsockopt) {
		print_option_name(p);
	} else if (!*p->res->command) {
		print_hex(p, v);
	} else if (nr == NR_quotactl || nr == NR_quotactl_fd) {
		PUT(p, "QCMD(%s, ", p->res->command);
		print_enum(p, SYS_NAMES_QUOTA, v & 0xff);
		PUT(p, ")");
	} else {
		PUT(p, "%s", p->res->command);
		if (nr == NR_futex)
			PUT(p, "%s%s", v & 0x80 ? "_PRIVATE" : "", v & 0x100 ? "|FUTEX_CLOCK_REALTIME" : "");
	}
}

/* Registers of int arguments may hold anything above bit 31; sign bits are no bits of a flag word. */
static uint64_t narrow(uint64_t v)
{
	return v >> 32 == UINT32_MAX ? (uint32_t)v : v;
}

/* Flags with permissions in their low bits. */
static void print_ipc_mode(struct printer *p, uint64_t v)
{
	if (v & ~0777ull) {
		print_flags(p, SYS_NAMES_IPC_GET, v & ~0777ull);
		PUT(p, "|");
	}
	PUT(p, "%#03lo", v & 0777);
}

static void print_names(struct printer *p, const struct sys_arg *a, uint64_t v)
{
	enum sys_names table = (enum sys_names)a->table;
	bool protocol = table == SYS_NAMES_IPPROTO;
	uint32_t family = (uint32_t)p->call->args[0];

	if (protocol && family == 16) /* AF_NETLINK */
		print_enum(p, SYS_NAMES_NETLINK_PROTO, v);
	else if (protocol && family != 2 && family != 10) /* neither of the internet */
		PUT(p, "%u", (uint32_t)v);
	else if (table == SYS_NAMES_MODE_TYPE)
		print_mode(p, (uint32_t)v);
	else if (table == SYS_NAMES_IPC_GET)
		print_ipc_mode(p, v);
	else if (a->kind == SYS_ARG_ENUM)
		print_enum(p, table, v);
	else
		print_flags(p, table, v);
}

static void print_number(struct printer *p, const struct sys_arg *a, uint64_t v)
{
	switch ((enum sys_arg_kind)a->kind) {
	case SYS_ARG_UINT:
		PUT(p, "%u", (uint32_t)v);
		break;
	case SYS_ARG_INT:
	case SYS_ARG_FD:
	case SYS_ARG_PID:
		if (v >> 32 == 0 || v >> 32 == UINT32_MAX)
			PUT(p, "%d", (int32_t)v);
		else
			PUT(p, "%ld", (int64_t)v);
		break;
	case SYS_ARG_DIRFD:
		print_dirfd(p, (int32_t)v);
		break;
	case SYS_ARG_UID:
		print_id(p, (uint32_t)v);
		break;
	case SYS_ARG_MODE:
		PUT(p, "%#03o", (uint32_t)v);
		break;
	case SYS_ARG_SIGNO:
		print_signal(p, (int32_t)v);
		break;
	case SYS_ARG_LEN:
		PUT(p, "%lu", v);
		break;
	case SYS_ARG_OFF:
		PUT(p, "%ld", (int64_t)v);
		break;
	case SYS_ARG_HEX:
		print_hex(p, v);
		break;
	case SYS_ARG_SKIPPED:
		break;
	default:
		print_addr(p, v);
	}
}

/* System V messages: the type, then the text. */
static void print_msgbuf(struct printer *p, const struct sys_arg *a, uint64_t addr)
{
	int64_t type;

	if (!addr || sys_mem_read(p->mem, addr, &type, sizeof(type)) < 0) {
		print_addr(p, addr);
		return;
	}
	PUT(p, "{mtype=%ld, mtext=", type);
	print_bytes(p, addr + 8, arg_bytes(p, a));
	PUT(p, "}");
}

static void print_buffer(struct printer *p, const struct sys_arg *a, uint64_t addr)
{
	if (p->call->nr == NR_setsockopt || p->call->nr == NR_getsockopt)
		print_option_value(p, addr, arg_bytes(p, a));
	else if (p->call->nr == NR_getcwd) /* the length counts the NUL */
		print_string(p, addr, PATH_SHOWN);
	else
		print_bytes(p, addr, arg_bytes(p, a));
}

/* The argument as p->mem has it. */
static void print_memory(struct printer *p, unsigned int i)
{
	const struct sys_arg *a = &p->row->arg[i];
	uint64_t addr = p->call->args[i];
	uint64_t bytes = p->at_exit ? (p->result > 0 ? (uint64_t)p->result : 0) : UINT64_MAX;

	switch ((enum sys_arg_kind)a->kind) {
	case SYS_ARG_BUF:
		print_buffer(p, a, addr);
		break;
	case SYS_ARG_STRUCT:
		print_struct_arg(p, a, addr);
		break;
	case SYS_ARG_IOV:
		print_iov(p, addr, sys_count_arg(p->call, p->row, a->len_arg), a->dir != SYS_NONE, bytes);
		break;
	case SYS_ARG_MSGHDR:
		print_msghdr(p, addr, p->at_exit, bytes);
		break;
	case SYS_ARG_MMSGHDR:
		print_mmsg(p, addr, p->at_exit && a->dir == SYS_OUT ? bytes : sys_count_arg(p->call, p->row, a->len_arg), a->dir == SYS_OUT);
		break;
	case SYS_ARG_MSGBUF:
		print_msgbuf(p, a, addr);
		break;
	case SYS_ARG_SOCKADDR:
		print_sockaddr(p, addr, arg_bytes(p, a));
		break;
	default:
		print_number(p, a, addr);
	}
}

/* Is what the kernel left there different from what it found? */
static bool has_changed(struct printer *p, unsigned int i)
{
	const struct sys_arg *a = &p->row->arg[i];
	uint8_t before[512], after[512];
	size_t n = MIN(sys_room(p->call, p->row, a, p->entry), (uint64_t)sizeof(before));

	return sys_mem_read(p->exit, p->call->args[i], after, n) >= 0 && sys_mem_read(p->entry, p->call->args[i], before, n) >= 0 &&
	       memcmp(before, after, n);
}

/* Numbers in brackets keep one pair: [112 => 16]. */
static void print_change(struct printer *p, unsigned int i)
{
	size_t end = p->out->len;

	if (p->row->arg[i].table == SYS_STRUCT_INT && end && p->out->data[end - 1] == ']') {
		size_t after;

		p->out->len--;
		PUT(p, " => ");
		after = p->out->len;
		print_memory(p, i);
		if (p->out->len > after) { /* without its bracket */
			memmove(p->out->data + after, p->out->data + after + 1, p->out->len - after - 1);
			p->out->len--;
		}
	} else {
		PUT(p, " => ");
		print_memory(p, i);
	}
}

static void print_inout(struct printer *p, unsigned int i)
{
	const struct sys_arg *a = &p->row->arg[i];
	bool later = is_poll(p->call->nr) || is_select(p->call->nr); /* shown behind the result */

	look_at_entry(p);
	if (p->has_result && p->call->nr == NR_getsockopt && a->kind == SYS_ARG_BUF) {
		look_at_exit(p);
		if (is_written(p, a))
			print_memory(p, i);
		else
			print_addr(p, p->call->args[i]);
		return;
	}
	print_memory(p, i);
	look_at_exit(p);
	if (p->has_result && !later && is_written(p, a) && (a->kind == SYS_ARG_STRUCT || a->kind == SYS_ARG_BUF) && has_changed(p, i))
		print_change(p, i);
}

/* Shown from memory at exit only. */
static bool is_output(const struct printer *p, const struct sys_arg *a)
{
	return a->dir == SYS_OUT || (a->dir == SYS_INOUT && a->kind == SYS_ARG_MSGHDR) ||
	       (a->dir == SYS_INOUT && a->kind == SYS_ARG_BUF && p->call->nr == NR_getsockopt);
}

static void print_arg(struct printer *p, unsigned int i)
{
	const struct sys_arg *a = &p->row->arg[i];
	uint64_t v = p->call->args[i];

	look_at_entry(p);
	switch ((enum sys_arg_kind)a->kind) {
	case SYS_ARG_PATH:
	case SYS_ARG_STR:
		print_string(p, v, PATH_SHOWN);
		return;
	case SYS_ARG_STRV:
		print_strings(p, i);
		return;
	case SYS_ARG_COMMAND:
		print_command(p, i);
		return;
	case SYS_ARG_FLAGS:
	case SYS_ARG_ENUM:
		print_names(p, a, narrow(v));
		return;
	default:
		break;
	}
	if (is_output(p, a)) {
		look_at_exit(p);
		if (is_written(p, a))
			print_memory(p, i);
		else
			print_addr(p, v);
	} else if (a->dir == SYS_INOUT) {
		print_inout(p, i);
	} else {
		print_memory(p, i);
	}
}

/* The last arguments of these calls mean something only with some bits in their flags: a mode with O_CREAT or O_TMPFILE, a device number for a
 * device, a new address with MREMAP_FIXED or MREMAP_DONTUNMAP. */
static unsigned int shown_args(const struct printer *p)
{
	static const struct {
		uint16_t nr;
		uint8_t flags;
		uint32_t bits;
	} optional[] = { { NR_open, 1, 020000100 }, { NR_openat, 2, 020000100 }, { NR_mq_open, 1, 0100 },
			 { NR_mknod, 1, 020000 },   { NR_mknodat, 2, 020000 },	 { NR_mremap, 3, 6 } };

	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (optional[i].nr == p->call->nr && !(p->call->args[optional[i].flags] & optional[i].bits))
			return optional[i].flags + 1u;
	return p->row->nargs;
}

static void note_arg(struct printer *p, unsigned int i, size_t from)
{
	if (!p->parts)
		return;
	p->parts->arg[i].from = from;
	p->parts->arg[i].to = p->out->len;
}

static void note_args_end(struct printer *p)
{
	if (p->parts)
		p->parts->args_end = p->parts->result = p->out->len;
}

static void print_args(struct printer *p)
{
	unsigned int n = shown_args(p), i;
	size_t from;

	for (i = 0; i < n; i++) {
		if (!p->has_result && is_output(p, &p->row->arg[i]))
			break;
		if (p->row->arg[i].kind == SYS_ARG_SKIPPED)
			continue;
		PUT(p, i ? ", " : "");
		from = p->out->len;
		print_arg(p, i);
		note_arg(p, i, from);
	}
	note_args_end(p);
	if (!p->has_result && p->row->ret != SYS_ARG_KIND_MAX_)
		PUT(p, i < n && i ? ", <unfinished ...>" : i < n ? "<unfinished ...>" : " <unfinished ...>");
}

/* The arguments of clone() that its flags make use of, by name. */
static void print_clone(struct printer *p)
{
	const uint64_t *a = p->call->args;

	PUT(p, "child_stack=");
	print_addr(p, a[1]);
	PUT(p, ", flags=");
	print_flags(p, SYS_NAMES_CLONE_SIGNAL, a[0]);
	if (a[0] & 0x101000) { /* CLONE_PARENT_SETTID | CLONE_PIDFD */
		PUT(p, ", parent_tid=");
		look_at_exit(p);
		if (p->has_result && !failed(p->result))
			print_struct_at(p, SYS_STRUCT_PIDS, a[2], 4);
		else
			print_addr(p, a[2]);
	}
	if (a[0] & 0x80000) /* CLONE_SETTLS */
		PUT(p, ", tls=%#lx", a[4]);
	if (a[0] & 0x1200000) { /* CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID */
		PUT(p, ", child_tidptr=");
		print_addr(p, a[3]);
	}
	note_args_end(p);
	if (!p->has_result)
		PUT(p, " <unfinished ...>");
}

static const char *more(bool *any)
{
	const char *s = *any ? ", " : " (";

	*any = true;
	return s;
}

static void print_left(struct printer *p, unsigned int i, enum sys_struct type, bool *any)
{
	uint8_t byte;

	if (!p->call->args[i] || sys_mem_read(p->exit, p->call->args[i], &byte, 1) < 0)
		return;
	PUT(p, "%sleft ", more(any));
	print_struct_at(p, type, p->call->args[i], 16);
}

static void print_ready_fds(struct printer *p, bool *any)
{
	uint64_t count = sys_count_arg(p->call, p->row, 1), shown = 0;
	uint8_t fd[8];

	PUT(p, "%s[", more(any));
	for (uint64_t i = 0; i < count && sys_mem_read(p->exit, p->call->args[0] + i * 8, fd, 8) >= 0; i++) {
		if (!fd[6] && !fd[7])
			continue;
		if (!print_next(p, shown++))
			break;
		print_pollfd(p, (struct data){ fd, sizeof(fd) });
	}
	PUT(p, "]");
}

/* Only sets with members. */
static void print_ready_sets(struct printer *p, bool *any)
{
	static const char *const names[] = { "in ", "out ", "except " };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		size_t start = p->out->len, before;
		bool had = *any;

		if (!p->call->args[i + 1])
			continue;
		PUT(p, "%s%s", more(any), names[i]);
		before = p->out->len;
		print_struct_at(p, SYS_STRUCT_FD_SET, p->call->args[i + 1], arg_bytes(p, &p->row->arg[i + 1]));
		if (p->out->len == before + 2 && p->out->data[before] == '[') {
			p->out->len = start;
			*any = had;
		}
	}
}

static void print_ready(struct printer *p)
{
	bool any = false;

	if (failed(p->result))
		return;
	look_at_exit(p);
	if (!p->result) {
		PUT(p, " (Timeout)");
		return;
	}
	if (is_poll(p->call->nr))
		print_ready_fds(p, &any);
	else
		print_ready_sets(p, &any);
	if (p->call->nr == NR_ppoll)
		print_left(p, 2, SYS_STRUCT_TIMESPEC, &any);
	else if (is_select(p->call->nr))
		print_left(p, 4, p->call->nr == NR_select ? SYS_STRUCT_TIMEVAL : SYS_STRUCT_TIMESPEC, &any);
	PUT(p, any ? ")" : "");
}

static void print_fcntl_flags(struct printer *p)
{
	static const struct {
		uint16_t command;
		uint8_t names;
		bool zero; /* is worth saying */
		const char *what;
	} commands[] = { { 1, SYS_NAMES_FD_FLAGS, false, "flags" }, { 3, SYS_NAMES_OPEN, true, "flags" }, { 1034, SYS_NAMES_SEALS, false, "seals" } };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (commands[i].command != (uint32_t)p->call->args[1] || failed(p->result) || !(p->result || commands[i].zero))
			continue;
		PUT(p, " (%s ", commands[i].what);
		print_flags(p, (enum sys_names)commands[i].names, (uint64_t)p->result);
		PUT(p, ")");
	}
}

/* What is behind the result. */
static void print_trailer(struct printer *p)
{
	uint32_t nr = p->call->nr;

	if (is_poll(nr) || is_select(nr)) {
		print_ready(p);
	} else if (nr == NR_fcntl) {
		print_fcntl_flags(p);
	} else if (nr == NR_rt_sigtimedwait && p->result > 0) {
		PUT(p, " (");
		print_signal(p, (int)p->result);
		PUT(p, ")");
	}
}

void sysprint_call(struct buf *out, const struct sys_call *c, bool has_result, int64_t result, const struct sys_mem *entry,
		   const struct sys_mem *exit, const struct sysprint_options *opt)
{
	struct sys_resolved res;
	struct printer p = { .out = out, .call = c, .res = &res, .entry = entry, .exit = exit, .has_result = has_result, .result = result };
	char name[24];

	sys_resolve(c, &res);
	p.row = res.row;
	p.string_max = opt && opt->string_max ? MIN(opt->string_max, STRING_LIMIT) : STRING_DEFAULT;
	p.array_max = opt && opt->array_max ? opt->array_max : ARRAY_DEFAULT;
	p.parts = opt ? opt->parts : NULL;
	buf_init(&p.scratch);
	look_at_entry(&p);
	buf_printf(out, "%s(", sys_name(c->nr, name));
	if (p.parts)
		*p.parts = (struct sysprint_parts){ .args = out->len };
	if (c->nr == NR_clone)
		print_clone(&p);
	else
		print_args(&p);
	if (has_result || res.row->ret == SYS_ARG_KIND_MAX_) {
		buf_put(out, ") ", 2);
		if (p.parts)
			p.parts->result = out->len + 2; /* behind "= " */
		sysprint_result(out, res.row, result);
		if (has_result)
			print_trailer(&p);
	}
	buf_done(&p.scratch);
}
