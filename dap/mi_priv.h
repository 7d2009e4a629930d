/* gdb's machine interface: the grammar of its output (pure), and a gdb that is asked one command after the other.
 * Source of facts: "GDB/MI" in gdb's manual; docs/DAP.md says what was measured with 13.1. */
#ifndef DAP_MI_PRIV_H
#define DAP_MI_PRIV_H

#include <sys/types.h>
#include "base/buf.h"
#include "base/json.h"

/* --- output records --- */

enum mi_kind {
	MI_RESULT,  /* ^done ... */
	MI_EXEC,    /* *stopped, *running */
	MI_STATUS,  /* +download */
	MI_NOTIFY,  /* =thread-created ... */
	MI_CONSOLE, /* ~"..." */
	MI_TARGET,  /* @"..." */
	MI_LOG,     /* &"..." */
	MI_PROMPT,  /* (gdb) */
};

struct mi_record {
	enum mi_kind kind;
	uint64_t token; /* 0 = none */
	char *name;     /* owned: "done", "stopped", "thread-created"; NULL for streams and prompts */
	json_t *values; /* owned: an object; tuples are objects, lists are arrays (of values: names of [frame={},frame={}] are left out), constants strings.
			 * What is no UTF-8 became U+FFFD. A name that comes twice in one tuple keeps its first value. NULL for streams and prompts */
	struct buf text; /* of streams: bytes, unescaped */
};

void mi_record_done(struct mi_record *rec); /* for CLEANUP too */
/* Parses one line without its newline. ERR_PROTOCOL: no MI (the caller may take it for program output). ERR_LIMIT: nested deeper than 64. -ENOMEM. */
int mi_parse(const char *line, size_t n, struct mi_record *ret) MUST_CHECK;
/* Appends s as an MI parameter: in quotes, escaped. */
void mi_quote(struct buf *b, const char *s);

/* --- a gdb --- */

struct mi;

struct mi_options {
	const char *const *argv; /* gdb's command line, with --interpreter=mi3 */
	/* Called for each record that is not the answer to the command that waits; must give no commands. rec is the callee's to read only. */
	void (*record)(void *ctx, const struct mi_record *rec);
	/* Waits until fd (mi_fd()) is readable and does other work meanwhile. 0, or an error that ends the waiting command. */
	int (*wait)(void *ctx, int fd);
	void *ctx;
};

/* argv is borrowed for the call only. SIGPIPE must be ignored: gdb may end while it is written to. */
int mi_start(const struct mi_options *opt, struct mi **ret, struct errinfo *ei) MUST_CHECK;
/* Closes gdb's input, waits a moment, kills it. NULL is fine. */
void mi_free(struct mi *m);
void mi_freep(struct mi **m);
int mi_fd(const struct mi *m); /* to wait for, not to read: readable when mi_read() has something to do, the end of gdb too */
pid_t mi_pid(const struct mi *m); /* 0: it has ended */
/* Reads what is there and gives records to opt.record. What is no MI is given as MI_TARGET. ERR_LIMIT, -ENOMEM: a line was lost, all is well else.
 * ERR_GUEST_GONE: gdb has ended; ei tells how, with the last it wrote to stderr. */
int mi_read(struct mi *m, struct errinfo *ei) MUST_CHECK;

/* Gives a command and waits for its result. ^done, ^running, ^connected: 0, *ret (may be NULL) is its values as an object, new reference. ^error: -EREMOTEIO, ei
 * has gdb's text. -EINVAL: a newline in it; ERR_LIMIT: it is longer than 30 KiB, or, as -ENOMEM, a line that gdb answered was lost; ERR_GUEST_GONE; errors of
 * opt.wait: gdb goes on with the command, its result is a record of nobody then. What the command printed is given to opt.record before it returns. */
int mi_command(struct mi *m, json_t **ret, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(4, 5) MUST_CHECK;
/* A command of gdb's console; what it prints on the streams ~ and @ is appended to out (NULL: dropped) instead of being given to opt.record. Same results. */
int mi_console(struct mi *m, struct buf *out, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(4, 5) MUST_CHECK;
/* The same in a frame of a thread, both as gdb numbers them. */
int mi_console_in(struct mi *m, int thread, int level, struct buf *out, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(6, 7) MUST_CHECK;
/* `monitor hermit FMT --json`; *ret: an object, new reference. An "error" in it is -EREMOTEIO with its text. */
int mi_monitor(struct mi *m, json_t **ret, struct errinfo *ei, const char *fmt, ...) PRINTF_LIKE(4, 5) MUST_CHECK;
/* Sends gdb SIGINT: a guest that runs stops, a command that takes long (a function call) ends with ^error. Before its first answer it would kill it. */
void mi_interrupt(struct mi *m);

/* Members of values; NULL / def when absent or another type. gdb writes numbers as strings. */
const char *mi_str(const json_t *obj, const char *key);
int64_t mi_int(const json_t *obj, const char *key, int64_t def); /* decimal or 0x */
uint64_t mi_addr(const json_t *obj, const char *key); /* 0 = absent */

#endif
