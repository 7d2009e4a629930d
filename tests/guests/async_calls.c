/*
 * A fast timer and other threads meet threads that mostly call the kernel, so that signals and slices end around the
 * entry and exit of calls, in the vdso and in pieces of computation of a few instructions. Output: what they saw,
 * which differs.
 */
#include "async.h"

enum { N = 3, ROUNDS = 15000 };

static volatile unsigned long shared, signals;
static uint64_t seen[N];
static int fds[2];

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	signals = signals + 1;
	shared = shared + 1000;
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct timespec ts;
	char buf[64] = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		shared = shared + 1;
		seen[me] = mix(seen[me], shared);
		switch ((i + me) % 5) {
		case 0:
			CK(syscall(SYS_getppid));
			break;
		case 1:
			CK(clock_gettime(CLOCK_MONOTONIC, &ts));
			seen[me] = mix(seen[me], (uint64_t)ts.tv_nsec);
			break;
		case 2:
			CHECK(write(fds[1], buf, sizeof(buf)) == sizeof(buf));
			for (ssize_t n = 0; n < (ssize_t)sizeof(buf);)
				n += CK(read(fds[0], buf, sizeof(buf) - (size_t)n));
			break;
		case 3:
			seen[me] = mix(seen[me], burn(shared, (unsigned long)i % 200));
			break;
		default:
			sched_yield();
		}
	}
	return NULL;
}

int main(void)
{
	CK(pipe(fds));
	on_signal(SIGALRM, handler, SA_RESTART);
	set_timer(ITIMER_REAL, 2000); /* at 700 us a slow machine does nothing but deliver signals under --chaos */
	in_threads(N, body);
	set_timer(ITIMER_REAL, 0);
	say("shared %lu, %lu signals\n", shared, signals);
	for (int i = 0; i < N; i++)
		say("%d saw %lx\n", i, (unsigned long)seen[i]);
	done();
	return 0;
}
