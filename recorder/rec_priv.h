/* The recorder's own structures. One struct rec per recording; nothing is global. */
#ifndef RECORDER_REC_PRIV_H
#define RECORDER_REC_PRIV_H

#include <sched.h>
#include <sys/stat.h>
#include "engine/engine.h"
#include "recorder/recorder.h"

struct rec;
struct rec_chaos;
struct code_cache;

/* --- effects of the event being built (fx.c) --- */

/* Bump memory for effect data: pointers stay valid until fx_reset(). */
struct fx_block {
	struct fx_block *next;
	size_t used, cap;
	uint8_t data[];
};

struct fx {
	struct effect *e;
	uint32_t n, cap;
	struct fx_block *blocks;
	struct effect dummy; /* given out when there is no memory */
	int error; /* first failure, sticky until reset */
};

void fx_init(struct fx *fx);
void fx_done(struct fx *fx);
void fx_reset(struct fx *fx);
/* Memory for n bytes, NULL (and fx->error) when there is none. */
void *fx_alloc(struct fx *fx, size_t n);
/* A zeroed effect of that kind at the end; a dummy when memory is short. */
struct effect *fx_add(struct fx *fx, enum effect_kind kind);
/* MEM (or INPUT) effect with the present content of [addr, addr+len) of t; what is not readable is left out. */
void fx_memory(struct fx *fx, struct eng_task *t, enum effect_kind kind, uint64_t addr, uint64_t len);
void fx_bytes(struct fx *fx, enum effect_kind kind, uint64_t addr, const void *p, size_t n);
void fx_registers(struct fx *fx, struct eng_task *t);
/* Floating point and vector registers; t stopped where they may be set (see fx.c). */
void fx_xstate(struct fx *fx, struct eng_task *t);

/* --- descriptor tables (files.c) --- */

enum fd_class { FD_UNKNOWN, FD_OTHER, FD_REGULAR, FD_PROC_STATUS, FD_PROC_MEM };

struct fd_info {
	uint8_t cls;      /* enum fd_class */
	uint8_t echo;     /* EVENT_F_STDOUT | EVENT_F_STDERR or 0 */
	uint64_t dev, ino; /* PROC_MEM: process and thread */
};

/* What is known of a descriptor table; shared by tasks as the kernel shares it. Filled on demand, forgotten when a descriptor may have changed. */
#define FILES_MAX 1024
struct rec_files {
	int refs;
	struct fd_info fd[FILES_MAX];
};

/* A word that the kernel writes when a thread lets go of its memory. */
struct rec_mark {
	uint64_t addr;
	uint32_t value;
};

/* --- processes and tasks --- */

/* As rt_sigaction() has it. */
struct rec_sigaction {
	uint64_t handler, flags, restorer, mask;
};

struct rec_process {
	struct rec_process *next;
	struct manifest_process info; /* command, exe owned */
	uint32_t live;                /* threads alive */
	cpu_set_t affinity;           /* what the guest believes its mask is */
	int dumpable;
	bool no_new_privs;            /* asked for by the guest itself */
	struct rec_sigaction sigsegv; /* what the guest has asked for: forced.c */
	bool no_stop_sigchld;         /* SA_NOCLDSTOP of its SIGCHLD */
	siginfo_t chld;               /* SIGCHLD that we sent for the kernel: what it should have said */
	bool chld_sent;
	int64_t ptracer;              /* PR_SET_PTRACER, 0 = none, -1 = anybody */
};

enum rec_state {
	REC_STOPPED,  /* has a stop that is not handled yet */
	REC_READY,    /* handled: may be resumed as next_how, next_signo */
	REC_RUNNING,  /* resumed, the one that runs */
	REC_BLOCKED,  /* resumed into a call and sleeps there; its entry is logged */
	REC_LISTENING, /* group-stopped */
	REC_HELD,     /* stopped for the guest that traces it: trace_priv.h */
	REC_DYING,    /* exit event seen; only its end is waited for */
};

