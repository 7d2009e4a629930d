/* Deep recursion in threads: the same code at many depths of the stack. Output: deterministic. */
#include "async.h"

static unsigned long result[4];

__attribute__((noinline, noclone)) static unsigned long fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline, noclone)) static unsigned long ackermann(unsigned long m, unsigned long n)
{
	if (m == 0)
		return n + 1;
	return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static void *body(void *arg)
{
	unsigned me = (unsigned)(intptr_t)arg;

	result[me] = me == 3 ? ackermann(3, 9) : fib(31 + me);
	return NULL;
}

int main(void)
{
	in_threads(4, body);
	say("%lu %lu %lu %lu\n", result[0], result[1], result[2], result[3]);
	CHECK(result[0] == 1346269 && result[1] == 2178309 && result[2] == 3524578 && result[3] == 4093);
	done();
	return 0;
}
