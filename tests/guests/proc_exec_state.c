/* What survives exec (mask, pending and ignored signals, alarm, cwd, umask, descriptors, nice) and what does not. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static void on_usr2(int sig UNUSED)
{
}

static void second(void)
{
	struct sigaction sa;
	stack_t ss;
	sigset_t set;
	char cwd[PATH_MAX];

	CK(sigprocmask(SIG_BLOCK, NULL, &set));
	say("masked: USR1 %d HUP %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGHUP));
	CK(sigpending(&set));
	say("pending: USR1 %d HUP %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGHUP));
	CK(sigaction(SIGUSR2, NULL, &sa));
	say("handler reset: %d\n", sa.sa_handler == SIG_DFL);
	CK(sigaction(SIGQUIT, NULL, &sa));
	say("ignored kept: %d\n", sa.sa_handler == SIG_IGN);
	CK(sigaltstack(NULL, &ss));
	say("altstack disabled: %d\n", ss.ss_flags == SS_DISABLE);
	say("alarm kept: %d\n", alarm(0) > 900);
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	say("cwd %s, umask %03o\n", cwd, umask(0));
	show("fd 50", fcntl(50, F_GETFD));
	show("fd 51 (cloexec)", fcntl(51, F_GETFD));
	say("nice %d\n", getpriority(PRIO_PROCESS, 0));
	done();
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_usr2 };
	stack_t ss = { .ss_sp = malloc(SIGSTKSZ), .ss_size = (size_t)SIGSTKSZ };
	sigset_t set;

	if (argc > 1) {
		second();
		return 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CK(sigprocmask(SIG_BLOCK, &set, NULL));
	CK(raise(SIGUSR1));
	CK(sigaction(SIGUSR2, &sa, NULL));
	CHECK(signal(SIGQUIT, SIG_IGN) != SIG_ERR);
	CK(sigaltstack(&ss, NULL));
	alarm(1000);
	CK(chdir("/usr"));
	umask(0153);
	CK(dup2(1, 50));
	CK(dup3(1, 51, O_CLOEXEC));
	CK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 2));
	execl("/proc/self/exe", argv[0], "second", (char *)NULL);
	return 1;
}
