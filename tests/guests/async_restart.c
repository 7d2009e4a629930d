/*
 * A 2 ms timer interrupts reads that computation goes before, with SA_RESTART and without, and poll, which never
 * restarts. What is read must be complete. Output: how many calls were interrupted, which differs.
 */
#include "async.h"
#include <poll.h>

enum { MESSAGES = 40, SIZE = 512 };

static volatile int signals;
static int fds[2];

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	signals = signals + 1;
}

static void *writer(void *arg UNUSED)
{
	char msg[SIZE];
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
	for (int i = 0; i < MESSAGES; i++) {
		memset(msg, i + 1, sizeof(msg));
		burn(1, 300000);
		msleep(i % 4);
		CHECK(write(fds[1], msg, sizeof(msg)) == sizeof(msg));
	}
	return NULL;
}

static void round_of(const char *name, int flags, bool with_poll)
{
	int interrupted = 0, got = 0;
	uint64_t sum = 0;
	size_t have = 0;
	char msg[SIZE];
	pthread_t t;

	on_signal(SIGALRM, handler, flags);
	signals = 0;
	set_timer(ITIMER_REAL, 2000);
	CHECK(pthread_create(&t, NULL, writer, NULL) == 0);
	while (got < MESSAGES) {
		struct pollfd p = { .fd = fds[0], .events = POLLIN };
		ssize_t n;

		if (with_poll && poll(&p, 1, -1) < 0) {
			CHECK(errno == EINTR);
			interrupted++;
			continue;
		}
		n = read(fds[0], msg + have, sizeof(msg) - have);
		if (n < 0) {
			CHECK(errno == EINTR && !(flags & SA_RESTART));
			interrupted++;
			continue;
		}
		have += (size_t)n;
		if (have < SIZE) /* the kernel may give less */
			continue;
		have = 0;
		CHECK(msg[0] == got + 1 && msg[SIZE - 1] == got + 1);
		sum = mix(sum, burn((uint64_t)got, 200000) + (uint64_t)signals);
		got++;
	}
	CHECK(pthread_join(t, NULL) == 0);
	set_timer(ITIMER_REAL, 0);
	say("%s: %d signals, %d interrupted, %lx\n", name, signals, interrupted, (unsigned long)sum);
}

int main(void)
{
	CK(pipe(fds));
	round_of("restarted", SA_RESTART, false);
	round_of("not restarted", 0, false);
	round_of("poll", SA_RESTART, true);
	done();
	return 0;
}
