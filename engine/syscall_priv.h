/* Vocabulary of the table: what syscalls.def, commands/ and ioctls.def are written in.
 *
 * Arguments are named macros that expand to one struct sys_arg initialiser:
 *     A_FD("fd")                    scalars: A_INT A_UINT A_HEX A_ADDR A_LEN A_OFF A_DIRFD A_PID A_UID A_MODE A_SIGNO A_COMMAND
 *     A_SKIPPED                     a register between others that the call does not look at
 *     A_FLAGS("flags", OPEN)        names from flags/tables.def; A_ENUM: one name
 *     A_PATH A_STR A_STRV           strings the kernel reads
 *     A_IN("buf", ARG, 2)           bytes: direction, length rule, and the rule's argument number (FIXED: the size)
 *     A_OUT("buf", RET, 2)          rules: FIXED ARG RET PTR BITS PAGES, see enum sys_len
 *     S_OUT("st", STAT)             one structure of structs.def; S_IN, S_OUT, S_INOUT
 *     V_INOUT("fds", POLLFD, ARG, 1)  a vector of such structures
 * _E at the end of the macro's name: also written when the call fails.
 */
#ifndef ENGINE_SYSCALL_PRIV_H
#define ENGINE_SYSCALL_PRIV_H

#include "engine/syscall.h"

/* First address that no user memory can have (five-level page tables). */
#define SYS_USER_END (1ull << 56)

enum sys_struct {
	SYS_STRUCT_NONE,
#define STRUCT(name, decoder, size) SYS_STRUCT_##name,
#define NUMBERS(name, decoder, size) SYS_STRUCT_##name,
#define WHOLE(name, decoder) SYS_STRUCT_##name,
#include "engine/structs.def"
#undef STRUCT
#undef NUMBERS
#undef WHOLE
	SYS_STRUCT_MAX_
};

enum sys_struct_size {
#define STRUCT(name, decoder, size) SYS_SIZE_##name = size,
#define NUMBERS(name, decoder, size) SYS_SIZE_##name = size,
#define WHOLE(name, decoder) SYS_SIZE_##name = 1,
#include "engine/structs.def"
#undef STRUCT
#undef NUMBERS
#undef WHOLE
};

enum sys_names {
	SYS_NAMES_NONE,
#define NAMES(name) SYS_NAMES_##name,
#include "engine/flags/tables.def"
#undef NAMES
	SYS_NAMES_MAX_
};

/* One meaning of a command argument: a whole row, so that resolving is a pointer. */
struct sys_command {
	const char *name;
	uint32_t value;
	struct sys_row row;
};

/* The row of an ioctl request; NULL when ioctls.def has none. */
const struct sys_command *sys_ioctl_find(uint32_t request);
/* The command that a call with SYS_F_VARIES stands for; NULL when there is no row for it. */
const struct sys_command *sys_command_find(const struct sys_call *c);
/* Fills ret->own from what the number of an ioctl without a row says, and points ret->row there. */
void sys_ioctl_guess(uint32_t request, struct sys_resolved *ret);
/* Ioctls whose structure points to further outputs: adds their slots. */
int sys_ioctl_outs(struct sys_outs *o, const struct sys_mem *mem) MUST_CHECK;
/* One more slot for this call; dropped when it is empty or not in user memory. 0 or -ENOMEM. */
int sys_outs_add(struct sys_outs *o, const struct sys_slot *s) MUST_CHECK;

