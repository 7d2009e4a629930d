/* A thread by raw clone, joined through the word that the kernel clears at its exit (CLONE_CHILD_CLEARTID). Output: tids differ. */
#include "guest.h"
#include <linux/futex.h>

static char stack[64 * 1024] __attribute__((aligned(64)));
static volatile pid_t word, parent_word;

static int body(void *arg)
{
	struct timespec ts = { 0, 10000000 };

	/* No libc that uses TLS: the thread shares that of the main thread. */
	syscall(SYS_nanosleep, &ts, NULL);
	*(volatile int *)arg = 17;
	syscall(SYS_exit, 0);
	return 0;
}

int main(void)
{
	volatile int result = 0;
	pid_t tid, seen;

	for (int round = 0; round < 5; round++) {
		int waits = 0;

		result = 0;
		word = -1;
		tid = CK(clone(body, stack + sizeof(stack),
			       CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				       CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
			       (void *)(uintptr_t)&result, (pid_t *)(uintptr_t)&parent_word, NULL,
			       (pid_t *)(uintptr_t)&word));
		while ((seen = word) != 0) {
			syscall(SYS_futex, &word, FUTEX_WAIT, seen, NULL, NULL, 0);
			waits++;
		}
		say("tid %d parent word %d result %d, word cleared after %d waits\n", (int)tid, (int)parent_word,
		    result, waits);
		CHECK(result == 17 && parent_word == tid);
	}
	done();
	return 0;
}
