/* Events: what a recording says, decoded.
 *
 * A recording is one ordered list of events, numbered from 1. An event belongs to one thread and carries
 * a list of effects: everything that happened to guest memory, address spaces and registers at that event.
 * Replay applies effects by one generic routine (replayer/effects.c), whatever the event's kind or syscall; so a syscall
 * that is new to the recorder needs nothing in the replayer, and in-guest buffering can add chunks of the same effects.
 *
 * Order rule: at an event the named thread has run in user mode from its previous event to the place of this one, and no other thread
 * ran user code in between.
 *
 * The codec is strict: unknown kinds, trailing bytes, overlong varints are ERR_CORRUPT. docs/FORMAT.md has every byte.
 */
#ifndef STORE_EVENT_H
#define STORE_EVENT_H

#include "base/buf.h"

/* Kinds: values are the bytes on disk. store/events.def lists name and fields of each. */
enum event_kind {
	EVENT_INVALID = 0,
	EVENT_EXEC = 1,          /* a new program image: REGS, XSTATE, MAP and MEM effects rebuild it */
	EVENT_SYSCALL = 2,       /* a whole system call: entry and result */
	EVENT_SYSCALL_ENTER = 3, /* entry of a call during which other threads ran */
	EVENT_SYSCALL_EXIT = 4,  /* result of that call */
	EVENT_SIGNAL = 5,        /* a signal reached the thread */
	EVENT_SCHED = 6,         /* reserved. Who runs when is told by the order of events; an ASYNC_POINT lets another one run */
	EVENT_ASYNC_POINT = 7,   /* the thread was stopped while it computed: a place known by the state there (docs/ASYNC.md) */
	EVENT_BUFFER = 8,        /* reserved: a chunk of in-guest records */
	EVENT_TSC = 9,           /* rdtsc or rdtscp */
	EVENT_CPUID = 10,
	EVENT_BIRTH = 11,        /* fork, vfork, clone, clone3: entry of the call; its result is a SYSCALL_EXIT of the parent */
	EVENT_EXIT = 12,         /* a thread ended */
	EVENT_PATCH = 13,        /* reserved */
	EVENT_CHECKSUM = 14,     /* hash of the thread's writable memory */
	EVENT_NOTE = 15,         /* text for the user: refused calls, faked results, ... */
	EVENT_SNAPSHOT = 16,     /* reserved: a start that is no exec */
	EVENT_END = 17,          /* last event of a complete recording */
	EVENT_RESTART = 18,      /* the kernel restarts the interrupted call: rip -= 2, rax = result */
	EVENT_MAX_
};

enum event_flags {
	EVENT_F_STDOUT = 1 << 0,  /* the call wrote `result` bytes to the recorder's stdout */
	EVENT_F_STDERR = 1 << 1,  /* ... to its stderr */
	EVENT_F_REEXEC = 1 << 2,  /* replay runs the call again (address space calls) */
	EVENT_F_REFUSED = 1 << 3, /* answered by the recorder, the kernel never saw it */
	EVENT_F_FATAL = 1 << 4,   /* signal: kills the process */
	EVENT_F_HANDLER = 1 << 5, /* signal: a handler was entered (REGS, XSTATE, MEM effects) */
	EVENT_F_ASYNC = 1 << 6,   /* signal: not caused by the instruction at rip */
	EVENT_F_GROUP = 1 << 7,   /* exit: of the whole process (exit_group or fatal signal) */
	EVENT_F_UNKNOWN = 1 << 8, /* effects were found by comparing memory, not from the table */
	EVENT_F_AT_CALL = 1 << 9, /* async signal: taken at the entry of a call that then did not start (it is made again later) */
	EVENT_F_AFTER = 1 << 10,  /* async signal: taken right after the thread's previous event, no instruction in between */
	EVENT_F_ALL_ = (1 << 11) - 1, /* all of these: a new flag needs this line, docs/FORMAT.md and a name in store/event_json.c */
};

