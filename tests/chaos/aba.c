/*
 * A lock-free stack without versions: while one thread is about to replace the head A by its successor B, another
 * takes both and puts A back; the exchange succeeds and B, which is in use, is the head.
 */
#include "chaos.h"

enum { NODES = 9, ROUNDS = 5, THREADS = 3 };

static struct node {
	struct node *_Atomic next;
	atomic_int users;
	uint64_t payload;
} node[NODES];

static struct node *_Atomic head;

static void push(struct node *n)
{
	struct node *old = atomic_load(&head);

	do
		atomic_store(&n->next, old);
	while (!atomic_compare_exchange_weak(&head, &old, n));
}

static struct node *pop(void)
{
	struct node *old = atomic_load(&head);

	while (old) {
		struct node *next = atomic_load(&old->next);

		if (atomic_compare_exchange_weak(&head, &old, next))
			break;
	}
	return old;
}

static void take(struct node *n)
{
	if (n && atomic_fetch_add(&n->users, 1) != 0)
		bug("node %d belongs to two threads", (int)(n - node));
}

static void give(struct node *n)
{
	if (n) {
		atomic_fetch_sub(&n->users, 1);
		push(n);
	}
}

/* Takes two and gives both back, several times; keeps the second one in the end. */
static void *body(void *arg)
{
	work(5000 * (unsigned long)(intptr_t)arg);
	for (int i = 1; i <= ROUNDS; i++) {
		struct node *a = pop(), *b;

		take(a);
		b = pop();
		take(b);
		work(30);
		if (i < ROUNDS)
			give(b);
		give(a);
		work(300);
	}
	return NULL;
}

int main(void)
{
	int n = 0;

	for (int i = NODES - 1; i >= 0; i--)
		push(&node[i]);
	in_threads(THREADS, body);
	while (pop())
		if (++n > NODES)
			bug("the stack has become a ring");
	if (n != NODES - THREADS)
		bug("%d nodes are left instead of %d", n, NODES - THREADS);
	return 0;
}
