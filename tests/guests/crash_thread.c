/* Another thread than the first crashes: the whole process ends by that signal. Deterministic. */
#include "guest.h"
#include <pthread.h>
#include <sys/resource.h>

static void *body(void *arg)
{
	say("thread crashes\n");
	*(volatile int *)arg = 1;
	return arg;
}

int main(void)
{
	struct rlimit no_core = { 0, 0 };
	pthread_t t;

	CK(setrlimit(RLIMIT_CORE, &no_core));
	CHECK(pthread_create(&t, NULL, body, (void *)16) == 0);
	pthread_join(t, NULL);
	say("not reached\n");
	return 0;
}
