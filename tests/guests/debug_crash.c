/* A crash at the end of a long computation. For tests/debug/sessions: argument: millions of rounds. */
#include "guest.h"

struct node {
	struct node *next;
	unsigned long value;
};

struct node *list;
volatile unsigned long rounds;
static unsigned long state = 1;

__attribute__((noinline)) void grow(void)
{
	struct node *n = malloc(sizeof(*n));

	n->next = list;
	n->value = state;
	list = n;
}

__attribute__((noinline)) void spoil(struct node *n)
{
	n->next = (struct node *)0x10; /* the culprit */
}

__attribute__((noinline)) unsigned long sum(void)
{
	unsigned long s = 0;

	for (struct node *n = list; n; n = n->next)
		s += n->value; /* the crash */
	return s;
}

int main(int argc, char **argv)
{
	unsigned long most = 1000000 * (argc > 1 ? strtoul(argv[1], NULL, 0) : 1);

	for (rounds = 0; rounds < most; rounds++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		if (rounds % (most / 100) == 0)
			grow();
		if (rounds == most / 4 * 3)
			spoil(list->next->next);
	}
	say("%lu\n", sum());
	return 0;
}
