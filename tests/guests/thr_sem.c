/* Semaphores: unnamed between threads and processes, named, timed, try. Output: the semaphore's name holds the pid. */
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t items, spaces;
static int ring[4], sum;

static void *consumer(void *arg)
{
	for (int i = 0; i < 100; i++) {
		CHECK(sem_wait(&items) == 0);
		sum += ring[i % 4];
		CHECK(sem_post(&spaces) == 0);
	}
	return arg;
}

int main(void)
{
	struct timespec ts;
	sem_t *shared, *named;
	char name[32];
	pthread_t t;
	pid_t p;
	int v;

	CK(sem_init(&items, 0, 0));
	CK(sem_init(&spaces, 0, 4));
	CHECK(pthread_create(&t, NULL, consumer, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(sem_wait(&spaces) == 0);
		ring[i % 4] = i;
		CHECK(sem_post(&items) == 0);
	}
	CHECK(pthread_join(t, NULL) == 0);
	say("sum %d\n", sum);
	show("trywait", sem_trywait(&items));
	CK(clock_gettime(CLOCK_REALTIME, &ts));
	show("timedwait", sem_timedwait(&items, &ts));

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	CK(sem_init(shared, 1, 0));
	snprintf(name, sizeof(name), "/hermit-guest-%d", (int)getpid());
	named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	CHECK(named != SEM_FAILED);
	p = xfork();
	if (p == 0) {
		CHECK(sem_wait(named) == 0);
		CHECK(sem_post(shared) == 0);
		_exit(0);
	}
	CHECK(sem_post(named) == 0);
	CHECK(sem_wait(shared) == 0);
	say("child %s\n", wait_str(reap(p)));
	CK(sem_getvalue(named, &v));
	say("%s value %d\n", name, v);
	CK(sem_unlink(name));
	show("open after unlink", sem_open(name, 0) == SEM_FAILED ? -1 : 0);
	done();
	return 0;
}
