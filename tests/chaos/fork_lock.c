/* A thread holds a lock now and then; a child forked at such a moment has it locked for ever and waits for it. */
#include "chaos.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long log_lines;

static void log_line(void)
{
	pthread_mutex_lock(&lock);
	log_lines++;
	work(50);
	pthread_mutex_unlock(&lock);
}

static void *logger(void *arg UNUSED)
{
	for (int i = 0; i < 30; i++) {
		log_line();
		work(10000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	pid_t p;
	int st;

	CHECK(pthread_create(&t, NULL, logger, NULL) == 0);
	work(150000);
	p = xfork();
	if (p == 0) {
		watch_for_standstill("the child waits for a lock that nobody holds");
		log_line();
		_exit(0);
	}
	st = reap(p);
	CHECK(pthread_join(t, NULL) == 0);
	return st != 0;
}
