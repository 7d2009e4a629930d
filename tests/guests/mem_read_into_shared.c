/* read() and recv() into the middle of shared mappings that another process looks at. Deterministic. */
#include "guest.h"
#include <sys/socket.h>

int main(void)
{
	struct gate go;
	char *p, *f;
	int fd, pfd[2], sv[2];
	pid_t c;

	scratch();
	gate_init(&go);
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CK(ftruncate(fd, 8192));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	f = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED && f != MAP_FAILED);
	CK(pipe(pfd));
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	c = xfork();
	if (c == 0) {
		gate_wait(&go);
		say("child: %.6s %.6s %.6s\n", p + 4093, f + 4093, f + 100);
		memset(p, 'p', 10);
		memset(f, 'f', 10);
		_exit(0);
	}
	CHECK(write(pfd[1], "piped!PIPED!", 12) == 12);
	CHECK(write(sv[1], "socket", 6) == 6);
	CHECK(read(pfd[0], p + 4093, 6) == 6);
	CHECK(read(pfd[0], f + 4093, 6) == 6);
	CHECK(recv(sv[0], f + 100, 6, 0) == 6);
	/* The file read into its own mapping. */
	CHECK(pread(fd, f + 200, 6, 4093) == 6);
	gate_open(&go);
	say("%s\n", wait_str(reap(c)));
	say("parent: %.3s %.3s %.6s\n", p, f, f + 200);
	done();
	return 0;
}
