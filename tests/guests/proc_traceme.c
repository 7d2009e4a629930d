/* A guest that wants to trace or be traced: the recorder may refuse, it must not end. Output: information only. */
#include "guest.h"
#include <sys/ptrace.h>

int main(void)
{
	pid_t p = xfork();
	int st;

	if (p == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
			say("traceme: %s\n", err_name(errno));
			_exit(9);
		}
		raise(SIGSTOP);
		_exit(3);
	}
	CHECK(waitpid(p, &st, 0) == p);
	say("child: %s\n", wait_str(st));
	if (WIFSTOPPED(st)) {
		CK(ptrace(PTRACE_CONT, p, NULL, NULL));
		say("child: %s\n", wait_str(reap(p)));
	}
	show("attach to nobody", ptrace(PTRACE_ATTACH, 0x7ffffffe, NULL, NULL));
	done();
	return 0;
}