enum effect_kind {
	EFFECT_INVALID = 0,
	EFFECT_MEM = 1,    /* bytes written to guest memory: addr, len, data */
	EFFECT_INPUT = 2,  /* bytes the call read (paths, sockaddrs, start of written buffers): shown by printers, compared by replay
	                      --check, never written */
	EFFECT_MAP = 3,    /* a mapping was made: addr, len, prot, flags, source, ... */
	EFFECT_UNMAP = 4,  /* addr, len */
	EFFECT_REGS = 5,   /* data = struct user_regs_struct (27 * 8 bytes) after the event */
	EFFECT_XSTATE = 6, /* data = XSAVE area (NT_X86_XSTATE) after the event, without zeros at its end */
	EFFECT_OUTPUT = 7, /* data = bytes that reached stdout/stderr without passing through guest memory (sendfile, splice) */
	EFFECT_RESIZE = 8, /* shared object `object` now has len bytes */
	EFFECT_ZERO = 9,   /* addr, len: guest memory is zero now */
	EFFECT_HASH = 10,  /* addr, len, hash: what guest memory held there (eng_hash()); compared, never written */
	EFFECT_MAX_
};

enum map_source {
	MAP_SOURCE_ANON = 0,   /* zero-filled */
	MAP_SOURCE_BLOB = 1,   /* private mapping of `blob` at `offset` (bytes past its end in the last page are zero) */
	MAP_SOURCE_SHARED = 2, /* shared object number `object` at `offset`; several processes may map it */
	MAP_SOURCE_MAX_
};

enum map_flags {
	MAP_F_GROWSDOWN = 1 << 0,
	MAP_F_STACK = 1 << 1, /* the initial stack of a program */
	MAP_F_VDSO = 1 << 2,  /* kernel page hidden from the guest: not restored */
	MAP_F_HEAP = 1 << 3,  /* brk area */
	MAP_F_EXE = 1 << 4,   /* the main executable */
	MAP_F_INTERP = 1 << 5, /* its ELF interpreter */
	MAP_F_NORESERVE = 1 << 6,
	MAP_F_PRIVATE = 1 << 7, /* source SHARED, but mapped copy-on-write: sees what others write to the object */
	MAP_F_ALL_ = (1 << 8) - 1,
};

struct blob_id {
	uint8_t sha256[32];
};

/* ASYNC_POINT: its REGS, XSTATE, INPUT and HASH effects are the state by which replay knows the place. args[]: */
enum event_point {
	EVENT_POINT_KIND = 0,    /* enum event_point_kind */
	EVENT_POINT_PROVED = 1,  /* 1: the HASH effects cover all memory that the thread has written since its previous event,
				  * and maybe more, but for dead stack below red zones; 0: a part of it */
	EVENT_POINT_CPU = 2,     /* about how long it has computed since then, ns */
	EVENT_POINT_REASON = 3,  /* enum event_point_reason */
	EVENT_POINT_STEPS_RUN = 4,  /* STEPS: how many instructions */
};

enum event_point_kind {
	EVENT_POINT_STATE = 0,   /* at the start of an instruction that a jump can replace (code_plan()) */
	EVENT_POINT_BREAK = 1,   /* at the start of one that only a breakpoint can */
	EVENT_POINT_REP = 2,     /* reserved: inside of a repeated string instruction */
	EVENT_POINT_STEPS = 3,   /* so many single-stepped instructions after the previous event */
	EVENT_POINT_KIND_MAX_
};

enum event_point_reason { EVENT_POINT_SLICE, EVENT_POINT_SIGNAL, EVENT_POINT_STOP, EVENT_POINT_CHAOS, EVENT_POINT_REASON_MAX_ };

/* blob of an ASYNC_POINT: for each page that a HASH effect covers, or a part of which it covers, in the order of the effects and of
 * addresses, the sum of these bytes: 8 bytes, little-endian, as eng_sum() gives. It may be missing, or end early. */

/* HASH effects of an ASYNC_POINT: how many at most, and bytes they cover together. Recorders keep to it, replay refuses more: all of that is read at each
 * pass that may be the place. */
#define EVENT_POINT_HASHES_MAX 32768u
#define EVENT_POINT_HASHED_MAX (256u << 20)

/* Largest effect data; larger ranges are split by the recorder. */
#define EFFECT_DATA_MAX (64u << 20)
/* Largest number of effects of one event. */
#define EVENT_EFFECTS_MAX (1u << 20)

