/* See proc.h. Between fork and exec only async-signal-safe calls are made: the caller may have threads.
 *
 *     parent                         child
 *     pipe (close-on-exec)
 *     fork ------------------------> group, death signal, cwd, descriptors
 *     read pipe <--- errno --------- exec failed
 *     read pipe <--- end of file --- exec done (kernel closed the pipe)
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/os.h"

extern char **environ;

/* Moves the wanted descriptors to their numbers. First all go above every target, so that none overwrites another. */
static int place_fds(const struct proc_options *opt, int *report)
{
	int moved[PROC_FDS_MAX], top = 3;

	for (size_t i = 0; i < opt->n_fds; i++)
		top = MAX(top, opt->fds[i].child + 1);
	*report = fcntl(*report, F_DUPFD_CLOEXEC, top);
	if (*report < 0)
		return -errno;
	for (size_t i = 0; i < opt->n_fds; i++) {
		moved[i] = fcntl(opt->fds[i].ours, F_DUPFD_CLOEXEC, top);
		if (moved[i] < 0)
			return -errno;
	}
	if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (size_t i = 0; i < opt->n_fds; i++) {
		if (dup2(moved[i], opt->fds[i].child) < 0)
			return -errno;
	}
	return 0;
}

static void restore_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static NORETURN void run_child(const struct proc_options *opt, pid_t parent, int report)
{
	int r = 0;

	restore_signals();
	if (opt->new_group && setpgid(0, 0) < 0)
		r = -errno;
	if (r == 0 && opt->die_with_us) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			r = -errno;
		else if (getppid() != parent) /* it was gone before we asked */
			_exit(127);
	}
	if (r == 0 && opt->cwd && chdir(opt->cwd) < 0)
		r = -errno;
	if (r == 0)
		r = place_fds(opt, &report);
	if (r == 0) {
		execvpe(opt->argv[0], (char *const *)opt->argv, opt->envp ? (char *const *)opt->envp : environ);
		r = -errno;
	}
	(void)!write(report, &r, sizeof(r));
	_exit(127);
}

int proc_spawn(const struct proc_options *opt, struct proc *ret)
{
	CLEANUP(proc_done) struct proc p = PROC_NONE;
	CLEANUP(closep) int from = -1;
	CLEANUP(closep) int to = -1;
	pid_t parent = getpid();
	int pipe_fds[2], failure;
	ssize_t n;

	if (opt->n_fds > PROC_FDS_MAX || !opt->argv || !opt->argv[0])
		return -EINVAL;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	from = pipe_fds[0];
	to = pipe_fds[1];
	p.pid = fork();
	if (p.pid < 0) {
		p.pid = 0;
		return -errno;
	}
	if (p.pid == 0)
		run_child(opt, parent, to);
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	if (p.pidfd < 0)
		return -errno;
	closep(&to);
	to = -1;
	n = os_read_full(from, &failure, sizeof(failure));
	if (n < 0)
		return (int)n;
	if (n == sizeof(failure))
		return failure < 0 ? failure : -EIO;
	*ret = p;
	p = PROC_NONE;
	return 0;
}

/* Reaps; the child has ended or is about to. */
static int proc_reap(struct proc *p, int *ret_status)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(p->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	*ret_status = status;
	closep(&p->pidfd);
	*p = PROC_NONE;
	return 0;
}

int proc_wait(struct proc *p, int timeout_ms, int *ret_status)
{
	uint64_t end = os_mono_ns() + (uint64_t)MAX(timeout_ms, 0) * 1000000u;

	if (p->pid <= 0)
		return -ECHILD;
	for (;;) {
		struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };
		uint64_t now = os_mono_ns();
		int left = timeout_ms < 0 ? -1 : now < end ? (int)((end - now + 999999) / 1000000) : 0;
		int r = poll(&pfd, 1, left);

		if (r > 0)
			return proc_reap(p, ret_status);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0 && timeout_ms >= 0)
			return ERR_TIMEOUT;
	}
}

int proc_signal(const struct proc *p, int signo)
{
	if (p->pidfd < 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, p->pidfd, signo, NULL, 0) < 0 ? -errno : 0;
}

void proc_done(struct proc *p)
{
	int saved = errno, status;

	if (p->pid > 0) {
		(void)kill(p->pid, SIGKILL); /* not reaped yet, so the number is still ours */
		(void)proc_reap(p, &status);
	}
	closep(&p->pidfd);
	*p = PROC_NONE;
	errno = saved;
}
