/* The replayer's own structures. */
#ifndef REPLAYER_REP_PRIV_H
#define REPLAYER_REP_PRIV_H

#include <sched.h>
#include "engine/code.h"
#include "engine/engine.h"
#include "replayer/replayer.h"

/* A replayed process: what the kernel of this machine has. */
struct rep_proc {
	int refs;
	pid_t tgid;
	uint32_t live;  /* threads that have not replayed their exit */
};

enum rep_place {
	REP_USER,    /* stopped in user mode (or on the way out of a call): next it runs */
	REP_ENTRY,   /* at the SECCOMP stop of a call */
	REP_CALLED,  /* at the exit stop of a call that was run in place of the guest's */
};

struct rep_task {
	struct eng_task t; /* first */
	struct rep_session *session;
	uint32_t num;
	pid_t guest_pid, guest_tid; /* as the program knows them */
	struct rep_proc *proc;
	enum rep_place place;
	bool in_call;       /* SYSCALL_ENTER or BIRTH replayed, its SYSCALL_EXIT is to come */
	struct user_regs_struct entry; /* at the entry of that call */
	uint32_t sysno;
	uint64_t args[6];
	struct buf written; /* bytes of a write that was entered: they may change until its exit */
	bool have_written;
	uint64_t watch_generation; /* its debug registers are those of this generation of a debugger's points, 0 = none */
	uint64_t counted;   /* steps of a point that is told by their number, made already */
	uint64_t over;      /* the breakpoint at this address has been dealt with: the thread goes over it. 0 = none */
	struct rep_site *sites; /* that are open for it, NULL = none */
	uint64_t awaited;   /* rep_run() comes back when a breakpoint at this address is hit; 0 = none */
};

/* Shared memory of guests. Mappings of it may be writable: what was not written by us is known only from looking. */
struct rep_object {
	int refs;        /* the session and snapshots: two of one number may live, made before and after a restore */
	int fd;          /* memfd */
	uint64_t size;
	bool mapped;     /* shared and writable, once */
	bool viewed;     /* mapped privately, once */
	uint64_t writes; /* object_writes when its content was written last by us: equal = same content, unless it was mapped */
};

struct rep_session {
	struct store_reader *reader;
	struct rep_options opt;
	const struct manifest *manifest;
	struct rep_task **tasks; /* by number, NULL = none */
	uint32_t cap_tasks;
	pid_t template;          /* pristine empty process that new ones are forked from */
	struct eng_mm *template_mm;
	struct rep_object **objects; /* shared object n, NULL = none */
	uint64_t cap_objects;
	uint64_t object_writes;  /* counts what is written to them by us */
	struct rep_blob_fd {
		struct blob_id id;
		int fd;
		uint64_t used;
	} blobs[128];
	uint64_t blob_clock;
	uint64_t event;          /* last event replayed */
	const struct event *pending; /* the next one, when the reader has given it */
	bool arrived;            /* its thread is at its place */
	uint64_t total;
	bool cpuid_faulting;     /* cpuid was trapped when it was recorded, and can be here */
	bool ended, truncated, output_closed;
	int first_status;
	struct rep_past {        /* ring of the last events, for reports */
		struct event ev; /* without borrowed parts */
	} past[32];
	cpu_set_t affinity;
	struct eng_traps traps;
	struct code_cache *code;
	struct sigaction old_alarm;
	uint32_t diverged_thread;
	const struct rep_hooks *hooks; /* NULL: no debugger */
	struct rep_snapshot *snapshots; /* all that live, newest first */
	struct rep_snapshot *latest;    /* taken or restored last, NULL = none or freed since */
};

/* --- session.c --- */
/* Replay of an event has two phases. In the first its thread runs to its place; ERR_STOPPED from there, when a debugger is attached,
 * leaves the session in the middle of computation: the phase is begun again later and goes on. In the second the event happens. */
/* The next event: 1, 0 at the end. Valid until rep_session_step(). */
int rep_session_pending(struct rep_session *s, const struct event **ret, struct errinfo *ei) MUST_CHECK;
/* The first phase, nothing when it was done: 1, 0 at the end. rep_session_step() does what is left of both. */
int rep_session_arrive(struct rep_session *s, struct errinfo *ei) MUST_CHECK;