#define STASH_MAX 64
#define REC_SCRATCH_DEFAULT (128ull << 10) /* bytes of a thread's scratch memory unless a call needs more */

struct rec_task {
	struct eng_task t; /* first: engine functions take &rt->t */
	struct rec_task *next;
	struct rec *rec;
	uint32_t num;
	struct rec_process *proc;
	struct rec_files *files;
	enum rec_state state;
	enum eng_resume next_how;
	int next_signo;
	bool ran; /* has run user code since its last event was logged */
	uint64_t asleep_since; /* found asleep in a call that should not, 0 = not */
	bool interrupting; /* a TRAP stop that we asked for is to come */
	uint32_t priority; /* chaos: who runs first; the higher one */
	int64_t behind;    /* chaos: CPU time that it lacks of its fair share (fair.c), ns; negative: it had more */
	bool watching;     /* chaos: watchpoints are set */
	uint32_t wake_asked; /* chaos: how many waiters it wanted to wake, 0 = as it said */
	struct rec_rare {
		uint64_t at, key; /* a landing place that is passed seldom, and aspace_code_key() of it; 0 = none is known */
		uint32_t uses;    /* left before another is searched for */
		uint32_t pause, rest; /* slices without a search: still, and the last time */
	} rare;
	unsigned spins; /* points in a row at which it seemed to wait for somebody else in a loop */
	bool regroup; /* taken out of a group-stop to run to an event: it is to be stopped again behind that */
	bool want_point; /* that stop shall become an asynchronous point */
	bool inside; /* its last event's place lies inside of computation: registers do not tell whether it has run since */
	uint64_t due; /* signals (bit signo-1) that were pending there: they come before the next instruction */

	/* the call it is in */
	bool in_call, entered; /* entered: SYSCALL_ENTER or BIRTH is logged */
	bool again;            /* being made once more after an EINTR that only the tracer caused */
	bool execed;           /* EXEC stop seen, its image is logged at the exit stop */
	struct user_regs_struct entry; /* registers at entry, before we changed any */
	uint64_t entry_hash;
	uint32_t sysno;        /* as the guest made it; outs.call is the interrupted call when it is restart_syscall */
	struct sys_outs outs;
	uint32_t call_flags;   /* event flags for the call */
	bool tallied;          /* tally.c: counted as call tallied_nr, its outcome is not known yet */
	uint32_t tallied_nr;
	struct effect *inputs; /* INPUT effects kept for the event (owned copies) */
	uint32_t n_inputs;
	struct buf input_bytes;
	uint64_t late_addr, late_len; /* large content of a new mapping: logged after the call's event, in pieces */
	bool args_changed;     /* argument registers must be restored at exit */
	struct rec_snapshot *snapshot; /* memory before a call with unknown effects */
	struct scratch_move *moves; /* buffers moved to scratch memory */
	uint32_t n_moves;
	struct fd_info high_fd; /* a descriptor beyond the table */
	uint64_t saved_pos;    /* file position before an in-kernel copy to stdout */
	struct buf peeked;     /* or what the pipe held */
	struct buf written;    /* output.c: what a write to stdout or stderr held at its entry */

	/* exit of an interrupted call, whose restart is not known yet */
	bool restart_pending;
	uint32_t restart_nr;
	struct sys_call restart_call; /* the call itself */

	/* asynchronous signals that wait for the next boundary */
	siginfo_t stash[STASH_MAX];
	unsigned n_stash;
	siginfo_t redeliver; /* being sent again through the kernel with this information */
	bool redelivering;
	uint32_t redeliver_place; /* EVENT_F_AT_CALL or EVENT_F_AFTER */

