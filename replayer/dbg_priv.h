/* Inside of a debugging session: debug.c (opening, looking), breaks.c (what stops a thread), forward.c (running on), timeline.c
 * (going to places, their names), checkpoints.c, reverse.c (backwards). */
#ifndef REPLAYER_DBG_PRIV_H
#define REPLAYER_DBG_PRIV_H

#include "replayer/debug.h"
#include "replayer/rep_priv.h"

/* A breakpoint or watchpoint of the client's. */
struct dbg_point {
	unsigned id;
	struct dbg_break b;
	bool guarded;   /* watched by taking pages away (guard.c) */
	uint8_t *old;   /* of those, and of what is watched for reading: the bytes as they were; owned */
	/* dbg_cond.c */
	struct code_expr *expr; /* the condition, for the guest; owned, NULL: not possible */
	struct rep_cond *cond;  /* stands now, in place of the int3; NULL: does not */
	unsigned falses;        /* hits of the int3 that did not count, since a jump stood there or was tried */
	unsigned patience;      /* so many, and a jump is tried */
};

/* A snapshot and its place in history: see checkpoints.c. */
struct dbg_checkpoint {
	uint64_t events;
	uint64_t id;
	bool computing;              /* in the middle of computation, else before its first instruction. Only then: */
	bool rolling;                /* made by a search that came closer to a place */
	bool vague;                  /* it costs much to find it again */
	bool named;                  /* a client knows its name */
	uint64_t parent;             /* id of the one that it came from; 0: from the beginning of the computation */
	uint64_t spent_ns;           /* CPU time since the computation began, an estimate */
	uint64_t addr, hits;         /* the thread has stood at addr for so many times since, here included; 0: not known */
	struct dbg_state *state;     /* owned; its snapshot is this one */
	struct rep_snapshot *snap;
};

/* Where a run ends unless something else stops it. */
struct dbg_goal {
	uint64_t events;                     /* so many are replayed ... */
	bool arrive;                         /* ... and the next one's place is reached */
	struct dbg_state *state;             /* ... and the thread that runs then is in that state; NULL: any */
	uint64_t addr, hits;                 /* ... and it stands there for so many times; 0: does not matter */
	uint64_t base;                       /* hits before the place where it starts, within that computation ... */
	bool total;                          /* ... are known: what is counted is told to checkpoints */
	bool user;                           /* breakpoints, signals and calls stop as the client wants it */
	bool keep;                           /* checkpoints are made on the way */
	bool roll;                           /* rolling ones are made in the goal's computation */
	uint64_t pause_ns;                   /* not 0: it ends after about so long as well, wherever it is then (d->paused) */
};
#define DBG_FOREVER UINT64_MAX

/* Where it stands. */
struct dbg_here {
	bool arrived;      /* at the next event's place, for the client to see */
	bool computing;    /* the thread that runs next has executed instructions since the last event */
	uint64_t from;     /* id of the last checkpoint of this computation that it came from, 0 = none */
	uint64_t spent_ns; /* as of checkpoints, at the last look */
};

/* The state of a thread in the middle of computation, to know it again. Equal states of one computation are one place: there is no
 * difference that anybody could see. */
struct dbg_state {
	struct rep_point point;
	struct rep_snapshot *snap; /* owned; its memory */
	uint64_t hint;   /* an address that differed last time */
};

/* A place to come back to, or to stop before. */
struct dbg_place {
	struct dbg_goal goal;
	struct dbg_state state;    /* goal.state points here when it is in the middle of computation */
	struct rep_snapshot *snap; /* the place itself, when the goal is somewhere else or cannot tell it: owned, or NULL */
	uint64_t ahead;            /* so many single steps is the goal behind the place */
	struct dbg_here here;      /* as it was there */
};

enum dbg_due { DBG_DUE_NONE, DBG_DUE_USUAL, DBG_DUE_ROLLING };

struct dbg {
	struct rep_session *s;
	struct rep_hooks hooks;
	struct dbg_options opt;
	struct store_reader *scan;   /* another reader: looks at events elsewhere */
	const struct manifest_process *process;
	struct manifest_process found; /* of a recording whose manifest does not know */
	struct dbg_here here;
	uint64_t moves;
	uint64_t begin;              /* events replayed at the beginning of the process */
	bool lost;
	const char *what;            /* that takes long now */
	bool going_back;             /* to where it stood, after a search was given up: no more interrupts */

