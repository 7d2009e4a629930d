/* What except.c knows of the last stop, for exceptinfo.c. */
#ifndef DAP_EXCEPT_PRIV_H
#define DAP_EXCEPT_PRIV_H

#include "dap/parts_priv.h"

/* The stop that exceptionInfo is about. Borrowed until the next stop. */
struct except_stop {
	const json_t *mi;   /* gdb's record; NULL = there was none */
	const char *filter; /* id of the filter that was hit, NULL = none */
	bool exception;     /* it was called one */
	bool signal;        /* a signal is about to be delivered, and gdb has told which */
	bool cxx;           /* at a C++ exception */
};
struct except_stop except_last(const struct dap *d);

/* Value of a C++ expression at the stop as gdb prints it; "" when it has none. Owned. */
int except_value(struct dap *d, const char *expr, char **ret) MUST_CHECK;
/* "type" and "what" of the C++ exception at a stop of that filter, as far as they can be known. New reference. */
int except_thrown(struct dap *d, const char *kind, json_t **ret) MUST_CHECK;

/* si_code in words, "" = not known. Pure. */
const char *siginfo_code(int signo, int code);

#endif
