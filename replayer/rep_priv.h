/* The replayer's own structures. */
#ifndef REPLAYER_REP_PRIV_H
#define REPLAYER_REP_PRIV_H

#include <sched.h>
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

/* --- async.c --- */
/* Runs t to a place inside computation. */
int rep_async_point(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* --- reexec.c --- */
/* Runs the call that t is in again, as the event asks. Only calls of a table, with the arguments that a recorder lets pass: others are ERR_CORRUPT. */
int rep_reexec(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei) MUST_CHECK;

/* --- diverge.c --- */
/* ERR_DIVERGED with event, thread and the text. */
int rep_diverged(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* --- output.c --- */
int rep_output(struct rep_session *s, struct rep_task *t, const struct event *ev) MUST_CHECK;
int rep_output_keep(struct rep_session *s, struct rep_task *t) MUST_CHECK;

/* --- machine.c --- */
int rep_check_machine(struct rep_session *s, struct errinfo *ei) MUST_CHECK;

#endif
