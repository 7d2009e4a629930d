/* fcntl: F_DUPFD, descriptor and status flags, pipe sizes, owner, signal, leases, unknown commands. Deterministic. */
#include "guest.h"

int main(void)
{
	struct f_owner_ex own = { F_OWNER_TID, 0 };
	int fd, p[2], hint;
	uint64_t rwh = 0;

	scratch();
	put_file("f", "x", 0600);
	fd = CK(open("f", O_RDONLY));
	show("F_DUPFD 100", fcntl(fd, F_DUPFD, 100));
	show("F_DUPFD_CLOEXEC 100", fcntl(fd, F_DUPFD_CLOEXEC, 100));
	show("F_GETFD", fcntl(101, F_GETFD));
	show("F_SETFD", fcntl(100, F_SETFD, FD_CLOEXEC));
	show("F_GETFD", fcntl(100, F_GETFD));
	say("F_GETFL %#x\n", (unsigned)fcntl(fd, F_GETFL));
	show("F_SETFL append, noatime", fcntl(fd, F_SETFL, O_APPEND | O_NOATIME));
	say("F_GETFL %#x\n", (unsigned)fcntl(100, F_GETFL));
	CK(pipe(p));
	show("F_GETPIPE_SZ", fcntl(p[0], F_GETPIPE_SZ));
	show("F_SETPIPE_SZ", fcntl(p[1], F_SETPIPE_SZ, 5000));
	show("F_GETPIPE_SZ", fcntl(p[0], F_GETPIPE_SZ));
	show("F_SETPIPE_SZ of a file", fcntl(fd, F_SETPIPE_SZ, 5000));
	show("F_SETOWN", fcntl(p[0], F_SETOWN, getpid()));
	show("F_GETOWN is pid", fcntl(p[0], F_GETOWN) == getpid());
	own.pid = gettid();
	show("F_SETOWN_EX", fcntl(p[0], F_SETOWN_EX, &own));
	show("F_GETOWN_EX", fcntl(p[0], F_GETOWN_EX, &own));
	say("owner type %d mine %d\n", own.type, own.pid == gettid());
	show("F_SETSIG", fcntl(p[0], F_SETSIG, SIGUSR1));
	show("F_GETSIG", fcntl(p[0], F_GETSIG));
	show("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK));
	show("F_GETLEASE", fcntl(fd, F_GETLEASE));
	show("F_SETLEASE off", fcntl(fd, F_SETLEASE, F_UNLCK));
	show("F_NOTIFY", fcntl(fd, F_NOTIFY, 0));
	hint = fcntl(fd, F_GET_RW_HINT, &rwh);
	show("F_GET_RW_HINT", hint);
	show("F_GET_SEALS of a file", fcntl(fd, F_GET_SEALS));
	show("unknown 9999", fcntl(fd, 9999, &rwh));
	show("unknown 77 with pointer", fcntl(fd, 77, &rwh));
	show("unknown 1024+50", fcntl(fd, 1074, 3));
	show("bad fd", fcntl(500, F_GETFD));
	show("dup3 same", dup3(fd, fd, 0));
	show("dup2 same", dup2(fd, fd) == fd);
	show("dup2 bad", dup2(500, 3));
	done();
	return 0;
}
