/* 400 short-lived threads, joined and detached, stacks reused by the library. Output: addresses and tids differ. */
#include "guest.h"
#include <pthread.h>

static int local_sum;
static struct gate gone;

static void *joined(void *arg)
{
	volatile char page[5000];

	page[100] = (char)(intptr_t)arg;
	return (void *)(intptr_t)(page[100] + gettid() * 0L);
}

static void *detached(void *arg)
{
	(void)arg;
	gate_open(&gone);
	return NULL;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t t[4];
	void *r;

	gate_init(&gone);
	for (int round = 0; round < 75; round++) {
		for (long i = 0; i < 4; i++)
			CHECK(pthread_create(&t[i], NULL, joined, (void *)i) == 0);
		for (int i = 0; i < 4; i++) {
			CHECK(pthread_join(t[i], &r) == 0);
			local_sum += (int)(intptr_t)r;
		}
	}
	say("sum %d, last thread %lx\n", local_sum, (unsigned long)t[3]);
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 64 * 1024);
	for (int i = 0; i < 100; i++) {
		CHECK(pthread_create(&t[0], &a, detached, NULL) == 0);
		if (i % 10 == 9)
			for (int k = 0; k < 10; k++)
				gate_wait(&gone);
	}
	done();
	return 0;
}
