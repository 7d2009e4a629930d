/* Built with -O2: a function that is only there inlined, and values that are optimised out. */
#include <stdio.h>

volatile int input = 7;

static inline __attribute__((always_inline)) int inner(int n)
{
	input = n + 1; /* in inner */
	return input * 2;
}

static __attribute__((noinline)) int outer(int n)
{
	int unused = n * 1000;

	(void)unused;
	return inner(n) + inner(n + 1);
}

int main(void)
{
	printf("%d\n", outer(input));
	return 0;
}
