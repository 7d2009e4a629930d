/*
 * Two transfers in opposite directions lock the two accounts in opposite order: they may wait for each other for
 * ever.
 */
#include "chaos.h"

static struct account {
	pthread_mutex_t lock;
	long balance;
} account[2] = { { PTHREAD_MUTEX_INITIALIZER, 1000 }, { PTHREAD_MUTEX_INITIALIZER, 1000 } };

static void transfer(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	work(200);
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *clerk(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 6; i++) {
		work(2000 + 1000 * (unsigned long)me);
		transfer(&account[me], &account[!me], 10);
	}
	return NULL;
}

int main(void)
{
	watch_for_standstill("deadlock of two transfers");
	in_threads(2, clerk);
	CHECK(account[0].balance + account[1].balance == 2000);
	return 0;
}
