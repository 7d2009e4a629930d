/*
 * OpenMP: reductions, a critical section, dynamic schedules; its threads spin in barriers before they sleep. Output:
 * sums, and who computed what, which differs.
 * flags: -fopenmp
 */
#include "async.h"
#include <omp.h>

enum { N = 400000, THREADS = 4 };

static double a[N];

int main(void)
{
	unsigned long sum = 0, order = 0, chunks[THREADS] = { 0 };
	double real = 0;

	omp_set_dynamic(0);
	omp_set_num_threads(THREADS);
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		a[i] = 1.0 / (i + 1);
	for (int round = 0; round < 40; round++) {
#pragma omp parallel for reduction(+ : sum, real)
		for (int i = 0; i < N; i++) {
			sum += (unsigned long)i % 7;
			real += a[i];
		}
	}
	CHECK(sum == 40 * 1199997UL);
	say("sum %lu, %.6f\n", sum, real);
	/* Which order the parts were added in is in the last digits. */
	say("exactly %a\n", real);
#pragma omp parallel for schedule(dynamic, 10)
	for (int i = 0; i < 2000; i++) {
		uint64_t x = burn((uint64_t)i, 1000);
#pragma omp critical
		{
			order = mix(order, (uint64_t)omp_get_thread_num() + (x & 1));
			chunks[omp_get_thread_num()]++;
		}
	}
	CHECK(chunks[0] + chunks[1] + chunks[2] + chunks[3] == 2000);
	say("order %lx, %lu %lu %lu %lu\n", order, chunks[0], chunks[1], chunks[2], chunks[3]);
#pragma omp parallel
	for (int i = 0; i < 20; i++) {
#pragma omp barrier
		burn(1, 1000 * (unsigned long)omp_get_thread_num());
	}
	done();
	return 0;
}