/* --- procs.c --- */
struct rep_task *rep_task(struct rep_session *s, uint32_t num); /* NULL = none */
int rep_new_process(struct rep_session *s, uint32_t num, struct rep_task **ret, struct errinfo *ei) MUST_CHECK;
void rep_task_free(struct rep_session *s, struct rep_task *t);
int rep_exec_arrive(struct rep_session *s, struct rep_task *old, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_exec(struct rep_session *s, struct rep_task *old, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_birth_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* Makes a task of that number by clone in `from`, which keeps its registers. CLONE_THREAD: of that process; else proc is NULL. */
int rep_spawn(struct rep_session *s, struct eng_task *from, uint64_t flags, struct rep_proc *proc, uint32_t num, struct rep_task **ret) MUST_CHECK;
int rep_wait_first_stop(pid_t tid) MUST_CHECK;
/* Lets a task that was killed go on to its end, and waits for that. Nobody's child: returns at once. */
void rep_reap(pid_t tid);
int rep_birth(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* How far its stack may grow: user code meets the end of it. */
void rep_stack_limit(struct rep_task *t, uint64_t limit);
/* All replayed processes; the template and frozen ones stay. No task is left, and nothing of them to wait for. */
void rep_kill_live(struct rep_session *s);
void rep_kill_all(struct rep_session *s); /* and every other child of ours: at the end of a session */

/* --- effects.c --- */
int rep_apply(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* A call of ours in the guest, wherever it stands. */
int rep_remote(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret) MUST_CHECK;
/* The same, and the thread's registers are as before afterwards: for one that stands outside of any call of its own. */
int rep_remote_quiet(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret) MUST_CHECK;
/* Does the range hold the page that calls of ours are made from? addr + len may overflow: such a range touches everything behind addr. */
static inline bool rep_touches_gate(uint64_t addr, uint64_t len)
{
	return len && addr < ENG_STUB_GATE + 4096 && (addr + len > ENG_STUB_GATE || addr + len < addr);
}
int rep_check_inputs(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
void rep_blobs_free(struct rep_session *s);

/* --- objects.c --- */
/* Shared object n, made when it is new. */
int rep_object(struct rep_session *s, uint64_t n, struct rep_object **ret) MUST_CHECK;
/* Its memfd, to write there. */
int rep_object_fd(struct rep_session *s, uint64_t n) MUST_CHECK;
int rep_object_resize(struct rep_session *s, uint64_t n, uint64_t size) MUST_CHECK;
/* What lies behind its end in the last page is written too, what lies behind that page is dropped: nothing can be there. */
int rep_object_write(struct rep_session *s, uint64_t n, uint64_t off, const uint8_t *p, size_t len) MUST_CHECK;
void rep_objects_free(struct rep_session *s);

/* --- contents.c --- */
/* The contents of all shared objects at one moment. Equal pieces are stored once for those that were saved one after the other. */
struct rep_contents;
/* before: saved earlier, to share with; NULL = nothing. */
int rep_contents_save(struct rep_session *s, const struct rep_contents *before, struct rep_contents **ret) MUST_CHECK;
/* The session has those objects with that content and no others. */
int rep_contents_load(struct rep_session *s, const struct rep_contents *c) MUST_CHECK;
void rep_contents_free(struct rep_contents *c); /* NULL is fine */
/* Bytes of pieces that only it has. */
uint64_t rep_contents_bytes(const struct rep_contents *c);
/* The same, and its share of those that others have as well. */
uint64_t rep_contents_share(const struct rep_contents *c);
void rep_object_unref(struct rep_object *o);

/* --- calls.c --- */
int rep_syscall(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_syscall_enter(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_syscall_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_signal_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_restart(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_trap_arrive(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_trap(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_checksum(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* Runs t in user mode to the entry of the call that ev names. */
int rep_run_to_call(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* "got read(3, ...) at 0x..." Appends. */
void rep_describe_stop(struct rep_task *t, const struct eng_stop *st, struct buf *out);
/* Another stop came than the event asks for. */
int rep_wrong_stop(struct rep_session *s, struct rep_task *t, const struct event *ev, const struct eng_stop *st, struct errinfo *ei);

/* --- run.c --- */
/* Runs in user mode to the next thing the program does. ERR_INTERRUPTED (the thread runs on): a signal of ours came after that time
 * (os_mono_ns(); 0 = none). ERR_STOPPED: for the debugger. */
int rep_run(struct rep_task *t, struct eng_stop *ret, uint64_t deadline) MUST_CHECK;
/* One instruction. No debugger sees it. */
int rep_step(struct rep_task *t, struct eng_stop *ret) MUST_CHECK;
/* The same, seen: ERR_STOPPED before it (ret->kind is ENG_STOP_NONE) or behind it. */
int rep_step_seen(struct rep_task *t, struct eng_stop *ret) MUST_CHECK;
/* Does a debugger want single steps of t now? */
bool rep_stepping(struct rep_task *t);

/* What a debugger that is attached to a session wants to know of threads that run. */
enum rep_runs { REP_RUNS, REP_STEPS };
struct rep_hooks {
	/* t is about to run: does it run, or make one step (enum rep_runs)? An error is handed through, ERR_STOPPED as well. */
	int (*before)(void *ctx, struct rep_task *t);
	/* t stands at a breakpoint of the debugger, before its instruction: 0 go on (over it), or ERR_STOPPED. */
	int (*passed)(void *ctx, struct rep_task *t);
	/* t has stopped; is_step: behind the step that before() has asked for, which is no doing of the program's. 0: it does not
	 * concern the debugger; *st, which may be another stop now, is what it is then. 1: it was for it, t goes on. Or an error, ERR_STOPPED. Also
	 * after a tick that stopped it (ENG_STOP_TRAP): it stays stopped then. */
	int (*stopped)(void *ctx, struct rep_task *t, struct eng_stop *st, bool is_step);
	/* A signal of ours came while t runs: shall it stop? */
	bool (*tick)(void *ctx, struct rep_task *t);
	void *ctx;
};

/* --- async.c --- */
/* Runs t to the place inside of computation that the event describes. */
int rep_async_point(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* --- match.c --- */
/* The wanted state of an asynchronous point, and what was seen in the passes before it. */
struct rep_point {
	struct user_regs_struct regs;
	uint8_t *xstate; /* owned */
	size_t xstate_len;
	struct rep_range {
		uint64_t addr;
		size_t len;
		size_t at; /* in want and last */
	} *ranges;
	size_t n_ranges;
	struct buf want, last;
	bool have_last; /* last holds what the ranges held in the pass before */
	struct rep_hashed {
		uint64_t addr, len, hash;
		size_t first_sum;
	} *hashes;
	size_t n_hashes;
	uint64_t hashed; /* bytes of them together */
	/* Borrowed from the event: 8 bytes for each page that one of them covers or a part of which it covers, as eng_sum()
	 * gives. Older recordings have none. */
	const uint8_t *sums;
	size_t n_sums;
	size_t sums_named; /* by the hashes; n_sums may be less */
	struct user_regs_struct last_regs;
	unsigned passes;
	/* Bytes of the guest's that something of ours stands on now. */
	uint64_t hidden_at;
	size_t hidden_len;
	const uint8_t *hidden;
	/* the pass that came closest: what differed there */
	enum rep_differs {
		REP_DIFFERS_ALL,
		REP_DIFFERS_REGS,
		REP_DIFFERS_WORDS,
		REP_DIFFERS_VECTORS,
		REP_DIFFERS_MEMORY,
	} closest;
	uint64_t closest_at; /* address, or place in the XSAVE area */
	uint32_t zmm_hi256, hi16_zmm; /* offsets in the XSAVE area, 0 = none */
};

int rep_point_load(struct rep_session *s, const struct event *ev, struct rep_point *ret, struct errinfo *ei) MUST_CHECK;
/* The present state of t, with some memory around its stack. */
int rep_point_take(struct rep_task *t, struct rep_point *ret) MUST_CHECK;
void rep_point_done(struct rep_point *p);
/* Compares the state of t, which stands at the point's address, with the wanted one: 1 equal, 0 not. Then
 * *ret_lesson is a condition that would have told it, not among the n known ones; ret_lesson->kind is
 * CODE_COND_MAX_ when there is none (or in the first pass). ret_lesson NULL: only compares, learns nothing. */
int rep_point_compare(struct rep_point *p, struct rep_task *t, const struct code_cond *known, unsigned n,
		      struct code_cond *ret_lesson) MUST_CHECK;

/* Are these registers those of the point? */
bool rep_point_registers(const struct rep_point *p, const struct user_regs_struct *r);

/* What the closest pass differed in, as text. Appends. */
void rep_point_closest(const struct rep_point *p, struct buf *out);

/* --- rep_string.c --- */
/* Runs t to p inside of a repeated string instruction. 1: it is there. 0: *st came instead. ERR_INTERRUPTED as in rep_run(). *passes counts
 * executions of the instruction that were not it. */
int rep_string_find(struct rep_task *t, struct rep_point *p, struct eng_stop *st, uint64_t deadline, uint64_t *passes) MUST_CHECK;

/* --- reexec.c --- */
/* Runs the call that t is in again, as the event asks. Only calls of a table, with the arguments that a recorder lets pass: others are ERR_CORRUPT. */
int rep_reexec(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* --- diverge.c --- */
/* ERR_DIVERGED with event, thread and the text. */
int rep_diverged(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* --- output.c --- */
int rep_output(struct rep_session *s, struct rep_task *t, const struct event *ev) MUST_CHECK;
int rep_output_keep(struct rep_session *s, struct rep_task *t) MUST_CHECK;

/* --- keep.c --- */
/* Pages of a frozen process, put aside. */
struct rep_kept;

/* Puts aside what the process will lose when the object gets that size. *list grows. */
int rep_keep(pid_t pid, const struct rep_object *o, uint64_t size, struct rep_kept **list) MUST_CHECK;
int rep_kept_write(const struct rep_kept *list, struct rep_task *t) MUST_CHECK;
uint64_t rep_kept_bytes(const struct rep_kept *list);
void rep_kept_free(struct rep_kept *list);

/* --- snapshot.c --- */
/* All that a replay is at one moment: every process frozen as a copy-on-write child, its threads' registers, contents of shared
 * objects, the place in the log. */
struct rep_snapshot;

/* May be taken between events, and in the middle of computation of the thread that runs (all are stopped in user mode or in a call then);
 * not at a place that has been reached while its event was not applied. The session goes on as if nothing had been. */
int rep_snapshot_take(struct rep_session *s, struct rep_snapshot **ret, struct errinfo *ei) MUST_CHECK;
/* The session is what it was then; what it was is gone. A snapshot can be restored any number of times. An error leaves a
 * session that can only be freed, or restored again. */
int rep_snapshot_restore(struct rep_session *s, const struct rep_snapshot *snap, struct errinfo *ei) MUST_CHECK;
/* Before rep_session_free(). NULL is fine. */
void rep_snapshot_free(struct rep_session *s, struct rep_snapshot *snap);
/* The object will have that size now: snapshots see to it that they lose nothing. */
int rep_snapshots_resize(struct rep_session *s, const struct rep_object *o, uint64_t size) MUST_CHECK;
/* Is the memory of t's process what it was then? 1, 0; *hint (0 at first) is a word of 8 bytes that differed, where it is looked first the next time, *want
 * (may be NULL) what it was then. Memory
 * shared with others is compared with what it is now. */
int rep_snapshot_same_memory(const struct rep_snapshot *snap, struct rep_task *t, uint64_t *hint, uint64_t *want) MUST_CHECK;
/* How much memory it holds by itself: bytes of pages that only it has now, its shared objects and page tables. An estimate, costs as long as the kernel
 * walks the tables of its processes. */
uint64_t rep_snapshot_bytes(const struct rep_snapshot *snap);
/* How much all of them hold together: what several share and the tree has not counts once here, but in rep_snapshot_bytes() of none of them. Exact while
 * one process lives; with more it may be wrong by what those share. */
uint64_t rep_snapshots_bytes(const struct rep_session *s);

/* --- machine.c --- */
int rep_check_machine(struct rep_session *s, struct errinfo *ei) MUST_CHECK;

#endif
