/* Private mappings of files at offsets, copy on write, read-only protection, mapping kept after close and unlink. Deterministic. */
#include "guest.h"

int main(void)
{
	char page[4096], *p, *q;
	int fd;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	for (int i = 0; i < 5; i++) {
		memset(page, 'a' + i, sizeof(page));
		write_all(fd, page, sizeof(page));
	}
	write_all(fd, "tail", 4);
	p = mmap(NULL, 6 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	q = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 3 * 4096);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	p[4096] = 'X';
	p[3 * 4096] = 'Y';
	say("%c %c %c %c; second %c; tail %.4s\n", p[0], p[4096], p[4097], p[3 * 4096], *q, p + 5 * 4096);
	CHECK(pread(fd, page, 1, 4096) == 1);
	say("file keeps %c\n", page[0]);
	close(fd);
	CK(unlink("f"));
	say("after unlink %c %c\n", p[2 * 4096], q[100]);
	fd = CK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	q = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(q != MAP_FAILED);
	say("own program begins with %.3s\n", q + 1);
	show("mmap writable of read-only fd",
	     (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	show("offset not aligned", (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 100));
	show("directory", (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open("/", O_RDONLY), 0));
	done();
	return 0;
}
