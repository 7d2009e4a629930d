/* The system call table: rows are whole and consistent, commands are found, and the length rules keep to what the kernel does, whatever a guest
 * puts into counts, lengths and addresses. */
#include "engine/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include "engine/commands_priv.h"
#include "tests/unit/engine_mem.h"
#include "tests/unit/test.h"

static void check_arg(const struct sys_row *row, const char *what, unsigned int i)
{
	const struct sys_arg *a = &row->arg[i];

	ck_assert_msg(a->name && a->kind < SYS_ARG_KIND_MAX_, "%s %s: argument %u", row->name, what, i);
	ck_assert_msg((*a->name == 0) == (a->kind == SYS_ARG_SKIPPED), "%s %s: argument %u has no name", row->name, what, i);
	if (a->kind == SYS_ARG_FLAGS || a->kind == SYS_ARG_ENUM)
		ck_assert_msg(a->table > SYS_NAMES_NONE && a->table < SYS_NAMES_MAX_, "%s %s: table of %s", row->name, what, a->name);
	if (a->kind == SYS_ARG_STRUCT)
		ck_assert_msg(a->table > SYS_STRUCT_NONE && a->table < SYS_STRUCT_MAX_, "%s %s: structure of %s", row->name, what, a->name);
	if (a->kind < SYS_ARG_PATH)
		ck_assert_msg(a->dir == SYS_NONE && a->len == SYS_LEN_NONE, "%s %s: %s is a number", row->name, what, a->name);
	if (a->dir & SYS_OUT)
		ck_assert_msg(a->len != SYS_LEN_NONE && a->len != SYS_LEN_STR, "%s %s: no length rule for %s", row->name, what, a->name);
	if (a->len != SYS_LEN_NONE && a->len != SYS_LEN_STR)
		ck_assert_msg(a->size, "%s %s: %s has no size", row->name, what, a->name);
	if (a->len != SYS_LEN_NONE && a->len != SYS_LEN_STR && a->len != SYS_LEN_FIXED)
		ck_assert_msg(a->len_arg < row->nargs && a->len_arg != i, "%s %s: length argument of %s", row->name, what, a->name);
	if (a->len == SYS_LEN_PTR)
		ck_assert_msg(row->arg[a->len_arg].dir == SYS_INOUT && row->arg[a->len_arg].size == 4, "%s %s: length of %s is not stored",
			      row->name, what, a->name);
	else if (a->len != SYS_LEN_NONE && a->len != SYS_LEN_STR && a->len != SYS_LEN_FIXED)
		ck_assert_msg(row->arg[a->len_arg].dir == SYS_NONE, "%s %s: length of %s is no number", row->name, what, a->name);
}

static void check_row(const struct sys_row *row, const char *what)
{
	ck_assert_ptr_nonnull(row->name);
	ck_assert_uint_le(row->nargs, 6);
	ck_assert_uint_lt(row->cls, SYS_CLASS_MAX_);
	ck_assert_uint_le(row->ret, SYS_ARG_KIND_MAX_);
	for (unsigned int i = 0; i < row->nargs; i++) {
		check_arg(row, what, i);
		for (unsigned int k = 0; k < i; k++)
			ck_assert_msg(strcmp(row->arg[i].name, row->arg[k].name) || !*row->arg[i].name, "%s %s: two arguments %s", row->name,
				      what, row->arg[i].name);
		if (row->arg[i].kind == SYS_ARG_FD || row->arg[i].kind == SYS_ARG_DIRFD)
			ck_assert_msg(row->flags & (SYS_F_DESC | SYS_F_UNKNOWN) || *what, "%s: takes a descriptor", row->name);
	}
}

START_TEST(rows_are_consistent)
{
	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++) {
		const struct sys_row *row = sys_row(nr);
		char name[24];

		if (nr >= 335 && nr < 424) {
			ck_assert_str_eq(row->name, "?");
			ck_assert_int_eq(row->cls, SYS_REFUSE);
			continue;
		}
		ck_assert_msg(strcmp(row->name, "?"), "no row for %u", nr);
		check_row(row, "");
		ck_assert_int_eq(sys_number(row->name), (int)nr);
		ck_assert_str_eq(sys_name(nr, name), row->name);
		if (row->ret == SYS_ARG_FD && row->cls != SYS_REFUSE)
			ck_assert_msg(row->flags & SYS_F_NEWFD, "%s gives a descriptor", row->name);
	}
}
END_TEST

