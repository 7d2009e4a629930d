/* /dev/null, zero, full, random, urandom, tty. Output: random bytes. */
#include "guest.h"

int main(void)
{
	unsigned char buf[32];
	int fd;

	fd = CK(open("/dev/null", O_RDWR));
	show("null read", read(fd, buf, 8));
	show("null write", write(fd, buf, 8));
	show("null seek", lseek(fd, 100, SEEK_SET));
	fd = CK(open("/dev/zero", O_RDWR));
	show("zero read", read(fd, buf, 8));
	say("%d %d\n", buf[0], buf[7]);
	show("zero mapped", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	fd = CK(open("/dev/full", O_RDWR));
	show("full write", write(fd, buf, 8));
	fd = CK(open("/dev/urandom", O_RDONLY));
	CHECK(read(fd, buf, 32) == 32);
	for (int i = 0; i < 32; i++)
		say("%02x", buf[i]);
	say("\n");
	fd = CK(open("/dev/random", O_RDONLY | O_NONBLOCK));
	show("random", read(fd, buf, 8));
	say("%02x%02x\n", buf[0], buf[1]);
	show("tty", open("/dev/tty", O_RDWR) >= 0 ? 0 : -1);
	done();
	return 0;
}
