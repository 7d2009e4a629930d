/* A function that is called very often, and once with what one looks for. For tests/debug/sessions: argument: how often. */
#include "guest.h"

volatile unsigned long total;

__attribute__((noinline)) void tick(unsigned long n)
{
	total += n ^ (total << 1);
}

int main(int argc, char **argv)
{
	unsigned long most = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;

	for (unsigned long i = 0; i < most; i++)
		tick(i);
	say("%lu\n", total);
	return 0;
}
