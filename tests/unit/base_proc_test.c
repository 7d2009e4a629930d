/* base/proc: descriptors, failures of exec, waiting with a limit, no children left behind. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "tests/unit/test.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(status)
{
	struct proc_options opt = { .argv = ARGV("sh", "-c", "exit 5") };
	struct proc p;
	int st;

	ck_assert_int_eq(proc_spawn(&opt, &p), 0);
	ck_assert_int_eq(proc_wait(&p, -1, &st), 0);
	ck_assert_int_eq(WEXITSTATUS(st), 5);
	ck_assert_int_eq(p.pid, 0);
	ck_assert_int_eq(proc_wait(&p, -1, &st), -ECHILD);
	ck_assert_int_eq(proc_signal(&p, SIGTERM), -ESRCH);
	proc_done(&p);
}
END_TEST

START_TEST(exec_failures)
{
	struct proc p = PROC_NONE;

	/* a directory of PATH that cannot be searched would give EACCES */
	ck_assert_int_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = ARGV("/nonexistent") }, &p), -ENOENT);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = ARGV("no-such-program-here") }, &p), -ENOENT);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = ARGV("/dev/null") }, &p), -EACCES);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = ARGV("true"), .cwd = "/nonexistent" }, &p), -ENOENT);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = (const char *const[]){ NULL } }, &p), -EINVAL);
	ck_assert_int_eq(p.pid, 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(descriptors_swap)
{
	/* two pipes whose ends are handed over crosswise, so that a naive dup2 loses one */
	int a[2], b[2];
	char text[64] = "";
	struct proc p;
	int st;

	ck_assert_int_eq(pipe2(a, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(b, O_CLOEXEC), 0);
	struct proc_fd fds[] = { { a[1], b[1] }, { b[1], a[1] } };
	char script[100];

	snprintf(script, sizeof(script), "echo first >&%d; echo second >&%d; ls /proc/self/fd | wc -l >&%d", b[1], a[1], a[1]);
	struct proc_options opt = { .argv = ARGV("bash", "-c", script), .fds = fds, .n_fds = 2 };

	if (access("/bin/bash", X_OK) < 0)
		opt.argv = ARGV("sh", "-c", "exit 77");
	ck_assert_int_eq(proc_spawn(&opt, &p), 0);
	ck_assert_int_eq(proc_wait(&p, -1, &st), 0);
	close(a[1]);
	close(b[1]);
	if (WEXITSTATUS(st) == 77)
		return;
	ck_assert_int_eq(st, 0);
	ck_assert_int_gt(os_read_full(a[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "first\n");
	memset(text, 0, sizeof(text));
	ck_assert_int_gt(os_read_full(b[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "second\n6\n"); /* 0 1 2, the two, and ls's directory: nothing of ours */
	close(a[0]);
	close(b[0]);
}
END_TEST

START_TEST(time_limit)
{
	struct proc_options opt = { .argv = ARGV("sleep", "100"), .new_group = true, .die_with_us = true };
	CLEANUP(proc_done) struct proc p = PROC_NONE;
	int st = -1;

	ck_assert_int_eq(proc_spawn(&opt, &p), 0);
	ck_assert_int_eq(getpgid(p.pid), p.pid);
	ck_assert_int_eq(proc_wait(&p, 0, &st), ERR_TIMEOUT);
	ck_assert_int_eq(proc_wait(&p, 20, &st), ERR_TIMEOUT);
	ck_assert_int_eq(proc_signal(&p, SIGTERM), 0);
	ck_assert_int_eq(proc_wait(&p, 10000, &st), 0);
	ck_assert_int_eq(WTERMSIG(st), SIGTERM);
}
END_TEST

START_TEST(cleanup_kills)
{
	struct proc_options opt = { .argv = ARGV("sleep", "100") };
	struct proc p = PROC_NONE;
	pid_t pid;

	ck_assert_int_eq(proc_spawn(&opt, &p), 0);
	pid = p.pid;
	proc_done(&p);
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_int_eq(errno, ESRCH);
}
END_TEST

START_TEST(environment_and_place)
{
	struct proc_options opt = {
		.argv = ARGV("sh", "-c", "test \"$X\" = 7 && test \"$(pwd)\" = /"),
		.envp = ARGV("X=7", "PATH=/usr/bin:/bin"),
		.cwd = "/",
	};
	struct proc p;
	int st;

	ck_assert_int_eq(proc_spawn(&opt, &p), 0);
	ck_assert_int_eq(proc_wait(&p, -1, &st), 0);
	ck_assert_int_eq(st, 0);
}
END_TEST

TEST_MAIN("proc", status, exec_failures, descriptors_swap, time_limit, cleanup_kills, environment_and_place)