/* clang-format off */
#define A_(kind, dir, len, len_arg, size, table, on_error, name) \
	{ SYS_ARG_##kind, SYS_##dir, SYS_LEN_##len, (len_arg), (size), (table), (on_error), (name) }
#define A_SCALAR_(kind, name) A_(kind, NONE, NONE, 0, 0, 0, false, name)
#define A_INT(name) A_SCALAR_(INT, name)
#define A_UINT(name) A_SCALAR_(UINT, name)
#define A_HEX(name) A_SCALAR_(HEX, name)
#define A_ADDR(name) A_SCALAR_(ADDR, name)
#define A_LEN(name) A_SCALAR_(LEN, name)
#define A_OFF(name) A_SCALAR_(OFF, name)
#define A_FD(name) A_SCALAR_(FD, name)
#define A_DIRFD(name) A_SCALAR_(DIRFD, name)
#define A_PID(name) A_SCALAR_(PID, name)
#define A_UID(name) A_SCALAR_(UID, name)
#define A_MODE(name) A_SCALAR_(MODE, name)
#define A_SIGNO(name) A_SCALAR_(SIGNO, name)
#define A_SKIPPED A_SCALAR_(SKIPPED, "")
#define A_COMMAND(name) A_SCALAR_(COMMAND, name)
#define A_FLAGS(name, names) A_(FLAGS, NONE, NONE, 0, 0, SYS_NAMES_##names, false, name)
#define A_ENUM(name, names) A_(ENUM, NONE, NONE, 0, 0, SYS_NAMES_##names, false, name)
#define A_PATH(name) A_(PATH, IN, STR, 0, 0, 0, false, name)
#define A_STR(name) A_(STR, IN, STR, 0, 0, 0, false, name)
#define A_STRV(name) A_(STRV, IN, NONE, 0, 0, 0, false, name)

/* rule(kind, direction, element size, table, on_error, name, rule's argument) */
#define A_FIXED_(kind, dir, size, table, e, name, v) A_(kind, dir, FIXED, 0, v, table, e, name)
#define A_ARG_(kind, dir, size, table, e, name, v) A_(kind, dir, ARG, v, size, table, e, name)
#define A_RET_(kind, dir, size, table, e, name, v) A_(kind, dir, RET, v, size, table, e, name)
#define A_PTR_(kind, dir, size, table, e, name, v) A_(kind, dir, PTR, v, size, table, e, name)
#define A_BITS_(kind, dir, size, table, e, name, v) A_(kind, dir, BITS, v, size, table, e, name)
#define A_PAGES_(kind, dir, size, table, e, name, v) A_(kind, dir, PAGES, v, size, table, e, name)
#define A_IN(name, rule, v) A_##rule##_(BUF, IN, 1, 0, false, name, v)
#define A_OUT(name, rule, v) A_##rule##_(BUF, OUT, 1, 0, false, name, v)
#define A_OUT_E(name, rule, v) A_##rule##_(BUF, OUT, 1, 0, true, name, v)
#define A_INOUT(name, rule, v) A_##rule##_(BUF, INOUT, 1, 0, false, name, v)
#define A_INOUT_E(name, rule, v) A_##rule##_(BUF, INOUT, 1, 0, true, name, v)

#define S_(dir, e, name, type) A_(STRUCT, dir, FIXED, 0, SYS_SIZE_##type, SYS_STRUCT_##type, e, name)
#define S_IN(name, type) S_(IN, false, name, type)
#define S_OUT(name, type) S_(OUT, false, name, type)
#define S_OUT_E(name, type) S_(OUT, true, name, type)
#define S_INOUT(name, type) S_(INOUT, false, name, type)
#define S_INOUT_E(name, type) S_(INOUT, true, name, type)
/* A vector of two. */
#define S_PAIR_IN(name, type) A_(STRUCT, IN, FIXED, 0, 2 * SYS_SIZE_##type, SYS_STRUCT_##type, false, name)
/* A structure of which the call touches another number of bytes. */
#define P_OUT_E(name, type, size) A_(STRUCT, OUT, FIXED, 0, size, SYS_STRUCT_##type, true, name)
/* A structure whose size is an argument. */
#define Z_IN(name, type, arg) A_(STRUCT, IN, ARG, arg, 1, SYS_STRUCT_##type, false, name)
#define Z_OUT(name, type, arg) A_(STRUCT, OUT, ARG, arg, 1, SYS_STRUCT_##type, false, name)
#define Z_INOUT_E(name, type, arg) A_(STRUCT, INOUT, ARG, arg, 1, SYS_STRUCT_##type, true, name)

#define V_(dir, e, name, type, rule, v) A_##rule##_(STRUCT, dir, SYS_SIZE_##type, SYS_STRUCT_##type, e, name, v)
#define V_IN(name, type, rule, v) V_(IN, false, name, type, rule, v)
#define V_OUT(name, type, rule, v) V_(OUT, false, name, type, rule, v)
#define V_OUT_E(name, type, rule, v) V_(OUT, true, name, type, rule, v)
#define V_INOUT(name, type, rule, v) V_(INOUT, false, name, type, rule, v)
#define V_INOUT_E(name, type, rule, v) V_(INOUT, true, name, type, rule, v)

#define A_IOV_IN(name, count) A_(IOV, IN, ARG, count, 16, 0, false, name)
#define A_IOV_OUT(name, count) A_(IOV, OUT, RET, count, 1, 0, false, name)
#define A_IOV_REMOTE(name, count) A_(IOV, NONE, ARG, count, 16, 0, false, name)
#define A_IOV_INOUT(name, count) A_(IOV, INOUT, RET, count, 1, 0, false, name)
#define A_MSG_IN(name) A_(MSGHDR, IN, FIXED, 0, 56, 0, false, name)
#define A_MSG_OUT(name) A_(MSGHDR, INOUT, FIXED, 0, 56, 0, false, name)
#define A_MMSG_IN(name, count) A_(MMSGHDR, INOUT, RET, count, 64, 0, false, name)
#define A_MMSG_OUT(name, count) A_(MMSGHDR, OUT, RET, count, 64, 0, false, name)
#define A_MSGBUF_IN(name, size) A_(MSGBUF, IN, ARG, size, 1, 0, false, name)
#define A_MSGBUF_OUT(name, size) A_(MSGBUF, OUT, RET, size, 1, 0, false, name)
#define A_SOCKADDR_IN(name, len) A_(SOCKADDR, IN, ARG, len, 1, 0, false, name)
#define A_SOCKADDR_OUT(name, len) A_(SOCKADDR, OUT, PTR, len, 1, 0, false, name)

#define F_BLOCK SYS_F_BLOCK
#define F_DESC SYS_F_DESC
#define F_NEWFD SYS_F_NEWFD
#define F_CLOSE SYS_F_CLOSE
#define F_FILE SYS_F_FILE
#define F_NET SYS_F_NET
#define F_PROC SYS_F_PROC
#define F_SIGNAL SYS_F_SIGNAL
#define F_MEM SYS_F_MEM
#define F_TIME SYS_F_TIME
#define F_IPC SYS_F_IPC
#define F_WRITES SYS_F_WRITES
#define F_FILEMOD SYS_F_FILEMOD
#define F_VARIES SYS_F_VARIES
#define F_SCHED SYS_F_SCHED
#define F_EARLY SYS_F_EARLY
#define F_UNKNOWN SYS_F_UNKNOWN

#define SYS_ARGS_(...) ((struct sys_arg[]) { __VA_ARGS__ })
#define SYS_ROW_(name, cls, flags, ret, ...) \
	{ (name), sizeof(SYS_ARGS_(__VA_ARGS__)) / sizeof(struct sys_arg), SYS_##cls, (flags), SYS_ARG_##ret, { __VA_ARGS__ } }
/* clang-format on */

#endif
