/*
 * Signals from elsewhere into computation: by pthread_kill, tgkill, tgsigqueueinfo from threads ("thread") or by
 * kill and sigqueue from a child ("process"). Output: where they met the loop, which differs.
 */
#include "async.h"

enum { SIGNALS = 40 };

static volatile int count;
static volatile unsigned long position;
static uint64_t where;
static pid_t sender;
static pid_t target;
static pthread_t target_thread;
static int ways;

static void handler(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	CHECK(si->si_code == SI_USER || si->si_code == SI_TKILL || si->si_code == SI_QUEUE);
	CHECK(si->si_pid == sender || sender == 0);
	if (si->si_code == SI_QUEUE)
		CHECK(si->si_value.sival_int == 4711);
	where = mix(where, position);
	count = count + 1;
}

static void send_one(int i)
{
	union sigval v = { .sival_int = 4711 };
	siginfo_t si = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };

	si.si_pid = getpid();
	si.si_value = v;
	if (ways == 2) {
		if (i % 2)
			CK(kill(target, SIGUSR1));
		else
			CK(sigqueue(target, SIGUSR1, v));
	} else if (i % 3 == 0) {
		CHECK(pthread_kill(target_thread, SIGUSR1) == 0);
	} else if (i % 3 == 1) {
		CK(syscall(SYS_tgkill, target, target, SIGUSR1));
	} else {
		CK(syscall(SYS_rt_tgsigqueueinfo, target, target, SIGUSR1, &si));
	}
}

static volatile int *stop;

static void *body(void *arg UNUSED)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
	for (int i = 0; !*stop; i++) {
		send_one(i);
		if (i % 2)
			msleep(1);
		else
			burn(1, 700000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	pid_t p = 0;

	CHECK(argc > 1);
	stop = shared_memory(sizeof(int));
	target = getpid();
	target_thread = pthread_self();
	on_signal(SIGUSR1, handler, 0);
	if (!strcmp(argv[1], "process")) {
		ways = 2;
		p = xfork();
		if (p == 0) {
			body(NULL);
			_exit(0);
		}
		sender = p;
	} else {
		sender = target;
		CHECK(pthread_create(&t, NULL, body, NULL) == 0);
	}
	while (count < SIGNALS) {
		burn(1, 2);
		position = position + 1;
	}
	*stop = 1;
	if (p)
		while (waitpid(p, NULL, 0) < 0)
			CHECK(errno == EINTR);
	else
		CHECK(pthread_join(t, NULL) == 0);
	say("%s: %lx at %lu\n", argv[1], (unsigned long)where, position);
	done();
	return 0;
}
