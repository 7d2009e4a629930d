/* SIGEV_THREAD: the library's helper thread runs the callbacks. Output: times differ. */
#include "guest.h"
#include <semaphore.h>

static sem_t fired;

static void notify(union sigval v)
{
	say("callback value %d in thread %s\n", v.sival_int, gettid() == getpid() ? "main" : "other");
	sem_post(&fired);
}

int main(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 8 };
	struct itimerspec it = { { 0, 3000000 }, { 0, 3000000 } };
	timer_t t;

	ev.sigev_notify_function = notify;
	CK(sem_init(&fired, 0, 0));
	CK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CK(timer_settime(t, 0, &it, NULL));
	for (int i = 0; i < 3; i++)
		while (sem_wait(&fired) < 0)
			CHECK(errno == EINTR);
	CK(timer_delete(t));
	done();
	return 0;
}
