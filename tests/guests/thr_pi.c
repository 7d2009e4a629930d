/* Priority-inheritance mutexes: contention, timed lock, robust PI, owner words. Output: the kernel may refuse PI. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>

static pthread_mutex_t m;
static int counter;

static void *body(void *arg)
{
	for (int i = 0; i < 50; i++) {
		CHECK(pthread_mutex_lock(&m) == 0);
		counter++;
		sched_yield();
		CHECK(pthread_mutex_unlock(&m) == 0);
	}
	return arg;
}

static void *dies(void *arg)
{
	CHECK(pthread_mutex_lock(&m) == 0);
	return arg;
}

int main(void)
{
	static uint32_t word;
	pthread_mutexattr_t a;
	pthread_t t[4];
	int r;

	show("raw lock", syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	say("word is tid: %d\n", (word & FUTEX_TID_MASK) == (uint32_t)gettid());
	show("raw trylock", syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
	show("raw unlock", syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	r = pthread_mutex_init(&m, &a);
	say("init: %s\n", err_name(r));
	if (r == 0) {
		for (int i = 0; i < 4; i++)
			CHECK(pthread_create(&t[i], NULL, body, NULL) == 0);
		for (int i = 0; i < 4; i++)
			CHECK(pthread_join(t[i], NULL) == 0);
		say("counter %d\n", counter);
		CHECK(pthread_create(&t[0], NULL, dies, NULL) == 0);
		CHECK(pthread_join(t[0], NULL) == 0);
		say("after the owner's death: %s\n", err_name(pthread_mutex_lock(&m)));
		CHECK(pthread_mutex_consistent(&m) == 0 && pthread_mutex_unlock(&m) == 0);
	}
	done();
	return 0;
}
