/* Dies in a function that was inlined. Lines are named by markers that the test looks for. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum colour { RED, GREEN };
struct node { struct node *next; int value; };

static inline __attribute__((always_inline)) int sum(struct node *n, int start)
{
	int s = start;

	for (; n; n = n->next)
		s += n->value; /* CRASH */
	return s;
}

__attribute__((noinline)) int work(struct node *n, const char *name, enum colour c, double d)
{
	int r = printf("working on %s %d %g\n", name, c, d); /* PRINT */

	fflush(stdout);
	r += sum(n, 3); /* SUM */
	return r + name[0] + c;
}

__attribute__((noinline)) int deeper(int depth, struct node *n)
{
	volatile char room[40];

	room[0] = (char)depth;
	if (depth)
		return deeper(depth - 1, n) + room[0]; /* DEEPER */
	return work(n, "the \"list\"", GREEN, 2.5) + room[0]; /* WORK */
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 2;

	return deeper(depth, (struct node *)0x10) + 1; /* MAIN */
}
