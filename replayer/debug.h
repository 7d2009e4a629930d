/* Looks at a recording as a debugger does: one process of the replayed tree at a time, forwards and backwards.
 *
 * The one interface under gdbstub/, the DAP extras and the web inspector. One session per process of ours and thread of
 * ours at a time (as replayer.h). Threads are named by the ids that the recorded program saw.
 *
 * History is a line of positions. Between events exactly one thread runs; a position is the number of events that have been
 * replayed and, inside of computation, a recipe how to get there (struct dbg_pos). A system call, with all that it did,
 * counts as one instruction of its thread; while it is blocked others run.
 *
 * The session stands at some position always, after errors too, unless dbg_lost() says otherwise. Calls that run guests return
 * 0 with *ret_stop, or a negative error with ei (ERR_DIVERGED: the recording cannot be followed further than here).
 */
#ifndef REPLAYER_DEBUG_H
#define REPLAYER_DEBUG_H

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>
#include "engine/aspace.h"
#include "store/reader.h"

struct dbg;

/* --- positions --- */

/* events: how many have been replayed. hits 0: `steps` instructions after that. hits n > 0: where the thread that runs then stands
 * at addr for the n-th time since, and `steps` instructions on. arrived: at the end of that computation, where the next event is
 * about to happen but has not (a call is entered, a signal is about to be delivered); the other fields are 0 then. */
struct dbg_pos {
	uint64_t events;
	uint64_t addr, hits, steps;
	bool arrived;
};

/* "120", "120+3", "120:0x401136*7", "120:0x401136*7+2", "120!" (arrived). Appends. */
void dbg_pos_print(const struct dbg_pos *p, struct buf *out);
/* 0; -EINVAL: it is no such text. */
int dbg_pos_parse(const char *text, struct dbg_pos *ret) MUST_CHECK;

/* --- session --- */

struct dbg_progress {
	const char *what;    /* "searching backwards" */
	uint64_t event, total;
};

struct dbg_options {
	pid_t pid;                  /* the process to look at, as recorded; 0 = the first one */
	uint64_t checkpoint_memory; /* bytes that checkpoints may take, 0 = default */
	/* Called every 50 ms or so while guests run. true: stop as soon as possible (DBG_STOP_INTERRUPTED). May be NULL. */
	bool (*tick)(void *ctx, const struct dbg_progress *p);
	void *ctx;
};

/* Stands at the first instruction of that process's last program then; its history begins with its birth. ERR_NOT_FOUND: no such process. Errors as rep_session_new(). */
int dbg_open(struct store_reader *r, const struct dbg_options *opt, struct dbg **ret, struct errinfo *ei) MUST_CHECK;
void dbg_free(struct dbg *d); /* NULL is fine. Kills all replayed processes */
struct store_reader *dbg_reader(struct dbg *d);
const struct manifest_process *dbg_process(const struct dbg *d);

/* --- where it stands --- */

/* Exact, but may have to replay a span to count. With an interrupt: ERR_INTERRUPTED. In a diversion: ERR_BUSY. */
int dbg_where(struct dbg *d, struct dbg_pos *ret, struct errinfo *ei) MUST_CHECK;
uint64_t dbg_events(const struct dbg *d);     /* replayed so far */
uint64_t dbg_time_ns(const struct dbg *d);    /* of the last one, since the recording began */
bool dbg_at_begin(const struct dbg *d);       /* of the process */
bool dbg_at_end(const struct dbg *d);
bool dbg_lost(const struct dbg *d);           /* the replay broke and nothing could be restored: only dbg_free() is left */
/* The process's end as recorded (wait status), -1: it is not over at this position. */
int dbg_exit_status(const struct dbg *d);

/* --- threads --- */

struct dbg_thread {
	pid_t tid;
	uint32_t number;  /* in the recording */
	bool in_call;     /* it waits in a system call */
	char name[16];    /* "" = not known */
};
/* The living threads of the process, in order of birth; *ret is valid until the session moves. */
int dbg_threads(struct dbg *d, const struct dbg_thread **ret, size_t *ret_n) MUST_CHECK;
/* The thread that the last stop is about, else the one that runs next. 0: none lives. */
pid_t dbg_current(const struct dbg *d);

/* ERR_NOT_FOUND: no such thread. In a system call: as a native debugger sees it (rip behind the instruction, orig_rax its number). */
int dbg_regs(struct dbg *d, pid_t tid, struct user_regs_struct *ret) MUST_CHECK;
int dbg_xstate(struct dbg *d, pid_t tid, void *buf, size_t cap, size_t *ret_len) MUST_CHECK;
/* The signal that the thread is about to get. ERR_NOT_FOUND: it does not stand at the delivery of one. */
int dbg_siginfo(struct dbg *d, pid_t tid, siginfo_t *ret) MUST_CHECK;

/* --- memory --- */

/* As many bytes as are there from addr on (0 = none). What the guest has: breakpoints do not show. */
size_t dbg_read(struct dbg *d, uint64_t addr, void *buf, size_t n);
const struct aspace *dbg_aspace(struct dbg *d); /* valid until the session moves */
/* Number of changes of position so far: what a client has kept is valid while it is equal. */
uint64_t dbg_moves(const struct dbg *d);

/* --- breakpoints and watchpoints --- */

