/* timerfd: one shot, interval with missed ticks, absolute in the past, gettime, poll, cancel. Output: times differ. */
#include "guest.h"
#include <poll.h>
#include <sys/timerfd.h>

int main(void)
{
	struct itimerspec it = { { 0, 0 }, { 0, 3000000 } }, old;
	struct pollfd pf = { .events = POLLIN };
	uint64_t n = 0;
	int fd;

	fd = pf.fd = CK(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	CK(timerfd_settime(fd, 0, &it, NULL));
	show("blocking read", read(fd, &n, 8));
	say("expired %llu\n", (unsigned long long)n);
	it.it_interval.tv_nsec = 1000000;
	it.it_value.tv_nsec = 1000000;
	CK(timerfd_settime(fd, 0, &it, NULL));
	msleep(15);
	show("read", read(fd, &n, 8));
	say("expired %llu\n", (unsigned long long)n);
	CHECK(n >= 10);
	CK(timerfd_gettime(fd, &old));
	say("left %ld of %ld\n", old.it_value.tv_nsec, old.it_interval.tv_nsec);
	show("poll", poll(&pf, 1, -1));
	memset(&it, 0, sizeof(it));
	CK(timerfd_settime(fd, 0, &it, &old));
	say("was %ld %ld\n", old.it_value.tv_nsec, old.it_interval.tv_nsec);
	CK(fcntl(fd, F_SETFL, O_NONBLOCK));
	show("disarmed", read(fd, &n, 8));
	it.it_value.tv_sec = 1;
	close(fd);
	fd = CK(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK));
	CK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &it, NULL));
	show("in the past", read(fd, &n, 8));
	show("bad clock", timerfd_create(99, 0));
	show("short read", read(fd, &n, 4));
	show("not a timer", timerfd_gettime(0, &old));
	done();
	return 0;
}
