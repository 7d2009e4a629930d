/* Bytes past the end of file in the last page of mappings are zero, may be written, and never reach the file. Deterministic. */
#include "guest.h"

int main(void)
{
	char buf[32];
	volatile char *p, *q;
	int fd;

	scratch();
	put_file("f", "short file", 0600);
	fd = CK(open("f", O_RDWR | O_CLOEXEC));
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	for (int i = 10; i < 4096; i++)
		CHECK(p[i] == 0 && q[i] == 0);
	p[10] = 's';
	q[11] = 'q';
	p[0] = 'S';
	say("shared sees %d, private sees %c\n", p[11], q[0]);
	show("read", pread(fd, buf, sizeof(buf), 0));
	say("%.10s\n", buf);
	show("read at the end", pread(fd, buf, sizeof(buf), 10));
	CHECK(pwrite(fd, "0123456789ABCDEF", 16, 8) == 16);
	say("grown: %.24s\n", (char *)(uintptr_t)p);
	done();
	return 0;
}
