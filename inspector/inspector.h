/* The inspector: a child process that holds a recording open in a debugging session (replayer/debug.h) and answers questions about the state at
 * any event: stacks with names and source lines (libdw), registers, memory, mappings.
 *
 * It speaks lines of JSON on one descriptor: {"id": 7, "op": "stack", ...} -> {"id": 7, "result": {...}} or
 * {"id": 7, "error": {"code": -4100, "name": "DIVERGED", "text": "..."}}; while it works long: {"id": 7, "progress": {"event": n, "total": n}}.
 * Requests are served one after the other. {"op": "cancel", "request": 7} ends the search of one that nobody waits for any more (without
 * "request": of the one that is worked at) and has no reply of its own: the cancelled one answers INTERRUPTED.
 *
 *     op          members                                            result (docs/HTTP.md)
 *     stack       event, when ("before", "after"), thread, pid       frames ...
 *     registers   the same
 *     maps        the same
 *     threads     the same
 *     memory      the same, addr ("0x.."), len                       data: base64
 *     source      path, line, context; the same                      lines ...; only files that a line table of the recording names
 *
 * Of this machine it reads only: debugging information whose build-id (or, where there is none, CRC of .gnu_debuglink) is that of a file of the
 * recording, and source files. A crash or a loop in the reading of debugging information ends the child, with an error as its last word. */
#ifndef INSPECTOR_INSPECTOR_H
#define INSPECTOR_INSPECTOR_H

#include "store/store.h"

struct inspector_options {
	struct store_id recording;
	uint64_t checkpoint_memory; /* bytes, 0 = default */
	bool debuginfod;            /* ask servers for debugging information (DEBUGINFOD_URLS) */
	const char *debug_dirs;     /* where debugging information lies, separated by colons; NULL = /usr/lib/debug. Borrowed */
	const char *source_map;     /* "FROM=TO": sources whose path begins with FROM are read from TO; NULL = none. Borrowed */
};

/* Serves requests on fd (a socket) until it is closed. 0, or the error that ended it. The calling process must be good for nothing else. */
int inspector_serve(struct store *s, const struct inspector_options *opt, int fd, struct errinfo *ei) MUST_CHECK;

#endif
