/*
 * setitimer at 1 kHz for as many ms as said, with threads that compute or call; each thread notes how far it was
 * when the signal came to it. Output: that, which differs. usage: async_khz MS
 */
#include "async.h"

enum { N = 2 };

static volatile int stop;
static _Thread_local volatile unsigned long position;
static _Thread_local volatile uint64_t where;
static atomic_ulong signals, differently[N];

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	where = mix(where, position);
	signals++;
}

static double now(void)
{
	struct timespec ts;

	CK(clock_gettime(CLOCK_MONOTONIC, &ts));
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	uint64_t x = 1;

	while (!stop) {
		x = burn(x, me == 0 ? 1000 : 100000);
		position = position + 1;
		if (me == 0 && position % 64 == 0)
			CK(getppid());
	}
	differently[me] = where;
	return NULL;
}

int main(int argc, char **argv)
{
	double end;
	pthread_t t[N];
	int ms = argc > 1 ? atoi(argv[1]) : 1000;

	on_signal(SIGALRM, handler, SA_RESTART);
	set_timer(ITIMER_REAL, 1000);
	end = now() + ms;
	for (int i = 0; i < N; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	while (now() < end)
		burn(1, 20000);
	stop = 1;
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	set_timer(ITIMER_REAL, 0);
	/* they may merge when the machine is busy, but they must come */
	CHECK(signals >= (unsigned long)ms / 50);
	say("%lu signals, main %lx\n", signals, (unsigned long)where);
	say("threads %lx %lx\n", differently[0], differently[1]);
	done();
	return 0;
}
