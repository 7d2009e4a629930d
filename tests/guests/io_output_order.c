/* Output by many means interleaved: stdio, write, writev, two processes, dup'ed and re-opened descriptors. Deterministic. */
#include "guest.h"
#include <sys/uio.h>

int main(void)
{
	struct iovec v[2] = { { (char *)(uintptr_t) "writev", 6 }, { (char *)(uintptr_t) " pieces\n", 8 } };
	int fd = CK(dup(1)), fd2;
	FILE *f;

	printf("stdio first\n");
	fflush(stdout);
	say("write\n");
	CK(writev(1, v, 2));
	dprintf(2, "to stderr\n");
	dprintf(fd, "to the duplicate\n");
	f = fdopen(fd, "w");
	fprintf(f, "by another stream\n");
	fclose(f);
	fd2 = open("/proc/self/fd/1", O_WRONLY);
	if (fd2 >= 0)
		dprintf(fd2, "through /proc\n");
	if (xfork() == 0) {
		say("from the child\n");
		dprintf(2, "child to stderr\n");
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	CK(dup2(2, 1));
	say("stdout is now stderr\n");
	return 0;
}
