/*
 * Signals to threads that end: each of many short-lived threads computes and ends while others send it signals, up
 * to and after its last instruction; then processes likewise. Output: how many came, which differs.
 */
#include "async.h"

enum { THREADS = 60, PROCESSES = 20 };

static atomic_int came, missed, stop;
static atomic_int tid;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	came++;
}

static void *short_lived(void *arg)
{
	atomic_store(&tid, (int)gettid());
	burn(1, 100000 + 10000 * (unsigned long)(intptr_t)arg % 300000);
	return NULL;
}

static void *sender(void *arg UNUSED)
{
	pid_t self = getpid();

	while (!stop) {
		int t = atomic_load(&tid);

		if (t && syscall(SYS_tgkill, self, t, SIGUSR1) < 0) {
			CHECK(errno == ESRCH);
			missed++;
			atomic_compare_exchange_strong(&tid, &t, 0);
		}
		burn(1, 30000);
	}
	return NULL;
}

static void processes(void)
{
	int ends[2] = { 0, 0 };

	for (int i = 0; i < PROCESSES; i++) {
		pid_t p = xfork();
		int st;

		if (p == 0) {
			burn(1, (unsigned long)i * 60000);
			_exit(0);
		}
		burn(1, 600000);
		CK(kill(p, i % 2 ? SIGTERM : SIGUSR1));
		st = reap(p);
		CHECK(st == 0 || (WIFSIGNALED(st) && WTERMSIG(st) == SIGTERM && i % 2));
		ends[st != 0]++;
	}
	say("processes: %d ended, %d were killed\n", ends[0], ends[1]);
}

int main(void)
{
	pthread_t s, t;

	on_signal(SIGUSR1, handler, 0);
	CHECK(pthread_create(&s, NULL, sender, NULL) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&t, NULL, short_lived, (void *)(intptr_t)i) == 0);
		CHECK(pthread_join(t, NULL) == 0);
	}
	stop = 1;
	CHECK(pthread_join(s, NULL) == 0);
	say("threads: %d signals came, %d too late\n", (int)came, (int)missed);
	processes();
	done();
	return 0;
}
