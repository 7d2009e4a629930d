/* Out-of-line halves of macros.h: cleanup handlers and the end of the line for our own bugs. */
#include "base/macros.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void must_failed(const char *cond, const char *file, int line, const char *func)
{
	/* Not through the log: its state may be what is broken. */
	dprintf(2, "hermit: internal error: %s:%d: %s: must(%s) failed\n", file, line, func, cond);
	abort();
}

void freep(void *pp)
{
	free(*(void **)pp);
}

void closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}
