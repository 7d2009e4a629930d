/* Children by fork and vfork, and what a parent learns of them. For tests/debug/sessions. */
#include <spawn.h>
#include "guest.h"

volatile int before, after, statuses;
extern char **environ;

__attribute__((noinline)) void child_work(int n)
{
	before = 100 + n; /* of the child only */
	_exit(n);
}

int main(void)
{
	char *argv[] = {(char *)"true", NULL};
	int status = 0;
	pid_t pid;

	before = 1;
	pid = fork(); /* the fork */
	if (pid == 0)
		child_work(7);
	after = 2;
	waitpid(pid, &status, 0); /* the wait */
	statuses += WEXITSTATUS(status);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0) /* the spawn */
		return 1;
	waitpid(pid, &status, 0);
	statuses += WEXITSTATUS(status) + 10;
	say("before %d after %d statuses %d\n", before, after, statuses); /* all done */
	return 0;
}
