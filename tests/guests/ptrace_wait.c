/* Waits of a tracer: waitid, WNOHANG, WNOWAIT, tracees and other children mixed; SIGCHLD and what it says. */
#include "ptrace.h"
#include <sys/signalfd.h>

static volatile int chld, chld_code, chld_status;
static volatile pid_t chld_pid;

static void on_chld(int s UNUSED, siginfo_t *si, void *ctx UNUSED)
{
	chld++;
	chld_code = si->si_code;
	chld_pid = si->si_pid;
	chld_status = si->si_status;
}

static void info(const char *label, int r, const siginfo_t *si, pid_t p)
{
	if (r < 0)
		say("%s: %s\n", label, err_name(errno));
	else
		say("%s: %s code %d status %#x\n", label, !si->si_pid ? "nothing" : si->si_pid == p ? "it" : "another", si->si_code, si->si_status);
}

static void with_waitid(void)
{
	pid_t p = xfork();
	siginfo_t si;
	int r;

	if (p == 0) {
		CK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGUSR1);
		_exit(7);
	}
	r = waitid(P_PID, (id_t)p, &si, WEXITED | WNOWAIT);
	info("stop, left", r, &si, p);
	r = waitid(P_ALL, 0, &si, WSTOPPED | WNOHANG);
	info("stop", r, &si, p);
	si.si_pid = 1;
	r = waitid(P_ALL, 0, &si, WSTOPPED | WEXITED | WNOHANG);
	info("none", r, &si, p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	r = waitid(P_PID, (id_t)p, &si, WEXITED);
	info("end", r, &si, p);
	r = waitid(P_PID, (id_t)p, &si, WEXITED);
	info("no more", r, &si, p);
}

static void mixed(void)
{
	pid_t p = traced_fork(), q;
	int st, fd[2];
	char c;

	if (!p) {
		raise(SIGUSR1);
		_exit(8);
	}
	CK(pipe(fd));
	q = xfork();
	if (q == 0) {
		close(fd[1]);
		CHECK(read(fd[0], &c, 1) == 0);
		_exit(9);
	}
	show("nothing yet", waitpid(-1, &st, WNOHANG));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	CHECK(waitpid(-1, &st, 0) == p);
	say("tracee: %s\n", stop_str(st));
	close(fd[1]);
	CHECK(waitpid(-1, &st, 0) == q);
	say("child: %s\n", stop_str(st));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	CHECK(waitpid(-getpgrp(), &st, __WALL) == p);
	say("tracee: %s\n", stop_str(st));
	show("no more", waitpid(-1, &st, 0));
}

static void signals(bool nocldstop)
{
	struct sigaction sa = { .sa_sigaction = on_chld, .sa_flags = SA_SIGINFO | (nocldstop ? SA_NOCLDSTOP : 0) };
	sigset_t block, old, wait;
	siginfo_t si;
	pid_t p;
	int st;

	CK(sigaction(SIGCHLD, &sa, NULL));
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	CK(sigprocmask(SIG_BLOCK, &block, &old));
	chld = 0;
	p = xfork();
	if (p == 0) {
		CK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGUSR1);
		raise(SIGUSR2);
		_exit(10);
	}
	wait = old;
	sigdelset(&wait, SIGCHLD);
	if (!nocldstop) {
		sigsuspend(&wait);
		say("SIGCHLD %d: from it %d, code %d, status %d\n", chld, chld_pid == p, chld_code, chld_status);
	}
	CHECK(waitpid(p, &st, 0) == p);
	say("%s\n", stop_str(st));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	if (!nocldstop) {
		CHECK(sigwaitinfo(&block, &si) == SIGCHLD);
		say("SIGCHLD: from it %d, code %d, status %d\n", si.si_pid == p, si.si_code, si.si_status);
	}
	CHECK(waitpid(p, &st, 0) == p);
	say("%s\n", stop_str(st));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	sigsuspend(&wait);
	say("SIGCHLD %d: from it %d, code %d, status %d\n", chld, chld_pid == p, chld_code, chld_status);
	CHECK(waitpid(p, &st, WNOHANG) == p);
	say("%s\n", stop_str(st));
	CK(sigprocmask(SIG_SETMASK, &old, NULL));
	signal(SIGCHLD, SIG_DFL);
}

/* A handler interrupts a wait for a tracee that is no child. */
static void on_alarm(int s UNUSED)
{
}

static void interrupted(int flags)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	int fd[2], pidpipe[2], st, r;
	pid_t middle, p;
	char c;

	CK(sigaction(SIGALRM, &sa, NULL));
	CK(pipe2(fd, 0));
	CK(pipe2(pidpipe, 0));
	middle = xfork();
	if (middle == 0) {
		p = xfork();
		if (p == 0) {
			close(fd[1]);
			CHECK(read(fd[0], &c, 1) == 0);
			_exit(0);
		}
		CHECK(write(pidpipe[1], &p, sizeof(p)) == sizeof(p));
		close(fd[1]);
		CHECK(read(fd[0], &c, 1) == 0);
		reap(p);
		_exit(0);
	}
	read_whole(pidpipe[0], &p, sizeof(p));
	CK(ptrace(PTRACE_SEIZE, p, NULL, NULL));
	alarm(1);
	if (flags & SA_RESTART) { /* somebody ends it, later */
		pid_t helper = xfork();

		if (helper == 0) {
			msleep(1300);
			kill(p, SIGUSR1);
			_exit(0);
		}
	}
	r = waitpid(p, &st, __WALL);
	if (r < 0)
		say("wait: %s\n", err_name(errno));
	else
		say("wait: %s\n", stop_str(st));
	CK(kill(p, SIGKILL));
	CHECK(waitpid(p, &st, __WALL) == p);
	if (WIFSTOPPED(st))
		CHECK(waitpid(p, &st, __WALL) == p);
	say("end: %s\n", stop_str(st));
	show("no more", waitpid(p, &st, __WALL));
	close(fd[1]);
	reap(middle);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}

static void by_descriptor(void)
{
	struct signalfd_siginfo si;
	sigset_t block;
	int fd, st;
	pid_t p;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	CK(sigprocmask(SIG_BLOCK, &block, NULL));
	fd = CK(signalfd(-1, &block, SFD_CLOEXEC));
	p = xfork();
	if (p == 0) {
		CK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGUSR1);
		_exit(10);
	}
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	say("signalfd: from it %d, code %d, status %d\n", si.ssi_pid == (uint32_t)p, si.ssi_code, si.ssi_status);
	CHECK(waitpid(p, &st, WNOHANG) == p);
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	say("signalfd: from it %d, code %d, status %d\n", si.ssi_pid == (uint32_t)p, si.ssi_code, si.ssi_status);
	await("tracee", p);
	close(fd);
	CK(sigprocmask(SIG_UNBLOCK, &block, NULL));
}

int main(void)
{
	by_descriptor();
	with_waitid();
	mixed();
	signals(false);
	signals(true);
	interrupted(0);
	interrupted(SA_RESTART);
	done();
	return 0;
}
