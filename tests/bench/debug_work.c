/*
 * What tools/bench debugs: a computation of argv[2] units (a millisecond or so each), of the kind argv[1].
 *
 *	single   one thread, no system call
 *	threads  four threads of a quarter each: they change when their slices end
 *	calls    a system call every hundredth of a unit
 *	memory   little of it, in a process with 1 GiB of memory
 *
 * In the first tenth: early() is called, once, and `watched` is written for the last time. mark() is called 20 times in
 * equal distances, never() not at all.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define CELLS 8192u
#define PARTS 20
#define THREADS 4
#define LARGE (1ul << 30)

volatile uint64_t watched;
volatile unsigned marks, earlies;
static uint32_t cells[THREADS][CELLS];
static long units;
static int calls;
static char *large;

NOINLINE void early(void)
{
	earlies++;
	watched = 0x5eed;
}

NOINLINE void mark(void)
{
	marks++;
}

NOINLINE void never(void)
{
	__asm__ volatile("");
}

static NOINLINE uint32_t mix(uint32_t x, uint32_t *cell)
{
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*cell += x;
	return x;
}

static NOINLINE uint32_t unit(uint32_t x, uint32_t *of)
{
	for (unsigned i = 0; i < 300000; i++) {
		x = mix(x, &of[(x + i) % CELLS]);
		if (calls && i % 3000 == 0)
			syscall(SYS_getppid);
	}
	return x;
}

static void *work(void *arg)
{
	uint32_t *of = arg, x = 2463534242u + (uint32_t)(of - cells[0]);

	for (long i = 0; i < units; i++) {
		x = unit(x, of);
		if (of != cells[0])
			continue;
		if (i == units / 10)
			early();
		if (i % (units / PARTS) == units / PARTS / 2)
			mark();
	}
	return NULL;
}

static void with_threads(void)
{
	pthread_t t[THREADS];

	units /= THREADS;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, cells[i]))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	units = argc > 2 ? atol(argv[2]) : 0;
	if (units < PARTS * THREADS)
		return 2;
	calls = strcmp(argv[1], "calls") == 0;
	if (strcmp(argv[1], "memory") == 0) {
		large = malloc(LARGE);
		if (!large)
			return 1;
		for (unsigned long i = 0; i < LARGE; i += 4096)
			large[i] = (char)(i >> 12);
	}
	if (strcmp(argv[1], "threads") == 0)
		with_threads();
	else
		work(cells[0]);
	printf("%x %u\n", cells[0][cells[0][1] % CELLS], marks);
	return 0;
}
