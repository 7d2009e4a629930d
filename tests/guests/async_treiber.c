/*
 * A Treiber stack (index and version in one 64-bit word) on which threads push and pop; nothing may be lost or
 * doubled. Output: the order of pops, which differs.
 */
#include "async.h"

enum { N = 4, NODES = 64, ROUNDS = 300000 };

static struct {
	atomic_uint next;
	unsigned long value;
	atomic_int owner;
} node[NODES + 1]; /* 0 is none */

static _Atomic uint64_t head; /* version << 32 | index */
static atomic_ulong retries;

static void push(unsigned i)
{
	uint64_t old = atomic_load(&head), new;

	do {
		atomic_store_explicit(&node[i].next, (unsigned)old, memory_order_relaxed);
		new = ((old >> 32) + 1) << 32 | i;
	} while (!atomic_compare_exchange_weak(&head, &old, new));
}

static unsigned pop(void)
{
	uint64_t old = atomic_load(&head), new;
	unsigned long tries = 0;

	do {
		if ((unsigned)old == 0)
			return 0;
		tries++;
		new = ((old >> 32) + 1) << 32 | atomic_load_explicit(&node[(unsigned)old].next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&head, &old, new));
	if (tries > 1)
		atomic_fetch_add(&retries, tries - 1);
	return (unsigned)old;
}

static uint64_t order[N];

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned a = pop(), b = pop();

		order[me] = mix(order[me], a * 100 + b);
		if (a) {
			CHECK(atomic_fetch_add(&node[a].owner, 1) == 0);
			node[a].value++;
			atomic_fetch_sub(&node[a].owner, 1);
			push(a);
		}
		if (b)
			push(b);
	}
	return NULL;
}

int main(void)
{
	unsigned n = 0;

	for (unsigned i = 1; i <= NODES; i++)
		push(i);
	in_threads(N, body);
	while (pop())
		n++;
	CHECK(n == NODES);
	for (int i = 0; i < N; i++)
		say("%d: order %lx\n", i, (unsigned long)order[i]);
	say("%lu retries\n", (unsigned long)retries);
	done();
	return 0;
}
