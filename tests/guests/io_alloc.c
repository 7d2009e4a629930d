/* fallocate (punch, zero, keep size), SEEK_DATA and SEEK_HOLE, fadvise, readahead, sync calls. Output: depends on the file system. */
#include "guest.h"

int main(void)
{
	char buf[8];
	int fd;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT, 0600));
	show("fallocate", fallocate(fd, 0, 0, 1 << 20));
	show("posix_fallocate", posix_fallocate(fd, 0, 2 << 20));
	show("pwrite", pwrite(fd, "data", 4, 500000));
	show("punch", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 400000));
	show("zero range", fallocate(fd, FALLOC_FL_ZERO_RANGE, 500002, 10));
	CHECK(pread(fd, buf, 4, 500000) == 4);
	say("%d %d %d %d\n", buf[0], buf[1], buf[2], buf[3]);
	show("keep size", fallocate(fd, FALLOC_FL_KEEP_SIZE, 5 << 20, 4096));
	show("size", lseek(fd, 0, SEEK_END));
	show("SEEK_DATA", lseek(fd, 0, SEEK_DATA));
	show("SEEK_HOLE", lseek(fd, 0, SEEK_HOLE));
	show("fadvise", posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	show("fadvise bad", posix_fadvise(fd, 0, 0, 77));
	show("readahead", readahead(fd, 0, 4096));
	show("fsync", fsync(fd));
	show("fdatasync", fdatasync(fd));
	show("sync_file_range", sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE));
	show("syncfs bad", syncfs(99));
	show("fsync of a pipe", fsync(1) >= -1);
	show("fallocate bad", fallocate(fd, 0, -1, 5));
	done();
	return 0;
}
