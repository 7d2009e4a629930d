/* fork from a process with threads: only the caller is in the child; pthread_atfork handlers run. Deterministic. */
#include "guest.h"
#include <dirent.h>
#include <pthread.h>

static struct gate hold;

static void *blocked(void *arg)
{
	gate_wait(&hold);
	return arg;
}

static int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void before(void)
{
	say("prepare\n");
}

static void in_child(void)
{
	say("child handler\n");
}

static void *forker(void *arg)
{
	pid_t p = xfork();

	if (p == 0) {
		say("child: %d threads, leader %d\n", count_threads(), gettid() == getpid());
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	return arg;
}

int main(void)
{
	pthread_t t[5];

	gate_init(&hold);
	CHECK(pthread_atfork(before, NULL, in_child) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, blocked, NULL) == 0);
	CHECK(pthread_create(&t[4], NULL, forker, NULL) == 0);
	CHECK(pthread_join(t[4], NULL) == 0);
	say("parent: %d threads\n", count_threads());
	for (int i = 0; i < 4; i++)
		gate_open(&hold);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	done();
	return 0;
}
