/* Signals to the own process group and to all threads' process; tgkill to chosen threads. Output: which thread took the group's signal differs. */
#include "guest.h"
#include <pthread.h>

static struct gate ready, seen;
static pid_t tids[4];

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	int me = -1;

	for (int i = 0; i < 4; i++)
		if (tids[i] == gettid())
			me = i;
	say("%s in thread %d, code %d\n", sig_name(sig), me, si->si_code);
	gate_open(&seen);
}

static void *body(void *arg)
{
	tids[(intptr_t)arg] = gettid();
	gate_open(&ready);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	pthread_t t[4];
	pid_t p[2];

	CK(setpgid(0, 0));
	gate_init(&ready);
	gate_init(&seen);
	CK(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 2; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			gate_open(&ready);
			for (;;)
				pause();
		}
		gate_wait(&ready);
	}
	for (int i = 0; i < 4; i++) {
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
		gate_wait(&ready);
	}
	for (int i = 3; i >= 0; i--) {
		CK((int)syscall(SYS_tgkill, getpid(), tids[i], SIGUSR1));
		gate_wait(&seen);
	}
	say("group\n");
	CK(kill(0, SIGUSR1));
	for (int i = 0; i < 3; i++)
		gate_wait(&seen);
	show("tgkill wrong process", syscall(SYS_tgkill, p[0], tids[0], SIGUSR1));
	for (int i = 0; i < 2; i++) {
		CK(kill(p[i], SIGKILL));
		say("%s\n", wait_str(reap(p[i])));
	}
	done();
	return 0;
}
