/* readv, writev, preadv, pwritev, preadv2, pwritev2 with empty and many pieces, offset -1, flags, errors. Deterministic. */
#include "guest.h"
#include <sys/uio.h>

int main(void)
{
	char a[4] = "", b[8] = "", c[16] = "", many[1025];
	struct iovec v[3] = { { a, 3 }, { b, 0 }, { c, 10 } }, w[3], m[1025];
	int fd, pfd[2];

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT, 0600));
	w[0] = (struct iovec){ (char *)(uintptr_t) "abc", 3 };
	w[1] = (struct iovec){ NULL, 0 };
	w[2] = (struct iovec){ (char *)(uintptr_t) "defghijkl", 9 };
	show("writev", writev(fd, w, 3));
	show("pwritev", pwritev(fd, w, 3, 100));
	show("pwritev2 at -1", pwritev2(fd, w, 1, -1, 0));
	show("pwritev2 append", pwritev2(fd, w, 1, 0, RWF_APPEND));
	show("size", lseek(fd, 0, SEEK_END));
	lseek(fd, 0, SEEK_SET);
	show("readv", readv(fd, v, 3));
	say("%s|%s|%s\n", a, b, c);
	show("preadv", preadv(fd, v, 3, 100));
	say("%s|%s\n", a, c);
	show("preadv2 at -1", preadv2(fd, v, 1, -1, 0));
	show("preadv2 hipri", preadv2(fd, v, 1, 0, RWF_HIPRI) >= -1);
	show("preadv2 unknown flag", preadv2(fd, v, 1, 0, 0x40000000));
	for (int i = 0; i < 1025; i++)
		m[i] = (struct iovec){ many + i, 1 };
	show("1024 pieces", preadv(fd, m, 1024, 0));
	show("1025 pieces", readv(fd, m, 1025));
	show("no pieces", readv(fd, m, 0));
	show("negative count", readv(fd, m, opaque_zero - 1));
	show("bad vector", readv(fd, bad_address, 1));
	v[0].iov_base = (void *)8;
	lseek(fd, 0, SEEK_SET);
	show("bad first piece", readv(fd, v, 3));
	v[0].iov_base = a;
	v[2].iov_base = (void *)8;
	show("bad third piece", readv(fd, v, 3));
	v[2].iov_len = SIZE_MAX / 2 + 2;
	show("length overflow", readv(fd, v, 3));
	CK(pipe(pfd));
	CHECK(write(pfd[1], "12345", 5) == 5);
	v[2] = (struct iovec){ c, 10 };
	show("pipe, less than asked", readv(pfd[0], v, 3));
	say("%s|%.2s\n", a, c);
	show("pipe, nowait", preadv2(pfd[0], v, 1, -1, RWF_NOWAIT));
	done();
	return 0;
}