	/* breaks.c */
	struct dbg_point *points;
	size_t n_points;
	unsigned last_id;
	struct eng_mm *patched;      /* breakpoints stand here; compared only */
	uint64_t patched_generation, generation; /* of the points */
	uint64_t patched_changes;    /* of the mappings */
	bool waits;                  /* some of them for their memory to become code */
	struct eng_watch watch[ENG_WATCH_MAX];
	unsigned watch_point[ENG_WATCH_MAX]; /* id */
	unsigned n_watch;
	bool watch_guards;           /* more than the registers hold: some points are guarded */
	struct rep_task *guards;     /* pages are away: this one's mappings; NULL: they are not */
	uint64_t fault_at;           /* address of the last access to them */

	/* of the run that is on */
	const struct dbg_goal *goal;
	const struct dbg_resume *how;
	struct dbg_stop stop;
	bool muted;                  /* nothing of the client's stops */
	unsigned only;               /* but this point, 0 = all */
	struct dbg_last *last;       /* a search for the last change of memory is on; NULL: none */
	pid_t step_tid;              /* this thread makes single steps, 0 = none */
	bool inner;                  /* the stop is for us, not for the client */
	uint64_t hits;               /* of goal->addr */
	uint64_t own[2];             /* breakpoints of ours, 0 = none */
	bool patched_user;           /* those of the client are among the patches */
	struct eng_mm *cond_mm;      /* dbg_cond.c: jumps to conditions stand here; compared only */
	unsigned n_conds;            /* so many */
	bool conds_on;               /* and there may be more: the run that is on takes care of them */
	struct dbg_finder *finder;   /* NULL: none is open */
	uint64_t uncounted;          /* a thread stands there, was interrupted, and is not counted yet; 0 = none */
	bool by_int3;                /* goal->addr is counted here, not by a jump in the guest */
	bool counting;               /* the count has begun */
	uint64_t standing;           /* address at which the thread stood when counting began: that does not count. 0 = none */
	uint64_t last_tick, last_checkpoint;
	uint64_t last_roll_ns;       /* CPU time of the computation at the last rolling checkpoint */
	enum dbg_due checkpoint_due;
	uint64_t pause_at;           /* os_mono_ns() when goal->pause_ns is over */
	bool paused;                 /* the last run ended by that */
	bool told;                   /* this arrival has stopped the client already */

	/* checkpoints.c */
	struct dbg_checkpoint *checkpoints; /* in order of events; within one computation by CPU time */
	size_t n_checkpoints;
	uint64_t last_checkpoint_id;
	uint64_t pinned[2];          /* ids of some that may not be dropped now, 0 = none */
	uint64_t interval_ns;
	uint64_t roll_cost;          /* of the last rolling one, in ns */
	uint64_t next_memory;        /* when to ask again how much they hold */
	unsigned tries;
	pid_t seen_tgid;             /* CPU time at the last look */
	uint64_t seen_ns;

	/* reverse.c */
	struct rep_snapshot *near;   /* a few single steps before where it stands: near_steps, valid at near_moves */
	struct dbg_here near_here;
	uint64_t near_steps, near_moves;

	/* timeline.c */
	struct dbg_pos named;        /* the place where it stands, valid at named_moves */
	uint64_t named_moves;

	struct rep_files *files;
	bool diverted;               /* it stands in a copy; home is where it was */
	struct dbg_place home;
	struct dbg_thread *threads;
	uint64_t stop_moves, end_moves; /* .moves when the last stop was reported, the last END */
	pid_t stop_tid;
};

/* --- debug.c --- */
bool dbg_is_target(const struct dbg *d, const struct rep_task *t);
struct rep_task *dbg_task(struct dbg *d, pid_t tid); /* NULL: none */
struct rep_task *dbg_any_task(struct dbg *d);        /* the first living one of the process, NULL */
/* The task that runs next (or whose event is next), of any process; NULL: nothing comes. */
struct rep_task *dbg_next_task(struct dbg *d);

