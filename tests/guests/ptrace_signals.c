/* Signals of a tracee: seen, suppressed, changed, let through; faults; stops. */
#include "ptrace.h"
#include <sys/wait.h>

static volatile int count, last, code, value;

static void on_signal(int s, siginfo_t *si, void *ctx UNUSED)
{
	count++;
	last = s;
	code = si->si_code;
	value = si->si_value.sival_int;
}

static volatile int *volatile nowhere = (int *)16;

static void tracee(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigset_t set;

	for (int s = 1; s < 32; s++)
		if (s != SIGKILL && s != SIGSTOP && s != SIGCHLD && s != SIGWINCH && s != SIGSEGV)
			sigaction(s, &sa, NULL);
	raise(SIGUSR1);
	say("tracee: %d handled, last %s\n", count, sig_name(last));
	raise(SIGUSR1);
	say("tracee: %d handled, last %s\n", count, sig_name(last));
	raise(SIGUSR1);
	say("tracee: %d handled, last %s code %d\n", count, sig_name(last), code);
	raise(SIGTERM);
	say("tracee: %d handled, last %s code %d value %d\n", count, sig_name(last), code, value);
	raise(SIGWINCH); /* ignored: the tracer sees it */
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGHUP); /* blocked until the tracer unblocks it */
	raise(SIGINT);
	say("tracee: %d handled, last %s\n", count, sig_name(last));
	say("tracee: read %d\n", *nowhere); /* the tracer makes the address good */
	raise(SIGSTOP);
	say("tracee: after the stop\n");
	*nowhere = 1;
	_exit(1);
}

static siginfo_t expect(pid_t p, int signo)
{
	int st = await_quiet(p);
	siginfo_t si;

	say("tracer: %s\n", stop_str(st));
	CHECK(WIFSTOPPED(st) && WSTOPSIG(st) == signo);
	CK(ptrace(PTRACE_GETSIGINFO, p, NULL, &si));
	CHECK(si.si_signo == signo);
	return si;
}

static int fix(pid_t p)
{
	static int seven = 7;
	struct user_regs_struct r = regs_of(p), was = r;
	unsigned long long *const regs[] = { &r.rax, &r.rbx, &r.rcx, &r.rdx, &r.rsi, &r.rdi, &r.r8, &r.r9 };

	for (size_t i = 0; i < N_ELEMENTS(regs); i++)
		if (*regs[i] == 16)
			*regs[i] = (uint64_t)&seven;
	CHECK(memcmp(&r, &was, sizeof(r)));
	CK(ptrace(PTRACE_SETREGS, p, NULL, &r));
	return 0;
}

int main(void)
{
	uint64_t mask;
	siginfo_t si;
	pid_t p = traced_fork();

	if (!p)
		tracee();
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	si = expect(p, SIGUSR1);
	CHECK(si.si_code == SI_TKILL && si.si_pid == p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL)); /* suppressed */
	expect(p, SIGUSR1);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGUSR1)); /* let through */
	expect(p, SIGUSR1);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGUSR2)); /* another one instead */
	si = expect(p, SIGTERM);
	si.si_code = SI_QUEUE;
	si.si_value.sival_int = 99;
	CK(ptrace(PTRACE_SETSIGINFO, p, NULL, &si));
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGTERM));
	expect(p, SIGWINCH);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGWINCH));
	expect(p, SIGINT);
	CK(ptrace(PTRACE_GETSIGMASK, p, (void *)8, &mask));
	say("blocked: SIGHUP %d\n", (int)(mask >> (SIGHUP - 1) & 1));
	mask = 0;
	CK(ptrace(PTRACE_SETSIGMASK, p, (void *)8, &mask));
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGINT));
	expect(p, SIGHUP);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGHUP));
	si = expect(p, SIGSEGV);
	say("fault: code %d at %p\n", si.si_code, si.si_addr);
	fix(p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	expect(p, SIGSTOP);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGSTOP)); /* a group-stop, which has no information */
	await("tracer", p);
	show("information", ptrace(PTRACE_GETSIGINFO, p, NULL, &si));
	CK(kill(p, SIGCONT));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	expect(p, SIGCONT);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	expect(p, SIGSEGV);
	CK(ptrace(PTRACE_CONT, p, NULL, (void *)SIGSEGV));
	await("tracer", p);
	done();
	return 0;
}
