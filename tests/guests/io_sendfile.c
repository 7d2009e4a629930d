/* sendfile to a file, a pipe, a socket and standard output; with and without an offset. Deterministic. */
#include "guest.h"
#include <sys/sendfile.h>
#include <sys/socket.h>

int main(void)
{
	char buf[32] = "";
	off_t off = 5;
	int in, out, pfd[2], sv[2];

	scratch();
	put_file("in", "line one\nline two\nline three\n", 0600);
	in = CK(open("in", O_RDONLY));
	out = CK(open("out", O_RDWR | O_CREAT, 0600));
	show("to stdout", sendfile(1, in, NULL, 9));
	show("with offset", sendfile(out, in, &off, 4));
	show("offset", off);
	show("position", lseek(in, 0, SEEK_CUR));
	show("rest to stdout", sendfile(1, in, NULL, 1000));
	show("at end", sendfile(1, in, NULL, 1000));
	CHECK(pread(out, buf, 4, 0) == 4);
	say("%s\n", buf);
	CK(pipe(pfd));
	off = 0;
	show("to pipe", sendfile(pfd[1], in, &off, 8));
	CHECK(read(pfd[0], buf, 8) == 8);
	say("%s\n", buf);
	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	off = 18;
	show("to socket", sendfile(sv[0], in, &off, 100));
	show("recv", read(sv[1], buf, 32));
	show("from a pipe", sendfile(out, pfd[0], NULL, 5) >= -1);
	show("bad offset", sendfile(out, in, (off_t *)8, 5));
	show("negative offset", (off = -3, sendfile(out, in, &off, 5)));
	show("read-only target", sendfile(in, in, NULL, 5));
	done();
	return 0;
}
