/* memfd: mapped twice (aliases), seals, resize, use by a child, names. Deterministic. */
#include "guest.h"

int main(void)
{
	char path[64], link[PATH_MAX];
	volatile char *a, *b;
	ssize_t n;
	int fd;

	fd = CK(memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = CK(readlink(path, link, sizeof(link) - 1));
	link[n] = '\0';
	say("link %s\n", link);
	CK(ftruncate(fd, 8192));
	a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	CHECK(a != MAP_FAILED && b != MAP_FAILED);
	a[4096] = 'x';
	b[1] = 'y';
	say("aliases: %c %c\n", b[0], a[4097]);
	CHECK(pwrite(fd, "zw", 2, 4098) == 2);
	say("written: %c %c\n", b[2], a[4099]);
	if (xfork() == 0) {
		b[4] = 'c';
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	say("by child: %c\n", a[4100]);
	show("seals", fcntl(fd, F_GET_SEALS));
	show("seal write while mapped", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	show("seal grow, shrink", fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
	show("grow", ftruncate(fd, 16384));
	show("shrink", ftruncate(fd, 4096));
	show("seal future write", fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	show("write", write(fd, "q", 1));
	a[0] = 'm';
	say("old mapping writes: %c\n", a[0]);
	show("seal seal", fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
	show("more seals", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	show("seals", fcntl(fd, F_GET_SEALS));
	show("no sealing", fcntl(CK(memfd_create("plain", 0)), F_ADD_SEALS, F_SEAL_GROW));
	show("bad flags", memfd_create("x", 0x7000));
	done();
	return 0;
}
