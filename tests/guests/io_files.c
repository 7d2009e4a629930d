/* Plain files: open flags, read, write, append, seek, truncate, O_EXCL, errors. Deterministic. */
#include "guest.h"

int main(void)
{
	char buf[64] = "";
	int fd, fd2;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_EXCL, 0640));
	say("fd %d\n", fd);
	show("excl again", open("f", O_RDWR | O_CREAT | O_EXCL, 0640));
	show("write", write(fd, "hello world", 11));
	show("lseek set", lseek(fd, 6, SEEK_SET));
	show("read", read(fd, buf, 64));
	say("%s\n", buf);
	show("at end", read(fd, buf, 64));
	show("lseek end", lseek(fd, -3, SEEK_END));
	show("lseek cur", lseek(fd, 100, SEEK_CUR));
	show("write after a hole", write(fd, "x", 1));
	show("lseek before start", lseek(fd, -5, SEEK_SET));
	fd2 = CK(open("f", O_WRONLY | O_APPEND));
	show("append", write(fd2, "end", 3));
	show("where", lseek(fd2, 0, SEEK_CUR));
	show("read of write-only", read(fd2, buf, 1));
	show("truncate", ftruncate(fd, 5));
	show("pread", pread(fd, buf, 64, 0));
	say("%.5s\n", buf);
	show("pwrite far", pwrite(fd, "far", 3, 5000000000));
	show("size", lseek(fd, 0, SEEK_END));
	show("truncate by name", truncate("f", 3));
	show("negative", ftruncate(fd, -1));
	show("zero bytes", write(fd, "", 0));
	show("directory", open(".", O_WRONLY));
	show("O_DIRECTORY of a file", open("f", O_RDONLY | O_DIRECTORY));
	show("O_NOFOLLOW", (symlink("f", "l"), open("l", O_RDONLY | O_NOFOLLOW)));
	show("close", close(fd));
	show("close again", close(fd));
	show("creat", creat("g", 0600));
	show("O_PATH", fd = open("f", O_PATH));
	show("read of O_PATH", read(fd, buf, 1));
	show("O_TRUNC", open("f", O_WRONLY | O_TRUNC));
	show("bad fd", read(-1, buf, 1));
	done();
	return 0;
}
