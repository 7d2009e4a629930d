/* Thread-local storage, thread-specific data and their destructors. Output: addresses differ. */
#include "guest.h"
#include <pthread.h>

static _Thread_local int tls = 5;
static _Thread_local char big[10000];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int destroyed, made;

static void destroy(void *p)
{
	pthread_mutex_lock(&lock);
	destroyed += *(int *)p;
	pthread_mutex_unlock(&lock);
	free(p);
}

static void make_key(void)
{
	made++;
	CHECK(pthread_key_create(&key, destroy) == 0);
}

static void *body(void *arg)
{
	int *v = malloc(sizeof(*v));

	pthread_once(&once, make_key);
	CHECK(tls == 5 && big[9999] == 0);
	tls += (int)(intptr_t)arg;
	big[9999] = 1;
	*v = tls;
	CHECK(pthread_setspecific(key, v) == 0);
	sched_yield();
	CHECK(tls == 5 + (int)(intptr_t)arg && pthread_getspecific(key) == v);
	say("thread %d: tls at %p\n", (int)(intptr_t)arg, (void *)&tls);
	return NULL;
}

int main(void)
{
	pthread_t t[6];

	for (int i = 0; i < 6; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)(i + 1)) == 0);
	for (int i = 0; i < 6; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("tls here %d, destroyed %d, made %d\n", tls, destroyed, made);
	CHECK(tls == 5 && destroyed == 6 * 5 + 21 && made == 1);
	done();
	return 0;
}
