/*
 * Four threads that touch shared memory between short system calls, for many time slices: where one thread's turn ends
 * must be a place that replay finds again, also when it ends between a call's entry and exit. Output: the mix differs.
 */
#include "guest.h"
#include <pthread.h>

enum { N = 4, ROUNDS = 5000 };

static volatile unsigned long shared, mix[N];
static volatile int last = -1, switches;

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		shared = shared + 1;
		mix[me] = mix[me] * 31 + shared;
		if (last != me) {
			last = me;
			switches = switches + 1;
		}
		syscall(SYS_getppid);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[N];

	for (int i = 0; i < N; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("shared %lu, turns %d\n", shared, switches);
	for (int i = 0; i < N; i++)
		say("thread %d: %lx\n", i, mix[i]);
	done();
	return 0;
}
