/* O_DIRECT and O_SYNC files with aligned buffers. Output: depends on the file system. */
#include "guest.h"

int main(void)
{
	char *buf;
	int fd;

	CHECK(posix_memalign((void **)&buf, 4096, 3 * 4096) == 0);
	scratch();
	fd = open("f", O_RDWR | O_CREAT | O_DIRECT | O_SYNC, 0600);
	if (fd < 0) {
		show("open", fd);
		done();
		return 0;
	}
	memset(buf, 'd', 3 * 4096);
	show("write", write(fd, buf, 2 * 4096));
	show("unaligned", write(fd, buf + 1, 100));
	memset(buf, 0, 3 * 4096);
	show("read", pread(fd, buf, 3 * 4096, 0));
	say("%c %c %d\n", buf[0], buf[8191], buf[8192]);
	done();
	return 0;
}
