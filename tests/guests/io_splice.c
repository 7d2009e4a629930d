/* splice, tee, vmsplice and copy_file_range: between pipes, files and standard output. Deterministic. */
#include "guest.h"
#include <sys/uio.h>

int main(void)
{
	char buf[64] = "", mem[] = "from memory\n";
	struct iovec iov = { mem, 12 };
	loff_t off = 5, off2 = 2;
	int in, out, a[2], b[2];

	scratch();
	put_file("in", "0123456789abcdef\n", 0600);
	in = CK(open("in", O_RDONLY));
	out = CK(open("out", O_RDWR | O_CREAT, 0600));
	CK(pipe(a));
	CK(pipe(b));
	show("file to pipe", splice(in, NULL, a[1], NULL, 5, 0));
	show("file to pipe at offset", splice(in, &off, a[1], NULL, 5, SPLICE_F_MOVE));
	show("offset", off);
	show("tee", tee(a[0], b[1], 100, 0));
	show("pipe to file", splice(a[0], NULL, out, &off2, 100, 0));
	show("offset", off2);
	show("read the copy", read(b[0], buf, sizeof(buf)));
	say("%s\n", buf);
	show("pread", pread(out, buf, sizeof(buf), 2));
	say("%s\n", buf);
	show("vmsplice", vmsplice(a[1], &iov, 1, 0));
	/* stdout may be a pipe, a file or a terminal: what each answers is part of the result */
	show("tee empty", tee(b[0], a[1], 100, SPLICE_F_NONBLOCK));
	show("read it", read(a[0], buf, 12));
	say("%.12s", buf);
	show("splice without pipe", splice(in, NULL, out, NULL, 5, 0));
	show("splice empty pipe", splice(a[0], NULL, out, NULL, 5, SPLICE_F_NONBLOCK));
	off = 0;
	off2 = 1000;
	show("copy_file_range", copy_file_range(in, &off, out, &off2, 10, 0));
	say("offsets %ld %ld\n", (long)off, (long)off2);
	show("pread", pread(out, buf, 20, 1000));
	show("copy_file_range no offsets", (lseek(in, 0, SEEK_SET), copy_file_range(in, NULL, out, NULL, 4, 0)));
	show("copy_file_range bad flags", copy_file_range(in, NULL, out, NULL, 4, 77));
	show("copy_file_range pipe", copy_file_range(in, NULL, a[1], NULL, 4, 0));
	done();
	return 0;
}
