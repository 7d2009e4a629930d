/*
 * A read that waits for a child's answer takes EINTR for a failure; the signal of a timer, whose handler does not
 * restart calls, almost always comes while the program computes.
 */
#include "chaos.h"

enum { ROUNDS = 10 };

static volatile int ticks;

static void tick(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	ticks = ticks + 1;
}

static void echo(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1)
		write_all(out, &c, 1);
	_exit(0);
}

int main(void)
{
	struct itimerval once = { { 0, 0 }, { 0, 2300 } };
	int ask[2], answer[2];
	pid_t p;

	CK(pipe(ask));
	CK(pipe(answer));
	p = xfork();
	if (p == 0) {
		close(ask[1]);
		echo(ask[0], answer[1]);
	}
	on_signal(SIGALRM, tick, 0);
	CK(setitimer(ITIMER_REAL, &once, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		char c = (char)('a' + i), got = 0;

		work(600000);
		write_all(ask[1], &c, 1);
		if (read(answer[0], &got, 1) != 1)
			bug("no answer: %s", err_name(errno));
		CHECK(got == c);
	}
	close(ask[1]);
	CHECK(reap(p) == 0);
	return 0;
}
