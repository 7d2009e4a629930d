/* The debugger's side of 'hermit replay': starts gdb, or waits for one to come, beside a process that serves it.
 *
 *     hermit ──fork──> server (own session: the terminal's signals do not reach it) ──ptrace──> replayed processes
 *        └──spawn──> gdb (in the foreground) ──unix socket, in a directory that only this user may enter──> server
 *
 * The socket is a file rather than a pipe that gdb starts (target remote |), so that a recording which cannot be replayed is reported before gdb is
 * there, and a gdb that was disconnected can come back. hermit stays to clean up and to end as gdb did; what it
 * leaves behind when it is killed itself, ends with it: the server dies with its parent, the replayed processes with the server. */
#ifndef CLI_DEBUG_GDB_H
#define CLI_DEBUG_GDB_H

#include "cli/debug_session.h"
#include "cli/opt.h"

/* Names in that directory. */
#define DEBUG_SOCKET_NAME "gdb"
#define DEBUG_SCRIPT_NAME "hermit.gdb"

struct debug_gdb {
	const char *program;             /* path of gdb */
	const struct opt_list *commands; /* --gdbex, NULL = none */
	const char *note;                /* printed by gdb when it is connected; no backslashes; NULL = nothing */
};

/* Finds gdb: name if not NULL, else $HERMIT_GDB, else gdb in PATH. *ret is owned. 0, or the exit code after the failure was printed;
 * id: of the recording, for the advice how to attach from elsewhere. */
int debug_find_gdb(const char *name, const char *id, char **ret) MUST_CHECK;
/* The command line: owned array of owned strings. dir holds the socket and the script. -ENOMEM. */
int debug_gdb_argv(const struct debug_gdb *g, const char *dir, char ***ret) MUST_CHECK;
void debug_free_argv(char **v);
/* Starts gdb on job and waits for its end. Exit code; ends the process by a signal when gdb was ended so. */
int debug_run_gdb(const struct debug_job *job, const struct debug_gdb *g);

struct debug_listen {
	const char *port, *path; /* "1234" or "localhost:1234"; of a unix socket. Both NULL: any free port */
};
/* Waits for debuggers, until one ends the session or SIGINT, SIGTERM or SIGHUP comes. Says on stdout where. Exit code. */
int debug_run_server(const struct debug_job *job, const struct debug_listen *where);

#endif
