/* A 200 MB sparse mapping of a sparse file and one of 4 GB without reservation, a few pages touched. Output: addresses differ. */
#include "guest.h"

int main(void)
{
	const size_t n = 200u << 20, big = 4ul << 30;
	char *p, *q;
	long sum = 0;
	int fd;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CK(ftruncate(fd, (off_t)n));
	CHECK(pwrite(fd, "middle", 6, 100 << 20) == 6);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	q = mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	say("at %p and %p: %.6s\n", (void *)p, (void *)q, p + (100 << 20));
	for (size_t i = 0; i < n; i += 16 << 20)
		p[i] = (char)(i >> 24);
	for (size_t i = 0; i < big; i += 256 << 20)
		q[i] = 1;
	for (size_t i = 0; i < n; i += 1 << 20)
		sum += p[i];
	for (size_t i = 0; i < big; i += 64 << 20)
		sum += q[i];
	say("sum %ld\n", sum);
	if (xfork() == 0) {
		say("child: %d %d\n", p[16 << 20], q[256 << 20]);
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	done();
	return 0;
}
