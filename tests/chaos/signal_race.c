/*
 * A list is changed without blocking the signal whose handler walks it: in between its length and its end disagree.
 * Another thread asks for the walk when a round starts; natively the signal is there before the list is touched.
 */
#include "chaos.h"

enum { ROUNDS = 8 };

static struct node {
	struct node *next;
} node[ROUNDS];

static struct node *volatile first;
static volatile int length;
static volatile int round_number;
static pthread_t main_thread;

static void walk(int sig UNUSED)
{
	int n = 0;

	for (struct node *p = first; p; p = p->next)
		n++;
	if (n != length)
		bug("the list has %d nodes and says %d", n, length);
}

static void *asker(void *arg UNUSED)
{
	for (int seen = 0; seen < ROUNDS; seen = round_number) {
		while (round_number == seen)
			sched_yield();
		CHECK(pthread_kill(main_thread, SIGUSR1) == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	main_thread = pthread_self();
	CHECK(signal(SIGUSR1, walk) != SIG_ERR);
	CHECK(pthread_create(&t, NULL, asker, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		round_number = i + 1;
		work(200000);
		node[i].next = first;
		first = &node[i];
		work(200);
		length = length + 1;
		work(100000);
	}
	CHECK(pthread_join(t, NULL) == 0);
	return 0;
}
