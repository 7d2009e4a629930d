/* Two threads hand a flag back and forth with sched_yield only, and with futex-free atomics. Output: counts differ. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int turn;
static long yields[2];

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 200; i++) {
		while (atomic_load(&turn) != me) {
			yields[me]++;
			sched_yield();
		}
		atomic_store(&turn, !me);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("yields %ld %ld\n", yields[0], yields[1]);
	done();
	return 0;
}
