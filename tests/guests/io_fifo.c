/* Named pipes: open waits for the other side, non-blocking opens, end of file. Deterministic. */
#include "guest.h"

int main(void)
{
	char buf[32] = "";
	int fd;
	pid_t p;

	scratch();
	CK(mkfifo("fifo", 0600));
	show("write only, nobody", open("fifo", O_WRONLY | O_NONBLOCK));
	show("read only, nobody", fd = open("fifo", O_RDONLY | O_NONBLOCK));
	show("read", read(fd, buf, 8));
	close(fd);
	p = xfork();
	if (p == 0) {
		wait_state(getppid(), 'S');
		fd = CK(open("fifo", O_WRONLY));
		write_all(fd, "through the fifo", 16);
		_exit(0);
	}
	fd = CK(open("fifo", O_RDONLY));
	show("read", read(fd, buf, sizeof(buf)));
	say("%s\n", buf);
	show("end", read(fd, buf, sizeof(buf)));
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