/* --- breaks.c --- */
/* Makes patches and debug registers what the points say, where the process's memory is now. */
int dbg_breaks_sync(struct dbg *d) MUST_CHECK;
int dbg_breaks_watch(struct dbg *d, struct rep_task *t) MUST_CHECK;
/* Breakpoints of ours in the process, 0 = none. */
int dbg_breaks_own(struct dbg *d, uint64_t a, uint64_t b) MUST_CHECK;
/* t stands at addr, where breakpoints are: does it stop? 1 (d->stop is set), 0 it goes over. */
int dbg_breaks_hit(struct dbg *d, struct rep_task *t, uint64_t addr) MUST_CHECK;
/* Watchpoints in debug registers that the last instruction of t has met, by the bits of mask: do they stop it? */
bool dbg_breaks_watched(struct dbg *d, struct rep_task *t, unsigned mask);
/* The same of an event's effects. */
int dbg_breaks_effects(struct dbg *d, struct rep_task *t, const struct event *ev) MUST_CHECK;
/* To compare: as dbg_read(), with zeros for what is not there. */
void dbg_read_all(struct dbg *d, uint64_t addr, uint8_t *buf, size_t n);
/* A run begins: notes what is in memory that is compared. */
void dbg_breaks_note(struct dbg *d);
void dbg_breaks_free(struct dbg *d);
/* An int3 of the session's, as far as the memory there allows it. */
int dbg_breaks_patch(struct dbg *d, struct rep_task *t, uint64_t addr) MUST_CHECK;

/* --- dbg_cond.c --- */
/* Conditions that the guest evaluates (cond_priv.h). They stand only while dbg_forward() runs, and no snapshot is taken. */
void dbg_cond_compile(struct dbg_point *p, const struct dbg_break *b);
void dbg_cond_done(struct dbg_point *p);
/* None stands any more: int3s do. */
int dbg_cond_close(struct dbg *d) MUST_CHECK;
/* A run of the client's begins: jumps are allowed. */
void dbg_cond_begin(struct dbg *d);
/* Before a thread runs to the next event: none is in the way of a search. */
int dbg_cond_limit(struct dbg *d) MUST_CHECK;
/* t has stopped, maybe in a trampoline: its registers are the guest's afterwards. */
enum dbg_cond_stop {
	DBG_COND_NONE, /* *st, which may be another one now, is the program's */
	DBG_COND_HIT,  /* it stands at *addr, where the client may want to know of it */
	DBG_COND_ON,   /* nothing has happened */
};
int dbg_cond_stopped(struct dbg *d, struct rep_task *t, struct eng_stop *st, uint64_t *ret_addr) MUST_CHECK;
/* t stands at addr and nobody stops there: it goes on. tried: its int3 was hit, which may become a jump. */
int dbg_cond_false(struct dbg *d, struct rep_task *t, uint64_t addr, bool tried) MUST_CHECK;
/* Before the event of t happens, and after it. */
int dbg_cond_event(struct dbg *d, struct rep_task *t, const struct event *ev) MUST_CHECK;
int dbg_cond_follow(struct dbg *d) MUST_CHECK;
/* t is of a new copy of the address space: it loses those that came along. */
int dbg_cond_forked(struct dbg *d, struct rep_task *t) MUST_CHECK;
/* Would a jump to the point's condition cover addr, or does it? */
bool dbg_cond_covers(struct dbg *d, struct rep_task *t, const struct dbg_point *p, uint64_t addr);

/* What the last access has done to guarded memory: 1 (d->stop is set), 0. */
int dbg_breaks_guarded(struct dbg *d, struct rep_task *t);

/* --- guard.c --- */
/* Takes guarded pages away, before t runs. */
int dbg_guard_on(struct dbg *d, struct rep_task *t) MUST_CHECK;
/* Gives them back: before anything else is done with the guest. */
int dbg_guard_off(struct dbg *d) MUST_CHECK;
/* Has t stopped because it touched one? */
bool dbg_guard_fault(struct dbg *d, struct rep_task *t, const struct eng_stop *st);

/* --- forward.c --- */
void dbg_hooks(struct dbg *d);
/* Runs from where it stands to the goal: 0 it is there. 1: something stopped it before (d->stop: also the end, or an interrupt). */
int dbg_forward(struct dbg *d, const struct dbg_goal *g, struct errinfo *ei) MUST_CHECK;
/* One instruction of the thread that runs, within this computation. 1 done. 0: none is left, the next event's place is reached
 * (here.arrived). */
int dbg_step_inside(struct dbg *d, struct errinfo *ei) MUST_CHECK;
/* For loops of single steps or of short runs, which ticks seldom stop: does the client want to stop (d->stop is set)? Asks it every 50 ms. */
bool dbg_interrupted(struct dbg *d);
void dbg_clock(bool on);

