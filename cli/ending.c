/* See ending.h. */
#include "cli/ending.h"

#include <sys/wait.h>
#include "cli/term.h"

int end_like(int status)
{
	if (status == -1)
		return 0;
	if (WIFSIGNALED(status))
		term_die_by(WTERMSIG(status));
	return WEXITSTATUS(status);
}
