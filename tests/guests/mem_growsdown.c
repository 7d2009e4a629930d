/* A MAP_GROWSDOWN mapping grows by touching below it; a thread and the main stack go deep. Output: addresses differ. */
#include "guest.h"
#include <pthread.h>

static long __attribute__((noinline)) deep(int n)
{
	volatile char frame[2000];

	frame[0] = (char)n;
	frame[1999] = 1;
	return n == 0 ? 0 : deep(n - 1) + frame[0] * 0 + frame[1999];
}

static void *body(void *arg)
{
	*(long *)arg = deep(2000);
	return NULL;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	volatile char *p, *room;
	long n;

	/* Room below so that it can grow (the gap to the next mapping is kept by the kernel). */
	room = mmap(NULL, 8 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	CK(munmap((void *)(uintptr_t)room, 8 << 20));
	p = mmap((void *)(uintptr_t)(room + (6 << 20)), 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 200; i++)
		p[-4096 * i] = (char)i;
	say("grown from %p: %d %d\n", (void *)(uintptr_t)p, p[-4096 * 199], p[-4096 * 7]);
	say("main stack: %ld\n", deep(3500));
	pthread_attr_init(&a);
	CHECK(pthread_attr_setstacksize(&a, 16 << 20) == 0);
	CHECK(pthread_create(&t, &a, body, &n) == 0 && pthread_join(t, NULL) == 0);
	say("thread stack: %ld\n", n);
	done();
	return 0;
}
