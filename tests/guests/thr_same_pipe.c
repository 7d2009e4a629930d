/* Eight threads read lines from one pipe: which thread gets which bytes is part of the recording. Output: order differs. */
#include "guest.h"
#include <pthread.h>

static int fd[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *reader(void *arg)
{
	char c[16];
	ssize_t n;

	while ((n = read(fd[0], c, 8)) > 0) {
		pthread_mutex_lock(&lock);
		total += (int)n;
		pthread_mutex_unlock(&lock);
		say("thread %d got %.8s\n", (int)(intptr_t)arg, c);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[8];
	char msg[16];

	CK(pipe(fd));
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, reader, (void *)(intptr_t)i) == 0);
	for (int k = 0; k < 100; k++) {
		snprintf(msg, sizeof(msg), "msg-%04d", k);
		CHECK(write(fd[1], msg, 8) == 8);
		if (k % 10 == 0)
			sched_yield();
	}
	close(fd[1]);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("total %d\n", total);
	done();
	return 0;
}
