/* Dies by abort(), with a handler that returns. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static void handler(int sig)
{
	say("handler %s\n", sig_name(sig));
}

int main(void)
{
	struct rlimit no_core = { 0, 0 };

	CK(setrlimit(RLIMIT_CORE, &no_core));
	CHECK(signal(SIGABRT, handler) != SIG_ERR);
	say("before abort\n");
	abort();
}
