/*
 * Two threads, or processes that share memory ("shared"), hand a flag back and forth and wait for it with PAUSE,
 * sched_yield or nothing ("pause", "yield", "poll"): nobody may stall. Output: how often each looked, which differs.
 */
#include "async.h"

enum { ROUNDS = 12 };

static struct {
	atomic_int turn;
	unsigned long looks[2];
} *state;

static enum { PAUSE, YIELD, POLL } how;

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	unsigned long looks = 0;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load_explicit(&state->turn, memory_order_acquire) != me) {
			looks++;
			if (how == PAUSE)
				CPU_PAUSE();
			else if (how == YIELD)
				sched_yield();
		}
		atomic_store_explicit(&state->turn, !me, memory_order_release);
	}
	state->looks[me] = looks;
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	how = !strcmp(argv[1], "pause") ? PAUSE : !strcmp(argv[1], "yield") ? YIELD : POLL;
	state = shared_memory(sizeof(*state));
	(argc > 2 ? in_processes : in_threads)(2, body);
	say("looked %lu and %lu times\n", state->looks[0], state->looks[1]);
	done();
	return 0;
}
