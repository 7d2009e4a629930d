/* epoll: level, edge, oneshot, data words, nesting, modify, delete, blocking wait, errors. Deterministic. */
#include "guest.h"
#include <sys/epoll.h>

static int ep;

static void wait_for(const char *what, int timeout)
{
	struct epoll_event ev[8];
	int n = epoll_wait(ep, ev, 8, timeout);

	show(what, n);
	for (int i = 0; i < n; i++)
		say("  events %#x data %llx\n", ev[i].events, (unsigned long long)ev[i].data.u64);
}

static int ctl(int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	return epoll_ctl(ep, op, fd, &ev);
}

int main(void)
{
	int a[2], b[2], outer;
	struct epoll_event ev;
	char buf[16];
	pid_t p;

	ep = CK(epoll_create1(EPOLL_CLOEXEC));
	CK(pipe(a));
	CK(pipe(b));
	CK(ctl(EPOLL_CTL_ADD, a[0], EPOLLIN, 0x1111222233334444));
	wait_for("nothing", 0);
	wait_for("time out", 3);
	CHECK(write(a[1], "xyz", 3) == 3);
	wait_for("level", -1);
	wait_for("level again", -1);
	CK(ctl(EPOLL_CTL_MOD, a[0], EPOLLIN | EPOLLET, 2));
	wait_for("edge", 0);
	wait_for("edge again", 0);
	CHECK(write(a[1], "w", 1) == 1);
	wait_for("edge after write", 0);
	CK(ctl(EPOLL_CTL_MOD, a[0], EPOLLIN | EPOLLONESHOT, 3));
	wait_for("one shot", 0);
	wait_for("one shot again", 0);
	CK(ctl(EPOLL_CTL_MOD, a[0], EPOLLIN | EPOLLONESHOT, 4));
	wait_for("armed again", 0);
	CK(ctl(EPOLL_CTL_ADD, b[1], EPOLLOUT, 5));
	wait_for("writable", 0);
	CK(epoll_ctl(ep, EPOLL_CTL_DEL, b[1], NULL));
	wait_for("deleted", 0);
	CK(ctl(EPOLL_CTL_ADD, b[0], EPOLLIN | EPOLLRDHUP, 6));
	p = xfork();
	if (p == 0) {
		wait_state(getppid(), 'S');
		CHECK(write(b[1], "!", 1) == 1);
		_exit(0);
	}
	wait_for("blocks", -1);
	reap(p);
	outer = CK(epoll_create(1));
	ev = (struct epoll_event){ .events = EPOLLIN, .data.fd = ep };
	CK(epoll_ctl(outer, EPOLL_CTL_ADD, ep, &ev));
	show("nested", epoll_wait(outer, &ev, 1, 0));
	CHECK(read(b[0], buf, 16) == 1);
	show("nested, drained", epoll_wait(outer, &ev, 1, 0));
	close(b[1]);
	wait_for("hang-up", -1);
	show("add twice", ctl(EPOLL_CTL_ADD, a[0], EPOLLIN, 0));
	show("modify unknown", ctl(EPOLL_CTL_MOD, a[1], EPOLLIN, 0));
	show("add itself", ctl(EPOLL_CTL_ADD, ep, EPOLLIN, 0));
	show("add a file", ctl(EPOLL_CTL_ADD, open("/etc/passwd", O_RDONLY), EPOLLIN, 0));
	show("no room", epoll_wait(ep, &ev, 0, 0));
	show("bad address", epoll_wait(ep, bad_address, 1, 0));
	show("pwait2", syscall(441, ep, &ev, 1, &(struct timespec){ 0, 0 }, NULL, 0) >= -1);
	done();
	return 0;
}
