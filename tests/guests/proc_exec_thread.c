/* exec from a thread that is not the leader while others block: the pid stays, all other threads are gone. Output: pids differ. */
#include "guest.h"
#include <pthread.h>

static int hold[2];

static void *blocked(void *arg UNUSED)
{
	char c;

	CHECK(read(hold[0], &c, 1) == -1);
	return NULL;
}

static void *execs(void *arg)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	say("exec from tid %d of pid %s\n", (int)gettid(), pid);
	execl("/proc/self/exe", "proc_exec_thread", pid, (char *)NULL);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[6];

	if (argc > 1) {
		say("after: pid %d tid %d, before %s\n", (int)getpid(), (int)gettid(), argv[1]);
		CHECK(getpid() == atoi(argv[1]) && gettid() == getpid());
		done();
		return 0;
	}
	CK(pipe2(hold, O_CLOEXEC));
	for (int i = 0; i < 5; i++)
		CHECK(pthread_create(&t[i], NULL, blocked, NULL) == 0);
	CHECK(pthread_create(&t[5], NULL, execs, NULL) == 0);
	for (int i = 5; i >= 0; i--)
		pthread_join(t[i], NULL);
	return 1;
}
