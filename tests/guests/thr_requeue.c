/* futex: FUTEX_CMP_REQUEUE moves waiters from one word to another; counts and wake-ups. Deterministic. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>

static uint32_t a, b;
static struct gate woken;

static long futex(uint32_t *w, int op, uint32_t val, uintptr_t val2, uint32_t *w2, uint32_t val3)
{
	return syscall(SYS_futex, w, op, val, val2, w2, val3);
}

static void *waiter(void *arg)
{
	long r = futex(&a, FUTEX_WAIT_PRIVATE, 0, 0, NULL, 0);

	CHECK(r == 0);
	gate_open(&woken);
	return arg;
}

int main(void)
{
	pthread_t t[8];

	gate_init(&woken);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, waiter, NULL) == 0);
	/* Moving them to the other word and back counts the waiters without waking them. */
	for (;;) {
		long n = futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 0, 100, &b, 0);

		CHECK(futex(&b, FUTEX_CMP_REQUEUE_PRIVATE, 0, 100, &a, 0) == n);
		if (n == 8)
			break;
		msleep(2);
	}
	show("wrong value", futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, 100, &b, 99));
	show("wake 2, move 4", futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 2, 4, &b, 0));
	gate_wait(&woken);
	gate_wait(&woken);
	show("wake b", futex(&b, FUTEX_WAKE_PRIVATE, 100, 0, NULL, 0));
	for (int i = 0; i < 4; i++)
		gate_wait(&woken);
	show("wake a", futex(&a, FUTEX_WAKE_PRIVATE, 100, 0, NULL, 0));
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	done();
	return 0;
}
