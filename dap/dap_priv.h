/* What the handlers of requests share: the session, who may be asked when, events, the client's capabilities.
 *
 * One thread. A handler asks gdb and waits for the answer; meanwhile (session.c: the wait of mi.h) the client's messages are taken in: cancel, pause,
 * disconnect and terminate act at once, others wait in line. So handlers are straight code, and no two run at once. */
#ifndef DAP_DAP_PRIV_H
#define DAP_DAP_PRIV_H

#include <stdint.h>
#include "base/proc.h"
#include "dap/args_priv.h"
#include "dap/dap.h"
#include "dap/frame_priv.h"
#include "dap/mi_priv.h"

enum dap_state {
	DAP_NEW,     /* before initialize */
	DAP_READY,   /* initialized, nothing launched */
	DAP_CONFIG,  /* launched: gdb stands at the recording's process, the client configures breakpoints */
	DAP_STOPPED,
	DAP_RUNNING,
	DAP_ENDED,   /* terminated: only disconnect is left */
};

/* When a request can be answered: bits of states. */
#define WHEN_NEW (1u << DAP_NEW)
#define WHEN_READY (1u << DAP_READY)
#define WHEN_STOPPED (1u << DAP_STOPPED | 1u << DAP_CONFIG)
#define WHEN_LIVE (WHEN_STOPPED | 1u << DAP_RUNNING)
#define WHEN_ANY (~0u)
/* As WHEN_LIVE, but the handler needs gdb: a guest that runs is stopped for it and then goes on, unseen by the client. */
#define WHEN_HALTED (WHEN_LIVE | 1u << 16)

/* What the client said in initialize. */
struct dap_client {
	bool lines_at_1, columns_at_1; /* default: true */
	bool progress, start_debugging, memory_event, invalidated, ansi;
};

struct dap_run;    /* run.c: running and stops */
struct dap_stack;  /* stack.c: frames, variables' references */
struct dap_breaks; /* breaks.c */
struct dap_except; /* except.c: exception filters */
struct dap_sources; /* sources.c */
struct dap_output; /* output.c: what the recorded program printed */
struct dap_places; /* places.c: bookmarks, going back and forward */

struct dap {
	struct dap_options opt;
	enum dap_state state;
	struct dap_client client;
	int64_t seq; /* of the last message we sent */
	struct frame_in in;
	struct buf out;
	size_t out_sent;
	json_t *queue;   /* array: requests that wait */
	int64_t current; /* seq of the request being answered, 0 = none */
	bool cancelled;  /* it, or what runs, was cancelled: pass ERR_INTERRUPTED up */
	bool leaving;    /* disconnect came, or the client is gone */
	bool gone;
	struct errinfo ei; /* of the current request: handlers set it with their error */

	struct mi *mi;       /* NULL = none */
	struct proc server;  /* the replay server, if it is ours */
	char *dir;           /* owned: private directory with its socket */
	char *recording;     /* owned: id, NULL = attached, not known */
	char *program;       /* owned: path as recorded */
	int64_t pid;         /* of the process looked at, as recorded; 0 = not known */
	json_t *launch;      /* owned: arguments of launch or attach */

	struct dap_run *run;
	struct dap_stack *stack;
	struct dap_breaks *breaks;
	struct dap_except *except;
	struct dap_sources *sources;
	struct dap_output *output;
	struct dap_places *places;
};

/* --- requests --- */

/* Answers a request: fills body (an object, empty at first) and returns 0, or returns an error with its text in d->ei. ERR_INTERRUPTED is answered as cancelled. */
typedef int (*dap_fn)(struct dap *d, const void *args, json_t *body);

struct dap_method {
	dap_fn fn;
	const struct arg *args; /* of args_size bytes; NULL = none */
	size_t args_size;
};

/* Defines the method that requests.def names. */
#define DAP_METHOD(name_, args_table, type_) \
	const struct dap_method dap_method_##name_ = { .fn = name_, .args = (args_table), .args_size = sizeof(type_) }
#define DAP_METHOD_PLAIN(name_) const struct dap_method dap_method_##name_ = { .fn = name_ }

#define REQUEST(name_, wire, when, capability) extern const struct dap_method dap_method_##name_;
#include "dap/requests.def"
#undef REQUEST

struct dap_request {
	const char *wire, *capability; /* capability: "supportsX" or NULL */
	unsigned when;
	const struct dap_method *method;
};

/* NULL: there is none of that name. */
const struct dap_request *dap_request_find(const char *wire);
/* The capabilities that the table gives, and those that are no requests. */
int dap_capabilities(struct dap *d, json_t *ret) MUST_CHECK;

/* Refuses to change the past: the one text for it. what: "writing memory". Returns -EROFS. */
int dap_refuse_write(struct dap *d, const char *what);

/* --- events and other messages --- */

/* Sends an event; body is taken over and may be NULL when memory has run out (then the session ends). */
void dap_event(struct dap *d, const char *name, json_t *body);
/* A reverse request (startDebugging, runInTerminal); the answer is only logged. */
void dap_reverse_request(struct dap *d, const char *command, json_t *arguments);
/* An output event. category: "console", "stdout", "stderr", "important" or "telemetry". */
void dap_say(struct dap *d, const char *category, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Progress of what takes long; shown only if it lasts, and if the client shows any. *id is 0 when none is shown. percent: -1 = not known. */
void dap_progress(struct dap *d, const char *title, const char *message, int percent);
void dap_progress_end(struct dap *d);

/* The client's messages are taken in and gdb's output is read; at most timeout_ms (-1: until something comes). ERR_GUEST_GONE: gdb has gone. ERR_INTERRUPTED: leaving. */
int dap_pump(struct dap *d, int timeout_ms) MUST_CHECK;

/* --- session --- */

/* launch.c: starts server and gdb as d->launch says. */
int dap_launch(struct dap *d, bool attach) MUST_CHECK;
/* Ends gdb and the server; the session is DAP_ENDED then. */
void dap_end(struct dap *d);

#endif
