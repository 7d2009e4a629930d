/*
 * Threads move large areas by rep movsb, movsq, stosb, forward and backward, repe cmpsb and repne scasb, where each
 * iteration is a place to stop; another one looks how far they are. Output: what it saw, which differs.
 */
#include "async.h"

enum { SIZE = 3 << 20, ROUNDS = 12 };

static unsigned char *area[2];
static volatile int stop;

static void rep_movsb(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void rep_movsq_down(void *to, const void *from, size_t n)
{
	to = (char *)to + n - 8;
	from = (const char *)from + n - 8;
	n /= 8;
	__asm__ volatile("std; rep movsq; cld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void rep_stosb(void *to, int c, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

static size_t repe_cmpsb(const void *a, const void *b, size_t n)
{
	__asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
	return n;
}

static size_t repne_scasb(const void *p, int c, size_t n)
{
	__asm__ volatile("repne scasb" : "+D"(p), "+c"(n) : "a"(c) : "memory", "cc");
	return n;
}

static void *mover(void *arg UNUSED)
{
	for (int i = 1; i <= ROUNDS; i++) {
		rep_stosb(area[0], i, SIZE - 1);
		rep_movsb(area[1], area[0], SIZE);
		CHECK(repne_scasb(area[1], 0xff, SIZE / 8) == 0);
		rep_movsq_down(area[1] + 8, area[1], SIZE - 8);
		CHECK(repe_cmpsb(area[0], area[1], SIZE / 8) == 0);
		memset(area[0], 128 + i, SIZE - 1);
		memcpy(area[1], area[0], SIZE);
	}
	stop = 1;
	return NULL;
}

/* How far the area is filled with what it begins with, by halving. */
static size_t filled(const volatile unsigned char *p)
{
	unsigned char c = p[0];
	size_t low = 0, high = SIZE - 2;

	while (low < high) {
		size_t at = (low + high + 1) / 2;

		if (p[at] == c)
			low = at;
		else
			high = at - 1;
	}
	return low;
}

static uint64_t seen, looks, parts;

static void *looker(void *arg UNUSED)
{
	while (!stop) {
		for (int k = 0; k < 2; k++) {
			size_t n = filled(area[k]);

			seen = mix(seen, n);
			parts += n < SIZE - 2;
		}
		looks++;
	}
	return NULL;
}

static void *body(void *arg)
{
	return arg == NULL ? mover(NULL) : looker(NULL);
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		CHECK((area[i] = calloc(1, SIZE)) != NULL);
	in_threads(2, body);
	say("looked %lu times, %lu in the middle: %lx\n", (unsigned long)looks, (unsigned long)parts, (unsigned long)seen);
	done();
	return 0;
}
