/* Becomes itself with another argument: the same addresses, in both programs. For tests/debug/sessions. flags: -no-pie */
#include "guest.h"

volatile int generation;

__attribute__((noinline)) void second(void)
{
	generation = 2; /* the second program */
}

int main(int argc, char **argv)
{
	char *again[] = {argv[0], (char *)"again", NULL};

	if (argc == 1) {
		generation = 1; /* the first program */
		execv("/proc/self/exe", again);
		return 1;
	}
	second();
	say("generation %d\n", generation);
	return 0;
}
