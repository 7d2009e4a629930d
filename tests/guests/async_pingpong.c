/* Two threads take turns, by a futex and by a condition variable, and compute in between. Output: deterministic. */
#include "async.h"
#include <linux/futex.h>

enum { ROUNDS = 300 };

static atomic_int turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int cond_turn;
static uint64_t sum = 1;

static void *by_futex(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&turn) != me)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me, NULL, NULL, 0);
		sum = burn(sum + (unsigned)me, 20000);
		atomic_store(&turn, !me);
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static void *by_cond(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_lock(&mutex) == 0);
		while (cond_turn != me)
			CHECK(pthread_cond_wait(&changed, &mutex) == 0);
		sum = burn(sum + (unsigned)me, 20000);
		cond_turn = !me;
		CHECK(pthread_cond_signal(&changed) == 0);
		CHECK(pthread_mutex_unlock(&mutex) == 0);
		burn(1, 2000);
	}
	return NULL;
}

int main(void)
{
	in_threads(2, by_futex);
	say("%lx\n", (unsigned long)sum);
	in_threads(2, by_cond);
	say("%lx\n", (unsigned long)sum);
	done();
	return 0;
}
