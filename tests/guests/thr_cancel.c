/* pthread_cancel: deferred in read, nanosleep, cond wait; asynchronous; disabled; clean-up handlers. Deterministic. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static struct gate ready;

static void cleanup(void *arg)
{
	say("clean-up of %s\n", (const char *)arg);
}

static void unlock(void *arg)
{
	CHECK(pthread_mutex_unlock(arg) == 0);
}

static void *body(void *arg)
{
	const char *how = arg;
	int fd[2];
	char c;

	pthread_cleanup_push(cleanup, arg);
	gate_open(&ready);
	if (!strcmp(how, "read")) {
		CK(pipe(fd));
		CHECK(read(fd[0], &c, 1) == -2);
	} else if (!strcmp(how, "sleep")) {
		sleep(100);
	} else if (!strcmp(how, "cond")) {
		pthread_mutex_lock(&lock);
		pthread_cleanup_push(unlock, &lock);
		for (;;)
			pthread_cond_wait(&cond, &lock);
		pthread_cleanup_pop(1);
	} else if (!strcmp(how, "async")) {
		int old;

		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
		for (;;)
			syscall(SYS_getppid);
	} else {
		int old;

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		msleep(30);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	static const char *const how[] = { "read", "sleep", "cond", "async", "disabled" };
	pthread_t t;
	void *r;

	gate_init(&ready);
	for (size_t i = 0; i < N_ELEMENTS(how); i++) {
		CHECK(pthread_create(&t, NULL, body, (void *)(uintptr_t)how[i]) == 0);
		gate_wait(&ready);
		msleep(5);
		CHECK(pthread_cancel(t) == 0);
		CHECK(pthread_join(t, &r) == 0);
		say("%s: cancelled %d\n", how[i], r == PTHREAD_CANCELED);
	}
	CHECK(pthread_mutex_trylock(&lock) == 0);
	done();
	return 0;
}
