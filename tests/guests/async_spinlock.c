/*
 * A spin lock that is held for some time: threads, or processes that share memory ("shared"), wait for it with
 * PAUSE, sched_yield or nothing ("pause", "yield", "poll"). Output: the order in which they got it, which differs.
 */
#include "async.h"

enum { N = 4, ROUNDS = 3000 };

static struct {
	atomic_int lock;
	unsigned long counter, check;
	uint64_t order;
} *state;

static enum { PAUSE, YIELD, POLL } how;

static void wait_a_bit(void)
{
	if (how == PAUSE)
		CPU_PAUSE();
	else if (how == YIELD)
		sched_yield();
}

static void *body(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_exchange_explicit(&state->lock, 1, memory_order_acquire))
			while (atomic_load_explicit(&state->lock, memory_order_relaxed))
				wait_a_bit();
		state->counter++;
		state->order = mix(state->order, (uint64_t)(intptr_t)arg);
		burn(1, 3000);
		state->check++;
		CHECK(state->check == state->counter);
		atomic_store_explicit(&state->lock, 0, memory_order_release);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	how = !strcmp(argv[1], "pause") ? PAUSE : !strcmp(argv[1], "yield") ? YIELD : POLL;
	state = shared_memory(sizeof(*state));
	(argc > 2 ? in_processes : in_threads)(N, body);
	CHECK(state->counter == N * ROUNDS);
	say("order %lx\n", (unsigned long)state->order);
	done();
	return 0;
}
