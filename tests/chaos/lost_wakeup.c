/* The condition is looked at without the lock before waiting for it: the wake-up may come in between and is lost. */
#include "chaos.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int ready;

static void *producer(void *arg UNUSED)
{
	work(100000);
	ready = 1;
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t t;

	watch_for_standstill("the wake-up was lost");
	CHECK(pthread_create(&t, NULL, producer, NULL) == 0);
	work(2000);
	if (!ready) {
		work(200);
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	CHECK(pthread_join(t, NULL) == 0);
	return 0;
}
