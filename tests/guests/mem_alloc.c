/* malloc, realloc and free of many sizes by two threads; mallinfo and pointers printed. Output: addresses differ. */
#include "guest.h"
#include <malloc.h>
#include <pthread.h>

static void *body(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	static _Thread_local char *p[200];
	uint64_t h = 0;

	for (int i = 0; i < 3000; i++) {
		unsigned k, n;

		seed = seed * 1103515245 + 12345;
		k = seed >> 16 & 127;
		n = seed >> 8 & 0xfff;
		if (seed & 1 << 30)
			n <<= 6;
		p[k] = realloc(p[k], n + 1);
		CHECK(p[k]);
		p[k][n] = (char)i;
		h = h * 31 + (uintptr_t)p[k];
	}
	for (int i = 0; i < 200; i++)
		free(p[i]);
	return (void *)(uintptr_t)h;
}

int main(void)
{
	struct mallinfo2 mi;
	pthread_t t[2];
	void *r;

	for (long i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(i + 1)) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_join(t[i], &r) == 0);
		say("mix of addresses %p\n", r);
	}
	malloc_trim(0);
	mi = mallinfo2();
	say("arena %zu used %zu mapped %zu\n", mi.arena, mi.uordblks, mi.hblkhd);
	done();
	return 0;
}