	struct buf exec_marks; /* struct rec_mark: words the kernel will change when the exec in progress succeeds */
	uint64_t child_tid, robust_list; /* addresses the kernel writes at exit */
	uint64_t scratch, scratch_len;
	struct rec_filter *filter; /* seccomp, NULL = none */
	uint64_t blocked; /* its signal mask, as it believes */
	bool tsc_faults; /* asked for by the guest: PR_SET_TSC */
	struct rec_trace *trace; /* its tracer among the guests, NULL = none */
	bool wait_asleep, wait_without; /* a wait for tracees alone, by pause() / to be made so */
	int exit_status;
	bool exit_known, exit_logged;
};

/* A shared object: a file (dev, ino), anonymous shared memory, SysV segment. */
struct rec_object {
	uint64_t number, dev, ino;
	uint64_t size;
	bool known;    /* mapped before */
};

/* How much of a process's memory its asynchronous points look at (points.c), in pages, and for how many points tracking rests after too much. */
#define REC_POINT_TRACKED_MAX 4000u
struct rec_point_policy {
	uint32_t tracked_max; /* written pages, of which tracking rests; at most REC_POINT_TRACKED_MAX */
	uint32_t rest, rest_max;
	uint32_t first_pages; /* hashed at the first point */
	uint32_t hashed_min;  /* hashed at a point that tracking does not prove, however little was computed */
};
/* With less, places were taken for others that were only alike. A runtime of 100 MB is hashed as a whole. */
#define REC_POINT_POLICY \
	{ .tracked_max = REC_POINT_TRACKED_MAX, .rest = 8, .rest_max = 64, .first_pages = 49152, .hashed_min = 32768 }

struct rec {
	struct rec_point_policy points;
	struct store *store;
	struct store_writer *writer;
	const struct rec_options *opt;
	struct manifest manifest;
	struct fx fx;
	struct rec_task *tasks, *cur;
	unsigned n_tasks;
	struct rec_process *processes, **processes_end;
	uint32_t last_num;
	int cpu;
	cpu_set_t affinity; /* before pinning */
	uint64_t start_mono, slice_start, last_flush, deadline;
	uint64_t slice_ns;  /* length of the current task's slice, CPU time */
	uint64_t tick_ns;   /* period of our timer */
	uint64_t slice_cpu; /* CPU time of the current task's process when its slice began */
	struct code_cache *code;
	struct rec_chaos *chaos; /* NULL = off */
	struct rec_fair {
		uint64_t computed, paid, last; /* ns: fair.c */
	} fair;
	uint64_t *interrupted; /* hash table of INTERRUPTED_MAX places where handlers were entered, 0 = free; NULL = none yet */
	uint64_t next_checksum;
	bool give_way;      /* the current task yielded */
	/* Stops of children seen before their parent's birth event. */
	struct rec_early {
		bool orphan; /* its parent was killed before that: it dies too */
		pid_t tid;
		struct eng_stop stop;
	} early[64];
	unsigned n_early;
	struct rec_mapped *mapped; /* files that are or were mapped */
	size_t n_mapped;
	uint64_t mapped_filter[64]; /* 4096 bits by hash of (dev, ino): files that were mapped */
	struct rec_object *objects;
	size_t n_objects;
	uint64_t last_object;
	unsigned n_traced; /* tasks with a tracer and zombies */
	struct rec_zombie *zombies;
	int first_status;
	pid_t first_pid;
	uint64_t first_ended; /* when the first process ended while others went on, 0 = not */
	bool told_waiting;
	uint64_t told_alive;
	bool forwarded;     /* a signal to hermit was passed on */
	int error;          /* sticky failure of the store: ends the recording */
	char reason[256];
	int end_signo;      /* hermit was told to end by it */
	bool stopping;      /* the tree is being killed */
	bool cpuid_faulting;
	struct eng_traps traps;
	uint64_t progress; /* when something last happened that is no asynchronous point */
	bool watchdog_told;
	uint64_t now; /* CLOCK_MONOTONIC at the last event or tick */
	struct rec_tally *tally; /* SYS_TABLE_MAX + 1 */
	struct stat_id { uint64_t dev, ino; } stdio[3];
	uint64_t output_bytes; /* kept by output.c */
};

