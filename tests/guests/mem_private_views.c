/* A private mapping shows what others do to its file - by shared memory, write() and truncation - where it has not been written itself. Deterministic. */
#include "guest.h"
#include <setjmp.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4 };

static sigjmp_buf back;

static char *must_map(void *p)
{
	CHECK(p != MAP_FAILED);
	return p;
}

static void on_bus(int sig UNUSED)
{
	siglongjmp(back, 1);
}

static void print(const char *what, const volatile char *p)
{
	say("%s:", what);
	for (int i = 0; i < PAGES; i++) {
		if (sigsetjmp(back, 1))
			say(" bus");
		else
			say(" %c%c", p[i * PAGE], p[i * PAGE + 100]);
	}
	say("\n");
}

/* In another process. */
static void store(int fd, int page, char c)
{
	pid_t pid = xfork();

	if (pid == 0) {
		char *s = must_map(mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));

		s[page * PAGE] = c;
		_exit(0);
	}
	CHECK(reap(pid) == 0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_bus };
	int fd = CK(open("views", O_RDWR | O_CREAT | O_TRUNC, 0600));
	char text[PAGES * PAGE];
	char *p;

	CK(sigaction(SIGBUS, &sa, NULL));
	memset(text, '.', sizeof(text));
	CHECK(write(fd, text, sizeof(text)) == (ssize_t)sizeof(text));
	p = must_map(mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
	p[1 * PAGE + 100] = 'm'; /* from now on page 1 is ours */
	print("at first", p);
	store(fd, 0, 'a');
	store(fd, 1, 'b');
	print("stored by another", p);
	CHECK(pwrite(fd, "w", 1, 2 * PAGE) == 1 && pwrite(fd, "w", 1, 1 * PAGE) == 1);
	print("written", p);
	store(fd, 2, 'c');
	p[0] = 'o';
	store(fd, 0, 'x');
	print("stored again", p);
	CK(ftruncate(fd, 2 * PAGE));
	print("truncated", p);
	CK(ftruncate(fd, PAGES * PAGE));
	print("grown", p);
	CK(unlink("views"));
	done();
	return 0;
}
