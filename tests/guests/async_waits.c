/*
 * Threads wait for signals (sigwait, sigsuspend, signalfd, pause) while others compute and send them; computing ones
 * take whatever nobody waits for. Output: who got how many, which differs.
 */
#include "async.h"
#include <sys/signalfd.h>

enum { SIGNALS = 60 };

static atomic_int got[4], total, stop;
static volatile unsigned long position;
static uint64_t where;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	where = mix(where, position);
	got[0]++;
	total++;
}

static void *by_sigwait(void *arg UNUSED)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!stop) {
		CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
		got[1]++;
		total++;
		burn(1, 200000);
	}
	return NULL;
}

static void *by_signalfd(void *arg UNUSED)
{
	struct signalfd_siginfo si;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	fd = CK(signalfd(-1, &set, SFD_CLOEXEC));
	while (!stop) {
		if (read(fd, &si, sizeof(si)) < 0) {
			CHECK(errno == EINTR); /* signalfd is not restarted */
			continue;
		}
		got[2]++;
		total++;
		burn(1, 200000);
	}
	return NULL;
}

static void *by_sigsuspend(void *arg UNUSED)
{
	sigset_t all_but;

	sigfillset(&all_but);
	sigdelset(&all_but, SIGRTMIN);
	while (!stop) {
		CHECK(sigsuspend(&all_but) == -1 && errno == EINTR);
		got[3]++;
		burn(1, 200000);
	}
	return NULL;
}

int main(void)
{
	static void *(*const waiter[])(void *) = { by_sigwait, by_signalfd, by_sigsuspend };
	pthread_t t[3];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	on_signal(SIGRTMIN, handler, 0);
	on_signal(SIGALRM, handler, 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, waiter[i], NULL) == 0);
	set_timer(ITIMER_REAL, 1500);
	while (total < SIGNALS) {
		CK(kill(getpid(), SIGUSR1));
		CK(kill(getpid(), SIGUSR2));
		CHECK(pthread_kill(t[2], SIGRTMIN) == 0);
		for (int i = 0; i < 400000; i++)
			position = position + 1;
	}
	set_timer(ITIMER_REAL, 0);
	stop = 1;
	CK(kill(getpid(), SIGUSR1));
	CK(kill(getpid(), SIGUSR2));
	CHECK(pthread_kill(t[2], SIGRTMIN) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	say("handler %d, sigwait %d, signalfd %d, sigsuspend %d: %lx\n", got[0], got[1], got[2], got[3], (unsigned long)where);
	done();
	return 0;
}
