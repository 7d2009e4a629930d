/*
 * A ring of 4 places takes a fifth entry when the consumer is late, which overwrites the first. The consumer is
 * quick compared with the producer's pauses, so it is hardly ever late.
 */
#include "chaos.h"
#include <semaphore.h>

enum { PLACES = 4, ITEMS = 14 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ring[PLACES], in, out, count;
static sem_t available;
static volatile int stop;

static void *consumer(void *arg UNUSED)
{
	for (int i = 1; i <= ITEMS; i++) {
		int got;

		CHECK(sem_wait(&available) == 0);
		pthread_mutex_lock(&lock);
		got = ring[out];
		out = (out + 1) % PLACES;
		count--;
		pthread_mutex_unlock(&lock);
		if (got != i)
			bug("item %d came instead of %d", got, i);
	}
	return NULL;
}

static void *background(void *arg UNUSED)
{
	while (!stop)
		work(1000);
	return NULL;
}

static void put(int item)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		if (count <= PLACES) /* should be < */
			break;
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	ring[in] = item;
	in = (in + 1) % PLACES;
	count++;
	pthread_mutex_unlock(&lock);
	CHECK(sem_post(&available) == 0);
}

int main(void)
{
	pthread_t t, b;

	CHECK(sem_init(&available, 0, 0) == 0);
	CHECK(pthread_create(&t, NULL, consumer, NULL) == 0);
	CHECK(pthread_create(&b, NULL, background, NULL) == 0);
	for (int i = 1; i <= ITEMS; i++) {
		put(i);
		usleep(300);
	}
	CHECK(pthread_join(t, NULL) == 0);
	stop = 1;
	CHECK(pthread_join(b, NULL) == 0);
	return 0;
}
