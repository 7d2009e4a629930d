/* clone3: process with pidfd, tids and stack; its errors. Output: pids differ. */
#include "guest.h"
#include <linux/sched.h>

static long clone3(struct clone_args *a, size_t size)
{
	return syscall(SYS_clone3, a, size);
}

int main(void)
{
	struct {
		struct clone_args a;
		uint64_t more[4];
	} big = { .a.exit_signal = SIGCHLD };
	pid_t parent_tid = 0, child_tid = 0;
	int pidfd = -1;
	struct clone_args a = {
		.flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
		.pidfd = (uintptr_t)&pidfd,
		.child_tid = (uintptr_t)&child_tid,
		.parent_tid = (uintptr_t)&parent_tid,
		.exit_signal = SIGCHLD,
	};
	siginfo_t si = { 0 };
	long p;

	p = clone3(&a, sizeof(a));
	if (p < 0) {
		show("clone3", p);
		done();
		return 0;
	}
	if (p == 0) {
		say("child %d: tid word %d\n", (int)getpid(), (int)child_tid);
		_exit(5);
	}
	say("clone3 = %ld, parent word %d, pidfd %d\n", p, (int)parent_tid, pidfd);
	CK(waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED));
	say("waitid: pid %d code %d status %d\n", (int)si.si_pid, si.si_code, si.si_status);
	CHECK(si.si_status == 5 && si.si_pid == p);

	p = CK(clone3(&big.a, sizeof(big)));
	if (p == 0)
		_exit(6);
	say("larger, zeroed: %s\n", wait_str(reap((pid_t)p)));
	big.more[3] = 1;
	show("larger, not zeroed", clone3(&big.a, sizeof(big)));
	show("too small", clone3(&a, 8));
	a.exit_signal = 200;
	show("bad signal", clone3(&a, sizeof(a)));
	a.exit_signal = 0;
	a.flags = CLONE_THREAD;
	show("thread without vm", clone3(&a, sizeof(a)));
	show("bad address", clone3((struct clone_args *)8, sizeof(a)));
	done();
	return 0;
}
