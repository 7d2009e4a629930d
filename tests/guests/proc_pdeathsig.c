/* PR_SET_PDEATHSIG: a child is told about its parent's death. Output: order differs. */
#include "guest.h"

static int report[2];

static void on_usr1(int sig, siginfo_t *si, void *uc UNUSED)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s from %d", sig_name(sig), (int)si->si_pid);

	write_all(report[1], line, (size_t)n);
	_exit(0);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO };
	char line[64] = "";
	struct gate ready;
	pid_t p;

	gate_init(&ready);
	CK(pipe(report));
	p = xfork();
	if (p == 0) {
		if (xfork() == 0) {
			int sig = 0;

			CK(sigaction(SIGUSR1, &sa, NULL));
			CK(prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0));
			CK(prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0));
			CHECK(sig == SIGUSR1);
			gate_open(&ready);
			for (;;)
				pause();
		}
		gate_wait(&ready);
		_exit(3);
	}
	say("middle %d: %s\n", (int)p, wait_str(reap(p)));
	CHECK(read(report[0], line, sizeof(line) - 1) > 0);
	say("orphan got %s\n", line);
	done();
	return 0;
}
