/* 64 threads with a mutex, a condition variable and a barrier. Output: the order of arrival differs. */
#include "guest.h"
#include <pthread.h>

enum { N = 64, ROUNDS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t bar;
static long counter, next_id;
static int order[N], arrived;

static void *body(void *arg)
{
	long id = (long)(intptr_t)arg;

	for (int r = 0; r < ROUNDS; r++) {
		CHECK(pthread_mutex_lock(&lock) == 0);
		counter++;
		if (r % 5 == 0)
			sched_yield();
		CHECK(pthread_mutex_unlock(&lock) == 0);
	}
	pthread_barrier_wait(&bar);
	CHECK(pthread_mutex_lock(&lock) == 0);
	order[arrived++] = (int)id;
	while (next_id != id)
		CHECK(pthread_cond_wait(&turn, &lock) == 0);
	next_id++;
	CHECK(pthread_cond_broadcast(&turn) == 0);
	CHECK(pthread_mutex_unlock(&lock) == 0);
	return (void *)(intptr_t)(id * 2);
}

int main(void)
{
	static pthread_t t[N];
	long sum = 0;

	CHECK(pthread_barrier_init(&bar, NULL, N) == 0);
	for (long i = 0; i < N; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < N; i++) {
		void *r;

		CHECK(pthread_join(t[i], &r) == 0);
		sum += (long)(intptr_t)r;
	}
	say("counter %ld, sum %ld\n", counter, sum);
	for (int i = 0; i < N; i += 8)
		say("order %d %d %d %d %d %d %d %d\n", order[i], order[i + 1], order[i + 2], order[i + 3], order[i + 4],
		    order[i + 5], order[i + 6], order[i + 7]);
	CHECK(counter == N * ROUNDS && sum == N * (N - 1));
	done();
	return 0;
}
