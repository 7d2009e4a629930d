/* Job control: SIGTSTP, SIGTTIN-like default stops, SIGCONT with a handler, WUNTRACED and WCONTINUED, a stopped thread group. Deterministic. */
#include "guest.h"
#include <pthread.h>

static struct gate tick;

static void on_cont(int sig UNUSED)
{
	say("  child: SIGCONT handler\n");
	gate_open(&tick);
}

static void on_tstp(int sig UNUSED)
{
	say("  child: SIGTSTP handler stops itself\n");
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void *other(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void stop_and_go(pid_t p, int sig)
{
	int st;

	CK(kill(p, sig));
	CHECK(waitpid(p, &st, WUNTRACED) == p);
	say("%s sent: %s\n", sig_name(sig), wait_str(st));
	CHECK(waitpid(p, &st, WUNTRACED | WNOHANG) == 0);
	CK(kill(p, SIGCONT));
	CHECK(waitpid(p, &st, WCONTINUED) == p);
	gate_wait(&tick);
	say("%s\n", wait_str(st));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_cont, .sa_flags = SA_RESTART };
	pthread_t t;
	pid_t p;
	int st;

	/* In a group of its own that is not orphaned: default stops work. */
	gate_init(&tick);
	p = xfork();
	if (p == 0) {
		CK(setpgid(0, 0));
		CK(sigaction(SIGCONT, &sa, NULL));
		CHECK(pthread_create(&t, NULL, other, NULL) == 0);
		sigset_t s;
		sigemptyset(&s);
		sigaddset(&s, SIGCONT);
		CK(pthread_kill(t, 0));
		gate_open(&tick);
		for (;;)
			pause();
	}
	gate_wait(&tick);
	stop_and_go(p, SIGSTOP);
	stop_and_go(p, SIGTSTP);
	stop_and_go(p, SIGTTIN);
	stop_and_go(p, SIGTTOU);
	CK(kill(p, SIGSTOP));
	CHECK(waitpid(p, &st, WUNTRACED) == p);
	CK(kill(p, SIGTERM));
	CHECK(waitpid(p, &st, WUNTRACED | WNOHANG) == 0);
	CK(kill(p, SIGKILL));
	say("killed while stopped: %s\n", wait_str(reap(p)));

	p = xfork();
	if (p == 0) {
		CK(setpgid(0, 0));
		sa.sa_handler = on_tstp;
		CK(sigaction(SIGTSTP, &sa, NULL));
		gate_open(&tick);
		for (;;)
			pause();
	}
	gate_wait(&tick);
	CK(kill(p, SIGTSTP));
	CHECK(waitpid(p, &st, WUNTRACED) == p);
	say("by handler: %s\n", wait_str(st));
	CK(kill(p, SIGCONT));
	CHECK(waitpid(p, &st, WCONTINUED) == p);
	CK(kill(p, SIGTERM));
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