/* --- checkpoints.c --- */
int dbg_checkpoint(struct dbg *d, struct errinfo *ei) MUST_CHECK;
/* A tick has asked for it: d->checkpoint_due. It may be put off. */
int dbg_checkpoint_due(struct dbg *d, struct errinfo *ei) MUST_CHECK;
void dbg_checkpoints_free(struct dbg *d);
int dbg_restore(struct dbg *d, const struct rep_snapshot *snap, struct errinfo *ei) MUST_CHECK;
/* The same, in the middle of computation. */
int dbg_restore_inside(struct dbg *d, const struct rep_snapshot *snap, const struct dbg_here *here, struct errinfo *ei) MUST_CHECK;
/* Restores checkpoint i. */
int dbg_restore_checkpoint(struct dbg *d, size_t i, struct errinfo *ei) MUST_CHECK;
/* .n_checkpoints: there is none any more. */
size_t dbg_checkpoint_index(const struct dbg *d, uint64_t id);
/* The last checkpoint at or before this number of events, not in the middle of computation behind it. */
size_t dbg_checkpoint_before(const struct dbg *d, uint64_t events);
/* The last one known to be at or before a place in the computation behind so many events that came from `from` (dbg_here.from). */
size_t dbg_checkpoint_inside(const struct dbg *d, uint64_t events, uint64_t from);
/* In that computation, the last one that is known to have stood at addr at most so many times. .n_checkpoints: there is none. */
size_t dbg_checkpoint_counted(const struct dbg *d, uint64_t events, uint64_t addr, uint64_t hits);
/* Notes the CPU time. */
void dbg_spend(struct dbg *d);

/* --- timeline.c --- */
/* To that many events, the shortest way. As dbg_forward(). */
int dbg_go(struct dbg *d, uint64_t events, struct errinfo *ei) MUST_CHECK;
/* To that many events, or on into the computation behind them. */
int dbg_go_inside(struct dbg *d, uint64_t events, struct errinfo *ei) MUST_CHECK;
/* To to->events, addr and hits. */
int dbg_go_counted(struct dbg *d, const struct dbg_pos *to, struct errinfo *ei) MUST_CHECK;
int dbg_state_take(struct dbg *d, struct dbg_state *ret, struct errinfo *ei) MUST_CHECK;
void dbg_state_done(struct dbg *d, struct dbg_state *st);
/* Is the thread that runs in that state? 1, 0. */
int dbg_state_equal(struct rep_task *t, struct dbg_state *st) MUST_CHECK;
/* The same; if not, *ret is a condition that would have told it, as of rep_point_compare(). */
int dbg_state_learn(struct rep_task *t, struct dbg_state *st, const struct code_cond *known, unsigned n, struct code_cond *ret) MUST_CHECK;

/* --- finder.c --- */
/* Can a jump stand there? */
bool dbg_finder_fits(struct dbg *d, struct rep_task *t, uint64_t addr);
/* The same, while b is waited for as well (0: nothing is)? */
bool dbg_finder_fits_beside(struct dbg *d, struct rep_task *t, uint64_t a, uint64_t b);
/* The computation of d->goal begins, or goes on: puts jumps where they can be. */
int dbg_finder_open(struct dbg *d) MUST_CHECK;
/* An address at which an int3 is needed nevertheless, 0 = none: for the state, or for what is counted. */
uint64_t dbg_finder_needs(const struct dbg *d, bool state);
/* A stop of t: 0 not ours, 1 goes on, ERR_STOPPED at the goal. */
int dbg_finder_stop(struct dbg *d, struct rep_task *t, const struct eng_stop *st) MUST_CHECK;
/* The guest is as it was; d->hits tells what was counted. */
int dbg_finder_close(struct dbg *d) MUST_CHECK;

/* The present place. shift: of an instruction close behind it, if that is found more quickly: the session stands there then. */
int dbg_place_take(struct dbg *d, bool shift, struct dbg_place *ret, struct errinfo *ei) MUST_CHECK;
/* Back to it. */
int dbg_place_return(struct dbg *d, struct dbg_place *p, struct errinfo *ei) MUST_CHECK;
void dbg_place_done(struct dbg *d, struct dbg_place *p);

/* --- divert.c --- */
/* As dbg_resume(), in the copy. */
int dbg_divert_resume(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei) MUST_CHECK;

/* --- reverse.c --- */
int dbg_backwards(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei) MUST_CHECK;
/* A run begins: as dbg_breaks_note(), of what a search for the last change compares. */
void dbg_last_note(struct dbg *d);
/* Does an instruction end in this event: of its thread, in the computation before it? */
bool dbg_executes(const struct event *ev);

#endif
