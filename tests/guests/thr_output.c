/*
 * Threads and a child write lines to standard output at the same time, between short sleeps that end together: the order
 * in which the lines arrived is the order in which replay prints them. Output: the order differs.
 */
#include "guest.h"
#include <pthread.h>

enum { N = 6, ROUNDS = 60 };

static void *body(void *arg)
{
	char line[64];

	for (int i = 0; i < ROUNDS; i++) {
		int n = snprintf(line, sizeof(line), "%d thread %d round %d\n", (int)getpid(), (int)(intptr_t)arg, i);

		write_all(1, line, (size_t)n);
		if (i % 4 == 3)
			msleep(1);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[N];

	for (int i = 0; i < N; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

int main(void)
{
	pid_t p = xfork();

	threads();
	if (p == 0)
		_exit(0);
	reap(p);
	done();
	return 0;
}