/* Numbers against the headers of the machine. */
START_TEST(numbers)
{
	static const struct {
		const char *name;
		int nr;
	} known[] = {
#define KNOWN(name) { #name, __NR_##name }
		KNOWN(read), KNOWN(ioctl), KNOWN(sendfile), KNOWN(clone), KNOWN(fcntl), KNOWN(getdents), KNOWN(times), KNOWN(prctl), KNOWN(futex),
		KNOWN(getdents64), KNOWN(set_tid_address), KNOWN(exit_group), KNOWN(waitid), KNOWN(openat), KNOWN(pselect6), KNOWN(splice),
		KNOWN(accept4), KNOWN(recvmmsg), KNOWN(prlimit64), KNOWN(process_vm_writev), KNOWN(seccomp), KNOWN(execveat), KNOWN(statx),
		KNOWN(rseq), KNOWN(pidfd_send_signal), KNOWN(clone3), KNOWN(close_range), KNOWN(openat2), KNOWN(faccessat2), KNOWN(futex_waitv),
#undef KNOWN
	};
	char name[24];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		ck_assert_int_eq(sys_number(known[i].name), known[i].nr);
	ck_assert_int_eq(sys_number("cachestat"), 451);
	ck_assert_int_eq(sys_number("lsm_list_modules"), 461);
	ck_assert_int_eq(sys_number("nothing"), -ENOENT);
	ck_assert_int_eq(sys_number("?"), -ENOENT);
	ck_assert_str_eq(sys_name(340, name), "syscall_340");
	ck_assert_str_eq(sys_name(999, name), "syscall_999");
	ck_assert_str_eq(sys_name(UINT32_MAX, name), "syscall_4294967295");
	ck_assert_int_eq(sys_row(UINT32_MAX)->cls, SYS_REFUSE);
	ck_assert_uint_eq(sys_row(999)->nargs, 6);
}
END_TEST

/* A change here is a change of what can be recorded. */
START_TEST(refused_and_special)
{
	static const char *const refused[] = {
		"uselib", "_sysctl", "iopl", "ioperm", "io_setup", "io_destroy", "io_getevents", "io_submit", "io_cancel", "remap_file_pages",
		"userfaultfd", "io_pgetevents", "rseq", "io_uring_setup", "io_uring_enter", "io_uring_register", "process_madvise", "memfd_secret",
		"map_shadow_stack",
	};
	static const char *const special[] = {
		"mmap", "brk", "rt_sigreturn", "mremap", "madvise", "shmat", "clone", "fork", "vfork", "execve", "exit", "shmdt", "ptrace", "prctl",
		"sched_setaffinity", "sched_getaffinity", "set_tid_address", "exit_group", "set_robust_list", "process_vm_writev", "seccomp",
		"execveat", "clone3",
	};
	size_t r = 0, s = 0;

	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++) {
		const struct sys_row *row = sys_row(nr);

		if (row->cls == SYS_REFUSE && nr < 462 && strcmp(row->name, "?")) {
			ck_assert_uint_lt(r, ARRAY_SIZE(refused));
			ck_assert_str_eq(row->name, refused[r++]);
		} else if (row->cls == SYS_SPECIAL) {
			ck_assert_uint_lt(s, ARRAY_SIZE(special));
			ck_assert_str_eq(row->name, special[s++]);
		}
		if (nr >= 462)
			ck_assert_int_eq(row->cls, SYS_REFUSE);
	}
	ck_assert_uint_eq(r, ARRAY_SIZE(refused));
	ck_assert_uint_eq(s, ARRAY_SIZE(special));
}
END_TEST

static void check_command(const struct sys_command *cmd, uint32_t value)
{
	if (!cmd)
		return;
	ck_assert_uint_eq(cmd->value, value);
	check_row(&cmd->row, cmd->name);
}

START_TEST(commands_are_consistent)
{
	static const struct sys_command *(*const find[])(uint32_t) = {
		sys_fcntl_find, sys_futex_find, sys_prctl_find, sys_arch_prctl_find, sys_seccomp_find, sys_shmctl_find, sys_semctl_find,
		sys_msgctl_find, sys_ptrace_find, sys_sysfs_find, sys_modify_ldt_find, sys_keyctl_find, sys_bpf_find, sys_ioctl_find,
	};

	for (size_t i = 0; i < ARRAY_SIZE(find); i++)
		for (uint32_t v = 0; v < 0x10000; v++)
			check_command(find[i](v), v);
	for (uint32_t size = 0; size < 0x4000; size++) /* ioctls with size and direction: those of a few types that have rows */
		for (const char *type = "TfvXVRrpEUHAo\x12\x94\x89"; *type; type++)
			for (uint32_t nr = 0; nr < 0x70; nr += size > 600 ? 7 : 1)
				for (uint32_t dir = 1; dir < 4; dir++) {
					uint32_t v = dir << 30 | size << 16 | (uint32_t)(uint8_t)*type << 8 | nr;

					check_command(sys_ioctl_find(v), v);
				}
	check_command(sys_prctl_find(0x53564d41), 0x53564d41);
	ck_assert_ptr_nonnull(sys_quotactl_find(0x800007));
	ck_assert_ptr_nonnull(sys_quotactl_fd_find(0x800007));
}
END_TEST

