/* A hundred thousand frames. */
#include <stdio.h>

static volatile long bottoms;

static long down(long left)
{
	long here = left;

	if (left == 0) {
		bottoms++; /* the bottom */
		return 0;
	}
	return down(left - 1) + (here & 1);
}

int main(void)
{
	printf("%ld\n", down(100000 - 2));
	return 0;
}
