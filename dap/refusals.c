/* Requests that mean nothing in a recording: why, and what serves instead. None is offered; some clients send them all the same. */
#include "dap/dap_priv.h"

#include <errno.h>

/* clang-format off */
#define REFUSAL(name_, ...) \
	static int name_(struct dap *d, const void *args, json_t *body) \
	{ \
		(void)args, (void)body; \
		return __VA_ARGS__; \
	} \
	DAP_METHOD_PLAIN(name_)

REFUSAL(set_variable, dap_refuse_write(d, "setting a variable"));
REFUSAL(set_expression, dap_refuse_write(d, "setting a value"));
REFUSAL(write_memory, dap_refuse_write(d, "writing memory"));

REFUSAL(go_to, errinfo_set(&d->ei, -EROFS,
	"the next statement cannot be set: what a recording executed is fixed. To get to a line set a breakpoint there and continue, forwards or in reverse; "
	"the console's word seek goes to any event or time"));
REFUSAL(restart_frame, errinfo_set(&d->ei, -EROFS,
	"a frame cannot be executed anew: what a recording executed is fixed. To see the function from its beginning step out of it in reverse "
	"(reverse-finish in the console), then step in"));
REFUSAL(terminate_threads, errinfo_set(&d->ei, -EROFS,
	"threads of a recording cannot be ended: they end when they did. To leave a thread aside, select another one; to end the session, disconnect"));
/* clang-format on */
