/* Files that are mapped shared, removed and made anew: the new file mostly has the old inode number and none of its contents. Deterministic. */
#include "guest.h"

int main(void)
{
	int old = 0;

	scratch();
	for (int i = 0; i < 20; i++) {
		volatile char *p;
		int fd = CK(open("f", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));

		CK(ftruncate(fd, 8192));
		p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(p != MAP_FAILED);
		old += p[0] + p[5000] + p[100 * i];
		p[0] = p[5000] = 1;
		p[100 * (i + 1)] = 2;
		CK(munmap((void *)(uintptr_t)p, 8192));
		close(fd);
		CK(unlink("f"));
	}
	say("left over from former files: %d\n", old);
	CHECK(old == 0);
	done();
	return 0;
}
