/*
 * Endless loops of one instruction end by signals: from a parent (SIGKILL, SIGTERM), an alarm's default action, a
 * thread's exit_group, an exec by another thread, a CPU time limit. Output: deterministic.
 */
#include "async.h"
#include <sys/resource.h>

__attribute__((noreturn)) static void spin(void)
{
	for (;;)
		__asm__ volatile("");
}

static void *spinner(void *arg UNUSED)
{
	spin();
}

static void start_spinners(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++)
		CHECK(pthread_create(&t, NULL, spinner, NULL) == 0);
}

static void by_parent_kill(void)
{
	spin();
}

static void by_alarm(void)
{
	set_timer(ITIMER_REAL, 20000);
	spin();
}

static void *exiter(void *arg UNUSED)
{
	burn(1, 1000000);
	_exit(5);
}

static void by_exit_group(void)
{
	pthread_t t;

	start_spinners(2);
	CHECK(pthread_create(&t, NULL, exiter, NULL) == 0);
	spin();
}

static void by_exec(void)
{
	start_spinners(2);
	burn(1, 1000000);
	execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
	_exit(1);
}

static void by_limit(void)
{
	struct rlimit r = { 1, 2 };

	CK(setrlimit(RLIMIT_CPU, &r));
	spin();
}

static void by_timer_kill(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec its = { { 0, 0 }, { 0, 20000000 } };
	timer_t t;

	CK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CK(timer_settime(t, 0, &its, NULL));
	spin();
}

int main(int argc, char **argv UNUSED)
{
	static const struct {
		const char *name;
		void (*child)(void);
		int sig;
	} way[] = {
		{ "SIGKILL", by_parent_kill, SIGKILL },
		{ "SIGTERM", by_parent_kill, SIGTERM },
		{ "alarm", by_alarm, 0 },
		{ "exit_group", by_exit_group, 0 },
		{ "exec", by_exec, 0 },
		{ "timer", by_timer_kill, 0 },
		{ "limit", by_limit, 0 },
	};

	/* the limit takes a second */
	for (unsigned i = 0; i < N_ELEMENTS(way) - (argc == 1); i++) {
		pid_t p = xfork();

		if (p == 0) {
			way[i].child();
			_exit(0);
		}
		if (way[i].sig) {
			msleep(5);
			CK(kill(p, way[i].sig));
		}
		say("%s: %s\n", way[i].name, wait_str(reap(p)));
	}
	done();
	return 0;
}
