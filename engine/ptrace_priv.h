/* Typed ptrace calls for engine/: each returns 0 or a negative error, ESRCH becomes ERR_GUEST_GONE. */
#ifndef ENGINE_PTRACE_PRIV_H
#define ENGINE_PTRACE_PRIV_H

#include <errno.h>
#include <sys/ptrace.h>
#include "engine/engine.h"

static inline int ptrace_call(enum __ptrace_request req, pid_t tid, void *addr, void *data)
{
	if (ptrace(req, tid, addr, data) >= 0)
		return 0;
	return errno == ESRCH ? ERR_GUEST_GONE : -errno;
}

#endif
