/*
 * Locks made of plain loads and stores: Peterson's for two threads, a ticket lock, a sequence lock with readers that
 * retry. Output: how often they waited or retried, which differs.
 */
#include "async.h"

enum { ROUNDS = 60000, PETERSON = 20 };

static atomic_int want[2], victim;
static unsigned long counter, waits[2];

static void *peterson(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < PETERSON; i++) {
		atomic_store(&want[me], 1);
		atomic_store(&victim, me);
		while (atomic_load(&want[!me]) && atomic_load(&victim) == me)
			waits[me]++;
		counter++;
		burn(1, 100000);
		atomic_store(&want[me], 0);
	}
	return NULL;
}

static atomic_uint next_ticket, now_serving;
static unsigned long tickets, turns;
static uint64_t order;

static void *ticket(void *arg)
{
	for (int i = 0; i < ROUNDS / 100; i++) {
		unsigned mine = atomic_fetch_add(&next_ticket, 1);

		while (atomic_load(&now_serving) != mine)
			sched_yield();
		tickets++;
		turns += mine;
		order = mix(order, (uint64_t)(intptr_t)arg);
		atomic_store(&now_serving, mine + 1);
	}
	return NULL;
}

static atomic_uint seq;
static _Atomic unsigned long pair[2];
static atomic_int writing = 1;
static unsigned long retries[3];

static void *seqlock(void *arg)
{
	int me = (int)(intptr_t)arg;
	unsigned long a, b;
	unsigned s;

	if (me == 3) {
		for (unsigned long i = 1; i <= ROUNDS * 5; i++) {
			atomic_fetch_add(&seq, 1);
			atomic_store(&pair[0], i);
			atomic_store(&pair[1], 3 * i);
			atomic_fetch_add(&seq, 1);
		}
		writing = 0;
		return NULL;
	}
	while (writing) {
		s = atomic_load(&seq);
		a = atomic_load(&pair[0]);
		b = atomic_load(&pair[1]);
		if ((s & 1) || atomic_load(&seq) != s)
			retries[me]++;
		else
			CHECK(b == 3 * a);
	}
	return NULL;
}

int main(void)
{
	in_threads(2, peterson);
	CHECK(counter == 2 * PETERSON);
	say("peterson: waited %lu and %lu times\n", waits[0], waits[1]);
	in_threads(3, ticket);
	CHECK(tickets == 3 * (ROUNDS / 100) && turns == tickets * (tickets - 1) / 2);
	say("tickets: order %lx\n", (unsigned long)order);
	in_threads(4, seqlock);
	say("sequence lock: %lu %lu %lu retries\n", retries[0], retries[1], retries[2]);
	done();
	return 0;
}
