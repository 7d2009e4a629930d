/* vfork in one thread while the others go on working; the child signals and exits. Deterministic. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int work, stop;

static void *worker(void *arg)
{
	while (!atomic_load(&stop)) {
		atomic_fetch_add(&work, 1);
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		pid_t p = vfork();

		if (p == 0) {
			struct timespec ts = { 0, 2000000 };

			nanosleep(&ts, NULL);
			_exit(i);
		}
		CHECK(p > 0 && WEXITSTATUS(reap(p)) == i);
	}
	while (atomic_load(&work) < 100)
		sched_yield();
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("10 vforks beside 3 working threads\n");
	done();
	return 0;
}
