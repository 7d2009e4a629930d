/* POSIX aio of the C library (threads below): read, write, suspend, notification. Deterministic. */
#include "guest.h"
#include <aio.h>

int main(void)
{
	char out[] = "asynchronously written", in[32] = "";
	struct aiocb w = { .aio_buf = out, .aio_nbytes = 22 }, r = { .aio_buf = in, .aio_nbytes = 31 };
	const struct aiocb *list[1] = { &w };
	int fd;

	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT, 0600));
	w.aio_fildes = r.aio_fildes = fd;
	CK(aio_write(&w));
	CK(aio_suspend(list, 1, NULL));
	show("written", aio_return(&w));
	CK(aio_read(&r));
	list[0] = &r;
	CK(aio_suspend(list, 1, NULL));
	show("error", aio_error(&r));
	show("read", aio_return(&r));
	say("%s\n", in);
	done();
	return 0;
}
