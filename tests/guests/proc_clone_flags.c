/* clone with each common flag: what is shared, where ids are written, which signal is sent. Output: pids differ. */
#include "guest.h"
#include <sys/time.h>

static char stack[256 * 1024] __attribute__((aligned(64)));
static volatile int shared;
static pid_t ptid, ctid;
static volatile sig_atomic_t usr1;

static void on_usr1(int sig UNUSED)
{
	usr1++;
}

static int body(void *arg)
{
	const char *what = arg;

	shared++;
	if (!strcmp(what, "files"))
		_exit(dup2(1, 77) == 77 ? 0 : 1);
	if (!strcmp(what, "fs")) {
		umask(031);
		_exit(chdir("/"));
	}
	if (!strcmp(what, "parent"))
		_exit(getppid() == (pid_t)ptid ? 0 : 1);
	if (!strcmp(what, "childset"))
		_exit(ctid == getpid() ? 0 : 1);
	if (!strcmp(what, "sighand")) {
		struct sigaction sa = { .sa_handler = on_usr1 };

		_exit(sigaction(SIGUSR1, &sa, NULL));
	}
	_exit(0);
}

static pid_t try(const char *what, int flags, int wait_flags)
{
	int st, pidfd = -1;
	pid_t p;

	shared = 0;
	p = CK(clone(body, stack + sizeof(stack), flags, (void *)(uintptr_t)what, flags & CLONE_PIDFD ? &pidfd : &ptid,
		     NULL, &ctid));
	CHECK(waitpid(p, &st, wait_flags) == p);
	say("%-9s pid %d: %s, shared %d, pidfd %d\n", what, (int)p, wait_str(st), shared, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return p;
}

int main(void)
{
	struct sigaction sa;
	pid_t p, q;

	scratch();
	try("none", SIGCHLD, 0);
	try("vm", CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
	try("files", CLONE_FILES | SIGCHLD, 0);
	show("fd 77 here", fcntl(77, F_GETFD));
	close(77);
	try("fs", CLONE_FS | SIGCHLD, 0);
	say("umask %03o\n", umask(022));
	CK(chdir(scratch_path));
	try("sighand", CLONE_VM | CLONE_VFORK | CLONE_SIGHAND | SIGCHLD, 0);
	CK(sigaction(SIGUSR1, NULL, &sa));
	say("handler set by the child: %d\n", sa.sa_handler == on_usr1);
	try("io", CLONE_IO | CLONE_SYSVSEM | SIGCHLD, 0);
	ptid = ctid = 0;
	p = try("parentset", CLONE_PARENT_SETTID | SIGCHLD, 0);
	say("ptid is pid: %d, ctid %d\n", ptid == p, ctid);
	ptid = ctid = 0;
	try("childset", CLONE_CHILD_SETTID | SIGCHLD, 0);
	say("ctid here %d\n", ctid);
	ctid = 5;
	try("cleartid", CLONE_VM | CLONE_VFORK | CLONE_CHILD_CLEARTID | SIGCHLD, 0);
	say("ctid cleared: %d\n", ctid);
	try("pidfd", CLONE_PIDFD | SIGCHLD, 0);
	try("usr1", SIGUSR1, __WALL);
	say("SIGUSR1 received %d\n", (int)usr1);
	try("nosignal", 0, __WCLONE);
	show("clone thread without vm", clone(body, stack + sizeof(stack), CLONE_THREAD, NULL));
	show("clone newpid+thread",
	     clone(body, stack + sizeof(stack), CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWPID, NULL));
	/* CLONE_PARENT: the new process is a sibling, so this process's own parent (a middle one) must wait for it. */
	q = xfork();
	if (q == 0) {
		int st;
		pid_t mid, r;

		ptid = getpid();
		mid = xfork();
		if (mid == 0) {
			CK(clone(body, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, (void *)(uintptr_t) "parent"));
			_exit(0);
		}
		for (int i = 0; i < 2; i++) {
			r = CK(wait(&st));
			say("parent    pid %d: %s\n", (int)r, wait_str(st));
		}
		_exit(0);
	}
	say("%s\n", wait_str(reap(q)));
	done();
	return 0;
}
