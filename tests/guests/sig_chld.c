/* SIGCHLD: status information for exit, kill, core, stop, continue; SA_NOCLDSTOP; coalescing. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static volatile sig_atomic_t seen;
static pid_t child;

static void handler(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	seen++;
	say("  SIGCHLD code %d status %d child %d\n", si->si_code, si->si_status, si->si_pid == child);
}

static void expect(int n)
{
	sigset_t none;

	sigemptyset(&none);
	while (seen < n)
		sigsuspend(&none);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct rlimit no_core = { 0, 0 };
	sigset_t set;
	int st;

	CK(setrlimit(RLIMIT_CORE, &no_core));
	CK(sigaction(SIGCHLD, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	say("exit\n");
	child = xfork();
	if (child == 0)
		_exit(123);
	expect(1);
	say("%s\n", wait_str(reap(child)));
	say("stop, continue, kill\n");
	child = xfork();
	if (child == 0)
		for (;;)
			pause();
	CK(kill(child, SIGSTOP));
	expect(2);
	CHECK(waitpid(child, &st, WUNTRACED) == child);
	CK(kill(child, SIGCONT));
	expect(3);
	CHECK(waitpid(child, &st, WCONTINUED) == child);
	CK(kill(child, SIGKILL));
	expect(4);
	say("%s\n", wait_str(reap(child)));
	say("abort\n");
	child = xfork();
	if (child == 0)
		abort();
	expect(5);
	say("%s\n", wait_str(reap(child)));
	say("no stop notes\n");
	sa.sa_flags |= SA_NOCLDSTOP;
	CK(sigaction(SIGCHLD, &sa, NULL));
	child = xfork();
	if (child == 0)
		for (;;)
			pause();
	CK(kill(child, SIGSTOP));
	CHECK(waitpid(child, &st, WUNTRACED) == child);
	say("%s, seen %d\n", wait_str(st), (int)seen);
	CK(kill(child, SIGKILL));
	expect(6);
	say("%s\n", wait_str(reap(child)));
	done();
	return 0;
}
