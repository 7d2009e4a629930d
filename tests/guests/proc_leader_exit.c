/* The first thread ends by pthread_exit, the others go on, fork and decide the exit status. Output: ids differ. */
#include "guest.h"
#include <pthread.h>

static pthread_t leader;

static void *goes_on(void *arg UNUSED)
{
	char path[64], buf[256];
	ssize_t n;
	pid_t p;
	int fd;

	CHECK(pthread_join(leader, NULL) == 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	do {
		fd = CK(open(path, O_RDONLY | O_CLOEXEC));
		n = CK(read(fd, buf, sizeof(buf) - 1));
		buf[n] = '\0';
		close(fd);
	} while (!strstr(buf, ") Z") && !strstr(buf, ") X") && sched_yield() == 0);
	say("leader is a zombie, pid %d tid %d\n", (int)getpid(), (int)gettid());
	p = xfork();
	if (p == 0)
		_exit(4);
	say("child: %s\n", wait_str(reap(p)));
	done();
	exit(0);
}

int main(void)
{
	pthread_t t;

	leader = pthread_self();
	CHECK(pthread_create(&t, NULL, goes_on, NULL) == 0);
	pthread_exit(NULL);
}
