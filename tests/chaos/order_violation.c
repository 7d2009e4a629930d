/*
 * The creator of a thread stores the thread's handle only after pthread_create, while the thread uses it: it is
 * assumed that a new thread takes longer to get going.
 */
#include "chaos.h"

static struct connection {
	pthread_t thread;
	volatile int state;
} *volatile registered;

static void *serve(void *arg UNUSED)
{
	work(400000); /* sets itself up */
	if (!registered)
		bug("the thread runs before it is registered");
	registered->state = 1;
	return NULL;
}

int main(void)
{
	static struct connection c;

	CHECK(pthread_create(&c.thread, NULL, serve, NULL) == 0);
	work(50);
	registered = &c;
	CHECK(pthread_join(c.thread, NULL) == 0);
	return 0;
}
