/* Requests that some clients send without our offering them, and that mean nothing in a recording: why, and what serves instead. */
#include "dap/dap_priv.h"

#include <errno.h>

static int go_to(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	return errinfo_set(&d->ei, -EROFS,
			   "the next statement cannot be set: what a recording executed is fixed. To get to a line set a breakpoint there and continue, "
			   "forwards or in reverse; the console's word seek goes to any event or time");
}

DAP_METHOD_PLAIN(go_to);

static int restart_frame(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	return errinfo_set(&d->ei, -EROFS,
			   "a frame cannot be executed anew: what a recording executed is fixed. To see the function from its beginning step out of it in "
			   "reverse (reverse-finish in the console), then step in");
}

DAP_METHOD_PLAIN(restart_frame);

static int terminate_threads(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	return errinfo_set(&d->ei, -EROFS,
			   "threads of a recording cannot be ended: they end when they did. To leave a thread aside, select another one; to end the session, "
			   "disconnect");
}

DAP_METHOD_PLAIN(terminate_threads);
