/* PROT_NONE guard pages with a handler; system calls on them fail with EFAULT and short counts. Deterministic. */
#include "guest.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig UNUSED)
{
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	volatile int touched = 0;
	char *p;
	int fd[2];

	CK(sigaction(SIGSEGV, &sa, NULL));
	p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	CK(mprotect(p + 4096, 4096, PROT_NONE));
	for (int off = 4000; off < 9000; off += 200)
		if (sigsetjmp(back, 1) == 0) {
			p[off] = 1;
			touched++;
		}
	say("touched %d\n", touched);
	CK(pipe2(fd, O_NONBLOCK));
	memset(p + 4000, 'w', 96);
	show("write across the guard", write(fd[1], p + 4000, 200));
	show("write inside", write(fd[1], p + 5000, 10));
	show("write up to it", write(fd[1], p + 4000, 96));
	show("read across", read(fd[0], p + 4050, 90));
	CHECK(write(fd[1], "0123456789", 10) == 10);
	show("read inside", read(fd[0], p + 4096, 10));
	CK(mprotect(p, 4096, PROT_READ));
	show("read into read-only", read(fd[0], p, 10));
	show("getrandom across", syscall(SYS_getrandom, p + 8192 - 8, 100, 0));
	CK(mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE));
	say("after: %d %d\n", p[4096], p[8191]);
	done();
	return 0;
}
