/* Threads that are born, work on common memory under a lock, wait for each other and die. For tests/debug: argument: how many. */
#include <pthread.h>
#include "guest.h"

enum { MOST = 64, ROUNDS = 40 };

volatile unsigned long shared;
static volatile unsigned long born, dead;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_here;
static __thread unsigned long mine;

__attribute__((noinline)) void work(unsigned long n)
{
	for (unsigned long i = 0; i < 50 + n; i++)
		mine = mine * 6364136223846793005u + i;
}

void *worker(void *arg)
{
	char name[16];
	unsigned long n = (unsigned long)arg;

	snprintf(name, sizeof(name), "worker-%lu", n);
	pthread_setname_np(pthread_self(), name);
	__atomic_add_fetch(&born, 1, __ATOMIC_SEQ_CST);
	pthread_barrier_wait(&all_here);
	for (unsigned i = 0; i < ROUNDS; i++) {
		work(n);
		pthread_mutex_lock(&lock);
		shared += 1 + mine % 3; /* under the lock */
		pthread_mutex_unlock(&lock);
	}
	__atomic_add_fetch(&dead, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 4;
	pthread_t threads[MOST];
	pthread_attr_t attr;

	if (n > MOST)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10); /* states of them are compared */
	pthread_barrier_init(&all_here, NULL, (unsigned)n + 1);
	for (unsigned long i = 0; i < n; i++)
		pthread_create(&threads[i], &attr, worker, (void *)i); /* births */
	pthread_barrier_wait(&all_here); /* all born */
	for (unsigned long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	say("shared %s, dead %lu\n", shared ? "counted" : "zero", dead); /* all dead */
	return 0;
}