START_TEST(resolving)
{
	static const struct {
		struct sys_call call;
		const char *command;
		uint8_t cls;
		bool unknown;
		uint32_t set, clear; /* flags */
	} cases[] = {
		{ { 0, { 0 } }, "", SYS_EMULATE, false, SYS_F_BLOCK | SYS_F_DESC, SYS_F_VARIES },
		{ { 72, { 3, 5 } }, "F_GETLK", SYS_EMULATE, false, SYS_F_DESC, SYS_F_BLOCK },
		{ { 72, { 3, 7 } }, "F_SETLKW", SYS_EMULATE, false, SYS_F_BLOCK, 0 },
		{ { 72, { 3, 1030 } }, "F_DUPFD_CLOEXEC", SYS_EMULATE, false, SYS_F_NEWFD, 0 },
		{ { 72, { 3, 9999 } }, "", SYS_EMULATE, true, 0, 0 },
		{ { 202, { 8, 0 } }, "FUTEX_WAIT", SYS_EMULATE, false, SYS_F_BLOCK, SYS_F_EARLY },
		{ { 202, { 8, 0x80 } }, "FUTEX_WAIT", SYS_EMULATE, false, SYS_F_BLOCK, 0 },
		{ { 202, { 8, 0x189 } }, "FUTEX_WAIT_BITSET", SYS_EMULATE, false, SYS_F_BLOCK, 0 },
		{ { 202, { 8, 0x81 } }, "FUTEX_WAKE", SYS_EMULATE, false, 0, SYS_F_BLOCK },
		{ { 202, { 8, 0x86 } }, "FUTEX_LOCK_PI", SYS_EMULATE, false, SYS_F_BLOCK | SYS_F_EARLY, 0 },
		{ { 202, { 8, 0x55 } }, "", SYS_EMULATE, true, 0, 0 },
		{ { 157, { 15, 8 } }, "PR_SET_NAME", SYS_EMULATE, false, 0, 0 },
		{ { 157, { 26, 2 } }, "PR_SET_TSC", SYS_SPECIAL, false, 0, 0 },
		{ { 157, { 35, 2 } }, "PR_SET_MM", SYS_REFUSE, false, 0, 0 },
		{ { 157, { 0x7777 } }, "", SYS_SPECIAL, true, 0, 0 },
		{ { 158, { 0x1002, 8 } }, "ARCH_SET_FS", SYS_REEXEC, false, 0, 0 },
		{ { 158, { 0x1012, 0 } }, "ARCH_SET_CPUID", SYS_SPECIAL, false, 0, 0 },
		{ { 16, { 0, 0x5401, 8 } }, "TCGETS", SYS_EMULATE, false, SYS_F_DESC, SYS_F_BLOCK },
		{ { 16, { 0, 0x5403, 8 } }, "TCSETSW", SYS_EMULATE, false, SYS_F_BLOCK, 0 },
		{ { 16, { 0, 0xdeadbeef00005401, 8 } }, "TCGETS", SYS_EMULATE, false, 0, 0 }, /* an unsigned int to the kernel */
		{ { 16, { 0, 0x400454ca, 8 } }, "TUNSETIFF", SYS_EMULATE, false, 0, 0 },
		{ { 16, { 0, 0xae01, 0 } }, "KVM_CREATE_VM", SYS_REFUSE, false, 0, 0 },
		{ { 16, { 0, 0x8008fe01, 8 } }, "_IOC(_IOC_READ, 0xfe, 0x1, 0x8)", SYS_EMULATE, false, SYS_F_BLOCK, 0 },
		{ { 16, { 0, 0xc008fe01, 8 } }, "_IOC(_IOC_READ|_IOC_WRITE, 0xfe, 0x1, 0x8)", SYS_EMULATE, true, SYS_F_BLOCK, 0 },
		{ { 16, { 0, 0xfe01, 8 } }, "_IOC(_IOC_NONE, 0xfe, 0x1, 0)", SYS_EMULATE, true, 0, 0 },
		{ { 66, { 1, 0, 2 | 0x100, 8 } }, "IPC_STAT", SYS_EMULATE, false, 0, 0 },
		{ { 179, { 0x80000701, 0, 0, 8 } }, "Q_GETQUOTA", SYS_EMULATE, false, 0, 0 },
		{ { 443, { 3, 0x80000700, 0, 8 } }, "Q_GETQUOTA", SYS_EMULATE, false, 0, 0 },
		{ { 54, { 3, 1, 2, 8, 4 } }, "", SYS_EMULATE, false, 0, 0 },
		{ { 54, { 3, 263, 5, 8, 4 } }, "PACKET_RX_RING", SYS_REFUSE, false, 0, 0 },
		{ { 54, { 3, 0, 64, 8, 4 } }, "IPT_SO_SET_REPLACE", SYS_EMULATE, true, 0, 0 },
		{ { 55, { 3, 0x10001, 1, 8, 8 } }, "", SYS_EMULATE, false, 0, 0 },
		{ { 321, { 1, 8, 100 } }, "BPF_MAP_LOOKUP_ELEM", SYS_EMULATE, true, 0, 0 },
		{ { 400, { 0 } }, "", SYS_REFUSE, false, 0, 0 },
		{ { 4000, { 0 } }, "", SYS_REFUSE, false, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sys_resolved r;

		sys_resolve(&cases[i].call, &r);
		ck_assert_str_eq(r.command, cases[i].command);
		ck_assert_msg(r.row->cls == cases[i].cls, "case %zu: class %d", i, r.row->cls);
		ck_assert_msg(r.unknown == cases[i].unknown, "case %zu: unknown", i);
		ck_assert_msg((r.row->flags & cases[i].set) == cases[i].set, "case %zu: flags %#x", i, r.row->flags);
		ck_assert_msg(!(r.row->flags & cases[i].clear), "case %zu: flags %#x", i, r.row->flags);
	}
}
END_TEST

/* What a call writes, as text: "addr+len ..." in hex. */
struct collected {
	char text[2048];
	size_t len;
	unsigned int n;
	int stop_at;
};

static int collect(void *ctx, uint64_t addr, uint64_t len)
{
	struct collected *c = ctx;

	if (c->len < sizeof(c->text) - 64)
		c->len += (size_t)snprintf(c->text + c->len, sizeof(c->text) - c->len, "%s%lx+%lx", c->n ? " " : "", addr, len);
	return ++c->n == (unsigned int)c->stop_at ? -ECANCELED : 0;
}

static void expect(const struct sys_call *c, struct mem *before, struct mem *after, int64_t result, const char *ranges)
{
	struct sys_outs o;
	struct collected got = { .n = 0 };
	struct sys_mem mem = { mem_read, before };

	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, c, &mem), 0);
	mem.ctx = after;
	ck_assert_int_eq(sys_outs_leave(&o, result, &mem, collect, &got), 0);
	ck_assert_str_eq(got.text, ranges);
	sys_outs_done(&o);
}

