/* fcntl locks: conflicts between processes, F_GETLK, blocking wait, open file description locks, flock. Output: pids differ. */
#include "guest.h"
#include <sys/file.h>

static int lock(int fd, int cmd, short type, off_t start, off_t len, struct flock *out)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
	int r = fcntl(fd, cmd, &l);

	if (out)
		*out = l;
	return r;
}

int main(void)
{
	struct gate have, leave;
	struct flock l;
	int fd, fd2;
	pid_t p;

	gate_init(&have);
	gate_init(&leave);
	scratch();
	put_file("f", "0123456789", 0600);
	fd = CK(open("f", O_RDWR));
	p = xfork();
	if (p == 0) {
		CK(lock(fd, F_SETLK, F_WRLCK, 2, 4, NULL));
		fd2 = CK(open("f", O_RDWR));
		CK(flock(fd2, LOCK_EX));
		gate_open(&have);
		gate_wait(&leave);
		wait_state(getppid(), 'S');
		_exit(0);
	}
	gate_wait(&have);
	show("conflict", lock(fd, F_SETLK, F_WRLCK, 0, 3, NULL));
	show("no conflict", lock(fd, F_SETLK, F_WRLCK, 6, 2, NULL));
	CK(lock(fd, F_GETLK, F_WRLCK, 0, 100, &l));
	say("held by child %d (%d): type %d start %ld len %ld\n", l.l_pid == p, (int)l.l_pid, l.l_type, (long)l.l_start,
	    (long)l.l_len);
	fd2 = CK(open("f", O_RDWR));
	show("flock", flock(fd2, LOCK_EX | LOCK_NB));
	show("ofd lock conflict", lock(fd2, F_OFD_SETLK, F_WRLCK, 0, 0, NULL));
	gate_open(&leave);
	show("waits", lock(fd, F_SETLKW, F_WRLCK, 0, 0, NULL));
	say("%s\n", wait_str(reap(p)));
	show("flock", flock(fd2, LOCK_SH | LOCK_NB));
	show("ofd against own", lock(fd2, F_OFD_SETLK, F_RDLCK, 0, 1, NULL));
	show("unlock", lock(fd, F_SETLK, F_UNLCK, 0, 0, NULL));
	show("ofd lock", lock(fd2, F_OFD_SETLK, F_WRLCK, 0, 1, NULL));
	CK(lock(fd, F_OFD_GETLK, F_WRLCK, 0, 1, &l));
	say("ofd owner %d\n", (int)l.l_pid);
	show("lockf", lockf(fd, F_TEST, 10));
	show("bad whence", fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_RDLCK, .l_whence = 77 }));
	done();
	return 0;
}