/* --- session.c --- */
/* Starts an event of t in ev (kind, thread, time). */
void rec_event_init(struct rec_task *t, struct event *ev, enum event_kind kind);
/* Writes it with the effects gathered in rec->fx and empties those. */
int rec_log(struct rec *rec, struct event *ev) MUST_CHECK;
/* A NOTE event, a manifest warning and a line on stderr, once per text. */
void rec_warn(struct rec *rec, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct rec_task *rec_task_new(struct rec *rec, pid_t tid, pid_t tgid, struct eng_mm *mm, struct rec_files *files, struct rec_process *proc);
void rec_task_remove(struct rec *rec, struct rec_task *t);
struct rec_task *rec_task_find(struct rec *rec, pid_t tid);
struct rec_process *rec_process_new(struct rec *rec, uint32_t thread, uint32_t parent, pid_t pid);
/* Handles the stop that t has. Sets its state. */
int rec_handle_stop(struct rec_task *t) MUST_CHECK;
/* Logs the entry of the call t sleeps in, if not yet done. */
int rec_park(struct rec_task *t) MUST_CHECK;
void rec_ready(struct rec_task *t, enum eng_resume how, int signo);
/* Kills the whole tree and waits for it. */
void rec_kill_all(struct rec *rec);
void rec_note_stop(struct rec *rec, pid_t tid, const struct eng_stop *st);
/* Kills children that no birth event will ever claim. */
void rec_drop_orphans(struct rec *rec);

/* --- sched.c --- */
/* Runs tasks until one has a stop to be handled: 1 and it in *ret, 0 when no task is left. ERR_INTERRUPTED from signals. */
int rec_sched(struct rec *rec, struct rec_task **ret) MUST_CHECK;
/* It could go on now. */
bool rec_runnable(const struct rec_task *t);
/* Logs the writes of others that have ended by now: before a write to stdout, so that output is logged in the order in which it was written. */
int rec_settle_writes(struct rec *rec) MUST_CHECK;

/* There will be a tick soon, also if nobody else can run: for a signal that waits. */
void rec_sched_tick(struct rec *rec);
/* CPU time that t's process has used since t's slice began, ns. */
uint64_t rec_slice_used(const struct rec_task *t);

/* --- async.c --- */
/* A handler was entered there, and may have kept the address to come back to it. */
void rec_async_interrupted(struct rec *rec, uint64_t rip);
/* Makes the place where t was interrupted an event, if it is in user mode and no other event comes first; then the
 * signals that waited are delivered. Sets t's state: ready, or with a stop to be handled. */
int rec_async_point(struct rec_task *t, enum event_point_reason why) MUST_CHECK;
/* Right here: 1. 0: at this instruction there can be none. */
int rec_async_here(struct rec_task *t, enum event_point_reason why) MUST_CHECK;
/* Runs up to n instructions of t, which stands right behind its last event and outside of the kernel, and makes
 * where it is then an event. */
int rec_async_steps(struct rec_task *t, unsigned n) MUST_CHECK;

/* --- output.c --- */
/* At the entry of a call that writes to hermit's stdout or stderr, when others could change what it writes. */
void rec_output_keep(struct rec_task *t);
/* It wrote n bytes. */
void rec_output(struct rec_task *t, uint64_t n);

/* --- tally.c --- */
enum rec_outcome {
	REC_EXECUTED, /* by the kernel, for the guest */
	REC_ANSWERED, /* by us, with a result or an error of ours: ptrace, filters of the guest, the vsyscall page, settings we only pretend */
	REC_REFUSED,  /* by us, because it cannot be recorded */
	REC_DID_NOT_RETURN, /* exit, killed inside, unfinished at the cut */
	REC_OUTCOME_MAX_,
};
struct rec_tally {
	uint64_t calls, outcome[REC_OUTCOME_MAX_];
};
int rec_tally_new(struct rec *rec) MUST_CHECK;
void rec_tally_begin(struct rec_task *t);
void rec_tally_end(struct rec_task *t, enum rec_outcome how);
/* The call did not start: it will be made again. */
void rec_tally_undo(struct rec_task *t);
/* The manifest's "syscalls". */
int rec_tally_fill(struct rec *rec, json_t *syscalls) MUST_CHECK;

/* --- watchdog.c --- */
/* At a tick: reports a standstill, once. */
void rec_watchdog(struct rec *rec);

/* --- fair.c: bounds of chaos --- */
/* t has used so much CPU time, ns, while those that can run now waited. */
void rec_fair_ran(struct rec_task *t, uint64_t ns);
/* Who could run and must come first, since others had so much more; NULL: nobody. */
struct rec_task *rec_fair_starving(struct rec *rec);
/* A point has cost the recorder so much CPU time, ns. */
void rec_fair_paid(struct rec *rec, uint64_t ns);
/* May there be points that nobody but chaos needs? */
bool rec_fair_affords(const struct rec *rec);
/* At least so long is a slice, ns. */
uint64_t rec_fair_slice(const struct rec *rec);

/* --- chaos.c: only with rec->chaos --- */
int rec_chaos_new(struct rec *rec) MUST_CHECK;
void rec_chaos_free(struct rec_chaos *c); /* NULL is fine */
/* Who runs next, NULL when nobody can. The one that starves most, when one does. */
struct rec_task *rec_chaos_pick(struct rec *rec);
/* Length of a slice, ns of CPU time. */
uint64_t rec_chaos_slice(struct rec *rec);
void rec_chaos_slice_ended(struct rec_task *t);
void rec_chaos_priority(struct rec_task *t); /* draws one */
/* Instructions to go on before landing, so that all of them come to be landing places. */
unsigned rec_chaos_nudge(struct rec *rec);
/* t is about to run behind its last event: watches words. Or it runs a few instructions only: 1, and its state
 * tells (rec_async_steps()). */
int rec_chaos_before_run(struct rec_task *t) MUST_CHECK;
void rec_chaos_after_event(struct rec *rec);
/* It touched a watched word. */
int rec_chaos_touched(struct rec_task *t) MUST_CHECK;
/* A signal that has come waits for the next call, or tick. */
bool rec_chaos_defers_signal(struct rec_task *t);
/* At a call's entry: a waiting signal interrupts the call instead of coming before it. */
bool rec_chaos_signal_into_call(struct rec_task *t);
/* At entry: may change arguments, for a short read and the like; and what the guest gets as its result. */
int rec_chaos_call(struct rec_task *t) MUST_CHECK;
int64_t rec_chaos_result(struct rec_task *t, int64_t result);

/* --- calls.c, handlers.c --- */
int rec_call_entry(struct rec_task *t) MUST_CHECK;
int rec_call_exit(struct rec_task *t) MUST_CHECK;
/* Hooks of calls that the table alone cannot describe. NULL members: nothing special. */
struct rec_handler {
	/* May change arguments (eng_regs_changed, t->args_changed) or answer the call: returns 1 and sets *ret_result, then the kernel never sees it. */
	int (*enter)(struct rec_task *t, int64_t *ret_result);
	/* After success or failure, before effects from the table are gathered. May change *result. */
	int (*leave)(struct rec_task *t, int64_t *result);
};
const struct rec_handler *rec_handler(uint32_t nr); /* never NULL */
/* At entry: the kernel gets another value for argument i (0 or 2); the guest's register is restored at exit. */
int rec_change_arg(struct rec_task *t, unsigned i, uint64_t v) MUST_CHECK;
/* Answers the call in progress without running it and logs it. */
int rec_answer(struct rec_task *t, int64_t result, uint32_t flags) MUST_CHECK;

/* --- forced.c: traps of ours and what the guest wants done with their signals --- */
/* The guest's mask may be another one now. */
int rec_forced_mask_changed(struct rec_task *t) MUST_CHECK;
int rec_forced_exec(struct rec_task *t) MUST_CHECK;
void rec_forced_born(struct rec_task *c, const struct rec_task *parent, bool clear_handlers);
/* rt_sigaction(signo, addr) was made. */
void rec_forced_action(struct rec_task *t, uint64_t signo, uint64_t addr);
/* A handler was entered. */
int rec_forced_handled(struct rec_task *t, int signo) MUST_CHECK;
/* Can SIGTRAP be forced upon t without a trace? 1 yes. */
int rec_forced_may_trap(struct rec_task *t) MUST_CHECK;
/* Around steps and breakpoints of ours. 1: go ahead, and close with the mask given; 0: there must be none. */
int rec_forced_open(struct rec_task *t, uint64_t *ret_mask) MUST_CHECK;
int rec_forced_close(struct rec_task *t, uint64_t mask) MUST_CHECK;
/* An instruction that traps (SIGSEGV) was dealt with. */
int rec_forced_repair(struct rec_task *t) MUST_CHECK;

/* --- signals.c --- */
int rec_signal_stop(struct rec_task *t) MUST_CHECK;
/* The signal that the kernel is about to deliver takes its course. place: EVENT_F_AT_CALL or EVENT_F_AFTER, 0 =
 * not known. */
int rec_signal_deliver(struct rec_task *t, const siginfo_t *si, uint32_t place) MUST_CHECK;
/* It waits for the next boundary. */
int rec_signal_put_aside(struct rec_task *t, const siginfo_t *si) MUST_CHECK;
bool rec_signal_is_fault(const siginfo_t *si);
/* Starts the event of a signal. */
void rec_signal_event(struct rec_task *t, struct event *ev, const siginfo_t *si, uint32_t flags);
/* r is where t was at its last event, and it has run nothing since when a signal comes there (0: any stop). */
bool rec_same_place(const struct rec_task *t, const struct user_regs_struct *r, int signo);
/* At a SECCOMP stop: a waiting signal that may be taken now? Then the call is put off: 1. */
int rec_signal_before_call(struct rec_task *t) MUST_CHECK;
/* The same, but the call starts, and the signal interrupts it if it sleeps. */
int rec_signal_into_call(struct rec_task *t) MUST_CHECK;
/* Behind an event: delivers one waiting signal there, or sends it through the kernel, so that it comes before the
 * next instruction. */
int rec_signal_after_event(struct rec_task *t) MUST_CHECK;
/* 1: the call that ended with EINTR did so only because we trace: what is pending are signals that the guest ignores. */
int rec_interrupted_by_nothing(struct rec_task *t) MUST_CHECK;
/* At a SECCOMP stop: the call does not happen, this signal comes instead. */
int rec_signal_for_call(struct rec_task *t, const siginfo_t *si) MUST_CHECK;
/* rt_sigreturn has brought back registers: a signal that was held back until then comes before the next
 * instruction, AFTER the event. */
int rec_signal_returned(struct rec_task *t) MUST_CHECK;
/* The restart of an interrupted call, seen at its next entry. */
int rec_restart_seen(struct rec_task *t) MUST_CHECK;

/* --- procs.c: birth, exit --- */
int rec_birth(struct rec_task *t) MUST_CHECK;
int rec_exiting(struct rec_task *t) MUST_CHECK;
/* The task is gone: logs its exit unless done, removes it. */
int rec_gone(struct rec_task *t) MUST_CHECK;
/* What the kernel writes when the thread lets go of its memory (robust futexes, clear_child_tid): struct rec_mark into marks; effects of them. */
void rec_release_marks(struct rec_task *t, struct buf *marks);
void rec_mark_effects(struct rec_task *t, const struct buf *marks);

/* --- exec.c --- */
int rec_exec_begin(struct rec_task *t) MUST_CHECK; /* at the entry of execve */
int rec_exec_event(struct rec_task *t) MUST_CHECK;
int rec_exec_finish(struct rec_task *t) MUST_CHECK;

/* --- seccomp.c --- */
struct rec_filter *rec_filter_ref(struct rec_filter *f); /* NULL is fine */
void rec_filter_unref(struct rec_filter *f);
int rec_filter_mode(const struct rec_task *t);
/* Results of the guest's own calls: 0 or a negated errno for the guest. */
int rec_filter_strict(struct rec_task *t);
int rec_filter_install(struct rec_task *t, uint64_t flags, uint64_t addr);
/* Asks the filters about the call being entered. 1: it is dealt with, 0: it goes on. */
int rec_filter_call(struct rec_task *t) MUST_CHECK;

/* --- maps.c --- */
/* mmap succeeded: model, effects. */
int rec_mapped(struct rec_task *t, uint64_t addr) MUST_CHECK;
int rec_shm_attached(struct rec_task *t, uint64_t addr) MUST_CHECK;
/* MAP effect of a mapping of an exec image. */
int rec_map_image(struct rec_task *t, const struct maps_line *line) MUST_CHECK;
/* The call changed [off, off+len) of the file behind fd: notes what mappings of it show now. */
int rec_file_changed(struct rec_task *t, int fd, uint64_t off, uint64_t len) MUST_CHECK;
/* The content that a large new mapping has, in NOTE events of limited size behind the call that made it. */
int rec_late_content(struct rec_task *t) MUST_CHECK;
/* What shared objects hold now, for a thread that dies in the middle of a run that replay cannot repeat. */
void rec_shared_content(struct rec_task *t);
/* Nobody else sees what t does to memory: no other threads, nothing shared. */
bool rec_memory_private(const struct rec_task *t);
bool rec_range_shared(struct rec_task *t, uint64_t addr, uint64_t len);
bool rec_range_writable(struct rec_task *t, uint64_t addr, uint64_t len);
/* Hash of the writable private memory of t's address space. */
int rec_checksum(struct rec_task *t) MUST_CHECK;
/* Copy of all writable memory before a call of unknown effects; compare afterwards. */
int rec_snapshot_take(struct rec_task *t) MUST_CHECK;
void rec_snapshot_compare(struct rec_task *t);
void rec_snapshot_free(struct rec_task *t);

/* --- views.c --- */
/* m, a private mapping of owner, shows a file of which [off, off+len) has changed. path opens the file here. */
void rec_view_changed(struct rec_task *t, struct rec_task *owner, struct mapping *m, uint64_t object, const char *path, uint64_t off, uint64_t len);

/* --- points.c --- */
/* Adds the state of t (stopped in user mode outside of any call) to the event being built and fills
 * ev->args[EVENT_POINT_PROVED]. The event is then t's next one, logged before anybody runs: what the next point of
 * the address space compares with is this one. Bytes that the recorder has put into the guest's code must be gone.
 * May run calls in t, its registers stay. */
int rec_point_state(struct rec_task *t, struct event *ev) MUST_CHECK;
/* mremap() is about to look at that range as one mapping. */
void rec_point_remap(struct rec_task *t, uint64_t addr, uint64_t len);
/* It has moved pages: the next point is not proved by which pages were written. */
void rec_point_moved(struct rec_task *t);

/* --- mapped.c --- */
/* The same of a file that is not open. */
int rec_inode_changed(struct rec_task *t, const struct stat *st, const char *path, uint64_t off, uint64_t len) MUST_CHECK;
/* False: no process has ever mapped that file. */
bool rec_maybe_mapped(const struct rec *rec, uint64_t dev, uint64_t ino);
void rec_note_mapped(struct rec *rec, const struct stat *st, const char *path);
/* A guest wrote to it: a change is no surprise. */
void rec_mapped_written(struct rec *rec, uint64_t dev, uint64_t ino);
/* A guest set its times. */
void rec_mapped_touched(struct rec *rec, const struct stat *st);
/* At the end: warns of files that others changed. */
void rec_mapped_check(struct rec *rec);
void rec_mapped_done(struct rec *rec);

/* --- ptrace_stops.c, ptrace_wait.c, ptrace.c: guests that trace guests (trace_priv.h) --- */
/* Around the handling of each stop of a traced task: 1 = there was none to handle, the tracer has let it go. */
int rec_trace_before(struct rec_task *t) MUST_CHECK;
/* It is READY now: unless its tracer wants to see it. */
int rec_trace_after(struct rec_task *t) MUST_CHECK;
/* At the entry of a call: 1 = held. */
int rec_trace_entry(struct rec_task *t) MUST_CHECK;
/* A filter says that the tracer is to be asked: 1 = held, 2 = it has been asked, 0 = it does not want to be. */
int rec_trace_seccomp(struct rec_task *t, uint32_t data) MUST_CHECK;
/* ptrace(), wait4(), waitid(): 1 = answered. */
int rec_trace_call(struct rec_task *t) MUST_CHECK;
/* At the exit of a call: what the tracer changed in it is an effect. */
void rec_trace_call_effects(struct rec_task *t);
/* A thread that waits for tracees alone has a child now. */
void rec_wait_child_born(const struct rec_task *parent);
/* Exit of a wait: may change *result. 1 = it is made again. */
int rec_wait_exit(struct rec_task *t, int64_t *result) MUST_CHECK;
/* A signal reached a traced task: 1 = held or put aside, 0 = it takes its course. */
int rec_trace_signal(struct rec_task *t, const siginfo_t *si, uint32_t place) MUST_CHECK;
/* Signals that we sent for the kernel say what the kernel's would: true = *si was changed. */
bool rec_trace_siginfo(struct rec_task *t, siginfo_t *si);
/* The call of t gave birth to c: 1 = t is held. */
int rec_trace_birth(struct rec_task *t, struct rec_task *c, uint64_t flags) MUST_CHECK;
/* t is about to end: 1 = held. */
int rec_trace_exiting(struct rec_task *t) MUST_CHECK;
/* t has ended: its tracer and its tracees learn of it. */
void rec_trace_gone(struct rec_task *t);
void rec_trace_free(struct rec_task *t);
pid_t rec_trace_tracer(struct rec_task *t); /* 0 = none */

/* --- scratch.c --- */
int rec_scratch_move(struct rec_task *t) MUST_CHECK;
int rec_scratch_leave(struct rec_task *t, int64_t result) MUST_CHECK;
void rec_scratch_forget(struct rec_task *t);

/* --- files.c --- */
struct rec_files *rec_files_new(void);
struct rec_files *rec_files_copy(const struct rec_files *f);
struct rec_files *rec_files_ref(struct rec_files *f);
void rec_files_unref(struct rec_files *f);
/* What fd is, asked from the kernel when not known. */
const struct fd_info *rec_fd(struct rec_task *t, int fd);
void rec_fd_forget(struct rec_files *f, int fd);
void rec_fd_forget_all(struct rec_files *f);
int rec_files_after(struct rec_task *t, int64_t result) MUST_CHECK;
/* Whose memory fd shows: any thread of it, NULL = it is no /proc/PID/mem, or of nobody here. */
struct rec_task *rec_fd_memory_owner(struct rec_task *t, int fd);
/* EVENT_F_STDOUT/STDERR for a call that wrote to fd. */
uint32_t rec_echo(struct rec_task *t, int fd);
uint64_t rec_file_position(struct rec_task *t, int fd);
/* A read of /proc/PID/status: what names hermit is replaced in guest memory. */
int rec_proc_status_fix(struct rec_task *t, uint64_t addr, uint64_t len) MUST_CHECK;

/* --- machine.c: facts for the manifest --- */
int rec_machine_facts(struct rec *rec) MUST_CHECK;
/* CPUID answer as the guest gets it: features masked. */
void rec_cpuid(struct rec *rec, uint32_t leaf, uint32_t sub, uint32_t ret[4]);

#endif
