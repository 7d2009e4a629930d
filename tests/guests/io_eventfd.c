/* eventfd: counter, semaphore mode, blocking read until another thread adds, overflow, errors. Deterministic. */
#include "guest.h"
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

static int efd;

static void *adder(void *arg)
{
	wait_state(getpid(), 'S');
	CHECK(eventfd_write(efd, 7) == 0);
	return arg;
}

int main(void)
{
	struct pollfd pf;
	eventfd_t v;
	pthread_t t;

	efd = CK(eventfd(3, 0));
	CK(eventfd_read(efd, &v));
	say("value %lu\n", (unsigned long)v);
	CHECK(pthread_create(&t, NULL, adder, NULL) == 0);
	CK(eventfd_read(efd, &v));
	say("blocking read %lu\n", (unsigned long)v);
	CHECK(pthread_join(t, NULL) == 0);
	close(efd);
	efd = CK(eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		v = 99;
		show("semaphore", eventfd_read(efd, &v));
		say("value %lu\n", (unsigned long)v);
	}
	CK(eventfd_write(efd, 0xfffffffffffffffe));
	show("overflow", eventfd_write(efd, 1));
	show("too big", eventfd_write(efd, 0xffffffffffffffff));
	pf = (struct pollfd){ efd, POLLIN | POLLOUT, 0 };
	show("poll", poll(&pf, 1, 0));
	say("%#x\n", (unsigned)pf.revents);
	show("short read", read(efd, &v, 4));
	show("bad flags", eventfd(0, 0x12345));
	done();
	return 0;
}
