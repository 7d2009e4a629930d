/*
 * A shell enters a child into its table after fork; the handler of SIGCHLD takes it out. A child that ends at once
 * is not in the table yet, and stays there for ever.
 */
#include "chaos.h"

static volatile pid_t table;
static volatile pid_t unknown;

static void child_ended(int sig UNUSED)
{
	pid_t p;

	while ((p = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (table == p)
			table = 0;
		else
			unknown = p;
	}
}

int main(void)
{
	CHECK(signal(SIGCHLD, child_ended) != SIG_ERR);
	for (int i = 0; i < 3; i++) {
		pid_t p = xfork();

		if (p == 0) {
			work(3000000); /* what a command does at least */
			_exit(0);
		}
		work(20);
		table = p;
		while (table && unknown != p)
			usleep(1000);
		if (unknown == p)
			bug("the child ended before it was in the table");
	}
	return 0;
}
