/* alarm and pause, alarm replaced and cancelled, killed by SIGALRM. Deterministic. */
#include "guest.h"

static void handler(int sig)
{
	say("%s\n", sig_name(sig));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pid_t p;

	CK(sigaction(SIGALRM, &sa, NULL));
	show("alarm", alarm(100));
	show("alarm", alarm(50));
	show("alarm", ualarm(5000, 0) > 0);
	show("pause", pause());
	show("alarm", alarm(0));
	p = xfork();
	if (p == 0) {
		CHECK(signal(SIGALRM, SIG_DFL) != SIG_ERR);
		ualarm(5000, 0);
		for (;;)
			pause();
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
