/* The system call table: what each x86-64 call takes, what the kernel writes, and how it is recorded.
 *
 * One row per call in engine/syscalls.def; everybody reads this one table: recorder (what to save), replayer (what to run again),
 * printer, seccomp filter, coverage, tests. There are no function pointers in it: it lies below recorder and replayer.
 *
 * The recorder asks in two steps because some lengths are only known before the call (value-result lengths, iovecs):
 *     sys_outs_enter()  at entry: lists the output slots (address, largest size, rule)
 *     sys_outs_leave()  at exit: tells which of those bytes the kernel has written, given the result
 * Guest memory is read through struct sys_mem; what cannot be read is skipped (the kernel will say EFAULT).
 */
#ifndef ENGINE_SYSCALL_H
#define ENGINE_SYSCALL_H

#include <stdbool.h>
#include "base/buf.h"

#define SYS_TABLE_MAX 471 /* rows 0..470, all above 461 refused; beyond the table: refused by name "syscall_N" */

enum sys_class {
	SYS_EMULATE, /* replay gives back the recorded result and outputs without running it */
	SYS_REEXEC,  /* replay runs it again (address space, arch_prctl FS/GS, pkeys): results must be equal */
	SYS_SPECIAL, /* a handler in recorder and in replayer: exec, fork family, exit, sigreturn, mmap, ... */
	SYS_REFUSE,  /* answered -ENOSYS without running: cannot be recorded faithfully */
	SYS_CLASS_MAX_
};

enum sys_flags {
	SYS_F_BLOCK = 1 << 0,  /* may sleep until another thread or process acts */
	SYS_F_DESC = 1 << 1,   /* takes descriptors */
	SYS_F_NEWFD = 1 << 2,  /* result is a new descriptor */
	SYS_F_CLOSE = 1 << 3,  /* closes or replaces descriptors (close, dup2, dup3, close_range) */
	SYS_F_FILE = 1 << 4,   /* takes a path */
	SYS_F_NET = 1 << 5,
	SYS_F_PROC = 1 << 6,   /* processes, ids, waiting */
	SYS_F_SIGNAL = 1 << 7,
	SYS_F_MEM = 1 << 8,    /* changes the address space */
	SYS_F_TIME = 1 << 9,
	SYS_F_IPC = 1 << 10,
	SYS_F_WRITES = 1 << 11, /* sends bytes of arg 1 (buf, iov or msghdr) to the descriptor in arg 0 */
	SYS_F_FILEMOD = 1 << 12, /* changes content or size of a file that could be mapped (write, pwrite, ftruncate, fallocate, copy_file_range...) */
	SYS_F_VARIES = 1 << 13, /* arguments depend on a command (ioctl, fcntl, prctl, futex, ...): syscall.c resolves them */
	SYS_F_SCHED = 1 << 14,  /* sched_yield and the like: a good moment to switch */
	SYS_F_EARLY = 1 << 15,  /* its slots are used where they are, before or after the call too (FUTEX_LOCK_PI sets FUTEX_WAITERS before it
				   sleeps, vmsplice() hands out the pages): log INOUT slots with the entry as well when the call
				   blocks, and do not redirect them to a scratch buffer */
	SYS_F_UNKNOWN = 1 << 16, /* row of a command whose effects the table cannot tell: sys_resolved.unknown */
};

enum sys_arg_kind {
	SYS_ARG_UINT, SYS_ARG_INT, SYS_ARG_HEX, SYS_ARG_ADDR, SYS_ARG_LEN, SYS_ARG_OFF, SYS_ARG_FD, SYS_ARG_DIRFD, SYS_ARG_PID, SYS_ARG_UID, SYS_ARG_MODE,
	SYS_ARG_SIGNO, SYS_ARG_FLAGS, /* names from a table of engine/flags: .flags */
	SYS_ARG_ENUM,   /* one name from such a table */
	SYS_ARG_PATH,   /* NUL-terminated string in */
	SYS_ARG_STR,    /* other NUL-terminated string in */
	SYS_ARG_STRV,   /* NULL-terminated vector of strings in (argv, envp) */
	SYS_ARG_BUF,    /* bytes: dir, length rule */
	SYS_ARG_STRUCT, /* fixed-size or rule-sized structure: .type names a decoder in sysprint.c */
	SYS_ARG_IOV,    /* struct iovec array; count in argument .len_arg */
	SYS_ARG_MSGHDR, SYS_ARG_MMSGHDR, /* in or out; MMSGHDR: count in argument .len_arg */
	SYS_ARG_MSGBUF, /* System V message: long type, then bytes by the length rule */
	SYS_ARG_SOCKADDR,
	SYS_ARG_SKIPPED, /* not looked at, not shown */
	SYS_ARG_COMMAND, /* selects the meaning of the following ones (ioctl request, fcntl command, ...) */
	SYS_ARG_KIND_MAX_
};

enum sys_dir { SYS_NONE, SYS_IN, SYS_OUT, SYS_INOUT };

