/*
 * The table is given up when the workers were joined; the housekeeper, which nobody waits for, has looked at it long
 * before then, usually.
 */
#include "chaos.h"

enum { WORKERS = 2 };

static volatile int *table;
static atomic_int kept;

static void *worker(void *arg UNUSED)
{
	work(500000);
	return NULL;
}

static void *housekeeper(void *arg UNUSED)
{
	work(3000);
	if (*table != 42)
		bug("the housekeeper uses the table after it was given up");
	kept = 1;
	return NULL;
}

int main(void)
{
	pthread_t t[WORKERS], h;
	int memory = 42;

	table = &memory;
	CHECK(pthread_create(&h, NULL, housekeeper, NULL) == 0);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&t[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	memory = -1;
	CHECK(pthread_join(h, NULL) == 0);
	CHECK(kept);
	return 0;
}
