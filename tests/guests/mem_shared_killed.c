/* A child that counts in shared memory is killed by its own alarm in the middle of computing; the parent prints the count. */
#include "guest.h"

int main(void)
{
	volatile uint64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	CHECK(count != MAP_FAILED);
	pid = xfork();
	if (pid == 0) {
		alarm(1);
		for (;;)
			++*count;
	}
	say("child: %s\n", wait_str(reap(pid)));
	write_all(1, (const void *)count, 8); /* straight from the shared page: the registers of the call do not depend on it */
	done();
	return 0;
}
