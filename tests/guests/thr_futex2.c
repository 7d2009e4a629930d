/* futex_waitv, futex_wake, futex_wait, futex_requeue (new calls): run if the kernel has them. Output: depends on the kernel. */
#include "guest.h"
#include <pthread.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static uint32_t w[3];

static void *waker(void *arg)
{
	while (syscall(SYS_futex, &w[1], 1, 1, NULL, NULL, 0) != 1)
		msleep(1);
	return arg;
}

int main(void)
{
	struct waitv v[3] = { 0 };
	struct timespec now;
	pthread_t t;

	for (int i = 0; i < 3; i++) {
		v[i].uaddr = (uintptr_t)&w[i];
		v[i].flags = 2; /* 32 bits */
	}
	CHECK(pthread_create(&t, NULL, waker, NULL) == 0);
	show("waitv", syscall(SYS_futex_waitv, v, 3, 0, NULL, CLOCK_MONOTONIC));
	if (errno == ENOSYS)
		CHECK(syscall(SYS_futex, &w[1], 0, 0, NULL, NULL, 0) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CK(clock_gettime(CLOCK_MONOTONIC, &now));
	show("waitv timeout", syscall(SYS_futex_waitv, v, 3, 0, &now, CLOCK_MONOTONIC));
	v[2].val = 1;
	show("waitv wrong value", syscall(SYS_futex_waitv, v, 3, 0, NULL, CLOCK_MONOTONIC));
	show("wake", syscall(454, &w[0], 0xffffffffL, 1, 2));
	show("wait timeout", syscall(455, &w[0], 0, 0xffffffffL, 2, &now, CLOCK_MONOTONIC));
	done();
	return 0;
}
