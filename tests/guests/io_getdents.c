/* Directories: getdents64 with small and large buffers, seekdir, many entries, removal while reading. Output: order and inodes differ. */
#include "guest.h"
#include <dirent.h>

int main(void)
{
	char name[32], buf[512];
	struct dirent *e;
	long total = 0, n, pos = 0;
	int fd, count = 0;
	DIR *d;

	scratch();
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "file-%03d-%.*s", i, i % 20, "xxxxxxxxxxxxxxxxxxxx");
		put_file(name, "", 0600);
	}
	fd = CK(open(".", O_RDONLY | O_DIRECTORY));
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		total += n;
		count++;
	}
	show("end", n);
	say("%ld bytes in %d calls\n", total, count);
	show("too small", (lseek(fd, 0, SEEK_SET), syscall(SYS_getdents64, fd, buf, 10)));
	show("old call", syscall(SYS_getdents, fd, buf, sizeof(buf)) > 0);
	show("not a directory", syscall(SYS_getdents64, 0, buf, sizeof(buf)));
	d = opendir(".");
	CHECK(d);
	count = 0;
	while ((e = readdir(d)) != NULL) {
		if (count == 50)
			pos = telldir(d);
		if (count++ % 60 == 0)
			say("%s inode %lu type %d\n", e->d_name, (unsigned long)e->d_ino, e->d_type);
	}
	say("%d entries\n", count);
	CHECK(count == 302);
	seekdir(d, pos);
	e = readdir(d);
	say("at 50: %s\n", e ? e->d_name : "-");
	rewinddir(d);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] == 'f')
			CK(unlink(e->d_name));
	closedir(d);
	show("empty now", rmdir(scratch_path));
	done();
	return 0;
}
