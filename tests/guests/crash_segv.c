/* Dies by SIGSEGV after some output. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

int main(void)
{
	struct rlimit no_core = { 0, 0 };

	CK(setrlimit(RLIMIT_CORE, &no_core));
	say("before the crash\n");
	*(volatile int *)24 = 1;
	return 0;
}
