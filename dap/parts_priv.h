/* The parts of a session that keep state of their own, as run.c, launch.c and each other see them. */
#ifndef DAP_PARTS_PRIV_H
#define DAP_PARTS_PRIV_H

#include "dap/run_priv.h"

/* --- python.c: gdb.py --- */
/* A gdb has started: it reads gdb.py. That it cannot is no error. */
int python_setup(struct dap *d) MUST_CHECK;
/* -EREMOTEIO with d->ei: this gdb has no Python. */
int python_check(struct dap *d) MUST_CHECK;
/* Calls a function of gdb.py in a frame (thread 0: where gdb stands). *ret: what it returns, new reference. -EREMOTEIO: gdb has no Python, or the function failed: ei has
 * gdb's words. */
int python_ask(struct dap *d, int thread, int level, json_t **ret, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(6, 7) MUST_CHECK;

/* --- stack.c, vars.c: threads, frames, scopes, variables, evaluation --- */
int stack_new(struct dap_stack **ret) MUST_CHECK;
void stack_free(struct dap_stack *s);
/* A gdb has started: its settings for values. */
void stack_setup(struct dap *d);
/* All references (frames, variables) end: the guest has run. */
void stack_forget(struct dap *d);
/* A stop that the client is about to see: what a function returned is kept. */
void stack_stopped(struct dap *d, const struct run_stop *stop);
/* gdb's thread and frame level of a frameId. -ENOENT with d->ei: it is from before the last run. frame_id 0: the thread of the last stop, level 0. */
int stack_frame(struct dap *d, int64_t frame_id, int *ret_thread, int *ret_level) MUST_CHECK;
/* Address and size in bytes of an lvalue in a frame. -EINVAL with d->ei: it has no address. */
int stack_lvalue(struct dap *d, int64_t frame_id, const char *expr, uint64_t *ret_addr, uint64_t *ret_len) MUST_CHECK;
/* The expression of a variable that was listed under a variablesReference, and a frame for it; owned. -EINVAL with d->ei: it has none, -ENOENT: it is from before. */
int stack_variable(struct dap *d, int64_t variables_reference, const char *name, int64_t *ret_frame, char **ret_expr) MUST_CHECK;

/* --- breaks.c, datapoints.c, logpoints.c --- */
int breaks_new(struct dap_breaks **ret) MUST_CHECK;
void breaks_free(struct dap_breaks *b);
/* Before each run: gdb learns which hits to pass over (breaks_priv.h). May run the guest to count them, and comes back. */
int breaks_leaving(struct dap *d, enum run_kind kind, bool reverse) MUST_CHECK;
/* Looks at a stop: the number of the hit, ids, what a watchpoint says. */
int breaks_judge(struct dap *d, struct run_stop *s) MUST_CHECK;
/* gdb's =breakpoint-modified and console output of log points. True: the record is dealt with. */
bool breaks_record(struct dap *d, const struct mi_record *rec);
/* "log-all LOCATION TEXT": a log point over the whole recording, at once; the session comes back to where it was. condition NULL = none. */
int breaks_log_all(struct dap *d, const char *location, const char *condition, const char *text, json_t *body) MUST_CHECK;

/* --- except.c: filters, exceptionInfo --- */
int except_new(struct dap_except **ret) MUST_CHECK;
void except_free(struct dap_except *e);
int except_judge(struct dap *d, struct run_stop *s) MUST_CHECK;
/* One of the filters that are on has this breakpoint of gdb's. */
bool except_has(const struct dap *d, int64_t number);
/* exceptionBreakpointFilters of the capabilities: new reference. */
json_t *except_filters(void);

/* --- sources.c, modules.c, memory.c, disasm.c --- */
int sources_new(struct dap_sources **ret) MUST_CHECK;
void sources_free(struct dap_sources *s);
/* DAP's Source of a frame or symbol as gdb shows it (file, fullname; NULL: none): new reference, JSON null when there is no source. */
json_t *sources_of(struct dap *d, const char *file, const char *fullname);
/* The path that gdb knows, of the client's Source: owned. -ENOENT with d->ei. */
int sources_to_gdb(struct dap *d, const json_t *source, char **ret) MUST_CHECK;
/* Lines and columns as gdb counts (from 1) to and from the client. */
int64_t sources_line_in(const struct dap *d, int64_t line);
int64_t sources_line_out(const struct dap *d, int64_t line);
/* sourceMap, after gdb has started. */
int sources_setup(struct dap *d) MUST_CHECK;
/* For a frame (gdb's tuple) without a source: a listing of its machine code, and the line there (the client's). New reference; JSON null for clients that show
 * machine code by themselves, and when there is nothing to read. */
json_t *sources_of_code(struct dap *d, const json_t *frame, int64_t *ret_line);
/* Is it such a listing? */
bool sources_is_code(const json_t *source);
/* The other way: the address of a line (the client's) of a listing, for breakpoints in it. 0: source is no listing, or has no code there. */
uint64_t sources_code_addr(struct dap *d, const json_t *source, int64_t line);
/* A number for `locations` of the code there, until the guest has run; 0 = no more, or addr is 0. */
int64_t sources_location_of_addr(struct dap *d, uint64_t addr);
/* Those numbers end. */
void sources_forget(struct dap *d);
/* For each of gdb's notify records: libraries come and go. */
void sources_record(struct dap *d, const struct mi_record *rec);
/* After each stop that the client sees: what such records meant, if gdb has to be asked for it. */
void sources_stopped(struct dap *d);

/* --- output.c: what the recorded program printed, as output events --- */
int output_new(struct dap_output **ret) MUST_CHECK;
void output_free(struct dap_output *o);
/* After the launch: the recording is known. */
int output_setup(struct dap *d) MUST_CHECK;
/* Sends what was printed up to the present event and was not sent before. */
void output_upto(struct dap *d, uint64_t event);
/* The rest of that, and the places where it was printed: while nothing else is to be done. Milliseconds until output_tick() wants to be called, -1 = never. */
int output_timeout(const struct dap *d);
void output_tick(struct dap *d);

/* --- children.c: the other processes --- */
/* After the launch: sessions for all of them, if that is wanted. */
void children_setup(struct dap *d);

/* --- places.c: bookmarks, back and forward, words of the debug console (words.def) --- */
int places_new(struct dap_places **ret) MUST_CHECK;
void places_free(struct dap_places *p);
/* The session stands somewhere new (after each stop that the client sees), or is about to leave. */
void places_stopped(struct dap *d);
void places_leaving(struct dap *d, enum run_kind kind);
/* Is there such a place, as users write it? *ret: of a bookmark its position (owned), NULL for others. -EINVAL, -ENOENT with d->ei. */
int places_find(struct dap *d, const char *text, char **ret) MUST_CHECK;
/* Goes there: as run_to_place(), and the text or id of any bookmark. */
int places_seek(struct dap *d, const char *text) MUST_CHECK;
/* The recording is another one: of a launch that failed. */
void places_forget(struct dap *d);
/* A line of the debug console that begins with one of our words: 1 = dealt with; 0 = none of ours. */
int places_word(struct dap *d, int64_t frame_id, const char *line, json_t *body) MUST_CHECK;

#endif
