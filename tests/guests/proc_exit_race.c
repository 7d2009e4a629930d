/* Threads that exit, block and run while another thread calls exit_group or exec; 20 times. Deterministic. */
#include "guest.h"
#include <pthread.h>

static int hold[2];

static void *worker(void *arg)
{
	long n = (long)(intptr_t)arg;
	char c;

	if (n % 4 == 0)
		return NULL;
	if (n % 4 == 1) {
		while (read(hold[0], &c, 1) < 0)
			continue;
		return NULL;
	}
	for (int i = 0; i < 20 * n; i++)
		sched_yield();
	if (n % 4 == 2)
		syscall(SYS_exit, 0);
	_exit(50);
}

int main(void)
{
	CK(pipe2(hold, O_CLOEXEC));
	for (int round = 0; round < 20; round++) {
		pid_t p = xfork();
		int st;

		if (p == 0) {
			pthread_t t;

			for (long i = 0; i < 12; i++)
				pthread_create(&t, NULL, worker, (void *)(intptr_t)i);
			if (round % 3 == 0)
				_exit(50);
			if (round % 3 == 1) {
				execl("/bin/sh", "sh", "-c", "exit 50", (char *)NULL);
				_exit(50);
			}
			pthread_exit(NULL);
		}
		st = reap(p);
		if (!WIFEXITED(st) || WEXITSTATUS(st) != 50)
			say("round %d: %s\n", round, wait_str(st));
	}
	done();
	return 0;
}
