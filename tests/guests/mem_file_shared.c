/* A file mapped shared: written by write() while mapped, through the mapping, and by another process. Deterministic. */
#include "guest.h"

int main(void)
{
	struct gate there, back;
	volatile char *p;
	char buf[8] = "";
	pid_t c;
	int fd;

	scratch();
	gate_init(&there);
	gate_init(&back);
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CK(ftruncate(fd, 2 * 4096));
	p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK(pwrite(fd, "hello", 5, 4090) == 5);
	say("by pwrite: %.5s\n", (char *)(uintptr_t)p + 4090);
	memcpy((char *)(uintptr_t)p + 10, "map", 3);
	CHECK(pread(fd, buf, 3, 10) == 3);
	say("by mapping: %s\n", buf);
	c = xfork();
	if (c == 0) {
		volatile char *q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("f", O_RDWR), 0);

		CHECK(q != MAP_FAILED);
		for (int i = 0; i < 5; i++) {
			gate_wait(&there);
			q[i] = (char)('A' + i + q[100]);
			CHECK(pwrite(open("f", O_WRONLY), "w", 1, 200 + i) == 1);
			gate_open(&back);
		}
		_exit(0);
	}
	for (int i = 0; i < 5; i++) {
		p[100] = (char)i;
		gate_open(&there);
		gate_wait(&back);
		say("from the other: %c %c\n", p[i], p[200 + i]);
	}
	say("%s\n", wait_str(reap(c)));
	CK(msync((void *)(uintptr_t)p, 4096, MS_SYNC));
	CK(ftruncate(fd, 100));
	say("after truncate: %d %d\n", p[100], p[99]);
	done();
	return 0;
}
