/*
 * An account is checked under its lock and changed under its lock, but not both at once: several payments may
 * exceed it.
 */
#include "chaos.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance = 350;

static long get_balance(void)
{
	long b;

	pthread_mutex_lock(&lock);
	b = balance;
	pthread_mutex_unlock(&lock);
	return b;
}

static void *pay(void *arg)
{
	work(2000 + 1000 * (unsigned long)(intptr_t)arg);
	if (get_balance() >= 100) {
		work(200);
		pthread_mutex_lock(&lock);
		balance -= 100;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	in_threads(4, pay);
	if (balance < 0)
		bug("the account is overdrawn: %ld", balance);
	return 0;
}
