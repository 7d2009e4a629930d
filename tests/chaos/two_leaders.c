/* Processes elect a leader by looking whether the lock file exists and then making it: two may find none. */
#include "chaos.h"

static int *leaders;

static void *candidate(void *arg)
{
	work(20000 + 300000 * (unsigned long)(intptr_t)arg);
	if (access("leader", F_OK) != 0) {
		close(CK(open("leader", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
		__atomic_fetch_add(leaders, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

int main(void)
{
	leaders = shared_memory(sizeof(*leaders));
	scratch();
	in_processes(2, candidate);
	if (*leaders != 1)
		bug("there are %d leaders", *leaders);
	return 0;
}
