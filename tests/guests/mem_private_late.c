/*
 * A private mapping of a file that is changed by write() afterwards: pages not yet touched show the new contents, pages
 * already copied keep the old ones. Deterministic.
 */
#include "guest.h"

int main(void)
{
	char page[4096];
	char *p;
	int fd;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	for (int i = 0; i < 6; i++) {
		memset(page, 'a' + i, sizeof(page));
		write_all(fd, page, sizeof(page));
	}
	p = mmap(NULL, 6 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	say("first %c\n", p[0]);
	p[4096 + 1] = '!';
	for (int i = 0; i < 6; i++)
		CHECK(pwrite(fd, "NEW", 3, i * 4096 + 10) == 3);
	for (int i = 0; i < 6; i++)
		say("page %d: %.15s\n", i, p + i * 4096);
	if (xfork() == 0) {
		int fd2 = CK(open("f", O_WRONLY));

		CHECK(pwrite(fd2, "CHILD", 5, 3 * 4096) == 5);
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	for (int i = 0; i < 6; i++)
		say("page %d: %.15s\n", i, p + i * 4096);
	CK(ftruncate(fd, 0));
	CK(ftruncate(fd, 6 * 4096));
	say("after truncation: %d, copied page %c\n", p[5 * 4096], p[4097]);
	done();
	return 0;
}
