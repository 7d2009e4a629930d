/*
 * Computation for the benchmark: argv[1] names the kernel, argv[2] threads each run it argv[3] times. Nothing but
 * computation between start and join: threads change only because their slices end. Prints a checksum.
 *
 * "delay": a timer interrupts a computing main loop; prints how long after its expiry the handler ran (median and
 * 95th percentile, us).
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE uint64_t matmul(uint64_t seed)
{
	enum { N = 96 };
	static __thread double a[N][N], b[N][N], c[N][N];

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = (double)(seed + (uint64_t)(i * N + j));
			b[i][j] = (i * N + j) * 0.5;
		}
	for (int r = 0; r < 8; r++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				double s = 0;

				for (int k = 0; k < N; k++)
					s += a[i][k] * b[k][j];
				c[i][j] = s;
			}
	return (uint64_t)c[N / 2][N / 3];
}

static volatile uint64_t counter;

static NOINLINE uint64_t global(uint64_t seed)
{
	for (int i = 0; i < 4000000; i++)
		counter += seed;
	return seed;
}

static NOINLINE uint64_t heap(uint64_t seed)
{
	volatile uint64_t *p = calloc(4096, 8);
	uint64_t r;

	for (int i = 0; i < 4000000; i++)
		p[2048] += seed;
	r = p[2048];
	free((void *)p);
	return r;
}

static NOINLINE uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE uint64_t fib_run(uint64_t seed)
{
	return fib(28) + seed;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static NOINLINE uint64_t sort(uint64_t seed)
{
	enum { N = 60000 };
	uint32_t *v = malloc(N * sizeof(*v));
	uint64_t r = 0;

	for (uint32_t i = 0; i < N; i++)
		v[i] = (uint32_t)(seed = seed * 6364136223846793005u + 1442695040888963407u) >> 3;
	qsort(v, N, sizeof(*v), by_value);
	for (uint32_t i = 0; i < N; i++)
		r = r * 31 + v[i];
	free(v);
	return r;
}

static NOINLINE uint64_t hash(uint64_t seed)
{
	enum { N = 1 << 14 };
	uint32_t *table = calloc(N, sizeof(*table));
	uint64_t r = seed;

	for (uint32_t i = 0; i < 900000; i++) {
		r = r * 6364136223846793005u + 1442695040888963407u;
		table[r >> 50]++;
	}
	r = table[seed % N];
	free(table);
	return r;
}

static NOINLINE uint64_t list(uint64_t seed)
{
	enum { N = 20000 };
	struct node {
		struct node *next;
		uint64_t v;
	} *v = calloc(N, sizeof(*v));
	uint64_t r = 0;

	for (uint64_t i = 0; i < N; i++)
		v[i] = (struct node){ &v[(i * 7919 + 1) % N], seed + i };
	for (int k = 0; k < 100; k++) {
		const struct node *n = v;

		for (int i = 0; i < N; i++, n = n->next)
			r += n->v;
	}
	free(v);
	return r;
}

static NOINLINE uint64_t copy(uint64_t seed)
{
	enum { N = 1 << 20 };
	char *a = malloc(N), *b = malloc(N);
	uint64_t r;

	memset(a, (int)seed, N);
	for (int i = 0; i < 60; i++) {
		char *to = b;
		const char *from = a;
		size_t n = N;

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
		a[i] = (char)(b[i] + 1);
	}
	r = (uint64_t)b[59];
	free(a);
	free(b);
	return r;
}

static NOINLINE uint64_t real(uint64_t seed)
{
	double x = (double)seed;

	for (int i = 0; i < 3000000; i++)
		x = x * 1.0000001 + 0.5;
	return (uint64_t)x;
}

static const struct kernel {
	const char *name;
	uint64_t (*run)(uint64_t seed);
} kernels[] = {
	{ "matmul", matmul }, { "global", global }, { "heap", heap }, { "fib", fib_run }, { "sort", sort }, { "hash", hash },
	{ "list", list },     { "copy", copy },	    { "real", real },
};

static const struct kernel *kernel;
static long rounds;

static void *body(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, r = 0;

	for (long i = 0; i < rounds; i++)
		r = r * 31 + kernel->run(seed + (uint64_t)i);
	return (void *)(uintptr_t)r;
}

/* --- delay of signals --- */

enum { SHOTS = 101 };
static volatile int shots;
static struct timespec expiry;
static double delay[SHOTS];

static void handler(int signo)
{
	struct timespec now;

	(void)signo;
	clock_gettime(CLOCK_MONOTONIC, &now);
	delay[shots] = (double)(now.tv_sec - expiry.tv_sec) * 1e6 + (double)(now.tv_nsec - expiry.tv_nsec) / 1e3;
	shots = shots + 1;
}

static int by_delay(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure_delay(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;

	signal(SIGALRM, handler);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	for (int i = 0; i < SHOTS; i++) {
		struct itimerspec it = { 0 };

		clock_gettime(CLOCK_MONOTONIC, &expiry);
		expiry.tv_nsec += 3000000 + i * 10007;
		expiry.tv_sec += expiry.tv_nsec / 1000000000;
		expiry.tv_nsec %= 1000000000;
		it.it_value = expiry;
		timer_settime(timer, TIMER_ABSTIME, &it, NULL);
		while (shots == i)
			counter++;
	}
	qsort(delay, SHOTS, sizeof(delay[0]), by_delay);
	printf("delay %.0f us, 95 %% below %.0f us\n", delay[SHOTS / 2], delay[SHOTS * 95 / 100]);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 2;
	pthread_t t[64];
	uint64_t r = 0;

	if (argc > 1 && !strcmp(argv[1], "delay")) {
		measure_delay();
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (!strcmp(kernels[i].name, argv[1]))
			kernel = &kernels[i];
	if (!kernel || n < 1 || n > 64) {
		fprintf(stderr, "usage: compute KERNEL [THREADS] [ROUNDS]\n");
		return 2;
	}
	rounds = argc > 3 ? atol(argv[3]) : 1;
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, body, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (int i = 0; i < n; i++) {
		void *sum;

		pthread_join(t[i], &sum);
		r = r * 31 + (uint64_t)(uintptr_t)sum;
	}
	printf("%lx\n", (unsigned long)r);
	return 0;
}
