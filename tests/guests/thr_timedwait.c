/* Timed waits of condition variables and mutexes with both clocks; wake-ups by signal and by time. Output: times differ. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int flag;

static void *setter(void *arg)
{
	msleep(10);
	pthread_mutex_lock(&lock);
	flag = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static struct timespec in_ms(clockid_t c, long ms)
{
	struct timespec ts;

	CK(clock_gettime(c, &ts));
	ts.tv_nsec += ms * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

int main(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
	struct timespec ts, t0, t1;
	pthread_t t;
	int r;

	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		CK(clock_gettime(clocks[i], &t0));
		ts = in_ms(clocks[i], 15);
		r = pthread_cond_clockwait(&cond, &lock, clocks[i], &ts);
		CK(clock_gettime(clocks[i], &t1));
		say("wait: %s after %ld us\n", err_name(r),
		    (t1.tv_sec - t0.tv_sec) * 1000000 + (t1.tv_nsec - t0.tv_nsec) / 1000);
		CHECK(r == ETIMEDOUT);
		CHECK(pthread_create(&t, NULL, setter, NULL) == 0);
		ts = in_ms(clocks[i], 60000);
		for (flag = 0; !flag;)
			CHECK(pthread_cond_clockwait(&cond, &lock, clocks[i], &ts) == 0);
		CK(clock_gettime(clocks[i], &t1));
		say("signalled at %ld.%09ld\n", (long)t1.tv_sec, t1.tv_nsec);
		pthread_mutex_unlock(&lock);
		CHECK(pthread_join(t, NULL) == 0);
	}
	done();
	return 0;
}
