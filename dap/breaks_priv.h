/* Breakpoints as the client asked for them, one struct point each; how often they are hit; messages of log points.
 *
 * Hit conditions count facts of the recording: hit N is the N-th time in the process's recording that the place is reached (with the condition true), however
 * and in whichever direction one came there. gdb's own count only grows, and its ignore count knows no direction; but a run has one direction, so
 * before each run (breaks_leaving()) gdb is told to pass over as many hits as lie between here and the next one that is wanted, and its count tells
 * afterwards how many it met. gdb does the passing, so steps go over such breakpoints. */
#ifndef DAP_BREAKS_PRIV_H
#define DAP_BREAKS_PRIV_H

#include "dap/parts_priv.h"

#define POINTS_MAX 4096u
#define LOG_PARTS_MAX 256u

/* --- hit conditions (hits.c, pure) --- */

enum hit_op { HIT_ALWAYS, HIT_EQ, HIT_NE, HIT_GE, HIT_GT, HIT_LE, HIT_LT, HIT_EVERY };

struct hit_cond {
	enum hit_op op;
	uint64_t n;
};

/* "5" "=5" "==5" the fifth hit, ">=5" ">5" "<=5" "<5" "!=5", "%5" each fifth. NULL and "": always. -EINVAL with ei. */
int hit_parse(const char *text, struct hit_cond *ret, struct errinfo *ei) MUST_CHECK;
bool hit_matches(const struct hit_cond *c, uint64_t k);

/* Where one stands among the hits: 2k on hit k, 2k+1 behind it and before the next. */
#define HIT_AT_START 1u
#define HIT_NEVER UINT64_MAX
/* How many hits are passed over before the next that matches; HIT_NEVER: none will. */
uint64_t hit_skip(const struct hit_cond *c, uint64_t at, bool reverse);
/* The number of the hit that a run from at has met last when it met `met` of them (at least one). */
uint64_t hit_last(uint64_t at, uint64_t met, bool reverse);

/* --- messages of log points (logtext.c, pure) --- */

/* "total {n} of {p->count,x}": an array of strings (text) and objects {"e": expression, "f": format letter or ""}. {{ }} and \{ \} are braces, \n \t \\ as in C.
 * Braces, brackets and quotes in expressions are matched. -EINVAL with ei. New reference. */
int log_parse(const char *text, json_t **ret, struct errinfo *ei) MUST_CHECK;

/* --- breakpoints --- */

enum point_kind { POINT_LINE, POINT_FUNCTION, POINT_ADDRESS, POINT_DATA };

struct point {
	int64_t id;        /* the client's */
	int64_t number;    /* gdb's, 0 = it has none */
	enum point_kind kind;
	char *group;       /* owned: path of a source; "" for the other kinds */
	json_t *spec;      /* owned: "where" as gdb reads it, "condition", "hitCondition", "logMessage", and what the kind needs: equal is unchanged */
	json_t *bkpt;      /* owned: gdb's last word on it; NULL = none */
	json_t *shown;     /* owned: DAP's Breakpoint that the client knows; NULL = not told yet */
	char *message;     /* owned: why it does not work; NULL */
	bool pending;      /* message may become untrue */
	bool seen;         /* set: it is in the present request */
	bool is_new;
	struct hit_cond hit;
	bool logs;
	/* hits */
	int64_t times, base; /* gdb's count now, and when the last run began */
	uint64_t at;       /* see HIT_AT_START; 0 = not known */
	bool at_least;     /* forwards of there */
	bool off;          /* no hit is wanted in this direction: gdb has it disabled */
	uint64_t total;    /* hits in the whole recording + 1, 0 = not counted */
};

struct dap_breaks {
	struct point **points; /* owned, n */
	size_t n, cap;
	int64_t last_id;
	bool reverse;      /* direction of the last run */
	bool ran;          /* it was not looked at yet (hits) */
	bool own;          /* a run of ours goes on: it counts no hits and shows no stop */
	struct buf line;   /* of the console, begun by a log point */
	json_t *lines;     /* array: log_all() gathers here; NULL else */
	int64_t gathering; /* the log point it does that for */
	uint64_t limit;    /* of lines */
	bool full;
};

/* NULL: none of ours. */
struct point *point_of_number(struct dap *d, int64_t number);
void point_free(struct point *p);

/* Would a command of gdb's console that changes breakpoints (delete, condition ...) reach one of the client's, or of its exception filters? args: "3 5-7", "3 x > 1". */
bool breaks_reaches(struct dap *d, const char *command, const char *args);

/* Makes the client's points of a kind (and group) those of specs (array of objects, taken as they are); body gets "breakpoints". insert: gives p its
 * number, -EREMOTEIO with d->ei when gdb refuses. */
typedef int (*point_insert)(struct dap *d, struct point *p);
int points_set(struct dap *d, enum point_kind kind, const char *group, const json_t *specs, point_insert insert, json_t *body) MUST_CHECK;
/* Tells the client what has changed. */
void points_tell(struct dap *d);
/* One of its places in the code is at pc. */
bool point_stands_at(const struct point *p, uint64_t pc);
/* Member of its spec; NULL when absent or blank. */
const char *point_str(const struct point *p, const char *key);
/* Inserts p, a breakpoint or a log point; where and options as -break-insert takes them. -EREMOTEIO with d->ei. */
int point_insert_code(struct dap *d, struct point *p, const char *options, const char *where) MUST_CHECK;
/* Gives it the condition of its spec. -EREMOTEIO with d->ei. */
int point_set_condition(struct dap *d, const struct point *p) MUST_CHECK;

/* --- runs without the client (breaks_run.c) --- */

/* All breakpoints but those of the array keep (of numbers; NULL = none) are disabled; *ret: those that were, for breaks_enable(). New reference. */
int breaks_disable(struct dap *d, const json_t *keep, json_t **ret) MUST_CHECK;
int breaks_enable(struct dap *d, const json_t *numbers) MUST_CHECK;
/* The exact position: owned. */
int breaks_home(struct dap *d, char **ret) MUST_CHECK;
/* Goes back to where it was, cancelled or not, and restores what was disabled. */
int breaks_return(struct dap *d, const char *home, const json_t *disabled) MUST_CHECK;
/* Forwards to the end of the process, or until somebody who reads what gdb says has set *full and called run_pause() (NULL: nobody will). */
int breaks_run_to_end(struct dap *d, const char *title, const bool *full) MUST_CHECK;

/* --- log points (logpoints.c) --- */

/* Tells gdb what the log point of this id prints. positions: each line says where it is. */
int log_define(struct dap *d, int64_t id, const json_t *parts, bool positions) MUST_CHECK;
/* Console output: true when it came from a log point. */
bool log_record(struct dap *d, const struct mi_record *rec);

#endif
