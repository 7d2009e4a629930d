/* O_TMPFILE and linkat, tmpfile(), unlinked open files, link counts. Output: inode numbers differ. */
#include "guest.h"

int main(void)
{
	char path[64], buf[16] = "";
	struct stat st;
	FILE *f;
	int fd;

	scratch();
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0) {
		show("O_TMPFILE", fd);
	} else {
		write_all(fd, "unnamed", 7);
		CK(fstat(fd, &st));
		say("inode %lu links %lu size %ld\n", (unsigned long)st.st_ino, (unsigned long)st.st_nlink,
		    (long)st.st_size);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		show("linkat", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
		CK(stat("named", &st));
		say("inode %lu links %lu\n", (unsigned long)st.st_ino, (unsigned long)st.st_nlink);
	}
	f = tmpfile();
	CHECK(f && fputs("text", f) >= 0);
	rewind(f);
	CHECK(fgets(buf, sizeof(buf), f));
	say("tmpfile: %s\n", buf);
	put_file("gone", "still readable", 0600);
	fd = CK(open("gone", O_RDONLY));
	CK(unlink("gone"));
	CHECK(read(fd, buf, 5) == 5);
	CK(fstat(fd, &st));
	say("unlinked: %.5s, links %lu\n", buf, (unsigned long)st.st_nlink);
	done();
	return 0;
}