struct effect {
	enum effect_kind kind;
	uint32_t thread; /* whose address space; 0 = the event's thread */
	uint64_t addr, len;
	/* MEM, INPUT, REGS, XSTATE, OUTPUT: len bytes. Writing: data is borrowed. Reading: data != NULL when the bytes are
	 * inside the event, else they are fetched with store_reader_data(). */
	const void *data;
	uint64_t data_off; /* reading: place in the data stream when data == NULL */
	/* MAP */
	uint32_t prot;  /* PROT_* */
	uint32_t flags; /* enum map_flags */
	enum map_source source;
	uint64_t object; /* MAP, RESIZE: number of the shared object, from 1 */
	uint64_t offset; /* in the blob or object */
	uint64_t hash;   /* HASH */
	struct blob_id blob;
	const char *name; /* path as the guest's kernel showed it, "" for none. Writing: borrowed. Reading: borrowed from the event. */
};

/* One event. Fields not used by a kind are zero. Which kind has which: store/events.def. */
struct event {
	uint64_t number;    /* from 1; set by writer and reader */
	enum event_kind kind;
	uint32_t thread;    /* recorded thread, numbered from 1 in order of birth; 0 for NOTE and END of the whole recording */
	uint64_t time_ns;   /* since the recording began */
	uint32_t flags;     /* enum event_flags */
	uint32_t sysno;     /* SYSCALL*, BIRTH, RESTART, EXEC */
	uint64_t args[6];   /* SYSCALL, SYSCALL_ENTER, BIRTH: at entry.  EXEC: args[0] only.  CPUID: eax ecx in, then a = eax|ebx<<32, ecx|edx<<32.
	                       TSC: value, aux (rdtscp), 1 for rdtscp. CHECKSUM: hash. */
	int64_t result;     /* SYSCALL, SYSCALL_EXIT: raw rax.  EXIT: wait status.  RESTART: rax to set. */
	uint64_t rip;       /* guest rip at the event (after the syscall instruction for calls) */
	uint64_t regs_hash; /* hash of all general registers at the event's place, 0 = not recorded */
	uint32_t child;     /* BIRTH: number of the new thread.  EXEC: thread number that the caller had (exec from a thread), else 0 */
	int32_t pid, tid;   /* BIRTH: ids of the new thread as the guest sees them; EXEC of the first program: its own */
	uint32_t signo;     /* SIGNAL */
	uint8_t siginfo[128]; /* SIGNAL */
	const char *text;   /* EXEC: path of the program.  NOTE: the text.  Never NULL after reading. Borrowed as in effect.name */
	const void *blob;   /* EXEC, SNAPSHOT: argv, each NUL-terminated.  ASYNC_POINT: sums of what it hashes (below).  BUFFER, PATCH: any bytes.
			       Borrowed */
	uint64_t blob_len;
	struct effect *effects; /* writing: borrowed. reading: owned by the reader's event */
	uint32_t n_effects;
};

/* Name of a kind ("syscall"), "?" for none. */
const char *event_kind_name(enum event_kind kind);
const char *effect_kind_name(enum effect_kind kind);

/* Encodes ev without its number. Effect data larger than inline_max go through put_data (which stores them and gives their
 * place in the data stream); the others are inlined. */
typedef int (*event_put_data_fn)(void *ctx, const void *p, size_t n, uint64_t *ret_off);
int event_encode(const struct event *ev, size_t inline_max, event_put_data_fn put_data, void *ctx, struct buf *out) MUST_CHECK;
/* Decodes one event from v into ev. Its effects array is kept in `mem` until that is used again; strings, argv and inline data
 * point into v's bytes, wherever they happen to lie (not aligned).
 * Errors: ERR_CORRUPT, ERR_TRUNCATED, -ENOMEM; v does not advance then. */
struct event_memory; /* reusable memory of decoded events */
int event_memory_new(struct event_memory **ret) MUST_CHECK;
void event_memory_free(struct event_memory *m);
int event_decode(struct view *v, struct event_memory *mem, struct event *ret_ev) MUST_CHECK;

#endif
