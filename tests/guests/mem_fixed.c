/* MAP_FIXED over existing mappings: over part of one, over several, over a file's; contents afterwards. Deterministic. */
#include "guest.h"

int main(void)
{
	enum { N = 16 };
	char *p = mmap(NULL, N * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < N; i++)
		memset(p + i * 4096, 'a' + i, 4096);
	scratch();
	put_file("f", "from the file", 0600);
	fd = CK(open("f", O_RDWR | O_CLOEXEC));
	CHECK(mmap(p + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + 4096);
	CHECK(mmap(p + 3 * 4096, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == p + 3 * 4096);
	CHECK(mmap(p + 5 * 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == p + 5 * 4096);
	CK(munmap(p + 7 * 4096, 2 * 4096));
	CHECK(mmap(p + 6 * 4096, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      p + 6 * 4096);
	CHECK(pwrite(fd, "FROM", 4, 0) == 4);
	for (int i = 0; i < N; i++)
		say("%2d: %.4s|%d\n", i, p[i * 4096] ? p + i * 4096 : "", p[i * 4096 + 4095]);
	done();
	return 0;
}