#define CALL(nr, ...) (&(struct sys_call){ nr, { __VA_ARGS__ } })
#define A 0x10000ull /* of readable memory, 64 KiB of zeros unless a test puts more */

START_TEST(length_rules)
{
	struct mem m = { .n = 0 };
	uint32_t lens[] = { 28, 16, 0, UINT32_MAX };

	mem_put(&m, 0x50000, lens, sizeof(lens));
	mem_put(&m, A, NULL, 0x10000);
	expect(CALL(5, 3, A), &m, &m, 0, "10000+90");                              /* FIXED: fstat */
	expect(CALL(5, 3, A), &m, &m, -EBADF, "");
	expect(CALL(5, 3, 0), &m, &m, 0, "");
	expect(CALL(0, 3, A, 100), &m, &m, 7, "10000+7");                          /* RET: read */
	expect(CALL(0, 3, A, 100), &m, &m, 0, "");
	expect(CALL(0, 3, A, 100), &m, &m, -EIO, "");
	expect(CALL(0, 3, A, 100), &m, &m, 700, "10000+64");                       /* clamped to the room */
	expect(CALL(45, 3, A, 4, 0x20), &m, &m, 50, "10000+4");                    /* recvfrom with MSG_TRUNC */
	expect(CALL(115, 0, A), &m, &m, 9, "");                                    /* getgroups(0) asks for the number */
	expect(CALL(115, 3, A), &m, &m, 2, "10000+8");
	expect(CALL(191, 1, 1, A, 0), &m, &m, 9, "");                              /* getxattr of size 0 */
	expect(CALL(232, 3, A, 10), &m, &m, 2, "10000+18");                        /* epoll_wait: 12 bytes each */
	expect(CALL(51, 3, A, 0x50000), &m, &m, 0, "10000+1c 50000+4");            /* PTR: getsockname */
	expect(CALL(51, 3, A, 0x50008), &m, &m, 0, "50008+4");
	expect(CALL(51, 3, A, 0x5000c), &m, &m, 0, "5000c+4");                     /* a negative length */
	expect(CALL(51, 3, A, 0x99999), &m, &m, 0, "99999+4");                     /* unreadable */
	expect(CALL(7, A, 3), &m, &m, 0, "10000+18");                              /* ARG: poll, also on errors */
	expect(CALL(7, A, 3), &m, &m, -EINTR, "10000+18");
	expect(CALL(7, A, 0xff00000003), &m, &m, 0, "10000+18");                   /* nfds is an unsigned int to the kernel */
	expect(CALL(23, 65, A, 0, 0, 0), &m, &m, 1, "10000+10");                   /* BITS: select, whole longs */
	expect(CALL(23, 64, A, 0, 0, A + 0x100), &m, &m, 1, "10000+8 10100+10");
	expect(CALL(23, 64, A, 0, 0, A + 0x100), &m, &m, -EINTR, "10100+10");
	expect(CALL(23, -1ull, A), &m, &m, -EINVAL, "");
	expect(CALL(27, 0, 4097, A), &m, &m, 0, "10000+2");                        /* PAGES: mincore */
	expect(CALL(35, 0, A), &m, &m, -EINTR, "10000+10");                        /* nanosleep's rest */
	expect(CALL(35, 0, A), &m, &m, -516, "10000+10");
	expect(CALL(70, 1, A, 100), &m, &m, 10, "10000+12");                /* msgrcv: type and text */
	expect(CALL(70, 1, A, 100), &m, &m, 0, "10000+8");
	expect(CALL(100, A), &m, &m, -5, "10000+20");                              /* times: no error, a clock */
	expect(CALL(323, A), &m, &m, -ENOSYS, "");                                 /* refused */
}
END_TEST

