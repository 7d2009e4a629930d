/*
 * libc's qsort and one of our own in as many threads as said, each on its numbers. Output: sums of sorted arrays,
 * deterministic.
 */
#include "async.h"

enum { COUNT = 60000 };

static uint64_t result[ASYNC_THREADS_MAX];

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static void quick(unsigned *a, long n)
{
	while (n > 1) {
		unsigned pivot = a[n / 2];
		long i = 0, j = n - 1;

		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j) {
				unsigned t = a[i];

				a[i++] = a[j];
				a[j--] = t;
			}
		}
		quick(a, j + 1);
		a += i;
		n -= i;
	}
}

static void *body(void *arg)
{
	unsigned *a = malloc(COUNT * sizeof(*a)), *b = malloc(COUNT * sizeof(*b));
	uint64_t x = (uint64_t)(intptr_t)arg + 1;

	CHECK(a && b);
	for (int i = 0; i < COUNT; i++) {
		x = burn(x, 1);
		a[i] = b[i] = (unsigned)(x >> 33) % 50000;
	}
	qsort(a, COUNT, sizeof(*a), compare);
	quick(b, COUNT);
	CHECK(memcmp(a, b, COUNT * sizeof(*a)) == 0);
	for (int i = 1; i < COUNT; i++)
		CHECK(a[i - 1] <= a[i]);
	result[(intptr_t)arg] = hash(a, COUNT * sizeof(*a));
	free(a);
	free(b);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;

	in_threads(n, body);
	for (int i = 0; i < n; i++)
		say("%d: %lx\n", i, (unsigned long)result[i]);
	done();
	return 0;
}
