/* The inspector: a child process that holds a recording open in a debugging session (replayer/debug.h) and answers questions about the state at
 * any event: stacks with names and source lines (libdw), registers, memory, mappings.
 *
 * It speaks lines of JSON on one descriptor: {"id": 7, "op": "stack", ...} -> {"id": 7, "result": {...}} or
 * {"id": 7, "error": {"code": -4100, "name": "DIVERGED", "text": "..."}}; while it works long: {"id": 7, "progress": {"event": n, "total": n}}.
 * Requests are served one after the other; a new one ends the search of one that nobody waits for any more ({"op": "cancel"}).
 *
 *     op          members                                            result (docs/HTTP.md)
 *     stack       event, when ("before", "after"), thread, pid       frames ...
 *     registers   the same
 *     maps        the same
 *     threads     the same
 *     memory      the same, addr ("0x.."), len                       data: base64
 *     source      path, line, context                                lines ...; only files that a line table of the recording names
 */
#ifndef INSPECTOR_INSPECTOR_H
#define INSPECTOR_INSPECTOR_H

#include "store/store.h"

struct inspector_options {
	struct store_id recording;
	uint64_t checkpoint_memory; /* bytes, 0 = default */
	bool debuginfod;            /* ask servers for debugging information (DEBUGINFOD_URLS) */
};

/* Serves requests on fd until it is closed. 0, or the error that ended it. The calling process must be good for nothing else. */
int inspector_serve(struct store *s, const struct inspector_options *opt, int fd, struct errinfo *ei) MUST_CHECK;

#endif
