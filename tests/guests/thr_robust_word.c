/* The robust list by hand: the kernel sets FUTEX_OWNER_DIED in the words of a thread that exits. Output: tids differ. */
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>

struct node {
	struct robust_list list;
	volatile uint32_t word;
};

static struct node n[3];

static void *body(void *arg)
{
	static struct robust_list_head head;

	head.list.next = &n[0].list;
	head.futex_offset = (long)offsetof(struct node, word) - (long)offsetof(struct node, list);
	for (int i = 0; i < 3; i++) {
		n[i].list.next = i < 2 ? &n[i + 1].list : (struct robust_list *)&head;
		n[i].word = (uint32_t)gettid();
	}
	n[1].word = 12345; /* not this thread's: left alone */
	n[2].word |= FUTEX_WAITERS;
	CK(syscall(SYS_set_robust_list, &head, sizeof(head)));
	*(pid_t *)arg = gettid();
	syscall(SYS_exit, 0);
	return NULL;
}

int main(void)
{
	void *head;
	size_t len;
	pthread_t t;
	pid_t tid;

	CHECK(pthread_create(&t, NULL, body, &tid) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	for (int i = 0; i < 3; i++)
		say("word %d: %#x\n", i, n[i].word);
	CHECK(n[0].word == FUTEX_OWNER_DIED && n[1].word == 12345);
	CHECK(n[2].word == (FUTEX_OWNER_DIED | FUTEX_WAITERS));
	CK(syscall(SYS_get_robust_list, 0, &head, &len));
	say("tid was %d, own list %p, %zu\n", (int)tid, head, len);
	show("bad size", syscall(SYS_set_robust_list, head, 3));
	done();
	return 0;
}
