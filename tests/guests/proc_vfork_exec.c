/* vfork: the parent is held until the child has exec'ed or left, and sees the child's writes. Deterministic. */
#include "guest.h"

int main(int argc, char **argv)
{
	static volatile int seen;
	pid_t p;

	if (argc > 1) {
		say("after exec: %s\n", argv[1]);
		return 7;
	}
	p = vfork();
	if (p == 0) {
		seen = 42;
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		_exit(127);
	}
	CHECK(p > 0);
	CHECK(seen == 42);
	say("child: %s\n", wait_str(reap(p)));

	p = vfork();
	if (p == 0) {
		seen++;
		_exit(3);
	}
	say("parent sees %d\n", seen);
	say("child: %s\n", wait_str(reap(p)));

	p = vfork();
	if (p == 0) {
		execl("/nonexistent/program", "x", (char *)NULL);
		_exit(errno == ENOENT ? 4 : 5);
	}
	say("child: %s\n", wait_str(reap(p)));
	done();
	return 0;
}
