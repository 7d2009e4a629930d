/* POSIX shared memory: two processes that open it by name. Output: the name holds the pid. */
#include "guest.h"

int main(void)
{
	volatile int *p;
	char name[32];
	pid_t c;
	int fd;

	snprintf(name, sizeof(name), "/hermit-shm-%d", (int)getpid());
	fd = CK(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	CK(ftruncate(fd, 4096));
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	c = xfork();
	if (c == 0) {
		int fd2 = CK(shm_open(name, O_RDWR, 0));
		volatile int *q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd2, 0);

		CHECK(q != MAP_FAILED && q != p);
		for (int i = 1; i <= 5; i++) {
			while (q[0] != i)
				sched_yield();
			q[1] += 10 * i;
			q[0] = -i;
		}
		_exit(0);
	}
	for (int i = 1; i <= 5; i++) {
		p[0] = i;
		while (p[0] != -i)
			sched_yield();
		say("step %d: %d\n", i, p[1]);
	}
	say("%s: %s\n", name, wait_str(reap(c)));
	CK(shm_unlink(name));
	show("open again", shm_open(name, O_RDWR, 0));
	done();
	return 0;
}
