/* A child sends 500 signals of three kinds while the parent works with calls: how they interleave. Output: order differs. */
#include "guest.h"

static volatile sig_atomic_t count[3];
static unsigned long mix;

static void handler(int sig)
{
	int i = sig == SIGUSR1 ? 0 : sig == SIGUSR2 ? 1 : 2;

	count[i]++;
	mix = mix * 131 + (unsigned long)i;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned long rounds = 0;
	union sigval v = { 0 };
	pid_t p;
	int st;

	CK(sigaction(SIGUSR1, &sa, NULL));
	CK(sigaction(SIGUSR2, &sa, NULL));
	CK(sigaction(SIGRTMIN + 3, &sa, NULL));
	p = xfork();
	if (p == 0) {
		for (int i = 0; i < 500; i++) {
			CK(kill(getppid(), i % 2 ? SIGUSR1 : SIGUSR2));
			if (i % 4 == 0)
				sched_yield();
			if (i % 10 == 0)
				while (sigqueue(getppid(), SIGRTMIN + 3, v) < 0 && errno == EAGAIN)
					sched_yield();
		}
		_exit(0);
	}
	while (waitpid(p, &st, WNOHANG) == 0) {
		rounds++;
		mix ^= rounds;
	}
	say("rounds %lu, signals %d %d %d, mix %lx\n", rounds, (int)count[0], (int)count[1], (int)count[2], mix);
	CHECK(count[2] == 50);
	done();
	return 0;
}
