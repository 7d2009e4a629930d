/* select and pselect: sets in and out, time left written back, blocking until a child writes, bad descriptors. Output: time left differs. */
#include "guest.h"
#include <sys/select.h>

int main(void)
{
	struct timeval tv = { 5, 0 };
	int a[2], b[2], r;
	fd_set rd, wr, ex;
	pid_t p;

	CK(pipe(a));
	CK(pipe(b));
	CK(dup2(a[0], 200));
	p = xfork();
	if (p == 0) {
		wait_state(getppid(), 'S');
		CHECK(write(a[1], "x", 1) == 1);
		_exit(0);
	}
	FD_ZERO(&rd);
	FD_ZERO(&ex);
	FD_SET(200, &rd);
	FD_SET(b[0], &rd);
	FD_SET(a[0], &ex);
	r = select(201, &rd, NULL, &ex, &tv);
	show("blocking", r);
	say("200 %d, empty pipe %d, exceptional %d, left %ld.%06ld\n", FD_ISSET(200, &rd), FD_ISSET(b[0], &rd),
	    FD_ISSET(a[0], &ex), (long)tv.tv_sec, (long)tv.tv_usec);
	reap(p);
	FD_ZERO(&wr);
	FD_SET(b[1], &wr);
	FD_ZERO(&rd);
	FD_SET(b[0], &rd);
	tv = (struct timeval){ 0, 0 };
	show("writable", select(20, &rd, &wr, NULL, &tv));
	say("%d %d\n", FD_ISSET(b[0], &rd), FD_ISSET(b[1], &wr));
	FD_ZERO(&rd);
	FD_SET(b[0], &rd);
	tv = (struct timeval){ 0, 4000 };
	show("time out", select(20, &rd, NULL, NULL, &tv));
	say("%d, left %ld\n", FD_ISSET(b[0], &rd), (long)tv.tv_usec);
	FD_SET(77, &rd);
	show("bad descriptor", select(100, &rd, NULL, NULL, &tv));
	show("negative count", select(-1, NULL, NULL, NULL, &tv));
	show("sleep", select(0, NULL, NULL, NULL, &(struct timeval){ 0, 2000 }));
	show("pselect", pselect(0, NULL, NULL, NULL, &(struct timespec){ 0, 2000000 }, NULL));
	done();
	return 0;
}
