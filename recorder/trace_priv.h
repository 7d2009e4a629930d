/* ptrace between guests, as the recorder makes it happen: the kernel allows one tracer, and that is hermit.
 *
 * A guest that is traced by a guest has a struct rec_trace. Whenever it reaches something that its tracer would
 * see, it is held: state REC_HELD, standing at a place that the log tells (a boundary, see signals.c), while the
 * tracer's waits and requests are answered here. What the tracer changes in it are effects of the tracer's own
 * call. Replay knows nothing of ptrace.
 *
 *     runs --stop--> held, unseen --wait--> held, seen --request--> resuming --scheduled: rec_trace_before()--> runs
 *
 * ptrace_stops.c holds and lets go, ptrace_wait.c answers waits, ptrace.c the requests.
 */
#ifndef RECORDER_TRACE_PRIV_H
#define RECORDER_TRACE_PRIV_H

#include <sys/ptrace.h>
#include "recorder/rec_priv.h"

enum trace_at {
	TRACE_ENTRY,   /* entry of a call */
	TRACE_EXIT,    /* behind a call, a step, the entry of a handler */
	TRACE_SIGNAL,  /* a signal is about to be delivered */
	TRACE_EVENT,   /* fork, exec, stop events */
	TRACE_GROUP,   /* group-stop */
	TRACE_EXITING,
};

enum trace_how { TRACE_CONT, TRACE_SYSCALL, TRACE_STEP, TRACE_LISTEN };

struct rec_trace {
	struct rec_task *tracer;
	bool seized, by_request; /* by_request: TRACEME, any thread of the parent may be the tracer */
	bool own_child;       /* leader of a child of the tracer: the kernel tells its end */
	uint32_t options;     /* PTRACE_O_* */
	uid_t uid;
	pid_t group;          /* process group when it ended */
	enum trace_how how;   /* resumed last */

	/* while held */
	enum trace_at at;
	uint32_t code;        /* of the stop: signal, event << 8 */
	bool unseen;          /* no wait has taken it */
	bool has_info;
	siginfo_t info;
	uint64_t message;
	unsigned long former; /* id of the thread that called exec */
	bool loose;           /* in the middle of a run: may be looked at, not changed */
	int kernel_status;    /* of the stop that the kernel has it in */
	enum eng_resume next_how;
	bool regs_changed;    /* by the tracer, during a call */
	bool resuming, detached;
	int inject;           /* signal that it goes on with */

	/* what is to come */
	bool entry_seen;      /* the entry of the call in progress was shown */
	bool filter_seen;     /* and what a seccomp filter said of it */
	bool exit_seen;       /* its exit event was shown */
	bool attach_stop, exec_trap, born; /* a SIGSTOP, SIGTRAP, first stop that only the tracer causes */
	bool interrupt;       /* PTRACE_INTERRUPT: a TRAP stop is to come */
	bool late;            /* it came in the middle of a run: to be shown behind the next call */
	bool vfork, vfork_done; /* in a vfork that was shown; whose end is to be shown */
	bool then_exit;       /* held at an event whose call has ended */
	uint64_t watch_status; /* debug register 6 of a watchpoint that was met */
	uint64_t passed;      /* signals that the tracer let through in the middle of a run (bit signo-1) */
	bool stale;           /* a TRAP stop that it has is older than the relation */
	bool was_exec, asked; /* before the handler of a stop ran */
};

/* A tracee that has ended, until its tracer has waited for it. */
struct rec_zombie {
	struct rec_zombie *next;
	struct rec_task *tracer;
	pid_t tid, pgid;
	uid_t uid;
	int status;
};

/* --- ptrace_stops.c --- */
int rec_trace_new(struct rec_task *t, struct rec_task *tracer, bool seized, uint32_t options) MUST_CHECK;
/* The tracer lets it go on; carried out when it is scheduled. */
void rec_trace_resume(struct rec_task *t, enum trace_how how, int signo, bool detach);
/* The process that started it; 0 = it is gone. */
pid_t rec_trace_parent(pid_t tid);

/* --- ptrace_wait.c --- */
/* A status for the tracer of t has come up: sends SIGCHLD, wakes waits. status: as wait4() gives it. */
void rec_trace_tell(struct rec_task *tracer, pid_t tid, uid_t uid, int status);
/* At the entry of wait4, waitid: 1 = answered. */
int rec_wait_enter(struct rec_task *t) MUST_CHECK;

#endif
