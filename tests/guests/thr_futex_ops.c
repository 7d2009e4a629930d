/* futex: timeouts, bitsets, WAKE_OP, errors. Deterministic. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>

static uint32_t w = 5, v = 7;

static long futex(uint32_t *p, int op, uint32_t val, const void *t, uint32_t *p2, uint32_t val3)
{
	return syscall(SYS_futex, p, op, val, t, p2, val3);
}

static void *waiter(void *arg)
{
	uint32_t bits = (uint32_t)(uintptr_t)arg;

	CHECK(futex(&w, FUTEX_WAIT_BITSET, 5, NULL, NULL, bits) == 0);
	return arg;
}

static void wake_until(uint32_t bits)
{
	while (futex(&w, FUTEX_WAKE_BITSET, 1, NULL, NULL, bits) != 1)
		msleep(1);
	say("woke bits %u\n", bits);
}

int main(void)
{
	struct timespec ts = { 0, 5000000 }, bad = { 0, 1999999999 }, abs;
	pthread_t t[2];
	long op = FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 7);

	show("wrong value", futex(&w, FUTEX_WAIT, 4, NULL, NULL, 0));
	show("timeout", futex(&w, FUTEX_WAIT, 5, &ts, NULL, 0));
	show("bad timeout", futex(&w, FUTEX_WAIT, 5, &bad, NULL, 0));
	CK(clock_gettime(CLOCK_MONOTONIC, &abs));
	show("absolute timeout in the past", futex(&w, FUTEX_WAIT_BITSET, 5, &abs, NULL, ~0u));
	CK(clock_gettime(CLOCK_REALTIME, &abs));
	show("realtime in the past",
	     futex(&w, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &abs, NULL, ~0u));
	show("no bits", futex(&w, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0));
	show("unaligned", futex((uint32_t *)((char *)&w + 1), FUTEX_WAIT, 5, NULL, NULL, 0));
	show("bad address", futex((uint32_t *)4096, FUTEX_WAIT, 5, NULL, NULL, 0));
	show("bad operation", futex(&w, 99, 5, NULL, NULL, 0));
	show("wake nobody", futex(&w, FUTEX_WAKE, 10, NULL, NULL, 0));
	CHECK(pthread_create(&t[0], NULL, waiter, (void *)1) == 0);
	CHECK(pthread_create(&t[1], NULL, waiter, (void *)2) == 0);
	wake_until(2);
	CHECK(pthread_join(t[1], NULL) == 0);
	wake_until(1);
	CHECK(pthread_join(t[0], NULL) == 0);
	show("wake_op", futex(&w, FUTEX_WAKE_OP, 1, (void *)1, &v, (uint32_t)op));
	say("second word %u\n", v);
	done();
	return 0;
}
