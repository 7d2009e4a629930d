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
	bool progress, start_debugging, memory_event;
	bool uris;         /* pathFormat: paths are URIs */
	bool machine_code; /* it shows machine code by itself (disassemble), as VS Code does */
};

struct dap_run;    /* run.c: running and stops */
struct dap_stack;  /* stack.c: frames, variables' references */
struct dap_breaks; /* breaks.c */
struct dap_except; /* except.c: exception filters */
struct dap_sources; /* sources.c */
struct dap_output; /* output.c: what the recorded program printed */
struct dap_places; /* places.c: bookmarks, going back and forward */

/* What is shown of work that takes long: see dap_progress(). */
struct dap_progress {
	uint64_t began_ns; /* 0 = nothing goes on */
	uint64_t shown_ns; /* when the client was told last, 0 = not yet */
	uint64_t id;
};

/* The replay server that we started. */
struct dap_server {
	struct proc proc;
	int err_fd;       /* its stderr, -1 = none */
	struct buf line;  /* of it, not whole yet */
	struct buf said;  /* its last lines, for errors */
};

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
	bool announce;   /* the current request does not imply that the guest runs: the client is told when it does */
	bool idle;       /* nothing is done but waiting: messages need no hurry */
	unsigned ends;   /* disconnect and terminate in the queue that came while something was done: what is before them is cancelled */
	bool leaving;    /* what goes on shall end: one of those waits, or the client is gone */
	bool ended;      /* the client sends no more */
	bool gone;       /* and takes nothing */
	bool done;       /* the session ends when the current request is answered */
	struct dap_progress progress;
	struct errinfo ei; /* of the current request: handlers set it with their error */

	struct mi *mi;       /* NULL = none */
	bool python;         /* it has read gdb.py */
	uint64_t mi_until;   /* it starts and has to answer by then (dap_now_ns()); 0 = it takes its time */
	struct dap_server server;
	char *dir;           /* owned: private directory with the server's socket; NULL = none */
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

/* Sends an event; body is taken over, NULL (memory has run out) ends the session. */
void dap_event(struct dap *d, const char *name, json_t *body);
/* Answers a request: r of its method, body borrowed. quiet: a failure is not put before the user. */
void dap_respond(struct dap *d, const json_t *request, int r, json_t *body);
/* A reverse request (startDebugging); the answer is only logged. arguments are taken over. */
void dap_reverse_request(struct dap *d, const char *command, json_t *arguments);
/* An output event. category: "console", "stdout", "stderr", "important". */
void dap_say(struct dap *d, const char *category, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Progress of what takes long; shown when it has lasted for a while, if the client shows any. */
void dap_progress(struct dap *d, const char *title);
void dap_progress_end(struct dap *d);
uint64_t dap_now_ns(void); /* monotonic */

/* Takes in the client's messages, reads what gdb and the server say; waits at most timeout_ms (-1: until something comes). ERR_GUEST_GONE: gdb has gone
 * (ei: d->ei). ERR_INTERRUPTED: d->leaving. */
int dap_pump(struct dap *d, int timeout_ms) MUST_CHECK;
/* The same, but returns when fd is readable too and reads nothing of it or of gdb: 1; 0 after the time. */
int dap_wait_fd(struct dap *d, int fd, int timeout_ms) MUST_CHECK;

/* --- session --- */

/* Starts `hermit replay --serve-only` in d->dir and waits until it serves; words: its further arguments (server.c). */
int server_start(struct dap *d, const char *const *words, size_t n) MUST_CHECK;
void server_stop(struct dap *d);
/* What it wrote to stderr goes to the client; its last lines are kept. */
void server_read(struct dap *d);

/* Ends gdb and the server (launch.c); the session is DAP_ENDED then. why: for the user, NULL = as asked. */
void dap_end(struct dap *d, const char *why);

#endif