START_TEST(vectors)
{
	struct mem m = { .n = 0 }, bad = { .n = 0 };
	uint64_t v[6] = { 0x1000, 4, 0, 100, 0x2000, 50 };

	mem_put(&m, A, v, sizeof(v));
	mem_put(&bad, A, v, sizeof(v) - 1);
	expect(CALL(19, 3, A, 3), &m, &m, 30, "1000+4 2000+1a");
	expect(CALL(19, 3, A, 3), &m, &m, 4, "1000+4");
	expect(CALL(19, 3, A, 3), &m, &m, 3, "1000+3");
	expect(CALL(19, 3, A, 3), &m, &m, 1000, "1000+4 2000+32");
	expect(CALL(19, 3, A, 3), &m, &m, 0, "");
	expect(CALL(19, 3, A, 3), &bad, &bad, 30, "");
	expect(CALL(19, 3, A, 1025), &m, &m, 30, "");
	expect(CALL(19, 3, A, -1ull), &m, &m, 30, "");
	expect(CALL(20, 3, A, 3), &m, &m, 30, ""); /* writev only reads */
	expect(CALL(310, 1, A, 3, A, 3), &m, &m, 10, "1000+4 2000+6");
}
END_TEST

struct msg {
	uint64_t name;
	uint32_t namelen, pad;
	uint64_t iov, iovlen, control, controllen;
	uint32_t flags, pad2;
	uint32_t len, pad3; /* of struct mmsghdr */
};

