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
	uint32_t num;
	struct rep_proc *proc;
	enum rep_place place;
	bool in_call;       /* SYSCALL_ENTER or BIRTH replayed, its SYSCALL_EXIT is to come */
	struct user_regs_struct entry; /* at the entry of that call */
	uint32_t sysno;
	uint64_t args[6];
	struct buf written; /* bytes of a write that was entered: they may change until its exit */
	bool have_written;
};

struct rep_session {
	struct store_reader *reader;
	struct rep_options opt;
	const struct manifest *manifest;
	struct rep_task **tasks; /* by number, NULL = none */
	uint32_t cap_tasks;
	pid_t template;          /* pristine empty process that new ones are forked from */
	struct eng_mm *template_mm;
	int *objects;            /* memfd of shared object n, 0 = none (stored + 1) */
	uint64_t *object_size;
	uint64_t cap_objects;
	struct rep_blob_fd {
		struct blob_id id;
		int fd;
		uint64_t used;
	} blobs[128];
	uint64_t blob_clock;
	uint64_t event;          /* last event replayed */
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
};

/* --- procs.c --- */
struct rep_task *rep_task(struct rep_session *s, uint32_t num); /* NULL = none */
int rep_new_process(struct rep_session *s, uint32_t num, struct rep_task **ret, struct errinfo *ei) MUST_CHECK;
void rep_task_free(struct rep_session *s, struct rep_task *t);
int rep_exec(struct rep_session *s, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_birth(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* How far its stack may grow: user code meets the end of it. */
void rep_stack_limit(struct rep_task *t, uint64_t limit);
void rep_kill_all(struct rep_session *s);

/* --- effects.c --- */
int rep_apply(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* A call of ours in the guest, wherever it stands. */
int rep_remote(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret) MUST_CHECK;
/* The same, and the thread's registers are as before afterwards: for one that stands outside of any call of its own. */
int rep_remote_quiet(struct rep_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret) MUST_CHECK;
/* The memfd of shared object n. */
int rep_object_fd(struct rep_session *s, uint64_t n) MUST_CHECK;
/* Does the range hold the page that calls of ours are made from? addr + len may overflow: such a range touches everything behind addr. */
static inline bool rep_touches_gate(uint64_t addr, uint64_t len)
{
	return len && addr < ENG_STUB_GATE + 4096 && (addr + len > ENG_STUB_GATE || addr + len < addr);
}
int rep_check_inputs(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
void rep_objects_free(struct rep_session *s);

/* --- calls.c --- */
int rep_syscall(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_syscall_enter(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_syscall_exit(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_signal(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_restart(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_trap(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
int rep_checksum(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;
/* Runs t in user mode to the entry of the call that ev names. */
int rep_run_to_call(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* Runs in user mode to the next thing the program does. ERR_INTERRUPTED (the thread runs on) only when `alarmed`
 * is given: when a signal of ours came. */
int rep_run(struct rep_task *t, struct eng_stop *ret, bool alarmed) MUST_CHECK;
/* One instruction. */
int rep_step(struct rep_task *t, struct eng_stop *ret) MUST_CHECK;
/* "got read(3, ...) at 0x..." Appends. */
void rep_describe_stop(struct rep_task *t, const struct eng_stop *st, struct buf *out);
/* Another stop came than the event asks for. */
int rep_wrong_stop(struct rep_session *s, struct rep_task *t, const struct event *ev, const struct eng_stop *st, struct errinfo *ei);

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
int rep_string_find(struct rep_task *t, struct rep_point *p, struct eng_stop *st, uint64_t *passes) MUST_CHECK;

/* --- reexec.c --- */
/* Runs the call that t is in again, as the event asks. Only calls of a table, with the arguments that a recorder lets pass: others are ERR_CORRUPT. */
int rep_reexec(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* --- diverge.c --- */
/* ERR_DIVERGED with event, thread and the text. */
int rep_diverged(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* --- output.c --- */
int rep_output(struct rep_session *s, struct rep_task *t, const struct event *ev) MUST_CHECK;
int rep_output_keep(struct rep_session *s, struct rep_task *t) MUST_CHECK;

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
/* How much memory it holds by itself: bytes of pages that only it has now, its shared objects and page tables. An estimate, costs as long as the kernel
 * walks the tables of its processes. */
uint64_t rep_snapshot_bytes(const struct rep_snapshot *snap);

/* --- machine.c --- */
int rep_check_machine(struct rep_session *s, struct errinfo *ei) MUST_CHECK;

#endif
