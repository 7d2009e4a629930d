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

#define SYS_TABLE_MAX 462 /* rows 0..461; above: refused by name "syscall_N" */

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
	SYS_F_WRITES = 1 << 11, /* sends bytes of arg 1 (buf or iov) to the descriptor in arg 0 */
	SYS_F_FILEMOD = 1 << 12, /* changes content or size of a file that could be mapped (write, pwrite, ftruncate, fallocate, copy_file_range...) */
	SYS_F_VARIES = 1 << 13, /* arguments depend on a command (ioctl, fcntl, prctl, futex, ...): syscall.c resolves them */
	SYS_F_SCHED = 1 << 14,  /* sched_yield and the like: a good moment to switch */
};

enum sys_arg_kind {
	SYS_ARG_UINT, SYS_ARG_INT, SYS_ARG_HEX, SYS_ARG_ADDR, SYS_ARG_LEN, SYS_ARG_OFF, SYS_ARG_FD, SYS_ARG_DIRFD, SYS_ARG_PID, SYS_ARG_UID, SYS_ARG_MODE,
	SYS_ARG_SIGNO, SYS_ARG_FLAGS, /* names from a flags/*.def table: .flags */
	SYS_ARG_ENUM,   /* one name from such a table */
	SYS_ARG_PATH,   /* NUL-terminated string in */
	SYS_ARG_STR,    /* other NUL-terminated string in */
	SYS_ARG_STRV,   /* NULL-terminated vector of strings in (argv, envp) */
	SYS_ARG_BUF,    /* bytes: dir, length rule */
	SYS_ARG_STRUCT, /* fixed-size or rule-sized structure: .type names a decoder in sysprint.c */
	SYS_ARG_IOV,    /* struct iovec array; count in argument .len_arg */
	SYS_ARG_MSGHDR, SYS_ARG_MMSGHDR, /* in or out */
	SYS_ARG_SOCKADDR,
	SYS_ARG_COMMAND, /* selects the meaning of the following ones (ioctl request, fcntl command, ...) */
	SYS_ARG_KIND_MAX_
};

enum sys_dir { SYS_NONE, SYS_IN, SYS_OUT, SYS_INOUT };

enum sys_len {
	SYS_LEN_NONE,
	SYS_LEN_FIXED,   /* size bytes */
	SYS_LEN_ARG,     /* value of argument len_arg times size */
	SYS_LEN_RET,     /* result times size, at most argument len_arg (times size); nothing when the result is <= 0 */
	SYS_LEN_PTR,     /* value-result: *(u32 *)argument len_arg at entry is the room; at exit the kernel stores the true size; min of both */
	SYS_LEN_STR,     /* string */
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
	struct sys_row row;  /* a copy, with arguments filled in */
	bool unknown;
	char command[64];    /* "TCGETS", "F_DUPFD", "" */
};
void sys_resolve(const struct sys_call *c, struct sys_resolved *ret);

/* One place in guest memory that the call may write. */
struct sys_slot {
	uint8_t arg;       /* argument it belongs to */
	uint8_t nested;    /* 1: reached through a structure (iovec, msghdr), 0: the argument itself points to it */
	uint8_t len;       /* enum sys_len */
	uint8_t dir;       /* SYS_OUT or SYS_INOUT */
	bool on_error;
	uint16_t size;     /* multiplier for SYS_LEN_RET */
	uint64_t addr;
	uint64_t max;      /* room in bytes (for iovecs: each element is a slot, filled in order by the result) */
	uint64_t len_addr; /* SYS_LEN_PTR: where the true length is stored at exit */
};

#define SYS_SLOTS_MAX 4096
struct sys_outs {
	struct sys_call call;
	struct sys_resolved res;
	struct sys_slot *slot; /* owned; reused by the next enter */
	uint32_t n, cap;
};
void sys_outs_init(struct sys_outs *o);
void sys_outs_done(struct sys_outs *o);
/* At entry. -ENOMEM, ERR_LIMIT. */
int sys_outs_enter(struct sys_outs *o, const struct sys_call *c, const struct sys_mem *mem) MUST_CHECK;
typedef int (*sys_range_fn)(void *ctx, uint64_t addr, uint64_t len);
/* At exit with the raw result: calls fn for each range the kernel wrote. Superset is allowed (bytes not written are unchanged), missing is not. */
int sys_outs_leave(struct sys_outs *o, int64_t result, const struct sys_mem *mem, sys_range_fn fn, void *ctx) MUST_CHECK;
/* Ranges worth showing to people: paths, strings, sockaddrs, small structures in, the first SYS_INPUT_SHOWN bytes of written buffers. At entry. */
#define SYS_INPUT_SHOWN 64
int sys_inputs(const struct sys_outs *o, const struct sys_mem *mem, sys_range_fn fn, void *ctx) MUST_CHECK;

#endif