START_TEST(messages)
{
	struct mem before = { .n = 0 }, after = { .n = 0 };
	uint64_t v[4] = { 0x1000, 4, 0x2000, 50 };
	struct msg in[2] = { { 0x3000, 128, 0, A + 0x1000, 2, 0x4000, 64, 0, 0, 7, 0 }, { 0, 0, 0, A + 0x1000, 1, 0, 0, 0, 0, 7, 0 } };
	struct msg out[2] = { { 0x3000, 16, 0, A + 0x1000, 2, 0x4000, 24, 0, 0, 20, 0 }, { 0, 0, 0, A + 0x1000, 1, 0, 0, 0, 0, 3, 0 } };

	mem_put(&before, A, in, sizeof(in));
	mem_put(&before, A + 0x1000, v, sizeof(v));
	mem_put(&after, A, out, sizeof(out));
	expect(CALL(47, 3, A, 0), &before, &after, 10, "10000+38 3000+10 4000+18 1000+4 2000+6");
	expect(CALL(47, 3, A, 0), &before, &after, 0, "10000+38 3000+10 4000+18");
	expect(CALL(47, 3, A, 0), &before, &after, -EAGAIN, "");
	expect(CALL(46, 3, A, 0), &before, &after, 10, "");
	expect(CALL(299, 3, A, 2), &before, &after, 2, "10000+80 3000+10 4000+18 1000+4 2000+10 1000+3");
	expect(CALL(299, 3, A, 2), &before, &after, 1, "10000+40 3000+10 4000+18 1000+4 2000+10");
	expect(CALL(299, 3, A, 0xfff00000001), &before, &after, 1, "10000+40 3000+10 4000+18 1000+4 2000+10");
	expect(CALL(299, 3, A, 2), &before, &after, -EAGAIN, "");
	expect(CALL(307, 3, A, 2), &before, &after, 1, "10000+40");
	in[0].namelen = 0xffffffff; /* negative */
	expect(CALL(47, 3, A, 0), &before, &after, 10, "10000+38 4000+18 1000+4 2000+6");
	in[0].iovlen = UINT64_MAX / 8;
	expect(CALL(47, 3, A, 0), &before, &after, 10, "10000+38 4000+18");
}
END_TEST

START_TEST(further_outputs)
{
	struct mem before = { .n = 0 }, after = { .n = 0 };
	uint32_t handle[2] = { 128, 0 }, handle_after[2] = { 12, 1 };
	uint64_t conf[2] = { 400, 0x5000 }, conf_after[2] = { 80, 0x5000 };
	uint32_t fiemap[8] = { [6] = 10 }, fiemap_after[8] = { [5] = 2, [6] = 10 };
	uint32_t mount[1] = { 100 };
	uint64_t pointer[2] = { 7, A + 0x3000 };
	struct sys_outs o;
	const struct sys_mem mem = { mem_read, &before };

	mem_put(&before, A, handle, 8);
	mem_put(&after, A, handle_after, 8);
	expect(CALL(303, 3, 1, A, 0x6000, 0), &before, &after, 0, "10000+8 6000+4 10008+c");
	expect(CALL(303, 3, 1, A, 0x6000, 0), &before, &after, -EOVERFLOW, "10000+8 6000+4");
	expect(CALL(303, 3, 1, A, 0x6000, 1), &before, &after, 0, "10000+8 6000+4 10008+c 6000+8");
	mem_put(&before, A + 0x1000, conf, 16);
	mem_put(&after, A + 0x1000, conf_after, 16);
	expect(CALL(16, 3, 0x8912, A + 0x1000), &before, &after, 0, "11000+10 5000+50");
	mem_put(&before, A + 0x2000, fiemap, 32);
	mem_put(&after, A + 0x2000, fiemap_after, 32);
	expect(CALL(16, 3, 0xc020660b, A + 0x2000), &before, &after, 0, "12000+20 12020+70");
	mem_put(&after, 0x7000, mount, 4);
	expect(CALL(457, A, 0x7000, 1000), &before, &after, 0, "7000+64");
	expect(CALL(457, A, 0x7000, 50), &before, &after, 0, "7000+32");
	/* an ioctl without a row that is handed a pointer may write there */
	mem_put(&before, A + 0x3000, pointer, 16);
	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, CALL(16, 3, 0x4010fe01, A + 0x3000), &mem), 0);
	ck_assert(o.res.unknown);
	pointer[1] = 99;
	ck_assert_int_eq(sys_outs_enter(&o, CALL(16, 3, 0x4010fe01, A + 0x3000), &mem), 0);
	ck_assert(!o.res.unknown);
	sys_outs_done(&o);
}
END_TEST

