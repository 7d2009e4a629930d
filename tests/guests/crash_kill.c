/* Kills itself with SIGKILL while another thread blocks. Deterministic. */
#include "guest.h"
#include <pthread.h>

static void *body(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, body, NULL) == 0);
	say("before the kill\n");
	kill(getpid(), SIGKILL);
	say("not reached\n");
	return 0;
}
