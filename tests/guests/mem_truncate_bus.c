/* A file truncated under its mappings: SIGBUS beyond the end, zeros after growing again. Deterministic. */
#include "guest.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	say("%s code %d\n", sig_name(sig), si->si_code);
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	volatile char *p;
	volatile int i;
	int fd, pfd[2];

	CK(sigaction(SIGBUS, &sa, NULL));
	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CK(ftruncate(fd, 4 * 4096));
	p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	for (i = 0; i < 4; i++)
		p[i * 4096] = (char)('a' + i);
	CK(ftruncate(fd, 4096 + 100));
	p[4096 + 200] = 'z'; /* beyond the end within the last page: allowed */
	for (i = 0; i < 4; i++)
		if (sigsetjmp(back, 1) == 0)
			say("page %d: %d\n", i, p[i * 4096]);
	CK(pipe(pfd));
	show("write from beyond", write(pfd[1], (const char *)(uintptr_t)p + 3 * 4096, 10));
	CK(ftruncate(fd, 4 * 4096));
	for (i = 0; i < 4; i++)
		if (sigsetjmp(back, 1) == 0)
			say("page %d: %d %d\n", i, p[i * 4096], p[i * 4096 + 200]);
	done();
	return 0;
}
