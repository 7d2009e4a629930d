/* libaio calls: set up and used where allowed; a recorder answers ENOSYS. Output: depends. */
#include "guest.h"
#include <linux/aio_abi.h>

int main(void)
{
	aio_context_t ctx = 0;
	struct io_event ev;
	struct iocb cb, *list[1] = { &cb };
	char buf[16] = "";
	int fd;

	scratch();
	put_file("f", "asynchronous", 0600);
	fd = CK(open("f", O_RDONLY));
	if (syscall(SYS_io_setup, 4, &ctx) < 0) {
		CHECK(errno == ENOSYS);
		say("io_setup: ENOSYS\n");
		done();
		return 0;
	}
	memset(&cb, 0, sizeof(cb));
	cb.aio_fildes = (uint32_t)fd;
	cb.aio_lio_opcode = IOCB_CMD_PREAD;
	cb.aio_buf = (uintptr_t)buf;
	cb.aio_nbytes = 12;
	cb.aio_data = 77;
	show("submit", syscall(SYS_io_submit, ctx, 1, list));
	show("getevents", syscall(SYS_io_getevents, ctx, 1, 1, &ev, NULL));
	say("data %llu res %lld: %s\n", (unsigned long long)ev.data, (long long)ev.res, buf);
	show("destroy", syscall(SYS_io_destroy, ctx));
	done();
	return 0;
}
