/*
 * ioctl numbers that no table knows, on many kinds of descriptors, with pointers and plain numbers; and FIONREAD, FIOASYNC
 * and block or file ioctls where they mean something. The call is answered as natively and nothing ends. Deterministic.
 */
#include "guest.h"
#include <linux/fs.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(void)
{
	static const unsigned long odd[] = { 0, 0x1001, 0x7fff, 0x12345678, 0xdeadbeef, _IOR('!', 0x99, char[1000]),
					     _IOW('!', 0x98, int), _IOWR('~', 0x97, char[64]), 0xc0ffee42u };
	static const char *const kinds[] = { "pipe", "null", "zero", "file", "dir", "socket", "eventfd", "epoll", "pts",
					     "ptmx" };
	static char buf[16384];
	int fd[10], p[2], sv[2], n;

	scratch();
	put_file("f", "12345", 0600);
	CK(pipe(p));
	fd[0] = p[0];
	fd[1] = CK(open("/dev/null", O_RDWR));
	fd[2] = CK(open("/dev/zero", O_RDWR));
	fd[3] = CK(open("f", O_RDWR));
	fd[4] = CK(open(".", O_RDONLY));
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	fd[5] = sv[0];
	fd[6] = CK(eventfd(0, 0));
	fd[7] = CK(epoll_create1(0));
	CK(openpty(&fd[9], &fd[8], NULL, NULL, NULL));
	for (size_t k = 0; k < N_ELEMENTS(kinds); k++) {
		say("%s:", kinds[k]);
		for (size_t i = 0; i < N_ELEMENTS(odd); i++) {
			int r, r2, r3;

			memset(buf, 0x5a, sizeof(buf));
			r = ioctl(fd[k], odd[i], buf) < 0 ? errno : 0;
			r2 = ioctl(fd[k], odd[i], 0) < 0 ? errno : 0;
			r3 = ioctl(fd[k], odd[i], 8) < 0 ? errno : 0;
			say(" %s/%s/%s/%llx", err_name(r), err_name(r2), err_name(r3),
			    (unsigned long long)hash(buf, sizeof(buf)) & 0xfff);
		}
		n = -1;
		say(" FIONREAD %s", ioctl(fd[k], FIONREAD, &n) < 0 ? err_name(errno) : "");
		say(" %d\n", n);
	}
	show("FIOCLEX", ioctl(p[0], FIOCLEX));
	show("fd flags", fcntl(p[0], F_GETFD));
	show("FIONCLEX", ioctl(p[0], FIONCLEX));
	show("FIGETBSZ", ioctl(fd[3], FIGETBSZ, &n));
	show("FIOQSIZE", ioctl(fd[3], 0x5460, buf));
	show("BLKGETSIZE of a file", ioctl(fd[3], BLKGETSIZE, buf));
	show("bad fd", ioctl(99, FIONREAD, &n));
	done();
	return 0;
}
