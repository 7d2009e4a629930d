/*
 * A bounded queue of many producers and consumers (a ring of cells with sequence numbers) without locks; they spin
 * when it is full or empty. Each value must arrive once. Output: who got what, which differs.
 */
#include "async.h"

enum { PRODUCERS = 3, CONSUMERS = 3, CELLS = 1024, EACH = 5000, TOTAL = PRODUCERS * EACH };

static struct {
	atomic_ulong seq;
	unsigned long value;
} cell[CELLS];

static _Alignas(64) atomic_ulong tail;
static _Alignas(64) atomic_ulong head;
static unsigned char arrived[TOTAL];
static uint64_t order[CONSUMERS];
static atomic_ulong taken;

static void put(unsigned long v)
{
	unsigned long at = atomic_load_explicit(&tail, memory_order_relaxed);

	for (;;) {
		long d = (long)(atomic_load_explicit(&cell[at % CELLS].seq, memory_order_acquire) - at);

		if (d == 0 && atomic_compare_exchange_weak(&tail, &at, at + 1))
			break;
		if (d < 0)
			CPU_PAUSE();
		if (d != 0)
			at = atomic_load_explicit(&tail, memory_order_relaxed);
	}
	cell[at % CELLS].value = v;
	atomic_store_explicit(&cell[at % CELLS].seq, at + 1, memory_order_release);
}

/* False when nothing is there. */
static bool get(unsigned long *v)
{
	unsigned long at = atomic_load_explicit(&head, memory_order_relaxed);

	for (;;) {
		long d = (long)(atomic_load_explicit(&cell[at % CELLS].seq, memory_order_acquire) - (at + 1));

		if (d == 0 && atomic_compare_exchange_weak(&head, &at, at + 1))
			break;
		if (d < 0)
			return false;
		if (d != 0)
			at = atomic_load_explicit(&head, memory_order_relaxed);
	}
	*v = cell[at % CELLS].value;
	atomic_store_explicit(&cell[at % CELLS].seq, at + CELLS, memory_order_release);
	return true;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	unsigned long v;

	if (me < PRODUCERS) {
		for (unsigned long i = 0; i < EACH; i++)
			put((unsigned long)me * EACH + i);
		return NULL;
	}
	while (atomic_load(&taken) < TOTAL) {
		if (!get(&v)) {
			CPU_PAUSE();
			continue;
		}
		arrived[v]++;
		order[me - PRODUCERS] = mix(order[me - PRODUCERS], v);
		atomic_fetch_add(&taken, 1);
	}
	return NULL;
}

int main(void)
{
	for (unsigned long i = 0; i < CELLS; i++)
		cell[i].seq = i;
	in_threads(PRODUCERS + CONSUMERS, body);
	for (int i = 0; i < TOTAL; i++)
		CHECK(arrived[i] == 1);
	for (int i = 0; i < CONSUMERS; i++)
		say("consumer %d: order %lx\n", i, (unsigned long)order[i]);
	done();
	return 0;
}