enum sys_len {
	SYS_LEN_NONE,
	SYS_LEN_FIXED,   /* size bytes */
	SYS_LEN_ARG,     /* value of argument len_arg times size */
	SYS_LEN_RET,     /* result times size, at most argument len_arg (times size); nothing when the result is <= 0 */
	SYS_LEN_PTR,     /* value-result: *(u32 *)argument len_arg (times size) at entry is the room; at exit the kernel stores the true size; min of both */
	SYS_LEN_STR,     /* string */
	SYS_LEN_BITS,    /* bit set of argument len_arg bits, in whole longs (fd_set, node masks) */
	SYS_LEN_PAGES,   /* one byte per page of argument len_arg bytes (mincore) */
};

struct sys_arg {
	uint8_t kind;    /* enum sys_arg_kind */
	uint8_t dir;     /* enum sys_dir */
	uint8_t len;     /* enum sys_len */
	uint8_t len_arg;
	uint16_t size;   /* element or structure size */
	uint8_t table;   /* SYS_ARG_FLAGS/ENUM: enum sys_names; SYS_ARG_STRUCT: enum sys_struct */
	bool on_error;   /* also written when the call fails (nanosleep rem on EINTR, ...) */
	const char *name;
};

struct sys_row {
	const char *name;
	uint8_t nargs;
	uint8_t cls;     /* enum sys_class */
	uint32_t flags;  /* enum sys_flags */
	uint8_t ret;     /* enum sys_arg_kind of the result, for printing */
	struct sys_arg arg[6];
};

/* The row; never NULL: above the table (and for holes) a shared row "?" with class SYS_REFUSE. */
const struct sys_row *sys_row(uint32_t nr);
/* "read"; "syscall_999" (in buf) above the table. */
const char *sys_name(uint32_t nr, char buf[24]);
/* Number by name, or -ENOENT. */
int sys_number(const char *name) MUST_CHECK;

struct sys_call {
	uint32_t nr;
	uint64_t args[6];
};

/* Reads guest memory. read: whole n bytes or negative errno. */
struct sys_mem {
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	void *ctx;
};

/* The call as it will act: true class, flags and arguments after resolving commands (SYS_F_VARIES): e.g. fcntl(F_GETLK) has a struct out, futex(WAIT) may
 * block while futex(WAKE) does not, FUTEX_LOCK_PI ..., prctl(PR_SET_NAME), ioctl by engine/ioctls.def and by _IOC size and direction. unknown = true: effects are not known
 * (unknown ioctl without size, sockopt, prctl, fcntl): the recorder finds them by comparing memory. */
struct sys_resolved {
	const struct sys_row *row; /* a row of the tables, or &own: so do not copy this structure */
	bool unknown;
	const char *command;  /* "TCGETS", "F_DUPFD"; "" when there is none. Static, or command_buf */
	struct sys_row own;   /* made up for ioctls without a row: only valid when row points here */
	char command_buf[64];
};
/* Cheap (no copy) for rows without SYS_F_VARIES. */
void sys_resolve(const struct sys_call *c, struct sys_resolved *ret);

/* One place in guest memory that the call may write. */
struct sys_slot {
	uint8_t arg;       /* argument it belongs to */
	uint8_t nested;    /* 1: reached through a structure (iovec, msghdr), 0: the argument itself points to it */
	uint8_t len;       /* enum sys_len */
	uint8_t dir;       /* SYS_OUT or SYS_INOUT */
	bool on_error;
	uint16_t size;     /* multiplier for SYS_LEN_RET and SYS_LEN_PTR */
	uint16_t message;  /* recvmmsg: the message it belongs to, else 0 */
	uint16_t head;     /* SYS_LEN_RET: bytes stored before those that the result counts (type of a System V message) */
	uint64_t addr;
	uint64_t max;      /* room in bytes (for iovecs: each element is a slot, filled in order by the result) */
	uint64_t len_addr; /* SYS_LEN_PTR: where the true length is stored at exit */
};

/* A call with more slots than this (recvmmsg of many iovecs) keeps the first ones and becomes unknown. */
#define SYS_SLOTS_MAX 16384
/* Largest single slot: what read() transfers at most. */
#define SYS_SLOT_BYTES_MAX 0x7ffff000u
struct sys_outs {
	struct sys_call call;
	struct sys_resolved res;
	struct sys_slot *slot; /* owned; reused by the next enter */
	uint32_t n, cap;
};
void sys_outs_init(struct sys_outs *o);
void sys_outs_done(struct sys_outs *o);
/* At entry. -ENOMEM. Sets o->res; res.unknown also when an ioctl without a row is given pointers inside its structure. */
int sys_outs_enter(struct sys_outs *o, const struct sys_call *c, const struct sys_mem *mem) MUST_CHECK;
typedef int (*sys_range_fn)(void *ctx, uint64_t addr, uint64_t len);
/* At exit with the raw result: calls fn for each range the kernel wrote. Superset is allowed (bytes not written are unchanged), missing is not.
 * A negative result of fn ends the walk and is returned. After EFAULT all slots count as written, as far as they are readable. */
int sys_outs_leave(struct sys_outs *o, int64_t result, const struct sys_mem *mem, sys_range_fn fn, void *ctx) MUST_CHECK;
/* Ranges worth showing to people: paths, strings, sockaddrs, small structures in, the first SYS_INPUT_SHOWN bytes of written buffers. At entry. */
#define SYS_INPUT_SHOWN 64
int sys_inputs(const struct sys_outs *o, const struct sys_mem *mem, sys_range_fn fn, void *ctx) MUST_CHECK;

#endif
