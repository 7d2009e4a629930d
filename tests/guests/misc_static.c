/* A statically linked program with stdio, malloc, time and a child. Output: pids and times differ.
 * flags: -static
 */
#include "guest.h"

int main(void)
{
	char *p = malloc(100000);
	pid_t c;

	CHECK(p);
	memset(p, 1, 100000);
	say("static, pid %d, time %ld, heap %p\n", (int)getpid(), (long)time(NULL), (void *)p);
	c = xfork();
	if (c == 0)
		_exit(8);
	say("%s\n", wait_str(reap(c)));
	done();
	return 0;
}