/* After EFAULT anything up to the end of readable memory may have been stored. */
START_TEST(faults)
{
	struct mem m = { .n = 0 };

	mem_put(&m, A, NULL, 0x3000);
	expect(CALL(0, 3, A + 0x10, 0x100), &m, &m, -EFAULT, "10010+100");
	expect(CALL(0, 3, A + 0x10, 0x10000), &m, &m, -EFAULT, "10010+2ff0");
	expect(CALL(0, 3, 0x999999, 0x10000), &m, &m, -EFAULT, "");
	expect(CALL(0, 3, UINT64_MAX - 5, 0x10000), &m, &m, -EFAULT, "");
	/* sets and vectors larger than memory: cut at its end, so that the recorder can read them as one */
	expect(CALL(23, 0x7fffffff, A, 0, 0, 0), &m, &m, 1, "10000+3000");
	expect(CALL(7, A, 0x7fffffff), &m, &m, 1, "10000+3000");
	expect(CALL(66, 1, 0, 13, A + 0x2ff0), &m, &m, 0, "12ff0+10"); /* semctl(GETALL) */
}
END_TEST

/* Counts, sizes and addresses at every edge, for every call and command: no crash, no range outside of user memory. */
static int check_range(void *ctx, uint64_t addr, uint64_t len)
{
	ck_assert_uint_gt(addr, 0);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_lt(addr, 1ull << 56);
	ck_assert_uint_le(len, (1ull << 56) - addr);
	(*(unsigned int *)ctx)++;
	return 0;
}

START_TEST(hostile_arguments)
{
	static const uint64_t edges[] = { 0, 1, A, A + 0xfff8, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 47, (1ull << 56) - 8, INT64_MAX, 1ull << 63,
					  UINT64_MAX - 4095, UINT64_MAX };
	static const int64_t results[] = { 0, 1, 4096, INT64_MAX, INT64_MIN, -EFAULT, -EINTR, -1, -4095, -4096 };
	static uint8_t junk[0x10000];
	uint32_t seed = 1;
	struct mem m = { .n = 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct sys_outs o;
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(junk); i++) {
		seed = seed * 1103515245 + 12345;
		junk[i] = i % 64 < 8 ? (uint8_t)(seed >> 16) : i % 8 < 2 ? 0 : 0xff;
	}
	mem_put(&m, A, junk, sizeof(junk));
	sys_outs_init(&o);
	for (uint32_t i = 0; i < 60000; i++) {
		struct sys_call c = { .nr = i % 480 };

		for (unsigned int k = 0; k < 6; k++) {
			seed = seed * 1103515245 + 12345;
			c.args[k] = edges[(seed >> 16) % ARRAY_SIZE(edges)];
		}
		if (i & 1)
			c.args[c.nr == 16 || c.nr == 72 ? 1 : 0] = (seed >> 8) & 0x7f;
		ck_assert_int_eq(sys_outs_enter(&o, &c, &mem), 0);
		ck_assert_uint_le(o.n, SYS_SLOTS_MAX);
		ck_assert_int_eq(sys_outs_leave(&o, results[(seed >> 20) % ARRAY_SIZE(results)], &mem, check_range, &n), 0);
		ck_assert_int_eq(sys_inputs(&o, &mem, check_range, &n), 0);
	}
	ck_assert_uint_gt(n, 1000);
	sys_outs_done(&o);
}
END_TEST

/* More vectors than slots: the call becomes unknown rather than incomplete. */
START_TEST(too_many_slots)
{
	static struct msg in[1024];
	static uint64_t v[2 * 1024];
	struct mem m = { .n = 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct sys_outs o;

	for (size_t i = 0; i < 1024; i++) {
		in[i] = (struct msg){ .iov = 0x900000, .iovlen = 1024 };
		v[2 * i] = 0x1000;
		v[2 * i + 1] = 10;
	}
	mem_put(&m, A, in, sizeof(in));
	mem_put(&m, 0x900000, v, sizeof(v));
	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, CALL(299, 3, A, 1024), &mem), 0);
	ck_assert_uint_eq(o.n, SYS_SLOTS_MAX);
	ck_assert(o.res.unknown);
	/* and the next call is its own */
	ck_assert_int_eq(sys_outs_enter(&o, CALL(299, 3, A, 15), &mem), 0);
	ck_assert(!o.res.unknown);
	ck_assert_uint_eq(o.n, 1 + 15 * 1024);
	sys_outs_done(&o);
}
END_TEST

static void expect_inputs(const struct sys_call *c, struct mem *m, const char *ranges)
{
	struct sys_outs o;
	struct collected got = { .n = 0 };
	const struct sys_mem mem = { mem_read, m };

	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, c, &mem), 0);
	ck_assert_int_eq(sys_inputs(&o, &mem, collect, &got), 0);
	ck_assert_str_eq(got.text, ranges);
	sys_outs_done(&o);
}

