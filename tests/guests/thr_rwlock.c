/* Read-write locks with many readers and writers; timed locks; spin locks taken over yields. Deterministic. */
#include "guest.h"
#include <pthread.h>

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long a, b;

static void *reader(void *arg)
{
	for (int i = 0; i < 40; i++) {
		CHECK(pthread_rwlock_rdlock(&rw) == 0);
		CHECK(a == b);
		sched_yield();
		CHECK(a == b);
		CHECK(pthread_rwlock_unlock(&rw) == 0);
	}
	return arg;
}

static void *writer(void *arg)
{
	for (int i = 0; i < 40; i++) {
		CHECK(pthread_rwlock_wrlock(&rw) == 0);
		a++;
		sched_yield();
		b++;
		CHECK(pthread_rwlock_unlock(&rw) == 0);
	}
	return arg;
}

static void *try_it(void *arg)
{
	struct timespec ts;

	say("trywrlock: %s\n", err_name(pthread_rwlock_trywrlock(&rw)));
	CK(clock_gettime(CLOCK_REALTIME, &ts));
	ts.tv_nsec += 2000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	say("timedwrlock: %s\n", err_name(pthread_rwlock_timedwrlock(&rw, &ts)));
	return arg;
}

int main(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, i % 3 ? reader : writer, NULL) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("%ld writes\n", a);
	CHECK(a == b && pthread_rwlock_rdlock(&rw) == 0);
	CHECK(pthread_create(&t[0], NULL, try_it, NULL) == 0 && pthread_join(t[0], NULL) == 0);
	done();
	return 0;
}
