/* gdb's remote serial protocol over replayer/debug.h: lets a debugger look at one process of a recording, forwards and backwards.
 *
 * One client at a time; what the session learnt for the user (bookmarks) outlives it. Everything a client sends is hostile: packets, numbers of
 * breakpoints and replies are bounded, nothing of this machine can be read, and of the recording nothing can be changed but its notes.
 *
 *     stub_new(&opt, &stub)
 *     dbg_open(reader, &(struct dbg_options){ .tick = stub_tick, .ctx = stub, ... }, &d, ei)
 *     stub_serve(stub, d, fd, fd, ei)         as often as clients come
 *     dbg_free(d); stub_free(stub)
 */
#ifndef GDBSTUB_GDBSTUB_H
#define GDBSTUB_GDBSTUB_H

#include "replayer/debug.h"

struct stub;

/* A bookmark that is kept with the recording. Strings are borrowed. */
struct stub_note {
	uint64_t event;       /* 0 = the whole recording */
	const char *position; /* as dbg_pos_print() gives, NULL = right before the event */
	const char *text;     /* a stranger's */
};
/* A negative result ends the walk and is given back. */
typedef int (*stub_note_fn)(void *ctx, const struct stub_note *n);

struct stub_options {
	/* What the recorded program wrote to stdout and stderr with its first `events` events, appended. NULL: only what the events themselves hold of
	 * it (the first bytes of each write) can be shown. */
	int (*output)(void *ctx, uint64_t events, struct buf *out);
	/* Leaves a note, shows all of them. NULL: bookmarks are of the session alone. */
	int (*note)(void *ctx, const struct stub_note *n, struct errinfo *ei);
	int (*notes)(void *ctx, stub_note_fn fn, void *fn_ctx, struct errinfo *ei);
	void *ctx;
};

/* opt is copied, NULL = nothing given. -ENOMEM. */
int stub_new(const struct stub_options *opt, struct stub **ret) MUST_CHECK;
void stub_free(struct stub *s); /* NULL is fine */
void stub_freep(struct stub **s);

enum stub_end {
	STUB_GONE,     /* the connection ended without a word */
	STUB_DETACHED, /* D */
	STUB_KILLED,   /* k, vKill, monitor exit: the user wants no more of this session */
};

/* Serves one client until it is gone, on descriptors that stay the caller's (the same one twice for a socket); SIGPIPE must be ignored. Breakpoints and
 * diversions of the client are removed afterwards, the session stands where it stood last. How it ended (enum stub_end), or an error of ours. */
int stub_serve(struct stub *s, struct dbg *d, int in_fd, int out_fd, struct errinfo *ei) MUST_CHECK;
/* For dbg_options.tick, with the stub as ctx: sees interrupts and clients that went away while guests run, tells the user about long searches. */
bool stub_tick(void *stub, const struct dbg_progress *p);

/* --- gdbstub/listen.c --- */

/* A listening socket on 127.0.0.1; port 0 = any, *ret_port is the one it has. */
int stub_listen_port(uint16_t port, uint16_t *ret_port, int *ret_fd, struct errinfo *ei) MUST_CHECK;
/* The same for "PORT", ":PORT", "localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT". -EINVAL: another host, or no such text. */
int stub_listen_host(const char *text, uint16_t *ret_port, int *ret_fd, struct errinfo *ei) MUST_CHECK;
/* A unix socket that only this user can open; a stale one of the same name (nobody listens) is replaced. */
int stub_listen_unix(const char *path, int *ret_fd, struct errinfo *ei) MUST_CHECK;
/* Waits for a client. ERR_TIMEOUT; -1 = for ever. Clients of another user are turned away. */
int stub_accept(int listen_fd, int timeout_ms, int *ret_fd) MUST_CHECK;

/* --- gdbstub/hermit.gdb --- */

/* Commands for gdb (when, goto-event, ...): text to be loaded with `source`. Static. */
const char *stub_gdb_script(void);

#endif