START_TEST(inputs)
{
	struct mem m = { .n = 0 };
	static const char strings[] = "/etc/passwd\0-l";
	uint64_t argv[3] = { 0x2000, 0x200c, 0 };
	uint64_t v[4] = { 0x2000, 4, 0x2004, 500 };
	struct msg msg = { .name = 0x2000, .namelen = 16, .iov = 0x4000, .iovlen = 2 };
	uint64_t mask[2] = { 0x7000, 8 };

	mem_put(&m, 0x2000, strings, sizeof(strings));
	mem_put(&m, 0x3000, argv, sizeof(argv));
	mem_put(&m, 0x4000, v, sizeof(v));
	mem_put(&m, 0x5000, &msg, sizeof(msg));
	mem_put(&m, 0x6000, mask, sizeof(mask));
	mem_put(&m, A, NULL, 0x10000);
	expect_inputs(CALL(257, -100, 0x2000, 0, 0), &m, "2000+c");
	expect_inputs(CALL(257, -100, 0x999, 0, 0), &m, "");
	expect_inputs(CALL(1, 1, A, 5), &m, "10000+5");
	expect_inputs(CALL(1, 1, A, 500000), &m, "10000+40");
	expect_inputs(CALL(0, 1, A, 500000), &m, "");
	expect_inputs(CALL(59, 0x2000, 0x3000, 0x3000), &m, "2000+c 2000+c 200c+3 3000+18 3000+18");
	expect_inputs(CALL(20, 1, 0x4000, 2), &m, "4000+20 2000+4 2004+40");
	expect_inputs(CALL(19, 1, 0x4000, 2), &m, "4000+20");
	expect_inputs(CALL(46, 1, 0x5000, 0), &m, "2000+10 4000+20 2000+4 2004+40 5000+38");
	expect_inputs(CALL(47, 1, 0x5000, 0), &m, "4000+20 5000+38");
	expect_inputs(CALL(42, 1, A, 16), &m, "10000+10");
	expect_inputs(CALL(7, A, 2), &m, "10000+10");
	expect_inputs(CALL(270, 0, 0, 0, 0, 0, 0x6000), &m, "6000+10 7000+8");
	expect_inputs(CALL(69, 1, A, 100, 0), &m, "10000+48");
}
END_TEST

START_TEST(walks_can_be_stopped)
{
	struct mem m = { .n = 0 };
	uint64_t v[4] = { 0x1000, 4, 0x2000, 50 };
	struct sys_mem mem = { mem_read, &m };
	struct collected got = { .stop_at = 1 };
	struct sys_outs o;

	mem_put(&m, A, v, sizeof(v));
	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, CALL(19, 3, A, 2), &mem), 0);
	ck_assert_int_eq(sys_outs_leave(&o, 30, &mem, collect, &got), -ECANCELED);
	ck_assert_uint_eq(got.n, 1);
	got = (struct collected){ .stop_at = 1 };
	ck_assert_int_eq(sys_outs_enter(&o, CALL(20, 3, A, 2), &mem), 0);
	ck_assert_int_eq(sys_inputs(&o, &mem, collect, &got), -ECANCELED);
	sys_outs_done(&o);
}
END_TEST

/* Plain calls read no guest memory and allocate nothing once the slots are there. */
START_TEST(plain_calls_are_cheap)
{
	struct mem m = { .n = 0 };
	const struct sys_mem mem = { mem_read, &m };
	struct collected got = { .n = 0 };
	struct sys_slot *slots;
	struct sys_outs o;

	mem_put(&m, A, NULL, 0x1000);
	sys_outs_init(&o);
	ck_assert_int_eq(sys_outs_enter(&o, CALL(39), &mem), 0);
	ck_assert_ptr_null(o.slot);
	ck_assert_ptr_eq(o.res.row, sys_row(39));
	ck_assert_int_eq(sys_outs_enter(&o, CALL(0, 3, A, 100), &mem), 0);
	slots = o.slot;
	ck_assert_ptr_nonnull(slots);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(sys_outs_enter(&o, CALL(0, 3, A, 100), &mem), 0);
		ck_assert_int_eq(sys_outs_leave(&o, 100, &mem, collect, &got), 0);
	}
	ck_assert_ptr_eq(o.slot, slots);
	ck_assert_uint_eq(m.reads, 0);
	sys_outs_done(&o);
}
END_TEST

TEST_MAIN("syscall", rows_are_consistent, numbers, refused_and_special, commands_are_consistent, resolving, length_rules, vectors, messages,
	  further_outputs, faults, hostile_arguments, too_many_slots, inputs, walks_can_be_stopped, plain_calls_are_cheap)
