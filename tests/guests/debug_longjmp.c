/* Leaves functions by longjmp. For tests/debug/sessions. */
#include <setjmp.h>
#include "guest.h"

static jmp_buf env;
volatile int depth, jumps;

__attribute__((noinline)) void deeper(int n)
{
	depth = n;
	if (n == 5)
		longjmp(env, 1); /* the jump */
	if (n < 5)
		deeper(n + 1);
	depth = -1;
}

int main(void)
{
	for (volatile int i = 0; i < 3; i++) {
		if (setjmp(env) == 0) /* the setjmp */
			deeper(0); /* the call */
		else
			jumps++; /* landed */
	}
	say("jumps %d\n", jumps); /* all done */
	return 0;
}
