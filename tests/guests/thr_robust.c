/* Robust mutexes shared by processes and threads: EOWNERDEAD after the owner died, recovery, ENOTRECOVERABLE. Deterministic. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t *m;

static void *dies_with_it(void *arg)
{
	CHECK(pthread_mutex_lock(m) == 0);
	return arg;
}

static int new_mutex(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	return pthread_mutex_init(m, &a);
}

int main(void)
{
	struct gate locked;
	pthread_t t;
	pid_t p;
	int r;

	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(m != MAP_FAILED);
	gate_init(&locked);
	CHECK(new_mutex() == 0);
	for (int how = 0; how < 3; how++) {
		p = xfork();
		if (p == 0) {
			CHECK(pthread_mutex_lock(m) == 0);
			gate_open(&locked);
			if (how == 0)
				_exit(0);
			if (how == 1)
				raise(SIGKILL);
			msleep(20);
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		gate_wait(&locked);
		r = pthread_mutex_lock(m);
		say("owner died (%d): lock = %s, child %s\n", how, err_name(r), wait_str(reap(p)));
		CHECK(r == EOWNERDEAD);
		CHECK(pthread_mutex_consistent(m) == 0);
		CHECK(pthread_mutex_unlock(m) == 0);
	}
	CHECK(pthread_create(&t, NULL, dies_with_it, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	say("owner thread gone: trylock = %s\n", err_name(pthread_mutex_trylock(m)));
	CHECK(pthread_mutex_unlock(m) == 0);
	say("not made consistent: lock = %s\n", err_name(pthread_mutex_lock(m)));
	done();
	return 0;
}
