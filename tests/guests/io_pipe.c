/* Pipes: partial reads, several writers, full pipe, packet mode, end of file, errors. Deterministic. */
#include "guest.h"

int main(void)
{
	static char big[300000];
	size_t total = 0;
	char buf[64];
	int fd[2];
	ssize_t n;
	pid_t p;

	CK(pipe(fd));
	CHECK(write(fd[1], "abcdefghij", 10) == 10);
	show("read 4", read(fd[0], buf, 4));
	show("read 100", read(fd[0], buf, sizeof(buf)));
	p = xfork();
	if (p == 0) {
		close(fd[0]);
		memset(big, 'b', sizeof(big));
		n = write(fd[1], big, sizeof(big));
		_exit(n == sizeof(big) ? 0 : 1);
	}
	while (total < sizeof(big)) {
		n = CK(read(fd[0], big, 5000));
		CHECK(n > 0 && big[0] == 'b' && big[n - 1] == 'b');
		total += (size_t)n;
	}
	say("total %zu, writer %s\n", total, wait_str(reap(p)));
	close(fd[1]);
	show("end of file", read(fd[0], buf, 1));
	show("write to the read end", write(fd[0], "x", 1));
	close(fd[0]);
	CK(pipe2(fd, O_DIRECT | O_CLOEXEC));
	CHECK(write(fd[1], "one", 3) == 3 && write(fd[1], "second", 6) == 6 && write(fd[1], "3", 1) == 1);
	show("packet", read(fd[0], buf, sizeof(buf)));
	show("packet cut", read(fd[0], buf, 2));
	show("packet", read(fd[0], buf, sizeof(buf)));
	show("seek", lseek(fd[0], 0, SEEK_CUR));
	show("pipe2 bad flags", pipe2(fd, 0x777777));
	show("pipe bad address", pipe(bad_address));
	done();
	return 0;
}
