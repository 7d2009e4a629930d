/* Running: forwards, backwards, to places; and what is made of a stop. */
#ifndef DAP_RUN_PRIV_H
#define DAP_RUN_PRIV_H

#include "dap/dap_priv.h"

enum run_kind {
	RUN_CONTINUE, /* to the next breakpoint: reasons are gdb's */
	RUN_STEP,     /* of any size: reason "step", also when a breakpoint lies on the line where it ends */
	RUN_PLACE,    /* to a place that the server was armed with: reason "goto" */
	RUN_LAST_WRITE, /* armed with last-write: reason "data breakpoint" */
	RUN_ENTRY,    /* the first stop of a session: reason "entry" */
};

/* What shall run. Strings are copied. */
struct run_request {
	enum run_kind kind;
	bool reverse;
	const char *command;  /* MI: "-exec-next --reverse --thread 3" */
	const char *title;    /* of its progress: "Running back" */
	const char *describe; /* what the stop is called when nothing better is known; NULL */
};

int run_new(struct dap_run **ret) MUST_CHECK;
void run_free(struct dap_run *r);
/* Lets it run; the stop comes later. -EBUSY: something runs. */
int run_start(struct dap *d, const struct run_request *rq) MUST_CHECK;
/* To a position (as `monitor hermit where` gives), number of events, time with unit, "start", "end", bookmark. title and describe: as above. */
int run_to_place(struct dap *d, const char *place, const char *describe) MUST_CHECK;
/* Back to the last change of memory. */
int run_to_last_write(struct dap *d, uint64_t addr, uint64_t len, const char *describe) MUST_CHECK;
/* gdb has connected: what it told of that is no stop for the client. */
void run_connected(struct dap *d);
/* The first stop of a session: run_tick() goes where the arguments of launch say (stopAt). */
void run_want_entry(struct dap *d);
/* The same for restart: the start of the process, or main if the session is not one that began at the entry. What runs was halted. */
void run_want_restart(struct dap *d);
/* Stops what runs; the client sees "pause". */
void run_pause(struct dap *d);

/* For handlers that need more than one run (log points over the whole recording): runs and waits for the stop, which is not shown to the client.
 * *ret: gdb's record (reason, frame, bkptno, thread-id); new reference. The state is DAP_RUNNING meanwhile and DAP_STOPPED afterwards. ERR_INTERRUPTED: cancelled. */
int run_quietly(struct dap *d, const struct run_request *rq, json_t **ret) MUST_CHECK;
/* The same for places. */
int run_quietly_to(struct dap *d, const char *place) MUST_CHECK;
/* The same for the place that a handler began at: cancelling does not keep it from getting there. d->cancelled tells afterwards of it. */
int run_back_to(struct dap *d, const char *place) MUST_CHECK;
/* Runs without the client, and runs that could not begin, leave it with frames that have ended. Between requests: it is told of a stop then (an event `invalidated`
 * does not do: VS Code keeps asking for the frame that it shows). */
int run_tell_moved(struct dap *d) MUST_CHECK;

/* Stops a guest that runs without showing it, and lets it go on as before. 0 when it does not run: nothing to do, run_resume() neither. */
int run_halt(struct dap *d) MUST_CHECK;
int run_resume(struct dap *d) MUST_CHECK;

/* A record of gdb that is about running (*stopped, *running, =thread-...): called by the session for each. */
void run_record(struct dap *d, const struct mi_record *rec);
/* True: a stop has come that run_stopped() shall deal with. */
bool run_has_stop(const struct dap *d);
int run_stopped(struct dap *d) MUST_CHECK;
/* Milliseconds until run_tick() wants to be called (progress), -1 = never. */
int run_timeout(const struct dap *d);
int run_tick(struct dap *d) MUST_CHECK;

/* Where the session stands, as of the last stop. */
struct run_where {
	uint64_t event, events, time_ns;
	int64_t thread;    /* recorded tid */
	int64_t thread_id; /* gdb's number of it, as the client knows it; 0 before the first stop */
	bool at_start, at_end;
	int64_t status; /* wait status of the process in the recording, -1 = not known */
};
const struct run_where *run_where(const struct dap *d);

/* What the stop will be called. Modules may change it (breaks_judge(), except_judge()). Strings are owned by the structure. */
struct run_stop {
	const json_t *mi;    /* gdb's values */
	enum run_kind kind;  /* of the request that led here */
	bool reverse;
	bool paused;         /* it is the stop that a pause asked for */
	const char *describe; /* of the request; NULL */
	int64_t thread;      /* gdb's id */
	char *reason;        /* DAP: "step", "breakpoint", ... */
	char *description;
	json_t *hits;        /* array of the client's breakpoint ids; NULL = none */
	bool go_on;          /* not for the client: run on as before */
};
void run_stop_done(struct run_stop *s);
/* Replaces reason and description (copied). -ENOMEM. */
int run_stop_name(struct run_stop *s, const char *reason, const char *description) MUST_CHECK;

/* stops.c, for run.c: reason and description of a stop as gdb tells it; the reason of a kind of request where gdb names none; the event. */
int stop_name(struct dap *d, struct run_stop *s) MUST_CHECK;
const char *stop_reason_of(enum run_kind kind);
void stop_put_ending(struct buf *b, int64_t status);
void stop_tell(struct dap *d, struct run_stop *s);

/* entry.c, for run.c: to the program's main by breakpoints of one hit. */
enum entry_at {
	ENTRY_MAIN,
	ENTRY_START,  /* the program's entry point: there it may be known */
	ENTRY_CALLER, /* the function of the C library that calls it */
};
struct entry {
	enum entry_at at;
	int64_t number; /* of the breakpoint that comes next, 0 = none */
};
/* At the start of the process: sets the first. -EREMOTEIO: nothing leads there. */
int entry_break(struct dap *d, struct entry *e) MUST_CHECK;
/* It was hit: e->number 0: this is where the way ends. */
int entry_next(struct dap *d, struct entry *e) MUST_CHECK;

#endif
