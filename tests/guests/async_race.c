/*
 * Threads (or processes, with "shared") add to one counter without a lock, which loses some. Output: the wrong sum
 * and what each one saw, which differ.
 */
#include "async.h"

enum { N = 4, ROUNDS = 40000000 };

struct state {
	volatile unsigned long counter;
	unsigned long seen[N];
};

static struct state *state;

static void *body(void *arg)
{
	unsigned long h = 0;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long v = state->counter;

		h = h * 31 + v;
		state->counter = v + 1;
	}
	state->seen[(intptr_t)arg] = h;
	return NULL;
}

int main(int argc, char **argv)
{
	state = shared_memory(sizeof(*state));
	(argc > 1 && !strcmp(argv[1], "shared") ? in_processes : in_threads)(N, body);
	CHECK(state->counter > 1 && state->counter <= (unsigned long)N * ROUNDS);
	say("counter %lu of %lu\n", state->counter, (unsigned long)N * ROUNDS);
	for (int i = 0; i < N; i++)
		say("%d saw %lx\n", i, state->seen[i]);
	done();
	return 0;
}
