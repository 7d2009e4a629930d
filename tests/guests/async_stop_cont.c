/*
 * A parent stops and continues children that compute: by SIGSTOP, and by SIGTSTP that the child handles first; while
 * one is stopped its position must not change. Output: positions at the stops, which differ.
 */
#include "async.h"

enum { ROUNDS = 8 };

static struct {
	volatile unsigned long position;
	volatile int handled, stop;
} *state;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	state->handled = state->handled + 1;
	CK(raise(SIGSTOP));
}

static void *second(void *arg UNUSED)
{
	uint64_t x = 1;

	while (!state->stop)
		x = burn(x, 1000);
	return NULL;
}

static void child(void)
{
	pthread_t t;
	uint64_t x = 1;

	on_signal(SIGTSTP, handler, 0);
	CHECK(pthread_create(&t, NULL, second, NULL) == 0);
	state->position = 1;
	while (!state->stop) {
		x = burn(x, 2);
		state->position = state->position + 1;
	}
	CHECK(pthread_join(t, NULL) == 0);
	_exit(7);
}

int main(void)
{
	siginfo_t si;
	pid_t p;

	state = shared_memory(sizeof(*state));
	p = xfork();
	if (p == 0)
		child();
	while (!state->position)
		sched_yield();
	for (int i = 0; i < ROUNDS; i++) {
		unsigned long at;

		msleep(3);
		CK(kill(p, i % 2 ? SIGTSTP : SIGSTOP));
		CK(waitid(P_PID, (id_t)p, &si, WSTOPPED));
		CHECK(si.si_code == CLD_STOPPED && si.si_status == SIGSTOP);
		at = state->position;
		burn(1, 3000000);
		CHECK(state->position == at);
		say("stopped at %lu\n", at);
		CK(kill(p, SIGCONT));
		CK(waitid(P_PID, (id_t)p, &si, WCONTINUED));
		CHECK(si.si_code == CLD_CONTINUED);
		while (state->position == at)
			sched_yield();
	}
	state->stop = 1;
	say("%s, handled %d\n", wait_str(reap(p)), state->handled);
	CHECK(state->handled == ROUNDS / 2);
	done();
	return 0;
}
