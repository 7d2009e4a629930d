/*
 * A program whose threads compute forks again and again; each child goes on with a copy of the numbers as they are
 * at that moment, computes in threads of its own and tells. Output: what they saw, which differs.
 */
#include "async.h"

enum { N = 2, CHILDREN = 6 };

static volatile unsigned long position[N];
static volatile int stop;

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;

	while (!stop) {
		burn(1, 3);
		position[me] = position[me] + 1;
	}
	return NULL;
}

static void child(int i)
{
	unsigned long a = position[0], b = position[1];
	pthread_t t;

	/* the other threads are not here */
	burn(1, 1000000);
	CHECK(position[0] == a && position[1] == b);
	CHECK(pthread_create(&t, NULL, body, (void *)1) == 0);
	while (position[1] < b + 100000)
		burn(1, 10);
	stop = 1;
	CHECK(pthread_join(t, NULL) == 0);
	say("child %d: %lu %lu, then %lu\n", i, a, b, position[1]);
	_exit(i);
}

int main(void)
{
	pthread_t t[N];

	for (int i = 0; i < N; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t p;

		burn(1, 3000000);
		p = xfork();
		if (p == 0)
			child(i);
		CHECK(WEXITSTATUS(reap(p)) == i);
	}
	stop = 1;
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("at the end %lu %lu\n", position[0], position[1]);
	done();
	return 0;
}
