/* Three threads that wait for one; then a crash of one of them. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static __attribute__((noinline)) void take(long n)
{
	pthread_mutex_lock(&lock);
	printf("thread %ld\n", n);
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	long n = (long)arg;

	prctl(PR_SET_NAME, n == 2 ? "second" : "other");
	pthread_barrier_wait(&all);
	take(n);
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	pthread_barrier_init(&all, NULL, 4);
	pthread_mutex_lock(&lock);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, (void *)(i + 1));
	pthread_barrier_wait(&all);
	usleep(20000);
	write(1, "now\n", 4);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