enum dbg_break_kind {
	DBG_BREAK,        /* before the instruction at addr */
	DBG_WATCH_WRITE,  /* len bytes were written */
	DBG_WATCH_READ,
	DBG_WATCH_ACCESS,
};

struct dbg_break {
	enum dbg_break_kind kind;
	uint64_t addr, len;
	/* Does this hit count? NULL: always. Asked at each hit, in both directions, with the session standing there; must not
	 * move it. 1 yes, 0 no, an error counts as yes. */
	int (*cond)(void *ctx, struct dbg *d, pid_t tid);
	void *ctx;
	/* What cond says, as bytecode of gdb's agent expressions: the guest may evaluate it by itself. cond is asked nevertheless where that is not
	 * possible. NULL: there is none. Copied; nothing without cond. */
	const uint8_t *bytecode;
	size_t bytecode_len;
};

/* Any number, overlapping ones too, at any address (where nothing is mapped it waits for a mapping). *ret_id: > 0. */
int dbg_break_add(struct dbg *d, const struct dbg_break *b, unsigned *ret_id) MUST_CHECK;
int dbg_break_remove(struct dbg *d, unsigned id) MUST_CHECK; /* ERR_NOT_FOUND */

/* --- running --- */

enum dbg_how {
	DBG_CONTINUE,
	DBG_STEP,  /* one instruction of thread tid; others run when it has to wait */
	DBG_RANGE, /* steps of tid until it is outside of [low, high); forwards only */
};

struct dbg_resume {
	enum dbg_how how;
	bool backwards;
	pid_t tid;
	uint64_t low, high;
	uint64_t stop_signals;        /* bit signo-1: stops at the delivery of these */
	const uint64_t *catch_calls;  /* bitmap of 512 numbers of calls whose entry and return stop, NULL = none */
};

enum dbg_stop_kind {
	DBG_STOP_STEP,         /* done */
	DBG_STOP_BREAK,        /* break_id */
	DBG_STOP_WATCH,        /* break_id; forwards behind the access, backwards before it */
	DBG_STOP_SIGNAL,       /* signo is about to be delivered */
	DBG_STOP_CALL_ENTRY,   /* sysno */
	DBG_STOP_CALL_RETURN,
	DBG_STOP_BEGIN,        /* of the history of this process */
	DBG_STOP_END,
	DBG_STOP_INTERRUPTED,  /* by tick */
	DBG_STOP_SEEK,         /* it is where it should be */
};

struct dbg_stop {
	enum dbg_stop_kind kind;
	pid_t tid;
	unsigned break_id; /* of the lowest id when several were hit */
	uint64_t addr;     /* WATCH: the watched address that was touched */
	int signo;
	uint32_t sysno;
};

int dbg_resume(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;

/* --- going places: no breakpoint stops on the way --- */

/* ERR_NOT_FOUND: there is no such position (the thread never comes there); the session stands where it was. */
int dbg_seek(struct dbg *d, const struct dbg_pos *to, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;
int dbg_seek_begin(struct dbg *d, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;
int dbg_seek_end(struct dbg *d, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;
/* To the last event at or before that time of the recording. */
int dbg_seek_time(struct dbg *d, uint64_t ns, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;
/* Back to right before the instruction or call that last changed a byte of the range: DBG_STOP_WATCH, or DBG_STOP_BEGIN when nothing has. */
int dbg_last_write(struct dbg *d, uint64_t addr, uint64_t len, struct dbg_stop *ret_stop, struct errinfo *ei) MUST_CHECK;

/* --- diversions --- */

/* From here on the guest is a throw-away copy: registers and memory may be written, harmless calls work, others fail with
 * ENOSYS; nothing outside is touched. dbg_resume() runs the copy, forwards only. */
int dbg_divert(struct dbg *d, struct errinfo *ei) MUST_CHECK;
bool dbg_diverted(const struct dbg *d);
/* Back to where it was. Nothing when it is not in a diversion. */
int dbg_divert_end(struct dbg *d, struct errinfo *ei) MUST_CHECK;
/* In a diversion only: -EROFS elsewhere. */
int dbg_set_regs(struct dbg *d, pid_t tid, const struct user_regs_struct *r) MUST_CHECK;
int dbg_set_xstate(struct dbg *d, pid_t tid, const void *buf, size_t len) MUST_CHECK;
int dbg_write(struct dbg *d, uint64_t addr, const void *buf, size_t n) MUST_CHECK;

/* --- files of the recorded machine: replayer/files.c --- */

/* Descriptor of the file that the recorded process mapped (or executed) under this path at or before this position, close it; ERR_NOT_FOUND
 * else. Never opens a file of this machine outside of the store. */
int dbg_file_open(struct dbg *d, const char *path, int *ret_fd) MUST_CHECK;
/* Text as /proc/PID/NAME had: "maps", "status", "cmdline", "comm", "auxv" (binary), "task/TID/comm", "task/TID/status", ...; "exe": the path that the link leads to. ERR_NOT_FOUND. Appends. */
int dbg_proc_file(struct dbg *d, const char *name, struct buf *out) MUST_CHECK;
/* Path of the program that the process runs, "" = none. Valid until the session moves. */
const char *dbg_exe(struct dbg *d);

#endif
