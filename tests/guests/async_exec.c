/*
 * Signals to programs that are about to exec: a child with threads that compute execs itself while its parent sends
 * blocked and ignored signals; what is pending goes along. Output: how many came, which differs.
 */
#include "async.h"

enum { GENERATIONS = 8 };

static volatile int came;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	came = came + 1;
}

static void *spin(void *arg UNUSED)
{
	for (;;)
		burn(1, 1000);
	return NULL;
}

static void generation(char *self, int n, int total)
{
	char number[16], sum[16];
	char *argv[] = { self, number, sum, NULL };
	sigset_t usr1;
	pthread_t t;

	/* SIGUSR1 is blocked when we start; it comes now if it is pending. */
	on_signal(SIGUSR1, handler, 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CK(sigprocmask(SIG_UNBLOCK, &usr1, NULL));
	burn(1, 2000000);
	CK(sigprocmask(SIG_BLOCK, &usr1, NULL));
	total += came;
	if (n == GENERATIONS) {
		say("%d signals in %d generations\n", total, n);
		_exit(total == 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t, NULL, spin, NULL) == 0);
	burn(1, 2000000);
	snprintf(number, sizeof(number), "%d", n + 1);
	snprintf(sum, sizeof(sum), "%d", total);
	execv(self, argv);
	die(__FILE__, __LINE__, "execv");
}

int main(int argc, char **argv)
{
	char *first[] = { (char *)"/proc/self/exe", (char *)"1", (char *)"0", NULL };
	sigset_t usr1;
	pid_t p;
	int st = 0;

	if (argc == 3)
		generation(argv[0], atoi(argv[1]), atoi(argv[2]));
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CK(sigprocmask(SIG_BLOCK, &usr1, NULL));
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	p = xfork();
	if (p == 0) {
		execv(first[0], first);
		_exit(2);
	}
	while (waitpid(p, &st, WNOHANG) == 0) {
		CK(kill(p, SIGUSR1));
		CK(kill(p, SIGUSR2));
		msleep(1);
	}
	say("%s\n", wait_str(st));
	CHECK(st == 0);
	done();
	return 0;
}
