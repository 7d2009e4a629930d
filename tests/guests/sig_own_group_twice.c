/* Signals to the own process group, in which the recorder may be as well: each arrives once, and nothing ends. */
#include "guest.h"

static volatile sig_atomic_t got[65];

static void handler(int sig)
{
	got[sig]++;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	static const int all[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		CK(sigaction(all[i], &sa, NULL));
	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		for (int k = 0; k < 2; k++) {
			struct timespec ts = { .tv_nsec = 200000000 };

			CK(kill(0, all[i]));
			while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
				;
		}
	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		say("%s: %d\n", sig_name(all[i]), (int)got[all[i]]);
	done();
	return 0;
}
