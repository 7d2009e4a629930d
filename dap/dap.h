/* One session of the Debug Adapter Protocol: a client (editor), a gdb that is driven by its machine interface (MI), and the server that replays
 * the recording for gdb. The protocol: https://microsoft.github.io/debug-adapter-protocol/specification.
 *
 *     editor ──DAP──> hermit-dap ──MI──> gdb ──remote protocol──> hermit replay --serve-only
 *
 * hermit-dap owns gdb and the server: both end with it, however it ends. */
#ifndef DAP_DAP_H
#define DAP_DAP_H

#include "base/err.h"

struct dap_options {
	int in, out;        /* the client's descriptors; borrowed */
	int stop;           /* readable when the session shall end as if the client had gone (a signalfd); borrowed */
	const char *hermit; /* path of the program that replays */
	const char *gdb;    /* NULL: $HERMIT_GDB, else gdb in PATH */
	const char *data_dir; /* of the recordings; NULL: the usual one */
};

/* Serves the client until it disconnects or goes away. 0; ERR_PROTOCOL when the client's bytes were no DAP, errors of descriptors. The process
 * must be good for nothing else: SIGPIPE is ignored. */
int dap_serve(const struct dap_options *opt, struct errinfo *ei) MUST_CHECK;

#endif
